// The figures of a plan, as constants.
#pragma once

#include "cairn/check/segment_names.hpp"
#include "cairn/plan/buckets.hpp"
#include "cairn/plan/counts.hpp"

#include <bit>

namespace cairn {

/// Bytes of a training step.
struct memory_plan {
  std::int64_t stored_bytes;  ///< forward values alive at the turn, without leaves and results
  /// the arena: values of the forward pass, of recomputation and of the backward pass, and workspace of kernels
  std::int64_t peak_bytes;
  std::int64_t parameter_bytes;  ///< the flat block of parameters, each aligned to 64 bytes
  /// gradients of the trained parameters, in the same layout, followed by gradients of the inputs in wrt<...>
  std::int64_t gradient_bytes;
  std::int64_t moment_bytes = 0;     ///< moments that the update rules of update<...> store
  std::int64_t cache_bytes = 0;      ///< caches that a predictor stores from call to call
  std::int64_t elsewhere_bytes = 0;  ///< bytes that keep_snapshots_in needs; they are not part of the total
  /// With microbatch<N> or shards<L>: a second copy of the states that a training step updates. With shards<L>, log2(L)
  /// more copies of gradients and of these states, for the sums of the binary tree.
  std::int64_t division_bytes = 0;
  constexpr std::int64_t total_bytes() const {
    return peak_bytes + parameter_bytes + gradient_bytes + moment_bytes + cache_bytes + division_bytes;
  }
};

/// Messages that one of several processes sends in a training step. All processes send equally much.
struct traffic_plan {
  std::int64_t bytes = 0, messages = 0;
  std::int64_t gradient_bytes = 0;   ///< the part of `bytes` that are gradients
  std::int64_t parameter_bytes = 0;  ///< the part of `bytes` that are updated parameters, with sharded_moments
};

/// Floating-point operations of a training step. A product of {m, k} and {k, n} counts 2 m n k.
struct flop_counts {
  std::int64_t forward, backward, recomputed;
  constexpr std::int64_t total() const { return forward + backward + recomputed; }
};

/// The costs of a segment, and the bytes that it frees.
struct segment_plan {
  std::string_view path;
  std::int64_t boundary_bytes;  ///< bytes of the segment's arguments that are computed values
  std::int64_t interior_bytes;  ///< bytes that would be stored for the backward pass if the segment were a block
  int recomputed_operations;    ///< operations of the graph that run a second time, counted before fusion
  std::int64_t recomputed_flops;
};

/// The plan step at which the arena is fullest, and the arena that the same program has without segments. A segment
/// saves stored bytes, but the values that its backward pass recomputes are alive all at once. Segments can therefore
/// also make an arena larger: `static_assert(!program<loss>::peak().is_above_plain())`.
struct peak_plan {
  std::int64_t peak_bytes;        ///< bytes of the arena, as in memory_plan
  std::int64_t plain_peak_bytes;  ///< bytes of the arena of the same program with `plain`
  std::string_view segment;       ///< path of the innermost segment around the fullest step; empty if there is none
  bool in_backward;               ///< true if the fullest step follows the forward pass
  constexpr bool is_above_plain() const { return peak_bytes > plain_peak_bytes; }
};

namespace detail {
// Each figure is a constant of its own, so that a program needs nothing else of its plan at run time.

/// How the memory of a program that divides its batch goes on behind its block of gradients. First comes a second copy
/// of the states that a training step updates. Gradients and copy make up one block of sums, and a program with shards
/// has more of them, one for each level of the binary tree.
template <class Compiled>
struct block_of_sums {
  static constexpr lang::division division = Compiled::model::purpose::division;
  static constexpr int levels = std::bit_width(static_cast<unsigned>(division.shards)) - 1;
  struct copies {
    std::int64_t offset[Compiled::graph.leaf_count + 1] = {};  ///< by leaf, behind the gradients
    std::int64_t bytes = 0;
  };
  static constexpr copies states = [] {
    copies out;
    for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
      out.offset[i] = out.bytes;
      if (division.divides() && Compiled::graph.leaves[i].next_value != graphs::none)
        out.bytes += plans::aligned(Compiled::graph.leaf_op(i).results[0].bytes);
    }
    return out;
  }();
  static constexpr std::int64_t gradient_bytes = Compiled::addresses.gradient_bytes;
  static constexpr std::int64_t bytes = gradient_bytes + states.bytes;
  static constexpr std::int64_t bytes_behind_gradients = states.bytes + levels * bytes;
  /// The values that are replaced by their means over all shards. A program with such values has a process for each
  /// shard, because the shards of one process run one after another.
  static constexpr auto averages = plans::find_averaged_values<Compiled>();
  /// Returns true if `processes` processes can share the shards.
  static constexpr bool can_be_shared(int processes) {
    if (averages.count > 0 && processes > 1) return processes == division.shards;
    return processes >= 1 && processes <= division.shards && std::has_single_bit(static_cast<unsigned>(processes));
  }
  /// Returns how many blocks one of `processes` processes needs for its own shards: one for each level of their tree,
  /// and block 0.
  static constexpr int blocks_of(int processes) {
    return 1 + std::countr_zero(static_cast<unsigned>(division.shards / processes));
  }
};

/// Bytes of the arena of a program, which also holds the values of which its counts are computed.
template <class Compiled>
constexpr std::int64_t arena_bytes() {
  if constexpr (plans::number_of_counts(Compiled::graph) == 0) return Compiled::layout.peak_bytes;
  else return std::max(Compiled::layout.peak_bytes, plans::counts_of<Compiled>::layout.peak_bytes);
}

template <class Compiled>
inline constexpr memory_plan memory_in{
    Compiled::slots.stored_bytes,        arena_bytes<Compiled>(),
    Compiled::addresses.parameter_bytes, Compiled::addresses.gradient_bytes,
    Compiled::addresses.moment_bytes,    Compiled::addresses.cache_bytes,
    Compiled::addresses.elsewhere_bytes, block_of_sums<Compiled>::bytes_behind_gradients};

/// Returns the largest number of moments that an update rule of a program keeps of a parameter.
template <class Compiled>
constexpr int most_moments_in() {
  int most = 0;
  for (int i = 0; i < Compiled::schedule.carry_count; ++i)
    most = std::max(most, Compiled::schedule.carries[i].moment + 1);
  return most;
}

/// The buckets of a program with shards, and what processes exchange in addition to them, in bytes.
template <class Compiled>
struct exchanged {
  using sums = block_of_sums<Compiled>;
  static constexpr auto buckets = plans::find_buckets<Compiled>();
  /// the gradients that are in no bucket, and the states behind them
  static constexpr std::int64_t rest_bytes = sums::bytes - buckets.bytes;
  /// the outputs, and the number of processes that ask to stop
  static constexpr std::int64_t output_bytes =
      (Compiled::graph.result_count + 1) * static_cast<std::int64_t>(sizeof(typename Compiled::real));
  static constexpr std::int64_t count_bytes =
      plans::number_of_counts(Compiled::graph) * static_cast<std::int64_t>(sizeof(double));
  /// a hash that all processes compare
  static constexpr std::int64_t word_bytes = sizeof(std::uint64_t);
  /// with sharded_moments: the norms of all blocks of the gradients
  static constexpr std::int64_t norm_bytes =
      sums::division.shards_moments ? buckets.count * sums::division.shards * static_cast<std::int64_t>(sizeof(double))
                                    : 0;
  /// Bytes for what another process sends: the sums of buckets, numbers that are in no bucket, and one of the means
  /// that are sent before the gradients.
  static constexpr std::int64_t received_bytes = [] {
    std::int64_t most = 0;
    for (int i = 0; i < sums::averages.count; ++i)
      most = std::max(most, Compiled::schedule.result(sums::averages.of[i].value).bytes);
    return buckets.received_bytes + rest_bytes + plans::aligned(most);
  }();
  /// Returns the bytes of the parameters whose gradients have `gradient_bytes` bytes.
  static constexpr std::int64_t parameter_bytes(std::int64_t gradient_bytes) {
    return gradient_bytes / (sums::gradient_bytes / Compiled::addresses.trained_bytes);
  }
};

/// Returns the bytes of a program in one of `processes` processes. With sharded_moments, each process keeps the same
/// number of moments for each number of its part of the parameters.
template <class Compiled>
constexpr memory_plan memory_among(int processes) {
  using sums = block_of_sums<Compiled>;
  memory_plan out = memory_in<Compiled>;
  if (processes == 1) return out;
  out.division_bytes =
      sums::blocks_of(processes) * sums::bytes - sums::gradient_bytes + exchanged<Compiled>::received_bytes;
  if (sums::division.shards_moments)
    out.moment_bytes =
        most_moments_in<Compiled>() * plans::bytes_of_own_sums(sums::gradient_bytes, sums::division.shards, processes);
  return out;
}

template <class Compiled>
constexpr traffic_plan traffic_among(int processes) {
  using all = exchanged<Compiled>;
  const int rounds = std::countr_zero(static_cast<unsigned>(processes));
  traffic_plan out;
  for (int i = 0; i < all::buckets.count; ++i) {
    const plans::bucket& one = all::buckets.of[i];
    const std::int64_t of_others = one.bytes - one.bytes / processes;
    out.messages += one.is_cut ? 2 * rounds : rounds;
    if (all::sums::division.shards_moments) {
      out.gradient_bytes += of_others;
      out.parameter_bytes += all::parameter_bytes(of_others);
    } else {
      out.gradient_bytes += one.is_cut ? 2 * of_others : rounds * one.bytes;
    }
  }
  out.bytes = out.gradient_bytes + out.parameter_bytes;
  for (const std::int64_t whole :
       {all::rest_bytes, all::output_bytes, all::count_bytes, all::word_bytes, all::norm_bytes}) {
    out.messages += whole > 0 ? rounds : 0;
    out.bytes += rounds * whole;
  }
  out.gradient_bytes += rounds * (all::sums::gradient_bytes - all::buckets.bytes);
  for (int i = 0; i < all::sums::averages.count; ++i) {
    out.messages += rounds;
    out.bytes += rounds * Compiled::schedule.result(all::sums::averages.of[i].value).bytes;
  }
  return out;
}

/// Returns the first value of the schedule that a training step computes once, behind those of each microbatch.
template <class Schedule>
constexpr int end_of_microbatch(const Schedule& s) {
  return s.first_update == graphs::none ? s.node_count : s.first_update;
}

template <class Compiled>
inline constexpr flop_counts flops_in = [] {
  const auto& s = Compiled::schedule;
  const int end = end_of_microbatch(s);
  const plans::plan_work forward = plans::work_of(s, 0, s.turn), backward = plans::work_of(s, s.turn, end);
  const std::int64_t times = Compiled::model::purpose::division.count();
  return flop_counts{times * (forward.flops - forward.recomputed),
                     times * (backward.flops - backward.recomputed) + plans::work_of(s, end, s.node_count).flops,
                     times * (forward.recomputed + backward.recomputed)};
}();

template <class Compiled>
inline constexpr loop_counts loops_in =
    Compiled::model::purpose::division.count() * plans::work_of(Compiled::schedule).scan_counts;

template <class Compiled>
inline constexpr auto names_in = [] {
  std::array<char, static_cast<std::size_t>(Compiled::graph.character_count) + 1> out{};
  for (std::size_t i = 0; i + 1 < out.size(); ++i) out[i] = Compiled::graph.names[i];
  return out;
}();

template <class Compiled>
inline constexpr auto segments_in = [] {
  std::array<segment_plan, static_cast<std::size_t>(Compiled::segments.count - 1)> out{};
  for (std::size_t i = 1; i <= out.size(); ++i) {
    const auto& again = Compiled::schedule.recomputed[i];
    out[i - 1] = {segment_names<Compiled>::of(static_cast<int>(i)), Compiled::costs.boundary_bytes[i],
                  Compiled::costs.interior_bytes[i], again.operations, again.flops};
  }
  return out;
}();

/// Plans the program a second time, without segments. This takes time to compile, so only programs that call peak() do
/// it.
template <class Compiled>
inline constexpr peak_plan peak_in = [] {
  using plain = plans::compiled<typename Compiled::model, plans::all_levels, Compiled::threads>;
  constexpr const auto& f = Compiled::steps;
  constexpr const auto& live = Compiled::slots.bytes_at_step;
  const auto fullest = std::max_element(live, live + f.step_count) - live;
  const int origin = Compiled::schedule.origin[f.members[f.steps[fullest].loop_begin]];
  return peak_plan{Compiled::layout.peak_bytes, plain::layout.peak_bytes,
                   segment_names<Compiled>::of(Compiled::segments.of[origin]), fullest >= f.turn};
}();
}  // namespace detail

}  // namespace cairn
