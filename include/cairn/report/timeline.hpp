// Draws the memory of a training step as a picture: `report::timeline<program<loss>, program<loss, plain>>(out)`.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/account.hpp"
#include "cairn/report/stream.hpp"
#include "cairn/report/svg_plot.hpp"

namespace cairn::report {

/// The names of the two programs of a timeline.
struct timeline_names {
  std::string_view first = "checkpointed", second = "plain";
};

namespace detail {
/// Returns the largest number of bytes of the arena that a plan step needs. No arena can be smaller than this number.
inline std::int64_t most_live(const account& a) {
  std::int64_t most = 0;
  for (const step& s : a.steps) most = std::max(most, s.live);
  return most;
}
/// Returns the bytes of gradients that program `a` has in addition to its arena and that program `other` does not have.
inline std::int64_t extra_gradient_bytes(const account& a, const account& other) {
  return std::max<std::int64_t>(a.memory.gradient_bytes - other.memory.gradient_bytes, 0);
}

struct timeline_writer : svg_plot {
  static constexpr double lane = 17;
  const account &ours, &theirs;
  timeline_names names;

  /// Calls `visit(step, begin, end)` for each plan step. `begin` and `end` are the operations done before and after the
  /// plan step. Returns the operations of all plan steps.
  static std::int64_t for_each_step(const account& a, auto visit) {
    std::int64_t done = 0;
    for (const step& s : a.steps) {
      visit(s, done, done + s.flops);
      done += s.flops;
    }
    return done;
  }

  /// Draws the curve of a program's bytes. It leaves out dips that are narrower than a pixel.
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

  /// Returns as much of a segment's name as there is room for: the path, or the innermost number in it, or nothing.
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
  /// Draws the segments at depth `depth` as a row of boxes.
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
  /// Marks the work that is recomputed. Some plan steps recompute only a part of their work, for example a scan that
  /// recomputes iterations. The mark then covers the first part of the plan step.
  void again_at(double at) {
    std::int64_t begin = 0, end = -1;
    const auto close = [&] {
      if (end >= 0) box(x(begin), at, std::max(x(end), x(begin) + 1), lane - 3, "again");
    };
    for_each_step(ours, [&](const step& s, std::int64_t before, std::int64_t) {
      if (s.recomputed_flops == 0) return;
      if (before != end) {
        close();
        begin = before;
      }
      end = before + s.recomputed_flops;
    });
    close();
    text(left - 8, at + 11, "end small", "recomputed");
  }

  void draw() {
    int depth = 0;
    for (const segment_entry& s : ours.segments) depth = std::max(depth, s.depth);
    const double foot = bottom + 6 + lane * (depth + 1);
    open_image(foot + 54, "Memory of a training step");
    const std::int64_t kept = extra_gradient_bytes(ours, theirs), others_kept = extra_gradient_bytes(theirs, ours);
    const std::int64_t most = kept + most_live(ours), other = others_kept + most_live(theirs);
    const std::int64_t operations = ours.flops.total(), others = theirs.flops.total();
    text(24, 50, "start",
         kept != others_kept ? "Bytes of the arena and of gradients in use, by the work done"
                             : "Bytes of the arena in use, over the work done so far");
    legend(30, "plain", escaped(names.second) + ": at most " + bytes(other) + ", " + flops(others));
    legend(50, "ckpt",
           escaped(names.first) + ": at most " + bytes(most) + " (" + percent(most, other) + "), " + flops(operations) +
               " (" + percent(operations, others) + ')');
    axes(foot, "bytes that live");
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

/// Draws the bytes of the arena that are alive at each plan step, as an SVG image. The image shows two programs over
/// each other, for example a model with segments and without them. The horizontal axis is the number of operations
/// executed so far. Dashed lines show the largest number of bytes that are alive at once. Below are the segments of the
/// first program, and when the first program recomputes.
///
/// Gradients that only one of the programs keeps, for an optimizer outside the program, count as bytes of that program.
template <class First, class Second>
void timeline(std::ostream& out, timeline_names names = {}) {
  const detail::plain_numbers guard(out);
  const account ours = account_of<First>(), theirs = account_of<Second>();
  const std::int64_t most = std::max(detail::extra_gradient_bytes(ours, theirs) + detail::most_live(ours),
                                     detail::extra_gradient_bytes(theirs, ours) + detail::most_live(theirs));
  const std::int64_t work = std::max(ours.flops.total(), theirs.flops.total());
  detail::timeline_writer{
      {out, {work, 1000, detail::flop_units, 1, 8}, {most, 1024, detail::byte_units, 1.08, 6}}, ours, theirs, names}
      .draw();
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
