// Draws bytes against work as an SVG image. This file has the axes and the shapes that pictures of plans are drawn
// with.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/base/macros_aside.hpp"
#include "cairn/report/tables.hpp"

#include <cmath>
#include <ostream>

namespace cairn::report::detail {

inline constexpr const char* byte_units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
inline constexpr const char* flop_units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};

/// An axis from 0 to `end`, with about `ticks` ticks at round numbers of one unit.
struct axis {
  double end, unit = 1, tick;
  std::string_view name;

  axis(std::int64_t most, double base, std::span<const char* const> units, double room, int ticks)
      : end(room * static_cast<double>(std::max<std::int64_t>(most, 1))), name(units[0]) {
    for (std::size_t i = 1; i < units.size() && end / unit >= base; ++i) {
      unit *= base;
      name = units[i];
    }
    const double rough = end / unit / ticks, power = std::pow(10, std::floor(std::log10(rough)));
    tick = power * (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1);
  }
};

struct svg_plot {
  static constexpr double left = 112, right = 860, top = 96, bottom = 368;
  std::ostream& out;
  axis work, size;

  double x(std::int64_t flops) const { return left + (right - left) * static_cast<double>(flops) / work.end; }
  double y(std::int64_t bytes) const { return bottom - (bottom - top) * static_cast<double>(bytes) / size.end; }
  static std::string px(double at) { return cairn::detail::with_places(at, 1); }

  void text(double at_x, double at_y, std::string_view kind, const auto& what) {
    out << "<text x='" << px(at_x) << "' y='" << px(at_y) << "' class='" << kind << "'>" << what << "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string_view kind) {
    out << "<line x1='" << px(x1) << "' y1='" << px(y1) << "' x2='" << px(x2) << "' y2='" << px(y2) << "' class='"
        << kind << "'/>\n";
  }
  void box(double x1, double y1, double x2, double height, std::string_view kind, std::string_view title = {}) {
    out << "<rect x='" << px(x1) << "' y='" << px(y1) << "' width='" << px(x2 - x1) << "' height='" << px(height)
        << "' class='" << kind << "'>";
    if (!title.empty()) out << "<title>" << escaped(title) << "</title>";
    out << "</rect>\n";
  }

  /// Writes the beginning of the image, which is 930 pixels wide. The contents follow.
  void open_image(double height, std::string_view title) {
    out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 930 " << height
        << "' font-family='sans-serif' font-size='13'>\n"
           R"(<style>
  .paper { fill: #ffffff } text { fill: #24292f } .small { font-size: 11px }
  .title { font-size: 17px; font-weight: bold } .middle { text-anchor: middle } .end { text-anchor: end }
  .grid { stroke: #e2e5e9 } .turn { stroke: #24292f; stroke-dasharray: 2 3 }
  .peak { stroke-dasharray: 6 4 } path, rect.plain, rect.ckpt { stroke-width: 1.8; fill-opacity: 0.18 }
  .plain { fill: #7a808a; stroke: #7a808a } text.plain { fill: #5c636d; stroke: none }
  .ckpt { fill: #2878d0; stroke: #2878d0 } text.ckpt { fill: #1d5fa8; stroke: none }
  .segment { fill: #cfe2f6 } .other { fill: #aecdee } .again { fill: #d9730d }
</style>
)";
    out << "<rect width='930' height='" << height << "' class='paper'/>\n";
    text(24, 30, "title", title);
  }
  void axes(double foot, std::string_view of_bytes) {
    for (int i = 0; i * size.tick * size.unit <= size.end; ++i) {
      const double at = bottom - (bottom - top) * i * size.tick * size.unit / size.end;
      line(left, at, right, at, "grid");
      text(left - 8, at + 4, "end", i * size.tick);
    }
    for (int i = 0; i * work.tick * work.unit <= work.end * 1.001; ++i) {
      const double at = left + (right - left) * i * work.tick * work.unit / work.end;
      line(at, bottom, at, foot, "grid");
      text(at, foot + 16, "middle", i * work.tick);
    }
    text((left + right) / 2, foot + 38, "middle", "work done, in " + std::string(work.name));
    out << "<text transform='translate(56 " << (top + bottom) / 2 << ") rotate(-90)' class='middle'>" << of_bytes
        << ", in " << size.name << "</text>\n";
  }
};

}  // namespace cairn::report::detail

#include "cairn/base/macros_back.hpp"
