// Plan steps: what runs, in order. `fuse` makes them.
#pragma once

#include "cairn/plan/readers.hpp"

namespace cairn::plans {

/// A plan step. It is a kernel that computes the results of one operation, a fused loop over several values, or both.
struct plan_step {
  int begin = 0, end = 0;  ///< range of the step's values in `plan_steps::members`
  /// Range of the values of the fused loop in `plan_steps::members`. The step's other values are results of its kernel.
  /// If `loop_reads_tiles`, the first value of the loop is a result of the kernel, too.
  int loop_begin = 0, loop_end = 0;
  int kernel = none;              ///< first result of the kernel, or none
  bool loop_reads_tiles = false;  ///< the kernel hands tiles of its result to the fused loop, as the loop's first value
  bool loop_reads_rows = false;   ///< the fused loop reads each row right after the kernel has finished the row

  constexpr bool has_loop() const { return loop_begin < loop_end; }
  /// Returns true if the kernel reads a value of the fused loop, row by row.
  constexpr bool kernel_reads_rows() const {
    return has_loop() && kernel != none && !loop_reads_tiles && !loop_reads_rows;
  }
};

/// The plan steps of a program, in order.
template <int Nodes>
struct plan_steps : memory_roots<Nodes> {
  int members[Nodes] = {};  ///< values in the order of the plan steps
  plan_step steps[Nodes] = {};
  int step_of[Nodes] = {};    ///< by value: its plan step; none for leaves, views and values that are read in place
  int position[Nodes] = {};   ///< by value: its index in `members`
  bool external[Nodes] = {};  ///< by value: true if it is read outside its plan step
  int member_count = 0, step_count = 0, turn = 0;
  /// First plan step that updates parameters, if updates wait until all gradients are complete. Otherwise equal to
  /// `turn`.
  int first_update_step = 0;
};

/// Returns the bytes of workspace that a plan step needs on `threads` threads.
template <class Schedule>
constexpr std::int64_t workspace_of(const Schedule& s, const plan_step& st, int threads) {
  return st.kernel == none ? 0 : s.op(st.kernel).workspace_bytes(threads);
}

}  // namespace cairn::plans
