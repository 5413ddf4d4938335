// The memory of a step as a picture: `report::timeline<program<loss>, program<loss, plain>>(out)`.
#pragma once

#include "cairn/report/account.hpp"
#include "cairn/report/tables.hpp"

#include <cmath>

namespace cairn::report {

/// What a timeline calls its programs.
struct timeline_names {
  std::string_view first = "checkpointed", second = "plain";
};

namespace detail {
/// The most bytes of the arena that a step of the plan needs; no arena can be smaller.
inline std::int64_t most_live(const account& a) {
  std::int64_t most = 0;
  for (const step& s : a.steps) most = std::max(most, s.live);
  return most;
}
/// What one of two programs has beside its arena, and the other has not: the gradients that it keeps.
inline std::int64_t kept_more(const account& a, const account& other) {
  return std::max<std::int64_t>(a.memory.gradient_bytes - other.memory.gradient_bytes, 0);
}

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

struct timeline_writer {
  static constexpr double left = 112, right = 860, top = 96, bottom = 368, lane = 17;
  std::ostream& out;
  const account &ours, &theirs;
  timeline_names names;
  axis work, size;

  double x(std::int64_t flops) const { return left + (right - left) * static_cast<double>(flops) / work.end; }
  double y(std::int64_t bytes) const { return bottom - (bottom - top) * static_cast<double>(bytes) / size.end; }
  static std::string px(double at) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", at);
    return text;
  }

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

  /// Calls `visit(step, its work's begin and end)`.
  static std::int64_t for_each_step(const account& a, auto visit) {
    std::int64_t done = 0;
    for (const step& s : a.steps) {
      visit(s, done, done + s.flops);
      done += s.flops;
    }
    return done;
  }

  /// Without dips of less than a pixel.
  void curve(const account& a, std::int64_t kept, std::string_view kind) {
    std::string path = "M" + px(left) + ' ' + px(bottom);
    std::int64_t drawn = 0;
    const std::int64_t end = for_each_step(a, [&](const step& s, std::int64_t before, std::int64_t after) {
      if (s.live < drawn && x(after) - x(before) < 1) return;
      path += 'V' + px(y(kept + s.live)) + 'H' + px(x(after));
      drawn = s.live;
    });
    path += 'V' + px(bottom);
    out << "<path class='" << kind << "' d='" << path << "'><title>" << grouped(kept + most_live(a))
        << " bytes live at most, " << grouped(end) << " operations</title></path>\n";
  }
  void peak(std::int64_t most, std::string_view kind, double down = 0) {
    line(left, y(most), right, y(most), std::string(kind) + " peak");
    text(right + 6, y(most) + 4 + down, std::string(kind) + " start", bytes(most));
  }
  void legend(double at, std::string_view kind, const std::string& what) {
    box(440, at - 11, 470, 13, kind);
    text(478, at, std::string(kind) + " start", what);
  }

  void axes(double foot) {
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
    out << "<text transform='translate(56 " << (top + bottom) / 2
        << ") rotate(-90)' class='middle'>bytes that live, in " << size.name << "</text>\n";
  }

  /// The name of a segment as far as there is room for it: its path, the innermost number in it, or nothing.
  static std::string name_within(std::string_view path, double room) {
    const auto fits = [&](std::string_view text) { return 6 * static_cast<double>(text.size()) + 4 < room; };
    if (fits(path)) return std::string(path);
    std::string_view number;
    for (std::string_view rest = path; !rest.empty();) {
      const std::string_view part = rest.substr(0, rest.find('.'));
      if (part.find_first_not_of("0123456789") == part.npos) number = part;
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    }
    return fits(number) ? std::string(number) : "";
  }
  void segments_at(int depth, double at) {
    int open = 0, count = 0;
    std::int64_t begin = 0;
    const auto change = [&](int to, std::int64_t now) {
      if (open > 0) {
        const std::string_view path = ours.segment(open).name;
        box(x(begin), at, x(now), lane - 3, count++ % 2 == 0 ? "segment" : "segment other", path);
        text((x(begin) + x(now)) / 2, at + 11, "middle small", escaped(name_within(path, x(now) - x(begin))));
      }
      open = to;
      begin = now;
    };
    const std::int64_t end = for_each_step(ours, [&](const step& s, std::int64_t before, std::int64_t) {
      if (const int around = ours.around(s.segment, depth); around != open) change(around, before);
    });
    change(0, end);
    text(left - 8, at + 11, "end small", depth == 1 ? "segments" : "in them");
  }
  void again_at(double at) {
    std::int64_t begin = 0, end = -1;
    const auto close = [&] {
      if (end >= 0) box(x(begin), at, std::max(x(end), x(begin) + 1), lane - 3, "again");
    };
    for_each_step(ours, [&](const step& s, std::int64_t before, std::int64_t) {
      if (s.again == 0) return;
      if (before != end) {
        close();
        begin = before;
      }
      end = before + s.again;
    });
    close();
    text(left - 8, at + 11, "end small", "computed again");
  }

  void draw() {
    int depth = 0;
    for (const segment_entry& s : ours.segments) depth = std::max(depth, s.depth);
    const double foot = bottom + 6 + lane * (depth + 1);
    out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 930 " << foot + 54
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
    out << "<rect width='930' height='" << foot + 54 << "' class='paper'/>\n";
    const std::int64_t kept = kept_more(ours, theirs), others_kept = kept_more(theirs, ours);
    const std::int64_t most = kept + most_live(ours), other = others_kept + most_live(theirs);
    const std::int64_t operations = ours.flops.total(), others = theirs.flops.total();
    text(24, 30, "title", "Memory of a training step");
    text(24, 50, "start",
         kept != others_kept ? "Bytes of the arena and of gradients in use, by the work done"
                             : "Bytes of the arena in use, over the work done so far");
    legend(30, "plain", escaped(names.second) + ": at most " + bytes(other) + ", " + flops(others));
    legend(50, "ckpt",
           escaped(names.first) + ": at most " + bytes(most) + " (" + percent(most, other) + "), " + flops(operations) +
               " (" + percent(operations, others) + ')');
    axes(foot);
    std::int64_t turn = 0;
    for (int i = 0; i < ours.step_turn; ++i) turn += ours.steps[static_cast<std::size_t>(i)].flops;
    curve(theirs, others_kept, "plain");
    curve(ours, kept, "ckpt");
    line(x(turn), top - 6, x(turn), foot, "turn");
    text((left + x(turn)) / 2, top - 10, "middle", "forward");
    text(x(turn), top - 10, "middle", "the turn");
    text((x(turn) + right) / 2, top - 10, "middle", "backward");
    for (int d = 1; d <= depth; ++d) segments_at(d, bottom + 6 + lane * (d - 1));
    again_at(bottom + 6 + lane * depth);
    peak(other, "plain");
    peak(most, "ckpt", std::abs(y(most) - y(other)) < 14 ? 14 : 0);
    out << "</svg>\n";
  }
};
}  // namespace detail

/// Draws the bytes of the arena that live at each step, as an SVG image: two programs over each other, as a model
/// checkpointed and plain, by the operations executed so far. Below are the segments of the first, and when it computes
/// again. The dashed lines are the most bytes that live at once. Gradients that only one of them keeps, for an optimizer
/// beside it, count as its bytes.
template <class First, class Second>
void timeline(std::ostream& out, timeline_names names = {}) {
  const account ours = account_of<First>(), theirs = account_of<Second>();
  static constexpr const char* bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  static constexpr const char* flops[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  const std::int64_t most = std::max(detail::kept_more(ours, theirs) + detail::most_live(ours),
                                     detail::kept_more(theirs, ours) + detail::most_live(theirs));
  detail::timeline_writer{out,
                          ours,
                          theirs,
                          names,
                          {std::max(ours.flops.total(), theirs.flops.total()), 1000, flops, 1, 8},
                          {most, 1024, bytes, 1.08, 6}}
      .draw();
}

}  // namespace cairn::report
