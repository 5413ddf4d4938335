// Shows the placements that fit<...> chooses from, as a table or as a picture: `report::frontier<loss>(std::cout)`.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/check/frontier.hpp"
#include "cairn/report/stream.hpp"
#include "cairn/report/svg_plot.hpp"

namespace cairn::report {

namespace detail {
/// A placement to compare with. The name is empty if the model has no placement of this sort.
struct named_point {
  std::string_view name;
  frontier_point at;
};
struct frontier_plot {
  std::span<const frontier_point> points;
  named_point others[3];       ///< no segments, the user's segments, and segments by Chen's rule
  std::int64_t forward, rest;  ///< operations of the forward pass, and of the backward pass without recomputation
  int blocks;
  /// `nested`: the search looked at all ways to nest segments. `exact`: in addition, the search rounded nothing.
  bool nested, exact;

  std::int64_t largest() const {
    std::int64_t most = points.back().peak_bytes;
    for (const named_point& p : others) most = std::max(most, p.at.peak_bytes);
    return most;
  }
  std::int64_t most_work() const {
    std::int64_t most = points.front().recomputed_flops;
    for (const named_point& p : others) most = std::max(most, p.at.recomputed_flops);
    return forward + rest + most;
  }
};

template <auto Loss, class... Options>
frontier_plot plot_of() {
  using found = cairn::detail::frontier_of<Loss, Options...>;
  using unplaced = typename found::template candidates<plans::all_levels>::unplaced;
  constexpr flop_counts flops = cairn::detail::flops_in<unplaced>;
  using by_marks =
      plans::compiled<typename found::model, cairn::detail::blocks_in<Options...>, found::options::threads>;
  constexpr bool marked = by_marks::segments.count > 1;
  return {found::points,
          {{"plain", found::template point<plans::all_levels>},
           {marked ? "as marked" : "", found::template point<0>},
           {"Chen's rule",
            found::template point<plans::all_levels, plans::search::candidate<plans::search::square_root_blocks>>}},
          flops.forward,
          flops.backward,
          found::placed::placeable,
          found::placed::complete,
          found::placed::exact};
}

inline void print_frontier(std::ostream& out, const frontier_plot& plot) {
  if (plot.blocks == 0) {
    out << "nothing to place: no layers that are applied by |, repeat or block\n";
    return;
  }
  const bool any_groups = std::ranges::any_of(plot.points, [](const frontier_point& p) { return p.row_groups > 1; });
  std::vector<std::string> heading{"segments", "arena", "of plain", "recomputed", "of forward"};
  if (any_groups) heading.insert(heading.begin() + 1, "groups");
  table t(heading);
  const std::int64_t plain = plot.others[0].at.peak_bytes;
  const auto add = [&](std::string_view name, const frontier_point& p) {
    std::vector<std::string> row{std::string(name), bytes(p.peak_bytes), percent(p.peak_bytes, plain),
                                 flops(p.recomputed_flops), percent(p.recomputed_flops, plot.forward)};
    if (any_groups) row.insert(row.begin() + 1, std::to_string(p.row_groups));
    t.add(row);
  };
  for (const frontier_point& p : plot.points) add("by fit", p);
  for (const named_point& p : plot.others) {
    if (!p.name.empty()) add(p.name, p.at);
  }
  t.print(out);
  out << plot.blocks << " blocks, "
      << (plot.exact    ? "placed in all ways"
          : plot.nested ? "nested in all ways, each range of them for some budgets"
                        : "too many to nest in all ways")
      << '\n';
}

struct frontier_drawing : svg_plot {
  const frontier_plot& plot;

  double x_of(const frontier_point& p) const { return x(plot.forward + plot.rest + p.recomputed_flops); }
  void dot(const frontier_point& p, std::string_view kind, std::string_view title) {
    out << "<circle cx='" << px(x_of(p)) << "' cy='" << px(y(p.peak_bytes)) << "' r='4' class='" << kind << "'><title>"
        << escaped(title) << bytes(p.peak_bytes) << ", " << flops(p.recomputed_flops)
        << " recomputed</title></circle>\n";
  }
  void draw() {
    open_image(bottom + 60, "Bytes of the arena, by the work of a step");
    text(24, 50, "start", "The line: what no placement of segments that was found beats");
    axes(bottom + 6, "bytes of the arena");
    std::string path = 'M' + px(right) + ' ' + px(y(plot.points.front().peak_bytes));
    for (const frontier_point& p : plot.points) path += 'V' + px(y(p.peak_bytes)) + 'H' + px(x_of(p));
    path += 'V' + px(top);
    out << "<path class='ckpt' style='fill: none' d='" << path << "'/>\n";
    for (const frontier_point& p : plot.points) dot(p, "ckpt", "");
    for (const named_point& p : plot.others) {
      if (p.name.empty()) continue;
      dot(p.at, "plain", std::string(p.name) + ": ");
      text(x_of(p.at) + 8, y(p.at.peak_bytes) - 6, "plain start", escaped(p.name));
    }
    out << "</svg>\n";
  }
};
}  // namespace detail

/// Prints the placements that fit<...> chooses from, sorted by the bytes of the arena. Each row shows the recomputed
/// operations, also in percent of the forward pass. The rows below are the model without segments, with the user's
/// segments, and with sqrt(n) segments of sqrt(n) blocks each (Chen's rule). If layers in nn::tiled<up_to<N>> run on
/// groups of rows in some of the programs, a column shows the number of groups. If the model has nothing to place,
/// prints a sentence that says so.
template <auto Loss, class... Options>
void frontier(std::ostream& out) {
  const detail::plain_numbers guard(out);
  detail::print_frontier(out, detail::plot_of<Loss, Options...>());
}

/// Draws the same placements as an SVG image.
template <auto Loss, class... Options>
void frontier_picture(std::ostream& out) {
  const detail::plain_numbers guard(out);
  const detail::frontier_plot plot = detail::plot_of<Loss, Options...>();
  detail::frontier_drawing{
      {out, {plot.most_work(), 1000, detail::flop_units, 1.02, 8}, {plot.largest(), 1024, detail::byte_units, 1.08, 6}},
      plot}
      .draw();
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
