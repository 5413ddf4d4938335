// Shows the memory and the work of a training step as tables. Measures which bytes of its arena a training step really
// touches.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/base/macros_aside.hpp"
#include "cairn/check/figures.hpp"
#include "cairn/report/stream.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::report {

namespace detail {
/// Returns a number with three digits, in the largest unit that is not above n.
inline std::string scaled(std::int64_t n, double base, std::span<const char* const> units) {
  double value = static_cast<double>(n);
  std::size_t unit = 0;
  for (; value >= base && unit + 1 < units.size(); ++unit) value /= base;
  const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return cairn::detail::with_places(value, digits) + ' ' + units[unit];
}

/// Returns a number with separators of thousands: 3145728 as "3,145,728".
inline std::string grouped(std::int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

/// Returns `part` in percent of `whole`, or an empty text if `whole` is 0.
inline std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "";
  return cairn::detail::with_places(100 * static_cast<double>(part) / static_cast<double>(whole), 0) + " %";
}

/// Returns a time in milliseconds: 12345 microseconds as "12.3 ms".
inline std::string milliseconds(std::int64_t microseconds) {
  return cairn::detail::with_places(static_cast<double>(microseconds) / 1000, 1) + " ms";
}
/// Returns a text like "time on 2 threads".
inline std::string on_threads(int n) { return "time on " + std::to_string(n) + (n == 1 ? " thread" : " threads"); }

/// Rows of text under a heading. The first `left` columns are aligned to the left, the rest to the right.
class table {
 public:
  explicit table(std::vector<std::string> heading, std::size_t left = 1) : rows_{std::move(heading)}, left_(left) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void print(std::ostream& out) const {
    std::vector<std::size_t> width(rows_[0].size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    }
    for (const auto& row : rows_) {
      std::string line = row[0];
      std::size_t end = width[0];
      for (std::size_t i = 1; i < row.size(); ++i) {
        end += 3 + width[i];
        const std::size_t begin = i < left_ ? end - width[i] : end - row[i].size();
        if (!row[i].empty()) line.append(begin - line.size(), ' ') += row[i];
      }
      out << line << '\n';
      if (&row == &rows_[0]) out << std::string(end, '-') << '\n';
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t left_;
};

/// Returns a text like "3 ops", for operations.
inline std::string operations(int n) { return std::to_string(n) + (n == 1 ? " op" : " ops"); }
/// Returns the first and the last of `count` names as one text, or only the first if both are equal.
inline std::string from_to(std::string_view first, std::string_view last, int count) {
  std::string text(first);
  if (last != first) text.append(count > 2 ? " ... " : ", ") += last;
  return text;
}
/// Escapes a text for XML, so that a name cannot break the file.
inline std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '&') made += "&amp;";
    else if (c == '<') made += "&lt;";
    else if (c == '>') made += "&gt;";
    else made += c;
  }
  return made;
}
/// Returns a path in which each number is replaced by 0.
inline std::string without_numbers(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit || !text.ends_with('0')) text += digit ? '0' : c;
  }
  return text;
}

/// Segments with equal figures and with paths that differ only in numbers.
struct alike {
  segment_plan first, last;
  int count = 1;

  bool takes(const segment_plan& s) const {
    return s.boundary_bytes == first.boundary_bytes && s.interior_bytes == first.interior_bytes &&
           s.recomputed_operations == first.recomputed_operations && s.recomputed_flops == first.recomputed_flops &&
           without_numbers(s.path) == without_numbers(first.path);
  }
};

inline std::vector<alike> folded(std::span<const segment_plan> segments) {
  std::vector<alike> groups;
  for (const segment_plan& s : segments) {
    const auto group = std::ranges::find_if(groups, [&](const alike& g) { return g.takes(s); });
    if (group == groups.end()) {
      groups.push_back({s, s});
    } else {
      group->last = s;
      ++group->count;
    }
  }
  return groups;
}
}  // namespace detail

/// Returns a number of bytes with its unit, for example "1.13 MiB".
inline std::string bytes(std::int64_t n) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return detail::scaled(n, 1024, units);
}
/// Returns a number of floating-point operations with its unit, for example "1.13 GFLOP".
inline std::string flops(std::int64_t n) {
  static constexpr const char* units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  return detail::scaled(n, 1000, units);
}

/// Measures how many bytes of the arena a training step writes, in lines of 64 bytes. The arena is filled with a
/// pattern before the training step. Bytes that differ from the pattern afterwards were written. A second training step
/// with a second pattern finds the bytes that happened to equal the first pattern.
///
/// The function runs two training steps, by train or by value_and_grad. It changes what these functions change, and
/// throws what these functions throw.
template <class Program, class... Bound>
std::int64_t touched_bytes(Program& step, const Bound&... inputs) {
  constexpr std::size_t line = 64;
  const std::span<std::byte> arena = step.arena();
  std::vector<bool> touched((arena.size() + line - 1) / line);
  for (const std::byte pattern : {std::byte{0x55}, std::byte{0xAA}}) {
    std::ranges::fill(arena, pattern);
    if constexpr (Program::updates_parameters) static_cast<void>(step.train(inputs...));
    else static_cast<void>(step.value_and_grad(inputs...));
    for (std::size_t i = 0; i < arena.size(); ++i) {
      if (arena[i] != pattern) touched[i / line] = true;
    }
  }
  return static_cast<std::int64_t>(line) * std::ranges::count(touched, true);
}

/// Writes where the arena of a program with segments is fullest, and whether the segments make the arena larger than
/// without them.
inline void peak_lines(std::ostream& out, const peak_plan& p) {
  out << "the arena is fullest in the " << (p.in_backward ? "backward" : "forward") << " pass, "
      << (p.segment.empty() ? "outside of segments" : "in segment ") << p.segment << '\n';
  if (p.is_above_plain())
    out << "segments make the arena larger: " << bytes(p.peak_bytes) << ", and " << bytes(p.plain_peak_bytes)
        << " without them\n";
}

/// The results of touched_bytes for two programs, in bytes.
struct touched {
  std::int64_t checkpointed, plain;
};
/// The times of a training step of two programs on `threads` threads, in milliseconds.
struct timed {
  int threads;
  double checkpointed, plain;
};

/// Writes the segments of a program as a table. Each segment has the bytes of its boundary, the bytes that it does not
/// store but would store if it were a block, and the operations that are recomputed for this. Segments with equal
/// figures share a line, which shows the figures of one of them. If there are no segments, writes a sentence that says
/// so. If fit<...> chose groups of rows for tiled layers, the last line has their number.
template <class Program>
void segment_table(std::ostream& out) {
  const detail::plain_numbers guard(out);
  static constexpr auto segments = Program::segments();
  detail::table t({"segment", "", "boundary", "not stored", "", "recomputed"});
  for (const detail::alike& g : detail::folded(segments)) {
    const segment_plan& s = g.first;
    t.add({detail::from_to(s.path, g.last.path, g.count), g.count > 1 ? std::to_string(g.count) + " x" : "",
           bytes(s.boundary_bytes), bytes(s.interior_bytes), detail::operations(s.recomputed_operations),
           flops(s.recomputed_flops)});
  }
  if (segments.empty()) out << "no segments\n";
  else t.print(out);
  if (Program::row_groups() > 1) out << "tiled layers run on " << Program::row_groups() << " groups of rows\n";
}

/// Writes the bytes and the operations of a training step with segments next to the same step without segments:
/// `step_table<program<loss>, program<loss, plain>>`. With `measured`, the table shows the predicted size of the arena
/// and how much of the arena was touched. Each entry of `times` is a row. The line below the table says where the arena
/// is fullest, and whether segments make it larger.
template <class Checkpointed, class Plain>
void step_table(std::ostream& out, std::optional<touched> measured = std::nullopt, std::span<const timed> times = {}) {
  const detail::plain_numbers guard(out);
  constexpr memory_plan m = Checkpointed::memory(), p = Plain::memory();
  constexpr flop_counts f = Checkpointed::flops(), q = Plain::flops();
  detail::table t({"a step", "segments", "plain", "of plain"});
  const auto row = [&](const char* name, std::string (*text)(std::int64_t), std::int64_t ours, std::int64_t theirs) {
    t.add({name, text(ours), text(theirs), detail::percent(ours, theirs)});
  };
  row("stored for backward", bytes, m.stored_bytes, p.stored_bytes);
  row("peak: the arena", bytes, m.peak_bytes, p.peak_bytes);
  if (measured) {
    row("  predicted, in bytes", detail::grouped, m.peak_bytes, p.peak_bytes);
    row("  touched, in bytes", detail::grouped, measured->checkpointed, measured->plain);
  }
  row("parameters", bytes, m.parameter_bytes, p.parameter_bytes);
  row("gradients", bytes, m.gradient_bytes, p.gradient_bytes);
  if (m.moment_bytes + p.moment_bytes > 0) row("moments kept", bytes, m.moment_bytes, p.moment_bytes);
  if (m.division_bytes + p.division_bytes > 0) row("sums of parts", bytes, m.division_bytes, p.division_bytes);
  row("memory in all", bytes, m.total_bytes(), p.total_bytes());
  if (m.elsewhere_bytes + p.elsewhere_bytes > 0)
    row("snapshots elsewhere", bytes, m.elsewhere_bytes, p.elsewhere_bytes);
  row("forward", flops, f.forward, q.forward);
  row("backward", flops, f.backward, q.backward);
  t.add({"recomputed", flops(f.recomputed), flops(q.recomputed), ""});
  if constexpr (constexpr loop_counts l = Checkpointed::loops(), k = Plain::loops(); l.evaluations + k.evaluations > 0)
    row("steps of loops", detail::grouped, l.evaluations, k.evaluations);
  row("work in all", flops, f.total(), q.total());
  if (constexpr int g = Checkpointed::row_groups(), h = Plain::row_groups(); g + h > 2)
    t.add({"groups of rows", std::to_string(g), std::to_string(h), ""});
  for (const timed& time : times) {
    const auto microseconds = [](double ms) { return std::llround(1000 * ms); };
    row(detail::on_threads(time.threads).c_str(), detail::milliseconds, microseconds(time.checkpointed),
        microseconds(time.plain));
  }
  t.print(out);
  if constexpr (!Checkpointed::segments().empty()) peak_lines(out, Checkpointed::peak());
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
