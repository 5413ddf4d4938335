// The frontier of a model: its costs as a function of the memory that it may use.
#pragma once

#include "cairn/check/model.hpp"

namespace cairn {

namespace detail {
template <auto Output, class... Options>
struct frontier_of {
  using options = request<Options...>;
  using model = model_of<Output, true, Options...>;
  template <int BlockLevels>
  using candidates = plans::search::candidates<model, BlockLevels, options::threads>;
  using placed = candidates<blocks_in<Options...>>;
  template <int BlockLevels, class Placed = plans::as_marked>
  static constexpr frontier_point point =
      plans::search::figures_of<plans::compiled<model, BlockLevels, options::threads, Placed>>;

  /// Calls `visit` with the candidates for each number of groups of rows on which tiled layers may run.
  template <int Groups = 1>
  static constexpr void for_each_candidates(auto visit) {
    using on = plans::search::candidates<typename model::template with_groups<Groups>, blocks_in<Options...>,
                                         options::threads>;
    visit(std::type_identity<on>{});
    if constexpr (2 * Groups <= model::most_groups) for_each_candidates<2 * Groups>(visit);
  }
  static constexpr int most_points = [] {
    int n = 0;
    for_each_candidates([&]<class On>(std::type_identity<On>) { n += 1 + On::count; });
    return n;
  }();
  static constexpr auto all = [] {
    plans::search::pareto_front<frontier_point, most_points> out;
    for_each_candidates([&]<class On>(std::type_identity<On>) {
      [&]<int... I>(std::integer_sequence<int, I...>) {
        out.add(plans::search::figures_of<typename On::unplaced>);
        (out.add(plans::search::figures_of<typename On::template planned<I>>), ...);
      }(std::make_integer_sequence<int, On::count>{});
    });
    return out;
  }();
  static constexpr auto points = [] {
    std::array<frontier_point, static_cast<std::size_t>(all.count)> out{};
    std::copy_n(all.of, all.count, out.begin());
    return out;
  }();
};
inline constexpr std::array<frontier_point, 0> no_frontier{};
/// Returns the points, or reports the mistake in the model.
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

/// The choices of fit<...>, sorted by the bytes of the arena: `for (const frontier_point& p : frontier<loss>) ...`. The
/// frontier is a constant array, in which no point beats another in both bytes and work. To compute the frontier, all
/// candidates are planned, at most 32. Options are the options of the program, because some of them change the bytes:
/// `frontier<loss, update<adamw_options{}>>`. Rejects everything that a program rejects.
template <auto Loss, class... Options>
inline constexpr const auto& frontier = detail::frontier_or_report<Loss, Options...>();

}  // namespace cairn
