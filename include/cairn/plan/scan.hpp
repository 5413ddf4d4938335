// The plan of a loop's body: one for all steps, forward and backward. Its results and gradients lie at bases of their
// own, so that the loop points them to where each step's belong. What it says of the whole loop are constants.
#pragma once

#include "cairn/graph/scan.hpp"
#include "cairn/plan/scan_unread.hpp"

#include <utility>

namespace cairn::pass {

/// The body of a loop as a model: differentiated from the cotangents of all its results.
template <class Loop, class Target>
struct loop_model {
  struct purpose {
    using frozen = cairn::detail::name_list<>;
    static constexpr bool trains = Target::training, updates_parameters = false;
  };
  using real = typename Target::real;
  using sums = ir::target<typename Target::numbers, 0, true>;
  using of = ir::loop_of<Loop, Target>;
  static constexpr int order = Loop::body::inside.order;
  static constexpr bool records = Loop::policy::recorded_at_once > 0;  ///< backward evaluates segments, before it reads
  static constexpr placing placed =
      Loop::policy::keeps_steps || records ? placing::apart_and_kept : placing::apart;
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
                                 &ir::sum_of_two<sums, ir::step_tensor<Loop, I>>};
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
      constexpr ir::sizes size = [](ir::sizes s) {
        s.nodes += graph.leaf_count + starts.count;
        s.arguments += 2 * starts.count;
        return s;
      }(gradient_size(graph));
      return differentiate<size>(graph, of::wanted.of, starts.of, starts.count, nullptr, of::added_up.of,
                                 earlier_gradients<graph>.of);
    }
  }();
};

/// The plan, and what a loop needs to know of it.
template <class Loop, class Target>
struct loop_plan {
  using loop = Loop;
  using model = loop_model<Loop, Target>;
  using compiled = pass::compiled<model, 0, 0>;
  using of = typename model::of;
  static constexpr bool records = model::records;
  static constexpr const auto& g = model::graph;
  static constexpr const auto& s = compiled::schedule;
  static constexpr const auto& f = compiled::steps;
  static constexpr const auto& places = compiled::places;

  // Where bases are: see places.hpp.
  static constexpr int result_base = leaf_base + g.leaf_count;
  static constexpr int gradient_base = result_base + g.output_count;
  static constexpr int base_count = gradient_base + g.leaf_count;
  /// Whether a result is carried on: as a value, or as a state that the body updates.
  static constexpr bool is_carried(int result) { return result < Loop::carried_count || result >= g.result_count; }

  /// What steps of the plan read and write.
  struct uses {
    bool needed[f.step_count + 1] = {};           ///< by step: backward depends on it, or the next step of a segment
    bool read[compiled::schedule.capacity] = {};  ///< by value: backward reads it
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
  /// Whether backward reads a result where it belongs: not a leaf, nor the same value as an earlier result.
  static constexpr bool reads_result(int r) {
    return is_read(s.outputs[r]) && places.of[f.root[s.outputs[r]]].base == result_base + r;
  }

  /// By step of backward: the leaf of which it makes the gradient, where it makes nothing else: it may be left out
  /// where nobody reads that. Or none; so the steps that lead to what is carried, which the step before goes on from.
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
  /// Whether such steps alone write where the gradient of a leaf belongs: what it is written over, too.
  static constexpr bool can_be_left_out(int leaf) {
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

  /// What is carried: arguments first, then states that the body updates. Each as a leaf and as the result that takes
  /// its place; where it lies in a state; and where in what is kept of a state by who keeps what backward reads.
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
      carried_value& made = out.of[n++] = {leaf, result, g.leaf_op(leaf).made->bytes, out.bytes};
      out.bytes += aligned(made.bytes);
      if (!is_read(s.leaf_value[leaf]) && !reads_result(result)) return;
      made.kept = out.kept_bytes;
      out.kept_bytes += aligned(made.bytes);
    };
    for (int i = 0; i < Loop::carried_count; ++i) add(i, i);
    int result = g.result_count;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (g.leaves[i].after != none) add(i, result++);
    }
    return out;
  }();
  static constexpr std::int64_t state_bytes = carried.bytes;

  template <bool Back>
  static constexpr auto unread = place_unread<loop_plan, Back>();
  /// Bytes that stand in for cotangents that there are none of.
  static constexpr std::int64_t zero_bytes = [] {
    std::int64_t most = 0;
    for (int r = 0; r < g.result_count; ++r) {
      if (g.cotangents[r] != none) most = std::max(most, g.made(g.outputs[r]).bytes);
    }
    return aligned(most);
  }();

  /// Work of the steps [begin, end) of the plan; of those alone that backward needs.
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

  /// How many bytes of the arena forward needs.
  static constexpr std::int64_t forward_arena = [] {
    std::int64_t bytes = 0;
    for (int i = 0; i < compiled::slots.count; ++i) {
      const slot& one = compiled::slots.all[i];
      if (one.first < f.turn) bytes = std::max(bytes, compiled::packing.begin[i] + one.bytes);
    }
    return bytes;
  }();
  /// What so many steps leave for backward: of states what it reads, and the rest.
  static constexpr std::int64_t kept_bytes(std::int64_t steps) {
    return (steps - 1) * carried.kept_bytes + steps * places.kept_bytes;
  }
  /// Gradients that are summed over many steps are summed in sections: by leaf, where in working space the sum of the
  /// open section lies, or none. Gradients of other types than the program's are rounded step by step.
  static constexpr auto open_sums = [] {
    struct {
      std::int64_t at[of::arguments + 1] = {}, bytes = 0;
    } out;
    for (int i = 0; i < of::arguments; ++i) {
      const auto& made = g.leaf_op(i).made->in_floats();
      const bool summed = of::added_up.of[i] && s.gradient[i] != none;
      const bool opens = Loop::steps > section_terms && summed && made.element.type == dtype::real;
      out.at[i] = opens ? std::exchange(out.bytes, out.bytes + aligned(made.bytes)) : none;
    }
    return out;
  }();

  /// The parts of working space, in order: the arena; two states, snapshots of backward alone, and two gradients of
  /// states; what a step leaves for backward, where nobody keeps it, or all of a segment; stand-ins; and open sums.
  struct parts {
    std::int64_t arena, states, snapshots, pulled, kept, unread, zeros, sums;
    constexpr std::int64_t bytes() const { return arena + states + snapshots + pulled + kept + unread + zeros + sums; }
  };
  static constexpr parts parts_of(bool back) {
    using policy = typename Loop::policy;
    if (!back) return {forward_arena, 2 * state_bytes, 0, 0, places.kept_bytes, unread<false>.bytes, 0, 0};
    parts out{compiled::layout.peak_bytes, 0, 0, 2 * state_bytes, 0, unread<true>.bytes, zero_bytes, open_sums.bytes};
    if constexpr (!policy::keeps_steps) {
      out.states = (records && carried.kept_bytes == state_bytes ? 1 : 2) * state_bytes;  // 1: the one behind a segment
      out.snapshots = policy::slots_of_backward * state_bytes;
    }
    if constexpr (records) {
      out.kept = kept_bytes(policy::recorded_at_once);
      out.unread += (policy::recorded_at_once - 1) * (unread<true>.bytes - unread<true>.kept);
    }
    return out;
  }
  static constexpr std::int64_t scratch_of_steps(bool back, int threads) {
    std::int64_t most = 0;
    for (int i = 0; i < (back ? f.step_count : f.turn); ++i) most = std::max(most, scratch_of(s, f.steps[i], threads));
    return most;
  }

  static constexpr loop_figures figures = [] {
    using policy = typename Loop::policy;
    constexpr int steps = Loop::steps;
    constexpr loop_counts counts = policy::template counts<steps>;
    const std::int64_t recorded = policy::keeps_steps ? 0 : steps, again = counts.evaluations - steps - recorded;
    loop_figures out;
    if constexpr (policy::keeps_steps) {
      out.kept_bytes = kept_bytes(steps);
    } else {
      out.kept_bytes = policy::template slots<steps> * state_bytes;
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

}  // namespace cairn::pass

namespace cairn {

template <class Loop, class Target>
constexpr loop_figures loop_hooks<Loop, Target>::figures() {
  return pass::loop_plan<Loop, Target>::figures;
}
template <class Loop, class Target>
constexpr bool loop_hooks<Loop, Target>::backward_reads(int result) {
  return Loop::policy::keeps_steps && pass::loop_plan<Loop, Target>::reads_result(result);
}
template <class Loop, class Target>
constexpr bool loop_hooks<Loop, Target>::backward_reads_argument(int leaf) {
  using plan = pass::loop_plan<Loop, Target>;
  return plan::is_read(plan::s.leaf_value[leaf]);
}
template <class Loop, class Target>
constexpr bool loop_hooks<Loop, Target>::can_be_left_out(int leaf) {
  return pass::loop_plan<Loop, Target>::can_be_left_out(leaf);
}
template <class Loop, class Target>
template <bool Backward>
constexpr std::int64_t loop_hooks<Loop, Target>::scratch(int threads) {
  using plan = pass::loop_plan<Loop, Target>;
  return plan::parts_of(Backward).bytes() + plan::scratch_of_steps(Backward, threads);
}

}  // namespace cairn
