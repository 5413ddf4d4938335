// The schedule: the values of a training step in the order of their computation, forward and backward. `rematerialize`
// writes it.
#pragma once

#include "cairn/plan/segments.hpp"

namespace cairn::plans {

/// A value that a training step leaves for the next one. `after` replaces `before`, which is a parameter or one of its
/// moments.
struct carry {
  int before = none, after = none;
  int leaf = 0, moment = none;  ///< the parameter's leaf, and the index of the moment; none for the parameter itself
  int key = none;               ///< first of the two words of the key by which the new value is rounded, or none
};

/// The work of operations of a plan.
struct plan_work {
  /// all FLOP, and the part that is recomputed, including recomputation in pullbacks of scans
  std::int64_t flops = 0, recomputed = 0;
  std::int64_t recomputed_in_scans = 0;  ///< the part of `recomputed` that pullbacks of scans do
  loop_counts scan_counts;               ///< counts of what scans do

  constexpr plan_work& operator+=(const plan_work& more) {
    flops += more.flops;
    recomputed += more.recomputed;
    recomputed_in_scans += more.recomputed_in_scans;
    scan_counts += more.scan_counts;
    return *this;
  }
};

/// The values of a training step in the order of their computation.
template <int Nodes, int Arguments, int Leaves, int Segments, int Tags, int Outputs, int Carries = 1>
struct schedule : graphs::values<Nodes, Arguments> {
  static constexpr int segment_capacity = Segments;
  template <int MoreNodes, int MoreArguments, int MoreCarries>
  using resized = schedule<MoreNodes, MoreArguments, Leaves, Segments, Tags, Outputs, MoreCarries>;
  struct recomputation {
    int operations = 0;
    std::int64_t flops = 0;
  };
  bool stored[Nodes] = {};  ///< true for outputs, and for forward values that the backward pass reads without a clone
  int recomputes[Nodes] = {};  ///< of recomputed values: the value that is computed a second time; none for others
  int origin[Nodes] = {};      ///< the value of the graph and its gradient from which it comes
  int segment[Nodes] = {};     ///< the segment in which it lies; of a clone, the segment that recomputes it
  int turn = 0;
  int leaf_value[Leaves] = {}, gradient[Leaves] = {};  ///< by leaf: its value and its gradient, or none
  int earlier[Leaves] = {};  ///< by leaf: the earlier gradient to which the leaf's gradient is added, or none
  int tagged[Tags] = {};     ///< by tag: its value, or none if nothing needs the value
  int outputs[Outputs] = {}, output_count = 0;
  carry carries[Carries] = {};
  int carry_count = 0;
  int first_number = none, number_count = 0;  ///< range of the values that are numbers of update rules
  /// first value of the updates, if updates wait until all gradients are complete; otherwise none
  int first_update = none;
  bool updates_apart = false;  ///< each update is a plan step of its own, so that it can run on a part of its parameter
  /// by the segment whose backward pass needs the recomputation; 0 is the program outside
  recomputation recomputed[Segments] = {};

  /// Returns the work of the operation whose first result is `v`. Returns no work if `v` is another result, so that
  /// each operation counts once.
  constexpr plan_work work_of(int v) const {
    const graphs::operation& by = this->op(v);
    if (this->nodes[v].result_index > 0) return {};
    return {by.flops, recomputes[v] != none ? by.flops : by.recomputed, by.recomputed, by.counts};
  }
};

/// Returns the work of the operations of a schedule's values [begin, end).
template <class Schedule>
constexpr plan_work work_of(const Schedule& s, int begin, int end) {
  plan_work out;
  for (int v = begin; v < end; ++v) out += s.work_of(v);
  return out;
}
template <class Schedule>
constexpr plan_work work_of(const Schedule& s) {
  return work_of(s, 0, s.node_count);
}

}  // namespace cairn::plans
