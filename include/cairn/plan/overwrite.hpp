// The rule for writing a result over an argument: `for_each_overwritable`. A result may be written over a value only if
// the plan step has finished reading the value there, and if no later plan step reads it. `slots.hpp` uses the rule in
// the arena, and `places.hpp` uses it for gradients, parameters and caches.
#pragma once

#include "cairn/plan/liveness.hpp"

namespace cairn::plans {

/// Returns true if plan step `index` is the last to read `v`, and if the memory of `v` is large enough for its result
/// `w`. This is only a part of the rule: `for_each_overwritable` has all of it.
template <class Schedule, class Ranges, class Addresses>
constexpr bool is_last_use_and_fits(const Schedule& s, const Ranges& ranges, const Addresses& p, int index, int v,
                                    int w) {
  return ranges.last[v] == index && !p.output[v] && s.result(w).covers(s.result(v));
}

/// Returns true if the kernel of plan step `index` reads `v`, as any of its arguments. A fused loop that takes the
/// tiles of the kernel must not write over such a value, because the kernel reads it again for later tiles.
template <class Schedule, class Steps>
constexpr bool kernel_reads(const Schedule& s, const Steps& f, int index, int v) {
  const plan_step& st = f.steps[index];
  if (st.kernel == none) return false;
  const graphs::node& n = s.nodes[st.kernel];
  bool found = false;
  for (int i = 0; i < n.op->argument_count; ++i)
    for_each_piece(s, f, f.memory_root[s.arguments[n.first + i]], [&](int piece) { found |= piece == v; });
  return found;
}

/// Returns true if a fused loop reads the source of its input `i` only at the element that it computes.
template <class Schedule, class Steps, class Loops>
constexpr bool reads_at_own_element(const Schedule& s, const Steps& f, const Loops& l, int index, int i) {
  bool once = true;
  for (int other = l.of[index].input_begin; other < l.of[index].input_end; ++other) {
    if (l.inputs[other].overwritable()) continue;
    for_each_piece(s, f, l.inputs[other].source, [&](int piece) { once &= piece != l.inputs[i].source; });
  }
  return once;
}

/// Calls `visit(v)` with the arguments `v` of a plan step over which its result `w` may be written, until `visit`
/// returns true because it takes one. A result of a fused loop may be written over an argument that the loop reads at
/// the same element, if no kernel of the plan step reads the argument. If the loop follows a kernel row by row, the
/// kernel may read it, because the kernel has finished a row before the loop begins with the row. A result of a kernel
/// may be written over the argument that the operation names (`making::overwrites`).
template <class Schedule, class Steps, class Loops, class Ranges, class Addresses>
constexpr void for_each_overwritable(const Schedule& s, const Steps& f, const Loops& l, const Ranges& ranges,
                                     const Addresses& p, int index, int w, auto visit) {
  const plan_step& st = f.steps[index];
  if (st.loop_begin <= f.position[w] && f.position[w] < st.loop_end) {
    for (int i = l.of[index].input_begin; i < l.of[index].input_end; ++i) {
      const int v = l.inputs[i].source;
      if (l.inputs[i].overwritable() && reads_at_own_element(s, f, l, index, i) &&
          (st.loop_reads_rows || !kernel_reads(s, f, index, v)) && is_last_use_and_fits(s, ranges, p, index, v, w) &&
          visit(v))
        return;
    }
  } else if (const int a = s.result(w).overwrites; a != none && !st.loop_reads_tiles && !st.loop_reads_rows) {
    const graphs::node& n = s.nodes[w];
    const int v = f.memory_root[s.arguments[n.first + a]];
    const int root = s.root(s.arguments[n.first + a]);
    bool once = s.op(root).what != graphs::role::map || v == root;
    for (int i = 0; i < n.op->argument_count; ++i)
      for_each_piece(s, f, f.memory_root[s.arguments[n.first + i]], [&](int piece) { once &= i == a || piece != v; });
    once &= !st.kernel_reads_rows() ||
            f.step_of[v] == index;  // if the kernel takes rows, the fused loop reads all other arguments
    if (once && is_last_use_and_fits(s, ranges, p, index, v, w)) visit(v);
  }
}

}  // namespace cairn::plans
