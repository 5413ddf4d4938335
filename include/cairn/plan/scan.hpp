// The plan of a scan's body: one plan for all iterations, forward and backward. Its results and gradients lie at bases
// of their own, so that the scan can point them to the memory of each iteration. The figures of the whole scan are
// constants.
#pragma once

#include "cairn/graph/scan.hpp"
#include "cairn/plan/scan_unread.hpp"

#include <utility>

namespace cairn::plan {

/// The body of a scan as a model. It is differentiated from the cotangents of all its results.
template <class Loop, class Target>
struct loop_model {
  struct purpose {
    using frozen = cairn::detail::name_list<>;
    static constexpr bool trains = Target::training, updates_parameters = false;
  };
  using real = typename Target::real;
  using sums = graph::target<typename Target::numbers, 0, true>;
  using of = graph::scan_facts<Loop, Target>;
  static constexpr int order = Loop::body::inside.order;
  /// the backward pass recomputes and records several iterations before it reads them
  static constexpr bool records = Loop::policy::segment_length > 0;
  static constexpr placing placed =
      Loop::policy::stores_iterations || records ? placing::apart_and_kept : placing::apart;
  static constexpr const auto& graph = of::g;

  static constexpr auto starts = [] {
    struct {
      start of[graph.result_count] = {};
      int count = 0;
    } out;
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      const auto add = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        if constexpr (graph.cotangents[I] != none) {
          out.of[out.count++] = {graph.outputs[I], graph.leaves[graph.cotangents[I]].node,
                                 &graph::sum_of_two<sums, graph::iteration_tensor<Loop, I>>};
        }
      };
      (add(std::integral_constant<std::size_t, R>{}), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(graph.result_count)>{});
    return out;
  }();
  static constexpr auto gradient = [] {
    if constexpr (starts.count == 0) {
      return undifferentiated<gradient_size(graph)>(graph);
    } else {
      constexpr graph::sizes size = [](graph::sizes s) {
        s.nodes += graph.leaf_count + starts.count;
        s.arguments += 2 * starts.count;
        return s;
      }(gradient_size(graph));
      return differentiate<size>(graph, of::wanted.by_leaf, starts.of, starts.count, nullptr, of::summed.by_leaf,
                                 earlier_gradients<graph>.of);
    }
  }();
};

/// The plan of a scan's body, and what the scan needs to know of it.
template <class Loop, class Target>
struct loop_plan {
  using loop = Loop;
  using model = loop_model<Loop, Target>;
  using compiled = plan::compiled<model, 0, 0>;
  using of = typename model::of;
  static constexpr bool records = model::records;
  static constexpr const auto& g = model::graph;
  static constexpr const auto& s = compiled::schedule;
  static constexpr const auto& f = compiled::steps;
  static constexpr const auto& places = compiled::places;

  // First numbers of the bases: see places.hpp.
  static constexpr int result_base = leaf_base + g.leaf_count;
  static constexpr int gradient_base = result_base + g.output_count;
  static constexpr int base_count = gradient_base + g.leaf_count;
  /// Returns true if a result is carried to the next iteration: as a carried value, or as a state that the body
  /// updates.
  static constexpr bool is_carried(int result) { return result < Loop::carried_count || result >= g.result_count; }

  /// Use of plan steps and values.
  struct uses {
    /// by plan step: true if the backward pass depends on it, or the next recorded iteration does
    bool needed[f.step_count + 1] = {};
    bool read[compiled::schedule.capacity] = {};  ///< by value: true if the backward pass reads it
  };
  static constexpr uses used = [] {
    uses out;
    bool asked[compiled::schedule.capacity] = {};
    for (int r = 0; r < g.output_count; ++r) asked[f.root[s.outputs[r]]] |= records && is_carried(r);
    for (int i = f.step_count; i-- > 0;) {
      out.needed[i] = i >= f.turn;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) out.needed[i] |= asked[f.members[m]];
      if (!out.needed[i]) continue;
      for_each_read(s, f, compiled::loops, i, [&](int v) {
        asked[v] = true;
        out.read[v] |= i >= f.turn;
      });
    }
    return out;
  }();
  static constexpr bool is_read(int v) { return v != none && used.read[f.root[v]]; }
  /// Returns true if the backward pass reads result `r` at the result's own address. Returns false for a leaf, and for
  /// a value that is also an earlier result.
  static constexpr bool reads_result(int r) {
    return is_read(s.outputs[r]) && places.of[f.root[s.outputs[r]]].base == result_base + r;
  }

  /// By plan step: the leaf whose gradient is the only purpose of the step, or none. Such a step may be left out if the
  /// gradient is unused. Steps that lead to gradients of carried values have none, because the backward pass of the
  /// previous iteration continues from these.
  static constexpr auto only_for = [] {
    struct {
      int of[f.step_count + 1] = {};
    } out;
    constexpr int nobody = none, several = g.leaf_count;
    const auto add = [](int& readers, int more) { readers = readers == nobody || readers == more ? more : several; };
    int readers[compiled::schedule.capacity];
    for (int& v : readers) v = nobody;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (s.gradient[i] == none) continue;
      const int v = f.root[s.gradient[i]];
      const bool in_place = places.of[v].base == gradient_base + i;
      add(readers[v], i < Loop::carried_count || !in_place ? several : i);
    }
    for (int i = f.step_count; i-- > f.turn;) {
      int& leaf = out.of[i] = nobody;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        if (const int by = readers[f.members[m]]; by != nobody) add(leaf, by);
      }
      if (leaf != nobody) for_each_read(s, f, compiled::loops, i, [&](int v) { add(readers[v], leaf); });
    }
    for (int& leaf : out.of) leaf = leaf == several ? none : leaf;
    return out;
  }();
  /// Returns true if the gradient of `leaf` can be left out. For this, only plan steps with no other purpose may write
  /// at the gradient's base. This includes values over which the gradient is written.
  static constexpr bool gradient_can_be_left_out(int leaf) {
    if (s.gradient[leaf] == none) return true;
    bool made = false;
    for (int i = f.turn; i < f.step_count; ++i) {
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        if (places.of[f.members[m]].base != gradient_base + leaf) continue;
        if (only_for.of[i] != leaf) return false;
        made = true;
      }
    }
    return made;
  }

  /// Carried values: first the carried arguments, then the states that the body updates. `leaf` is the value before the
  /// iteration, and `result` the value after it. `offset` is the value's offset in a snapshot of the carried state. A
  /// policy may store only the part of such a snapshot that the backward pass reads: `kept` is the value's offset in
  /// this part, or none.
  struct carried_value {
    int leaf = 0, result = 0;
    std::int64_t bytes = 0, offset = 0, kept = none;
  };
  static constexpr int carried_count = Loop::carried_count + g.output_count - g.result_count;
  static constexpr auto carried = [] {
    struct {
      carried_value of[carried_count] = {};
      std::int64_t bytes = 0, kept_bytes = 0;
    } out;
    int n = 0;
    const auto add = [&](int leaf, int result) {
      carried_value& made = out.of[n++] = {leaf, result, g.leaf_op(leaf).results[0].bytes, out.bytes};
      out.bytes += aligned(made.bytes);
      if (!is_read(s.leaf_value[leaf]) && !reads_result(result)) return;
      made.kept = out.kept_bytes;
      out.kept_bytes += aligned(made.bytes);
    };
    for (int i = 0; i < Loop::carried_count; ++i) add(i, i);
    int result = g.result_count;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (g.leaves[i].next_value != none) add(i, result++);
    }
    return out;
  }();
  static constexpr std::int64_t state_bytes = carried.bytes;

  template <bool Back>
  static constexpr auto unread = place_unread<loop_plan, Back>();
  /// Bytes of zeros that stand in for missing cotangents.
  static constexpr std::int64_t zero_bytes = [] {
    std::int64_t most = 0;
    for (int r = 0; r < g.result_count; ++r) {
      if (g.cotangents[r] != none) most = std::max(most, g.result(g.outputs[r]).bytes);
    }
    return aligned(most);
  }();

  /// Returns the work of the plan steps [begin, end). If `needed` is true, only steps that the backward pass needs
  /// count.
  static constexpr plan_work work_of(int begin, int end, bool needed) {
    plan_work out;
    for (int i = begin; i < end; ++i) {
      for (int m = f.steps[i].begin; (!needed || used.needed[i]) && m < f.steps[i].end; ++m)
        out += s.work_of(f.members[m]);
    }
    return out;
  }
  static constexpr plan_work forward = work_of(0, f.turn, false), recording = work_of(0, f.turn, true),
                             backward = work_of(f.turn, f.step_count, false);

  /// Bytes of the arena that the forward pass needs.
  static constexpr std::int64_t forward_arena = [] {
    std::int64_t bytes = 0;
    for (int i = 0; i < compiled::slots.count; ++i) {
      const slot& one = compiled::slots.all[i];
      if (one.first < f.turn) bytes = std::max(bytes, compiled::packing.begin[i] + one.bytes);
    }
    return bytes;
  }();
  /// Returns the bytes that `steps` iterations store for the backward pass: the parts of carried states that it reads,
  /// and the other values that it reads.
  static constexpr std::int64_t kept_bytes(std::int64_t steps) {
    return (steps - 1) * carried.kept_bytes + steps * places.kept_bytes;
  }
  /// Gradients that are summed over many iterations are summed in sections. `at` is, by leaf, the offset in the
  /// workspace of the sum of the open section, or none. A gradient whose type is not the program's real type has no
  /// open sum: it is rounded in each iteration.
  static constexpr auto open_sums = [] {
    struct {
      std::int64_t at[of::arguments + 1] = {}, bytes = 0;
    } out;
    for (int i = 0; i < of::arguments; ++i) {
      const auto& made = g.leaf_op(i).results[0].as_float();
      const bool summed = of::summed.by_leaf[i] && s.gradient[i] != none;
      const bool opens = Loop::iterations > section_terms && summed && made.element.type == dtype::real;
      out.at[i] = opens ? std::exchange(out.bytes, out.bytes + aligned(made.bytes)) : none;
    }
    return out;
  }();

  /// The parts of the workspace, in order:
  /// - `arena`: the arena of the body.
  /// - `states`: two carried states.
  /// - `snapshots`: snapshots that only the backward pass takes.
  /// - `pulled`: two gradients of carried states.
  /// - `kept`: the values that one iteration leaves for the backward pass, if the policy does not store them. If
  ///   several iterations are recorded at once, the values of all of them.
  /// - `unread`: results and gradients that are unused outside the body.
  /// - `zeros`: stand-ins for missing cotangents.
  /// - `sums`: the sums of open sections.
  struct parts {
    std::int64_t arena, states, snapshots, pulled, kept, unread, zeros, sums;
    constexpr std::int64_t bytes() const { return arena + states + snapshots + pulled + kept + unread + zeros + sums; }
  };
  static constexpr parts parts_of(bool back) {
    using policy = typename Loop::policy;
    if (!back) return {forward_arena, 2 * state_bytes, 0, 0, places.kept_bytes, unread<false>.bytes, 0, 0};
    parts out{compiled::layout.peak_bytes, 0, 0, 2 * state_bytes, 0, unread<true>.bytes, zero_bytes, open_sums.bytes};
    if constexpr (!policy::stores_iterations) {
      // 1: the state behind the recorded iterations; `kept` has all earlier states
      out.states = (records && carried.kept_bytes == state_bytes ? 1 : 2) * state_bytes;
      out.snapshots = policy::backward_slots * state_bytes;
    }
    if constexpr (records) {
      out.kept = kept_bytes(policy::segment_length);
      out.unread += (policy::segment_length - 1) * (unread<true>.bytes - unread<true>.kept);
    }
    return out;
  }
  static constexpr std::int64_t scratch_of_steps(bool back, int threads) {
    std::int64_t most = 0;
    for (int i = 0; i < (back ? f.step_count : f.turn); ++i) most = std::max(most, scratch_of(s, f.steps[i], threads));
    return most;
  }

  static constexpr scan_figures figures = [] {
    using policy = typename Loop::policy;
    constexpr int steps = Loop::iterations;
    constexpr loop_counts counts = policy::template counts<steps>;
    const std::int64_t recorded = policy::stores_iterations ? 0 : steps, again = counts.evaluations - steps - recorded;
    scan_figures out;
    if constexpr (policy::stores_iterations) {
      out.stored_bytes = kept_bytes(steps);
    } else {
      out.stored_bytes = policy::template slots<steps> * state_bytes;
    }
    out.forward_flops = steps * forward.flops;
    out.recomputed_flops = again * forward.flops + recorded * recording.flops + steps * backward.recomputed;
    out.backward_flops = again * forward.flops + recorded * recording.flops + steps * backward.flops;
    out.forward = {steps, 0, 0};
    out.forward += steps * forward.loops;
    out.backward = {again + recorded, counts.saves, counts.loads, open_sums.bytes};
    out.backward += again * forward.loops;
    out.backward += recorded * recording.loops;
    out.backward += steps * backward.loops;
    return out;
  }();
};

}  // namespace cairn::plan

namespace cairn {

template <class Loop, class Target>
constexpr scan_figures scan_hooks<Loop, Target>::figures() {
  return plan::loop_plan<Loop, Target>::figures;
}
template <class Loop, class Target>
constexpr bool scan_hooks<Loop, Target>::backward_reads(int result) {
  return Loop::policy::stores_iterations && plan::loop_plan<Loop, Target>::reads_result(result);
}
template <class Loop, class Target>
constexpr bool scan_hooks<Loop, Target>::backward_reads_argument(int leaf) {
  using scan_plan = plan::loop_plan<Loop, Target>;
  return scan_plan::is_read(scan_plan::s.leaf_value[leaf]);
}
template <class Loop, class Target>
constexpr bool scan_hooks<Loop, Target>::gradient_can_be_left_out(int leaf) {
  return plan::loop_plan<Loop, Target>::gradient_can_be_left_out(leaf);
}
template <class Loop, class Target>
template <bool Backward>
constexpr std::int64_t scan_hooks<Loop, Target>::workspace_bytes(int threads) {
  using scan_plan = plan::loop_plan<Loop, Target>;
  return scan_plan::parts_of(Backward).bytes() + scan_plan::scratch_of_steps(Backward, threads);
}

}  // namespace cairn
