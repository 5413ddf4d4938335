// Reverse-mode differentiation, graph to graph. It comes first and knows nothing of segments, so that a
// checkpointed model and its plain form get the same gradients by the same operations in the same order.
#pragma once

#include "cairn/ir/build.hpp"

namespace cairn::pass {

using ir::none;

/// A graph followed by its gradient: nodes [0, turn) are the forward pass, the others read them.
template <int Nodes, int Leaves, int Segments>
struct gradient_graph {
  static constexpr int capacity = Nodes;
  ir::node nodes[Nodes] = {};
  int node_count = 0, turn = 0;
  int gradient[Leaves] = {};    ///< node of each leaf's gradient, or none
  int earlier[Leaves] = {};     ///< node of the gradient that it is added to; 0, a node of the forward pass, for none
  bool reached[Segments] = {};  ///< segments through which a gradient flows
};

/// The innermost segment that contains both.
template <class Graph>
constexpr int common(const Graph& g, int a, int b) {
  while (a != b) {
    if (g.segments[a].depth >= g.segments[b].depth) a = g.segments[a].parent;
    else b = g.segments[b].parent;
  }
  return a;
}

/// Upper bound of the nodes after differentiation.
template <class Graph>
constexpr int gradient_capacity(const Graph& g) {
  int n = g.node_count + 1;
  for (int v = 0; v < g.node_count; ++v) n += g.nodes[v].op->vjp_nodes;
  return n;
}

/// Appends to the graph the gradient of its first output with respect to the leaves in `wanted_leaf`.
/// `one` is the constant 1, the gradient of the output itself where none is given. Where gradients are accumulated,
/// `earlier` are those of the steps before, by leaf, and `add` is the sum of two gradients of the output. Each part
/// of a leaf's gradient is then added to what there is, so that no sum of this step alone needs memory.
template <int Capacity, class Graph>
constexpr auto differentiate(const Graph& g, const bool* wanted_leaf, const ir::operation* one,
                             const ir::operation* earlier = nullptr, const ir::operation* add = nullptr) {
  gradient_graph<Capacity, Graph::capacity.leaves + 1, Graph::capacity.segments + 1> out;
  bool wanted[Capacity] = {};
  int gradient[Capacity] = {};  // by node; 0, a node of the forward pass, where there is none
  for (int i = 0; i < g.leaf_count; ++i) wanted[g.leaves[i].node] = wanted_leaf[i];
  for (int v = 0; v < g.node_count; ++v) out.nodes[v] = g.nodes[v];
  ir::spread_wanted(g.nodes, g.node_count - 1, wanted);

  ir::builder b;
  b.nodes = out.nodes;
  b.node_count = out.turn = g.node_count;
  for (int i = 0; earlier != nullptr && i < g.leaf_count; ++i) {
    if (wanted_leaf[i]) gradient[g.leaves[i].node] = out.earlier[i] = b.append(&earlier[i], nullptr, 0);
  }
  int& of_output = gradient[g.outputs[0]];
  const int both[]{of_output, g.cotangent != none ? g.cotangent : b.append(one, nullptr, 0)};
  of_output = both[0] == 0 ? both[1] : b.append(add, both, 2);
  ir::append_gradients(b, g.node_count - 1, wanted, gradient,
                       [&](int v) { out.reached[out.nodes[v].segment] = true; });
  out.node_count = b.node_count;
  for (int i = 0; i < g.leaf_count; ++i) {
    const int found = gradient[g.leaves[i].node];
    out.gradient[i] = wanted_leaf[i] && found != out.earlier[i] ? found : none;
  }
  for (int s = g.segment_count; s-- > 1;) out.reached[g.segments[s].parent] |= out.reached[s];
  return out;
}

/// A graph that is not differentiated: all of it is forward.
template <class Graph>
constexpr auto undifferentiated(const Graph& g) {
  gradient_graph<Graph::capacity.nodes + 1, Graph::capacity.leaves + 1, Graph::capacity.segments + 1> out;
  for (int v = 0; v < g.node_count; ++v) out.nodes[v] = g.nodes[v];
  for (int& leaf : out.gradient) leaf = none;
  out.node_count = out.turn = g.node_count;
  return out;
}

}  // namespace cairn::pass
