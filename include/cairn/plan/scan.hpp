// The plan of a scan's body: one plan for all iterations, forward and backward. Its results and gradients lie at bases
// of their own, so that the scan can point them to the memory of each iteration. The figures of the whole scan are
// constants.
#pragma once

#include "cairn/graph/scan.hpp"
#include "cairn/plan/scan_unread.hpp"

#include <utility>

namespace cairn::plans {

/// The body of a scan as a model. It is differentiated from the cotangents of all its results.
template <class Scan, class Target>
struct body_model {
  struct purpose {
    using frozen = lang::name_list<>;
    static constexpr bool trains = Target::training, updates_parameters = false;
  };
  using real = typename Target::real;
  using sums = graphs::target<typename Target::numbers, 0, true>;
  using facts = graphs::scan_facts<Scan, Target>;
  static constexpr int order = Scan::body::inside.order;
  /// the backward pass recomputes and records several iterations before it reads them
  static constexpr bool records = Scan::policy::segment_length > 0;
  static constexpr result_bases bases_of_results =
      Scan::policy::stores_iterations || records ? result_bases::apart_and_stored : result_bases::apart;
  static constexpr const auto& lowered = facts::g;

  static constexpr auto starts = [] {
    constexpr const auto& graph = lowered;
    struct {
      start of[graph.result_count] = {};
      int count = 0;
    } out;
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      const auto add = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        if constexpr (graph.cotangents[I] != none) {
          out.of[out.count++] = {graph.outputs[I], graph.leaves[graph.cotangents[I]].node,
                                 &graphs::sum_of_two<sums, graphs::iteration_tensor<Scan, I>>};
        }
      };
      (add(std::integral_constant<std::size_t, R>{}), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(graph.result_count)>{});
    return out;
  }();
  static constexpr auto differentiated = [] {
    constexpr const auto& graph = lowered;
    if constexpr (starts.count == 0) {
      return undifferentiated<gradient_size(graph)>(graph);
    } else {
      constexpr graphs::sizes size = [](graphs::sizes s) {
        s.nodes += graph.leaf_count + starts.count;
        s.arguments += 2 * starts.count;
        return s;
      }(gradient_size(graph));
      return differentiate<size>(graph, facts::wanted.by_leaf, starts.of, starts.count, nullptr, facts::summed.by_leaf,
                                 earlier_gradients<lowered>.of);
    }
  }();
  using stored = plans::stored<lowered, differentiated>;
  static constexpr const auto& graph = stored::graph;
  static constexpr const auto& gradient = stored::gradient;
};

/// The plan of a scan's body, and what the scan needs to know of it.
template <class Scan, class Target>
struct body_plan {
  using scan = Scan;
  using model = body_model<Scan, Target>;
  using compiled = plans::compiled<model, 0, 0>;
  using facts = typename model::facts;
  static constexpr bool records = model::records;
  static constexpr const auto& g = model::graph;
  static constexpr const auto& s = compiled::schedule;
  static constexpr const auto& f = compiled::steps;
  static constexpr const auto& addresses = compiled::addresses;

  // First numbers of the bases: see places.hpp.
  static constexpr int first_result_base = leaf_base + g.leaf_count;
  static constexpr int first_gradient_base = first_result_base + g.output_count;
  static constexpr int base_count = first_gradient_base + g.leaf_count;
  /// Returns true if a result is carried to the next iteration: as a carried value, or as a state that the body
  /// updates.
  static constexpr bool is_carried(int result) { return result < Scan::carried_count || result >= g.result_count; }

  /// Use of plan steps and values.
  struct uses {
    /// by plan step: true if the backward pass depends on it, or the next recorded iteration does
    bool needed[f.step_count + 1] = {};
    bool read[compiled::schedule.capacity] = {};  ///< by value: true if the backward pass reads it
  };
  static constexpr uses used = [] {
    uses out;
    bool needed[compiled::schedule.capacity] = {};
    for (int r = 0; r < g.output_count; ++r) needed[f.memory_root[s.outputs[r]]] |= records && is_carried(r);
    for (int i = f.step_count; i-- > 0;) {
      out.needed[i] = i >= f.turn;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) out.needed[i] |= needed[f.members[m]];
      if (!out.needed[i]) continue;
      for_each_read(s, f, compiled::loops, i, [&](int v) {
        needed[v] = true;
        out.read[v] |= i >= f.turn;
      });
    }
    return out;
  }();
  static constexpr bool is_read(int v) { return v != none && used.read[f.memory_root[v]]; }
  /// Returns true if the backward pass reads result `r` at the result's own address. Returns false for a leaf, and for
  /// a value that is also an earlier result.
  static constexpr bool reads_result(int r) {
    return is_read(s.outputs[r]) && addresses.of[f.memory_root[s.outputs[r]]].base == first_result_base + r;
  }

  /// By plan step: the leaf whose gradient is the only purpose of the step. Such a step may be left out if the gradient
  /// is unused. The entry is none if the step also serves another gradient, or a gradient that is copied to its final
  /// address. It is none, too, if the step serves the gradient of a carried value, because the backward pass of the
  /// previous iteration continues from this gradient.
  static constexpr auto sole_gradient = [] {
    struct {
      int of[f.step_count + 1] = {};
    } out;
    constexpr int no_reader = none, several = g.leaf_count;
    const auto add = [](int& readers, int more) { readers = readers == no_reader || readers == more ? more : several; };
    int readers[compiled::schedule.capacity];
    for (int& v : readers) v = no_reader;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (s.gradient[i] == none) continue;
      const int v = f.memory_root[s.gradient[i]];
      const bool in_place = addresses.of[v].base == first_gradient_base + i;
      add(readers[v], i < Scan::carried_count || !in_place ? several : i);
    }
    for (int i = f.step_count; i-- > f.turn;) {
      int& leaf = out.of[i] = no_reader;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        if (const int by = readers[f.members[m]]; by != no_reader) add(leaf, by);
      }
      if (leaf != no_reader) for_each_read(s, f, compiled::loops, i, [&](int v) { add(readers[v], leaf); });
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
        if (addresses.of[f.members[m]].base != first_gradient_base + leaf) continue;
        if (sole_gradient.of[i] != leaf) return false;
        made = true;
      }
    }
    return made;
  }

  /// Returns true if the gradient of `leaf` may be written over the leaf: every plan step of the backward pass that
  /// reads the leaf comes before every plan step that writes at the gradient's base, and no other gradient is a copy of
  /// the leaf.
  static constexpr bool gradient_fits_over_argument(int leaf) {
    const int value = s.leaf_value[leaf] == none ? none : f.memory_root[s.leaf_value[leaf]];
    bool written = false, fits = true;
    for (int i = f.turn; i < f.step_count; ++i) {
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m)
        written |= addresses.of[f.members[m]].base == first_gradient_base + leaf;
      for_each_read(s, f, compiled::loops, i, [&](int v) { fits &= v != value || !written; });
    }
    for (int i = 0; i < addresses.copy_count; ++i) {
      const auto& [copied, to] = addresses.copies[i];
      fits &= to.base < first_gradient_base || f.memory_root[copied] != value;
    }
    return fits;
  }

  /// Carried values: first the carried arguments, then the states that the body updates. `leaf` is the value before the
  /// iteration, and `result` the value after it. `offset` is the value's offset in a snapshot of the carried state. A
  /// policy may store only the part of such a snapshot that the backward pass reads: `stored_offset` is the value's
  /// offset in this part, or none.
  struct carried_value {
    int leaf = 0, result = 0;
    std::int64_t bytes = 0, offset = 0, stored_offset = none;
  };
  static constexpr int carried_count = Scan::carried_count + g.output_count - g.result_count;
  static constexpr auto carried = [] {
    struct {
      carried_value of[carried_count + 1] = {};
      std::int64_t bytes = 0, stored_state_bytes = 0;
    } out;
    int n = 0;
    const auto add = [&](int leaf, int result) {
      carried_value& made = out.of[n++] = {leaf, result, g.leaf_op(leaf).results[0].bytes, out.bytes};
      out.bytes += aligned(made.bytes);
      if (!is_read(s.leaf_value[leaf]) && !reads_result(result)) return;
      made.stored_offset = out.stored_state_bytes;
      out.stored_state_bytes += aligned(made.bytes);
    };
    for (int i = 0; i < Scan::carried_count; ++i) add(i, i);
    int result = g.result_count;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (g.leaves[i].next_value != none) add(i, result++);
    }
    return out;
  }();
  static constexpr std::int64_t state_bytes = carried.bytes;

  template <bool Back>
  static constexpr auto unused = find_unused_offsets<body_plan, Back>();
  /// Bytes of zeros that stand in for missing cotangents. The pullback is computed only if there is a cotangent. If
  /// there can be only one cotangent, none is missing.
  static constexpr std::int64_t zero_bytes = [] {
    std::int64_t most = 0;
    if (facts::cotangent_count == 1) return most;
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
  /// Returns the bytes that `iterations` iterations store for the backward pass: the parts of carried states that it
  /// reads, and the other values that it reads.
  static constexpr std::int64_t stored_bytes(std::int64_t iterations) {
    return (iterations - 1) * carried.stored_state_bytes + iterations * addresses.stored_base_bytes;
  }
  /// Gradients that are summed over many iterations are summed in sections. `at` is, by leaf, the offset in the
  /// workspace of the sum of the open section, or none. A gradient whose type is not the program's real type has no
  /// open sum: it is rounded in each iteration.
  static constexpr auto open_sums = [] {
    struct {
      std::int64_t at[facts::arguments + 1] = {}, bytes = 0;
    } out;
    for (int i = 0; i < facts::arguments; ++i) {
      const auto& made = g.leaf_op(i).results[0].as_float();
      const bool summed = facts::summed.by_leaf[i] && s.gradient[i] != none;
      const bool opens = Scan::iterations > costs::section_terms && summed && made.element.type == dtype::real;
      out.at[i] = opens ? std::exchange(out.bytes, out.bytes + aligned(made.bytes)) : none;
    }
    return out;
  }();

  /// The parts of the workspace, in order:
  /// - `arena`: the arena of the body.
  /// - `states`: two carried states.
  /// - `snapshots`: snapshots that only the backward pass takes.
  /// - `state_gradients`: two gradients of carried states.
  /// - `recorded`: the values that one iteration leaves for the backward pass, if the policy does not store them. If
  ///   several iterations are recorded at once, the values of all of them.
  /// - `unused`: results and gradients that are unused outside the body.
  /// - `zeros`: stand-ins for missing cotangents.
  /// - `sums`: the sums of open sections.
  struct workspace_parts {
    std::int64_t arena, states, snapshots, state_gradients, recorded, unused, zeros, sums;
    constexpr std::int64_t bytes() const {
      return arena + states + snapshots + state_gradients + recorded + unused + zeros + sums;
    }
  };
  static constexpr workspace_parts workspace_parts_of(bool back) {
    using policy = typename Scan::policy;
    if (!back) return {forward_arena, 2 * state_bytes, 0, 0, addresses.stored_base_bytes, unused<false>.bytes, 0, 0};
    workspace_parts out{
        compiled::layout.peak_bytes, 0, 0, 2 * state_bytes, 0, unused<true>.bytes, zero_bytes, open_sums.bytes};
    if constexpr (!policy::stores_iterations) {
      // if whole states are recorded, only the state after the last recorded iteration is kept here
      out.states = (records && carried.stored_state_bytes == state_bytes ? 1 : 2) * state_bytes;
      out.snapshots = policy::backward_slots * state_bytes;
    }
    if constexpr (records) {
      out.recorded = stored_bytes(policy::segment_length);
      out.unused += (policy::segment_length - 1) * (unused<true>.bytes - unused<true>.recorded_begin);
    }
    return out;
  }
  /// Returns the largest workspace of a plan step. The backward pass runs no step of the forward pass if the policy
  /// stores what it reads.
  static constexpr std::int64_t workspace_of_steps(bool back, int threads) {
    std::int64_t most = 0;
    for (int i = back && Scan::policy::stores_iterations ? f.turn : 0; i < (back ? f.step_count : f.turn); ++i)
      most = std::max(most, workspace_of(s, f.steps[i], threads));
    return most;
  }

  static constexpr graphs::scan_figures figures = [] {
    using policy = typename Scan::policy;
    constexpr int iterations = Scan::iterations;
    constexpr loop_counts counts = policy::template counts<iterations>;
    const std::int64_t recorded_iterations = policy::stores_iterations ? 0 : iterations,
                       recomputed_iterations = counts.evaluations - iterations - recorded_iterations;
    graphs::scan_figures out;
    if constexpr (policy::stores_iterations) {
      out.stored_bytes = stored_bytes(iterations);
    } else {
      out.stored_bytes = policy::template slots<iterations> * state_bytes;
    }
    out.forward_flops = iterations * forward.flops;
    out.recomputed_flops = recomputed_iterations * forward.flops + recorded_iterations * recording.flops +
                           iterations * backward.recomputed;
    out.backward_flops =
        recomputed_iterations * forward.flops + recorded_iterations * recording.flops + iterations * backward.flops;
    out.forward = {iterations, 0, 0};
    out.forward += iterations * forward.scan_counts;
    out.backward = {recomputed_iterations + recorded_iterations, counts.saves, counts.loads, open_sums.bytes};
    out.backward += recomputed_iterations * forward.scan_counts;
    out.backward += recorded_iterations * recording.scan_counts;
    out.backward += iterations * backward.scan_counts;
    return out;
  }();
};

}  // namespace cairn::plans

namespace cairn::graphs {

template <class Scan, class Target>
constexpr scan_figures scan_hooks<Scan, Target>::figures() {
  return plans::body_plan<Scan, Target>::figures;
}
template <class Scan, class Target>
constexpr bool scan_hooks<Scan, Target>::backward_reads(int result) {
  return Scan::policy::stores_iterations && plans::body_plan<Scan, Target>::reads_result(result);
}
template <class Scan, class Target>
constexpr bool scan_hooks<Scan, Target>::gradient_fits_over_argument(int leaf) {
  return plans::body_plan<Scan, Target>::gradient_fits_over_argument(leaf);
}
template <class Scan, class Target>
constexpr bool scan_hooks<Scan, Target>::gradient_can_be_left_out(int leaf) {
  return plans::body_plan<Scan, Target>::gradient_can_be_left_out(leaf);
}
template <class Scan, class Target>
template <bool Backward>
constexpr std::int64_t scan_hooks<Scan, Target>::workspace_bytes(int threads) {
  using body_plan = plans::body_plan<Scan, Target>;
  return body_plan::workspace_parts_of(Backward).bytes() + body_plan::workspace_of_steps(Backward, threads);
}

}  // namespace cairn::graphs
