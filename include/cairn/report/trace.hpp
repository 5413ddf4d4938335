// Writes a profile as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing: `report::trace(out, p)`. The format
// is the Trace Event Format of Chrome: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/json.hpp"
#include "cairn/report/profiled.hpp"
#include "cairn/report/stream.hpp"

#include <ostream>

namespace cairn::report {

namespace detail {
struct trace_writer {
  std::ostream& out;
  const profiled& p;
  /// The time in microseconds at which each plan step begins, and then the time at which the last one ends.
  std::vector<double> begin{0};
  bool first = true;

  void event(std::string_view kind, int row, std::string_view name, const std::string& more) {
    out << (std::exchange(first, false) ? "\n" : ",\n") << R"({"pid":1,"tid":)" << row << R"(,"ph":")" << kind
        << R"(","name":)" << json_text(name) << more << '}';
  }
  std::string at(std::size_t step) const { return ",\"ts\":" + json_number(begin[step]); }
  /// Writes an event that lasts from plan step `from` to plan step `to`, without `to`.
  void span(int row, std::string_view name, std::size_t from, std::size_t to, const std::string& more = "") {
    event("X", row, name, at(from) + ",\"dur\":" + json_number(begin[to] - begin[from]) + more);
  }
  /// Writes one event for each run of plan steps that have the same key. The event is named by the key. If the key is
  /// empty, there is no event.
  void spans(int row, auto key) {
    for (std::size_t from = 0, to = 0; from < p.steps.size(); from = to) {
      const std::string_view name = key(from);
      while (to < p.steps.size() && key(to) == name) ++to;
      if (!name.empty()) span(row, name, from, to);
    }
  }

  static std::string arguments(const profiled_step& s) {
    const auto entry = [](const char* name, std::int64_t n) {
      return std::string(",\"") + name + "\":" + std::to_string(n);
    };
    return R"(,"cat":)" + json_text(phase_names[static_cast<std::size_t>(s.what)]) + R"(,"args":{"of":)" +
           json_text(s.origin) + entry("flop", s.flops) + entry("flop_again", s.recomputed_flops) +
           entry("bytes_read", s.read) + entry("bytes_written", s.written) + R"(,"of_the_roof":)" +
           json_number(s.seconds > 0 ? s.least / s.seconds : 0) + R"(,"limited_by":)" +
           (s.by_memory ? R"("memory"})" : R"("arithmetic"})");
  }

  void write() {
    for (const profiled_step& s : p.steps) begin.push_back(begin.back() + 1e6 * s.seconds);
    out << R"({"displayTimeUnit":"ns","traceEvents":[)";
    event("M", 0, "process_name", R"(,"args":{"name":"a training step"})");
    int rows = 0;
    const auto row = [&](const std::string& name) {
      event("M", ++rows, "thread_name", R"(,"args":{"name":)" + json_text(name) + '}');
      return rows;
    };
    spans(row("parts"), [&](std::size_t i) { return phase_names[static_cast<std::size_t>(p.steps[i].what)]; });
    int depth = 0;
    for (const segment_entry& s : p.plan.segments) depth = std::max(depth, s.depth);
    for (int d = 1; d <= depth; ++d) {
      spans(row("segments, depth " + std::to_string(d)),
            [&](std::size_t i) { return p.plan.segment(p.plan.around(p.plan.steps[i].segment, d)).name; });
    }
    const int kernels = row("steps");
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
      span(kernels, p.steps[i].operations, i, i + 1, arguments(p.steps[i]));
      event("C", 0, "bytes that live", at(i) + R"(,"args":{"bytes":)" + std::to_string(p.steps[i].live) + '}');
    }
    event("C", 0, "bytes that live", at(p.steps.size()) + R"(,"args":{"bytes":0})");
    out << "\n]}\n";
  }
};
}  // namespace detail

/// Writes the plan steps one after another, each as long as its median time. The rows of the trace are the parts, the
/// segments by their depth, and the kernels. A counter shows the bytes of the arena that are alive.
inline void trace(std::ostream& out, const profiled& p) {
  const detail::plain_numbers guard(out);
  detail::trace_writer{out, p}.write();
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
