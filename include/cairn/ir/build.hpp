// A model as a graph.
#pragma once

#include "cairn/ir/vjp.hpp"

namespace cairn::ir {

/// Lowers the outputs of a model.
template <class Target, int Blocks, class... Outputs>
constexpr auto build() {
  constexpr sizes size = [] {
    counter c;
    (lowering<Outputs>::count(c), ...);
    return c.total;
  }();
  graph<size> g;
  builder b;
  b.nodes = g.nodes;
  b.leaves = g.leaves;
  b.segments = g.segments;
  b.tags = g.tags;
  b.names = g.names;
  b.blocks = Blocks;
  ((g.outputs[g.output_count++] = lowering<Outputs>::template into<Target>(b)), ...);
  g.node_count = b.node_count;
  g.leaf_count = b.leaf_count;
  g.segment_count = b.segment_count;
  g.tag_count = b.tag_count;
  g.character_count = b.character_count;
  g.conflict = b.conflict;
  g.rival = b.rival;
  g.wrong_policy = b.wrong_policy;
  return g;
}

}  // namespace cairn::ir
