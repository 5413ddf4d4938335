// Slots: decides which values share memory.
// If a plan step may write a result over an argument, the result takes over the slot of the argument. overwrite.hpp has
// the rule. A slot therefore holds one value after another. The slot is needed from the step that computes its first
// value until the step that reads its last value. The workspace of a kernel is a slot that is needed during one plan
// step.
#pragma once

#include "cairn/plan/places.hpp"

namespace cairn::plans {

struct slot {
  std::int64_t bytes = 0;
  int first = 0, last = 0;  ///< first and last plan step at which the slot is needed
  int next = none;          ///< index of the next slot with the same last step, or none
};

template <int Nodes, int Capacity>
struct slots {
  slot all[Capacity] = {};       ///< all slots, sorted by their first step
  int of[Nodes] = {};            ///< by value: its slot, for values that have memory of their own in the arena
  int workspace[Capacity] = {};  ///< by plan step: the slot of the kernel's workspace, for steps that need workspace
  /// by plan step: the first slot that ends at the step, or none; `slot::next` links further slots
  int first_ending_at[Capacity + 1] = {};
  std::int64_t bytes_at_step[Capacity + 1] = {};  ///< by plan step: bytes of all slots that are needed at the step
  int count = 0, step_count = 0;
  std::int64_t live_bytes = 0;  ///< bytes that are needed at the fullest step; no arena can be smaller
  /// Bytes of the forward values that are alive at the turn. The sum includes values in the arena and values whose
  /// memory a gradient will take over. It does not include results of the program and values in memory that the caller
  /// gives.
  std::int64_t stored_bytes = 0;
};

namespace detail {
template <int Capacity, class Schedule, class Steps, class Loops, class Ranges, class Addresses>
struct slot_writer {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  const Steps& f;
  const Loops& l;
  const Ranges& ranges;
  const Addresses& p;
  const int threads;
  slots<nodes, Capacity> out{};
  bool held[nodes] = {};      ///< by value: true while the value occupies its slot
  std::int64_t live_now = 0;  ///< bytes of the slots that are needed at the current step

  constexpr int add(std::int64_t bytes, int first, int last) {
    out.all[out.count] = {bytes, first, last, none};
    live_now += bytes;
    return out.count++;
  }

  constexpr void hold_result(int index, int w) {
    for_each_overwritable(s, f, l, ranges, p, index, w, [&](int v) {
      if (!held[v]) return false;
      held[v] = false;
      out.of[w] = out.of[v];
      out.all[out.of[w]].last = ranges.last[w];
      return held[w] = true;
    });
    if (!held[w]) out.of[w] = add(aligned(s.result(w).bytes), index, ranges.last[w]);
    held[w] = true;
  }

  constexpr void sweep() {
    for (int index = 0; index < f.step_count; ++index) {
      if (index == f.turn) count_stored();
      const plan_step& st = f.steps[index];
      for (int m = st.begin; m < st.end; ++m) {
        const int w = f.members[m];
        if (f.external[w] && !p.outside_arena[w]) hold_result(index, w);
      }
      const std::int64_t workspace_bytes = aligned(workspace_of(s, st, threads));
      if (workspace_bytes > 0) out.workspace[index] = add(workspace_bytes, index, index);
      out.bytes_at_step[index] = live_now;
      if (live_now > out.live_bytes) out.live_bytes = live_now;
      live_now -= workspace_bytes;
      for_each_read(s, f, l, index, [&](int v) {
        if (ranges.last[v] != index || !held[v]) return;
        held[v] = false;
        live_now -= out.all[out.of[v]].bytes;
      });
      for (int m = st.begin; m < st.end; ++m) {
        const int v = f.members[m];
        if (!s.result(v).always_in_memory || ranges.last[v] != index || !held[v]) continue;
        held[v] = false;
        live_now -= out.all[out.of[v]].bytes;
      }
    }
    if (f.turn == f.step_count) count_stored();
  }

  constexpr void list_by_last_step() {
    out.step_count = f.step_count;
    for (int i = 0; i <= f.step_count; ++i) out.first_ending_at[i] = none;
    for (int i = out.count; i-- > 0;) {
      slot& one = out.all[i];
      one.next = out.first_ending_at[one.last];
      out.first_ending_at[one.last] = i;
    }
  }

  constexpr void count_stored() {
    for (int v = 0; v < s.turn; ++v) {
      const bool alive = p.outside_arena[v] ? ranges.last[v] >= f.turn : held[v];
      if (alive && !p.output[v] && !s.result(v).in_user_memory) out.stored_bytes += s.result(v).bytes;
    }
  }
};
}  // namespace detail

/// Assigns the slots. `Capacity` is an upper bound of their number. `threads` determines how much workspace the kernels
/// need.
template <int Capacity, class Schedule, class Steps, class Loops, class Ranges, class Addresses>
constexpr auto share_slots(const Schedule& s, const Steps& f, const Loops& l, const Ranges& ranges, const Addresses& p,
                           int threads) {
  detail::slot_writer<Capacity, Schedule, Steps, Loops, Ranges, Addresses> w{s, f, l, ranges, p, threads};
  w.sweep();
  w.list_by_last_step();
  return w.out;
}

}  // namespace cairn::plans
