// Slots: which values share memory. A result takes over the slot of an argument that dies at its step, where
// the operation works in place. So a slot holds one value after another, from the step that computes the
// first to the one that reads the last. Kernel scratch is a slot of one step.
#pragma once

#include "cairn/plan/places.hpp"

namespace cairn::pass {

struct slot {
  std::int64_t bytes = 0;
  int first = 0, last = 0;  ///< the steps at which it is needed
  int next = none;          ///< the next slot with the same last step
};

template <int Nodes, int Slots>
struct slots {
  slot all[Slots] = {};               ///< in the order of their first steps
  int of[Nodes] = {};                 ///< by value that has memory of its own in the arena
  int scratch[Slots] = {};            ///< by step that has scratch
  int last[Slots + 1] = {};           ///< by step: the first of the slots that are needed up to it, or none
  std::int64_t live[Slots + 1] = {};  ///< by step: the bytes of the slots that it needs
  int count = 0, step_count = 0;
  std::int64_t live_bytes = 0;  ///< of the fullest step: no arena can be smaller
  std::int64_t stored_bytes = 0;
};

namespace detail {
template <int Slots, class Schedule, class Fused, class Loops, class Ranges, class Places>
struct slot_writer {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  const Fused& f;
  const Loops& l;
  const Ranges& live;
  const Places& p;
  const int threads;
  slots<nodes, Slots> out{};
  bool held[nodes] = {};  ///< by value: has its slot now
  std::int64_t sum = 0;

  constexpr int add(std::int64_t bytes, int first, int last) {
    out.all[out.count] = {bytes, first, last, none};
    sum += bytes;
    return out.count++;
  }

  constexpr void hold_result(int index, int w) {
    for_each_replaceable(s, f, l, live, p, index, w, [&](int v) {
      if (!held[v]) return false;
      held[v] = false;
      out.of[w] = out.of[v];
      out.all[out.of[w]].last = live.last[w];
      return held[w] = true;
    });
    if (!held[w]) out.of[w] = add(aligned(s.made(w).bytes), index, live.last[w]);
    held[w] = true;
  }

  constexpr void sweep() {
    for (int index = 0; index < f.step_count; ++index) {
      if (index == f.turn) count_stored();
      const step& st = f.steps[index];
      for (int m = st.begin; m < st.end; ++m) {
        const int w = f.members[m];
        if (f.external[w] && !p.fixed[w]) hold_result(index, w);
      }
      const std::int64_t scratch = aligned(scratch_of(s, st, threads));
      if (scratch > 0) out.scratch[index] = add(scratch, index, index);
      out.live[index] = sum;
      if (sum > out.live_bytes) out.live_bytes = sum;
      sum -= scratch;
      for_each_read(s, f, l, index, [&](int v) {
        if (live.last[v] != index || !held[v]) return;
        held[v] = false;
        sum -= out.all[out.of[v]].bytes;
      });
      for (int m = st.begin; m < st.end; ++m) {
        const int v = f.members[m];
        if (!s.made(v).always || live.last[v] != index || !held[v]) continue;
        held[v] = false;
        sum -= out.all[out.of[v]].bytes;
      }
    }
    if (f.turn == f.step_count) count_stored();
  }

  constexpr void list_by_last_step() {
    out.step_count = f.step_count;
    for (int i = 0; i <= f.step_count; ++i) out.last[i] = none;
    for (int i = out.count; i-- > 0;) {
      slot& one = out.all[i];
      one.next = out.last[one.last];
      out.last[one.last] = i;
    }
  }

  /// Forward values that live at the turn, results of the program and what lies elsewhere apart: in the arena, or where
  /// the gradient that takes their memory over belongs.
  constexpr void count_stored() {
    for (int v = 0; v < s.turn; ++v) {
      const bool alive = p.fixed[v] ? live.last[v] >= f.turn : held[v];
      if (alive && !p.output[v] && !s.made(v).elsewhere) out.stored_bytes += s.made(v).bytes;
    }
  }
};
}  // namespace detail

/// Slots: an upper bound of their number.
template <int Slots, class Schedule, class Fused, class Loops, class Ranges, class Places>
constexpr auto share_slots(const Schedule& s, const Fused& f, const Loops& l, const Ranges& live, const Places& p,
                           int threads) {
  detail::slot_writer<Slots, Schedule, Fused, Loops, Ranges, Places> w{s, f, l, live, p, threads};
  w.sweep();
  w.list_by_last_step();
  return w.out;
}

}  // namespace cairn::pass
