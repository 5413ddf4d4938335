// Liveness: computes the live range of every value, as steps of the plan.
#pragma once

#include "cairn/plan/fused_loops.hpp"

namespace cairn::plans {

/// The end of each live range, by value. Values without memory of their own have no live range: views, and values that
/// exist only inside a fused loop.
template <int Nodes>
struct live_ranges {
  /// Index of the last plan step that reads the value. If an unused value is always in memory, this is the step that
  /// computes it. Other unused values have 0. Outputs, gradients and values that are left for the next training step
  /// have `step_count`, because they live beyond the end of the plan.
  int last[Nodes] = {};
};

/// Calls `visit` with each value whose memory plan step `index` reads.
template <class Schedule, class Steps, class Loops>
constexpr void for_each_read(const Schedule& s, const Steps& f, const Loops& l, int index, auto visit) {
  const plan_step& st = f.steps[index];
  if (st.has_loop()) {
    for (int i = l.of[index].input_begin; i < l.of[index].input_end; ++i) {
      if (l.inputs[i].how != access::constant) for_each_piece(s, f, l.inputs[i].source, visit);
    }
  }
  if (st.kernel != none) {
    const graphs::node& n = s.nodes[st.kernel];
    for (int i = 0; i < n.op->argument_count; ++i) for_each_piece(s, f, f.memory_root[s.arguments[n.first + i]], visit);
  }
}

template <class Schedule, class Steps, class Loops>
constexpr auto liveness(const Schedule& s, const Steps& f, const Loops& l) {
  live_ranges<Schedule::capacity> out;
  for (int i = 0; i < f.step_count; ++i) {
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (s.result(f.members[m]).always_in_memory) out.last[f.members[m]] = i;
    }
    for_each_read(s, f, l, i, [&](int v) { out.last[v] = i; });
  }
  for (int i = 0; i < s.output_count; ++i) out.last[f.memory_root[s.outputs[i]]] = f.step_count;
  for (int v : s.gradient) {
    if (v != none) out.last[f.memory_root[v]] = f.step_count;
  }
  for (int i = 0; i < s.carry_count; ++i) out.last[s.carries[i].after] = f.step_count;
  return out;
}

}  // namespace cairn::plans
