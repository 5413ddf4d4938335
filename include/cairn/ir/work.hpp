// What a stage of a chain computes, by lowering it alone.
#pragma once

#include "cairn/expr/sequential.hpp"
#include "cairn/ir/build.hpp"

namespace cairn {

template <class Stage>
constexpr work work_of() {
  using body = ir::body_lowering<stage_mark, typename Stage::results>;
  using target = ir::target<float, Stage::facts.order + 1, true>;
  ir::graph<body::size> g;
  ir::builder b;
  b.write_to(g, 0);
  b.room = body::size.nodes + 1;
  b.nodes = new ir::node[static_cast<std::size_t>(b.room)]{};
  const int input = b.append(&ir::leaf_operation<constant_leaf<0.0>, float>, nullptr, 0);
  int results[std::tuple_size_v<typename Stage::results>] = {};
  body::template into<target>(b, &input, 1, results);
  work sum{};
  for (int v = 0; v < b.node_count; ++v) {
    const ir::operation& op = *b.nodes[v].op;
    if (op.what <= ir::role::view) continue;
    sum.bytes += op.bytes;
    sum.flops += op.flops;
  }
  delete[] b.nodes;
  return sum;
}

}  // namespace cairn
