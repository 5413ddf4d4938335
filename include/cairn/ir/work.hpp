// What a stage of a chain computes, by lowering it alone.
#pragma once

#include "cairn/expr/sequential.hpp"
#include "cairn/ir/lower.hpp"

namespace cairn {

template <class Stage>
constexpr work work_of() {
  using body = ir::body_lowering<stage_mark, typename Stage::results>;
  ir::graph<body::size> g;
  ir::builder b;
  b.nodes = g.nodes;
  b.leaves = g.leaves;
  b.segments = g.segments;
  b.names = g.names;
  const int input = b.append(nullptr, nullptr, 0);
  int result = ir::none;
  body::template into<ir::target<float, 1>>(b, &input, 1, &result);
  work sum{};
  for (int v = input + 1; v < b.node_count; ++v) {
    const ir::operation& op = *g.nodes[v].op;
    if (op.what <= ir::role::view) continue;
    sum.bytes += op.bytes;
    sum.flops += op.flops;
  }
  return sum;
}

}  // namespace cairn
