// The figures of a plan, as constants.
#pragma once

#include "cairn/check/segment_names.hpp"

namespace cairn {

/// Bytes of a step.
struct memory_plan {
  std::int64_t stored_bytes;         ///< forward values alive at the turn, without leaves and results
  std::int64_t peak_bytes;           ///< the arena: values of forward, recomputation and backward, and kernel scratch
  std::int64_t parameter_bytes;      ///< the flat block of parameters, each aligned to 64 bytes
  std::int64_t gradient_bytes;       ///< of the trained parameters, in the same layout; then of inputs in wrt<...>
  std::int64_t moment_bytes = 0;     ///< what the rules of update<...> keep of parameters
  std::int64_t cache_bytes = 0;      ///< what a predictor keeps from call to call
  std::int64_t elsewhere_bytes = 0;  ///< what keep_snapshots_in needs, which is no part of the total
  constexpr std::int64_t total_bytes() const {
    return peak_bytes + parameter_bytes + gradient_bytes + moment_bytes + cache_bytes;
  }
};

/// Floating-point operations of a step; a product of {m, k} and {k, n} counts 2 m n k.
struct flop_counts {
  std::int64_t forward, backward, recomputed;
  constexpr std::int64_t total() const { return forward + backward + recomputed; }
};

/// What a segment costs and frees.
struct segment_plan {
  std::string_view path;
  std::int64_t boundary_bytes;  ///< arguments that are computed values
  std::int64_t interior_bytes;  ///< what would be kept for backward if the segment were a block
  int recomputed_operations;    ///< graph operations executed a second time, before fusion
  std::int64_t recomputed_flops;
};

/// Where the arena of a step is fullest, next to the arena that the same program has without segments. A segment saves
/// stored bytes, but the values that its backward pass recomputes are alive all at once, so segments can also make an
/// arena larger: `static_assert(!program<loss>::peak().is_above_plain())`.
struct peak_plan {
  std::int64_t peak_bytes;        ///< the arena, as in memory_plan
  std::int64_t plain_peak_bytes;  ///< the arena of the same program with `plain`
  std::string_view segment;       ///< path of the innermost segment around the fullest step; empty where there is none
  bool in_backward;               ///< whether the fullest step follows the forward pass
  constexpr bool is_above_plain() const { return peak_bytes > plain_peak_bytes; }
};

namespace detail {
// As constants of their own, so that a program needs nothing else of its plan at run time.

template <class Compiled>
inline constexpr memory_plan memory_in{Compiled::slots.stored_bytes,     Compiled::layout.peak_bytes,
                                       Compiled::places.parameter_bytes, Compiled::places.gradient_bytes,
                                       Compiled::places.moment_bytes,    Compiled::places.cache_bytes,
                                       Compiled::places.elsewhere_bytes};

template <class Compiled>
inline constexpr flop_counts flops_in = [] {
  const auto& s = Compiled::schedule;
  const pass::plan_work forward = work_of(s, 0, s.turn), backward = work_of(s, s.turn, s.node_count);
  return flop_counts{forward.flops - forward.recomputed, backward.flops - backward.recomputed,
                     forward.recomputed + backward.recomputed};
}();

template <class Compiled>
inline constexpr loop_counts loops_in = work_of(Compiled::schedule).loops;

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

/// Plans the program a second time, without segments. Only programs that are asked for it take that time to compile.
template <class Compiled>
inline constexpr peak_plan peak_in = [] {
  using plain = pass::compiled<typename Compiled::model, pass::all_blocks, Compiled::threads>;
  constexpr const auto& f = Compiled::steps;
  constexpr const auto& live = Compiled::slots.live;
  const auto fullest = std::max_element(live, live + f.step_count) - live;
  const int origin = Compiled::schedule.origin[f.members[f.steps[fullest].code]];
  return peak_plan{Compiled::layout.peak_bytes, plain::layout.peak_bytes,
                   segment_names<Compiled>::of(Compiled::segments.of[origin]), fullest >= f.turn};
}();
}  // namespace detail

}  // namespace cairn
