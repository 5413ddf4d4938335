// Liveness: from which step to which a value's memory is needed.
#pragma once

#include "cairn/plan/fused_loops.hpp"

namespace cairn::pass {

/// By value; only values that own memory (no views, nothing internal to a loop) have a range.
template <int Nodes>
struct live_ranges {
  /// The last step that reads it; its own where nobody does; step_count for outputs and gradients, which stay.
  int last[Nodes] = {};
};

/// Calls `visit` with each value whose memory a step reads.
template <class Schedule, class Fused, class Loops>
constexpr void for_each_read(const Schedule& s, const Fused& f, const Loops& l, int index, auto visit) {
  const step& st = f.steps[index];
  if (st.loop()) {
    for (int i = l.of[index].input_begin; i < l.of[index].input_end; ++i) {
      if (l.inputs[i].how != access::constant) for_each_piece(s, f, l.inputs[i].source, visit);
    }
  }
  if (st.kernel != none) {
    const ir::node& n = s.nodes[st.kernel];
    for (int i = 0; i < n.op->arguments; ++i) for_each_piece(s, f, f.root[s.arguments[n.first + i]], visit);
  }
}

template <class Schedule, class Fused, class Loops>
constexpr auto liveness(const Schedule& s, const Fused& f, const Loops& l) {
  live_ranges<Schedule::capacity> out;
  for (int i = 0; i < f.step_count; ++i) {
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (s.made(f.members[m]).always) out.last[f.members[m]] = i;
    }
    for_each_read(s, f, l, i, [&](int v) { out.last[v] = i; });
  }
  for (int i = 0; i < s.output_count; ++i) out.last[f.root[s.outputs[i]]] = f.step_count;
  for (int v : s.gradient) {
    if (v != none) out.last[f.root[v]] = f.step_count;
  }
  for (int i = 0; i < s.carry_count; ++i) out.last[s.carries[i].after] = f.step_count;
  return out;
}

}  // namespace cairn::pass
