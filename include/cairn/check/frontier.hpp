// What a model costs by the memory that it may have.
#pragma once

#include "cairn/check/model.hpp"

namespace cairn {

namespace detail {
/// Those that no other one beats, by bytes.
template <std::size_t Count>
constexpr auto unbeaten(std::array<frontier_point, Count> all) {
  struct {
    std::array<frontier_point, Count> of{};
    std::size_t count = 0;
  } out;
  std::ranges::sort(all, [](const frontier_point& a, const frontier_point& b) {
    return a.peak_bytes != b.peak_bytes ? a.peak_bytes < b.peak_bytes : a.recomputed_flops < b.recomputed_flops;
  });
  for (const frontier_point& next : all) {
    if (out.count == 0 || next.recomputed_flops < out.of[out.count - 1].recomputed_flops) out.of[out.count++] = next;
  }
  return out;
}

template <auto Output, class... Options>
struct frontier_of {
  using options = request<Options...>;
  using model = model_of<Output, true, Options...>;
  template <int Blocks>
  using candidates = pass::candidates<model, Blocks, options::threads>;
  using placed = candidates<blocks_in<Options...>>;
  template <int Blocks, int Candidate>
  static constexpr frontier_point point =
      pass::figures_of<pass::compiled<model, pass::marks{Blocks, Candidate}, options::threads>>;

  static constexpr auto all = []<int... I>(std::integer_sequence<int, I...>) {
    return unbeaten(std::array{pass::figures_of<typename placed::unplaced>,
                               pass::figures_of<typename placed::template planned<I>>...});
  }(std::make_integer_sequence<int, placed::count>{});
  static constexpr auto points = [] {
    std::array<frontier_point, all.count> out{};
    std::copy_n(all.of.begin(), all.count, out.begin());
    return out;
  }();
};
inline constexpr std::array<frontier_point, 0> no_frontier{};
/// The points, or the report of the mistake in the model.
template <auto Loss, class... Options>
constexpr const auto& frontier_or_report() {
  if constexpr (runs<Loss, true, Options...>) {
    return frontier_of<Loss, Options...>::points;
  } else {
    static_assert(report_of<decltype(problem_of_program<Loss, true, Options...>())>{}.shown);
    return no_frontier;
  }
}
}  // namespace detail

/// What fit<...> chooses from, by the bytes of the arena: `for (const frontier_point& p : frontier<loss>) ...`, a
/// constant, of which no point is beaten in bytes and in operations by another. Plans all candidates, at most 32.
/// Options are those of the program, for some change the bytes: `frontier<loss, update<adamw_options{}>>`. Rejects what
/// a program does.
template <auto Loss, class... Options>
inline constexpr const auto& frontier = detail::frontier_or_report<Loss, Options...>();

}  // namespace cairn
