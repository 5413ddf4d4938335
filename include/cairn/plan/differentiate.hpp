// Reverse-mode differentiation, from a graph to a graph. This pass comes first and knows nothing of segments. A
// checkpointed model and its plain form therefore get the same gradients, by the same operations in the same order.
#pragma once

#include "cairn/graph/build.hpp"

namespace cairn::plans {

using graphs::none;

/// A graph, followed by its gradient. Values [0, turn) are the forward pass; the values from `turn` on are the backward
/// pass.
template <int Nodes, int Arguments, int Leaves, int Regions, int Pairs>
struct gradient_graph : graphs::values<Nodes, Arguments> {
  int turn = 0;
  int gradient[Leaves] = {};   ///< by leaf: the value that is the leaf's gradient, or none
  int earlier[Leaves] = {};    ///< by leaf: the earlier gradient to which the leaf's gradient is added, or none
  bool reached[Regions] = {};  ///< by region: true if a gradient flows through it
  /// a pullback of a scan that would itself have to be differentiated, or none; the caller reports it as an error
  int gradient_of_scan = none;
  /// Which value is a gradient of which other value. If nothing is rounded, the table is empty.
  graphs::gradient_pair gradient_pairs[Pairs + 1] = {};
  int gradient_pair_count = 0;
};

/// Returns upper bounds of the numbers of nodes and arguments after differentiation.
template <class Graph>
constexpr graphs::sizes gradient_size(const Graph& g) {
  graphs::sizes size;
  size.nodes = g.node_count + 1;
  size.arguments = g.argument_count + 1;
  for (int v = 0; v < g.node_count; ++v) {
    if (g.nodes[v].result_index > 0) continue;
    size.nodes += g.op(v).vjp_nodes;
    size.arguments += g.op(v).vjp_arguments;
  }
  if constexpr (Graph::size.rounds) {  // room for conversions in the forward pass
    size.nodes += g.node_count + g.argument_count;
    size.arguments += g.node_count + g.argument_count;
    size.rounds = true;
  }
  return size;
}

template <graphs::sizes Size, class Graph>
using gradient_of = gradient_graph<Size.nodes, Size.arguments, Graph::size.leaves + 1, Graph::size.regions + 1,
                                   Size.rounds ? 2 * Size.arguments : 0>;

/// A value at which the backward pass starts. `of` is an output. `cotangent` is the leaf that gives its gradient, or
/// none if the gradient is 1. `add` sums two gradients of the output; it is used if the output has a gradient already.
struct start {
  int of = none, cotangent = none;
  const graphs::operation* add = nullptr;
};

template <class Graph, class Gradient>
constexpr void copy_gradient_pairs(const Graph& g, Gradient& out) {
  for (int i = 0; i < g.gradient_pair_count; ++i) out.gradient_pairs[out.gradient_pair_count++] = g.gradient_pairs[i];
}

/// Returns the graph with the gradients of the values in `starts` with respect to the leaves in `wanted_leaves`
/// appended. `one` is the constant at which the backward pass starts. For leaves in `summed`, `earlier` are leaf
/// operations for the gradients of earlier training steps. The accumulation of such a leaf's gradient starts from the
/// earlier gradient. The sum of this training step alone is therefore never stored.
template <graphs::sizes Size, class Graph>
constexpr auto differentiate(const Graph& g, const bool* wanted_leaves, const start* starts, int start_count,
                             const graphs::operation* one, const bool* summed = nullptr,
                             const graphs::operation* earlier = nullptr) {
  gradient_of<Size, Graph> out;
  bool wanted[Size.nodes] = {};
  int gradient[Size.nodes];  // by value
  for (int& value : gradient) value = none;
  for (int i = 0; i < g.leaf_count; ++i) wanted[g.leaves[i].node] = wanted_leaves[i];
  for (int v = 0; v < g.node_count; ++v) out.nodes[v] = g.nodes[v];
  for (int i = 0; i < g.argument_count; ++i) out.arguments[i] = g.arguments[i];

  graphs::region regions[Graph::size.regions + 1] = {};
  for (int r = 0; r < g.region_count; ++r) regions[r] = g.regions[r];

  graphs::builder b;
  b.nodes = out.nodes;
  b.arguments = out.arguments;
  b.regions = regions;
  b.node_count = out.turn = g.node_count;
  b.argument_count = g.argument_count;
  graphs::mark_wanted(b, g.node_count - 1, wanted);
  for (int i = 0; i < g.leaf_count; ++i) {
    out.earlier[i] = none;
    if (!detail::same_address(earlier, nullptr) && summed[i])
      gradient[g.leaves[i].node] = out.earlier[i] = b.append_leaf(&earlier[i]);
  }
  for (int i = 0; i < start_count; ++i) {
    int& of_output = gradient[starts[i].of];
    const int both[]{of_output, starts[i].cotangent != none ? starts[i].cotangent : b.append_leaf(one)};
    of_output = both[0] == none ? both[1] : b.append(starts[i].add, both);
  }
  graphs::append_gradients(b, g.node_count - 1, wanted, gradient,
                           [&](int v) { out.reached[out.nodes[v].region] = true; });
  out.node_count = b.node_count;
  out.argument_count = b.argument_count;
  out.gradient_of_scan = b.wrong.gradient_of_scan;
  copy_gradient_pairs(g, out);
  for (int i = 0; i < b.gradient_pairs.count(); ++i)
    out.gradient_pairs[out.gradient_pair_count++] = b.gradient_pairs[i];
  for (int i = 0; i < g.leaf_count; ++i) {
    const int found = gradient[g.leaves[i].node];
    out.gradient[i] = wanted_leaves[i] && found != out.earlier[i] ? found : none;
  }
  for (int r = g.region_count; r-- > 1;) out.reached[g.regions[r].parent] |= out.reached[r];
  return out;
}

/// Returns a graph without a gradient: all of its values belong to the forward pass.
template <graphs::sizes Size, class Graph>
constexpr auto undifferentiated(const Graph& g) {
  gradient_of<Size, Graph> out;
  for (int v = 0; v < g.node_count; ++v) out.nodes[v] = g.nodes[v];
  for (int i = 0; i < g.argument_count; ++i) out.arguments[i] = g.arguments[i];
  for (int& leaf : out.gradient) leaf = none;
  for (int& leaf : out.earlier) leaf = none;
  out.node_count = out.turn = g.node_count;
  out.argument_count = g.argument_count;
  copy_gradient_pairs(g, out);
  return out;
}

}  // namespace cairn::plans
