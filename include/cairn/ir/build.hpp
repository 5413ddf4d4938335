// A model as a graph.
#pragma once

#include "cairn/ir/gradient.hpp"
#include "cairn/ir/vjp.hpp"

namespace cairn::ir {

/// In place of a leaf that is not there.
struct no_leaf {
  static constexpr cairn::facts facts{};
};
template <>
struct lowering<no_leaf> {
  static constexpr void count(counter&) {}
  template <class Target>
  static constexpr int into(builder&) {
    return none;
  }
};

/// Bounds what lowering appends. Gradients of a model are part of it: how much they append only lowering tells.
template <class Target, int Blocks, class... Outputs>
constexpr sizes size_of() {
  constexpr sizes size = [] {
    counter c;
    (lowering<Outputs>::count(c), ...);
    c.total.nodes += sizeof...(Outputs);
    return c.total;
  }();
  if constexpr (((Outputs::facts.order == 0) && ...)) {
    return size;
  } else {
    graph<size> g;
    builder b;
    b.write_to(g, Blocks);
    b.room = size.nodes + 1;
    b.nodes = new node[static_cast<std::size_t>(b.room)]{};
    (static_cast<void>(lowering<Outputs>::template into<Target>(b)), ...);
    delete[] b.nodes;
    sizes grown = size;
    grown.nodes = b.node_count + static_cast<int>(sizeof...(Outputs));
    return grown;
  }
}

/// A result that shows a state is a copy of it: the update comes before who reads the result.
template <class Target, class Output>
constexpr int kept_result(builder& b, int result) {
  int root = result;
  while (b.nodes[root].op->what == role::view) root = b.nodes[root].argument[0];
  for (int i = 0; i < b.leaf_count; ++i) {
    if (b.leaves[i].node != root || b.leaves[i].after == 0) continue;
    return b.append(&operation_of<expand_op<Output::shape>, Target, tensor_of<Output>>, &result, 1);
  }
  return result;
}

/// Lowers the outputs of a model, and the leaf that is the gradient of the first, or no_leaf.
template <class Target, int Blocks, class Cotangent, class... Outputs>
constexpr auto build() {
  graph<size_of<Target, Blocks, Outputs..., Cotangent>()> g;
  builder b;
  b.write_to(g, Blocks);
  ((g.outputs[g.output_count++] = lowering<Outputs>::template into<Target>(b)), ...);
  g.result_count = g.output_count;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((g.outputs[I] = kept_result<Target, Outputs>(b, g.outputs[I])), ...);
  }(std::index_sequence_for<Outputs...>{});
  g.cotangent = lowering<Cotangent>::template into<Target>(b);
  g.node_count = b.node_count;
  g.leaf_count = b.leaf_count;
  g.segment_count = b.segment_count;
  g.tag_count = b.tag_count;
  g.character_count = b.character_count;
  g.conflict = b.conflict;
  g.rival = b.rival;
  g.wrong_policy = b.wrong_policy;
  g.independent = b.independent;
  g.updated_twice = b.updated_twice;
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaves[i].after != 0) g.outputs[g.output_count++] = g.leaves[i].after - 1;
  }
  return g;
}

}  // namespace cairn::ir
