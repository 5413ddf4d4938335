// Finds how much a stage of a chain computes, by lowering the stage alone.
#pragma once

#include "cairn/graph/build.hpp"

namespace cairn::graphs {

/// The work of a layer for an argument of some shape: the bytes of its values, computed in floats and without views,
/// and its floating-point operations.
struct stage_work {
  std::int64_t bytes, flops;
};

/// Returns the work of a stage of a chain. The search for cuts of the chain uses it.
template <class Stage>
constexpr stage_work stage_work_of() {
  using body = body_lowering<lang::stage_mark, typename Stage::bodies>;
  using target = target<float, Stage::traits.order + 1, true>;
  graph<body::size> g;
  builder b;
  b.write_to(g);
  b.write_apart(body::size);
  const int input = b.append_leaf(&leaf_operation<lang::constant_leaf<0.0>, float>);
  int results[Stage::results.size()] = {};
  body::template into<target>(b, &input, 1, results);
  stage_work sum{};
  for (int v = 0; v < b.node_count; ++v) {
    const node& n = b.nodes[v];
    if (n.op->what <= role::view) continue;
    sum.bytes += n.result->bytes;
    if (n.result_index == 0) sum.flops += n.op->flops;
  }
  return sum;
}

}  // namespace cairn::graphs
