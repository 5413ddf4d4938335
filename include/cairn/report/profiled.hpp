// What `report::profile` measured of a step: by kernel, and summed up by part, by operation and by segment.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/account.hpp"
#include "cairn/report/residuals.hpp"
#include "cairn/report/roof.hpp"

#include <array>
#include <functional>
#include <map>

namespace cairn::report {

/// What an operation is for.
enum class part { forward, recomputation, backward };
inline constexpr std::string_view part_names[] = {"forward", "recomputation", "backward"};

/// A step of the plan as it ran: one kernel, which may do several operations.
struct profiled_step {
  std::string operations;  ///< "matmul, add, 2 mul"
  std::string origin;  ///< the layer in which it stands, the parameter that it updates or whose gradient it computes
  std::string_view segment;  ///< the path of the innermost one, or nothing
  part what;                 ///< of the operation with the most work
  std::int64_t flops, again;
  std::int64_t read, written;  ///< bytes of its operands
  std::int64_t live;           ///< bytes of the arena
  double seconds;              ///< the median over rounds
  double least;                ///< the seconds that it would take at the roof
  bool by_memory;              ///< whether it is bytes that take these, and not arithmetic
};

/// What `profile` measured.
struct profiled {
  account plan{};
  std::vector<profiled_step> steps{};
  roof limits{};
  int rounds = 0, threads = 1;
  std::optional<peak_plan> peak{};  ///< of a program with segments

  double seconds() const {
    double sum = 0;
    for (const profiled_step& s : steps) sum += s.seconds;
    return sum;
  }
};

/// A share of a step's figures, or a sum of such.
struct profiled_share {
  double seconds = 0, bytes = 0, least = 0;
  std::int64_t flops = 0;

  static profiled_share of(const profiled_step& s, std::int64_t flops, double share) {
    return {share * s.seconds, share * static_cast<double>(s.read + s.written), share * s.least, flops};
  }
  profiled_share& operator+=(const profiled_share& s) {
    seconds += s.seconds;
    bytes += s.bytes;
    least += s.least;
    flops += s.flops;
    return *this;
  }
};

namespace detail {
inline part part_of(const account& a, int v) {
  return a[v].again > 0 ? part::recomputation : v < a.value_turn ? part::forward : part::backward;
}

/// By step, the operations that it does: the first result of each.
inline std::vector<std::vector<int>> operations_of(const account& a) {
  std::vector<std::vector<int>> by_step(a.steps.size());
  for (int v = 0; v < static_cast<int>(a.values.size()); ++v) {
    if (a[v].step >= 0 && a[v].result) by_step[static_cast<std::size_t>(a[v].step)].push_back(v);
  }
  return by_step;
}

/// Where a value comes from, in the user's words.
inline std::string origin_of(const account& a, const std::vector<std::string>& layers, int v) {
  if (a[v].gradient > 0) return "gradient of " + std::string(a.name(a.leaf(a[v].gradient - 1)));
  if (a[v].updated > 0) return std::string(a.name(a.leaf(a[v].updated - 1)));
  const int forward = a[v].again > 0 ? a[v].again - 1 : v;
  return forward < a.value_turn ? layers[static_cast<std::size_t>(forward)] : "";
}

inline profiled profile_of(const account& a, const std::vector<double>& seconds, roof limits, int rounds, int threads) {
  profiled out{a, {}, std::move(limits), rounds, threads};
  const std::vector<std::string> layers = layers_of(a);
  const auto operations = operations_of(a);
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const step& s = a.steps[i];
    std::vector<std::pair<std::string_view, int>> names;
    for (const int v : operations[i]) count_one(names, a[v].operation);
    const int most = *std::ranges::max_element(operations[i], {}, [&](int v) { return a[v].flops; });
    std::string origin = origin_of(a, layers, most);
    for (const int v : operations[i]) {
      if (a[v].gradient > 0 || a[v].updated > 0) origin = origin_of(a, layers, v);
    }
    const double work = out.limits.seconds_of_work(s.flops), memory = out.limits.seconds_of_memory(s.read + s.written);
    if (origin.empty()) origin = a.segment(s.segment).name;
    out.steps.push_back({counted_names(names), origin, a.segment(s.segment).name, part_of(a, most), s.flops, s.again,
                         s.read, s.written, s.live, seconds[i], std::max(work, memory), memory > work});
  }
  return out;
}

/// A value that lies at its place in the arena during the steps [from, to]; or a step's scratch, which is no value.
struct holding {
  int value, from, to;
  std::int64_t offset, bytes;
};
/// In the order of their first steps. A value over which another is written, that takes its place over, ends before.
inline std::vector<holding> holdings_of(const account& a) {
  std::vector<holding> all;
  for (int v = 0; v < static_cast<int>(a.values.size()); ++v) {
    const int last = std::min(a[v].last, static_cast<int>(a.steps.size()) - 1);
    if (a[v].offset >= 0) all.push_back({v, a[v].step, last, a[v].offset, pass::aligned(a[v].bytes)});
  }
  for (int i = 0; i < static_cast<int>(a.steps.size()); ++i) {
    const step& s = a.steps[static_cast<std::size_t>(i)];
    if (s.scratch > 0) all.push_back({-1, i, i, s.at, s.scratch});
  }
  std::ranges::sort(all, {}, [](const holding& h) { return std::pair(h.from, static_cast<unsigned>(h.value)); });
  std::map<std::int64_t, holding*> latest;
  for (holding& h : all) {
    holding*& before = latest[h.offset];
    if (before != nullptr) before->to = std::min(before->to, h.from - 1);
    before = &h;
  }
  return all;
}

/// Calls `visit(value, share)` for each operation: the time of a step is divided among its operations by their FLOP,
/// and goes to the first of them where there are none.
inline void for_each_share(const profiled& p, auto visit) {
  const auto operations = operations_of(p.plan);
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const profiled_step& s = p.steps[i];
    for (const int v : operations[i]) {
      const std::int64_t flops = p.plan[v].flops;
      const double share =
          s.flops > 0 ? static_cast<double>(flops) / static_cast<double>(s.flops) : v == operations[i][0];
      visit(v, profiled_share::of(s, flops, share));
    }
  }
}
}  // namespace detail

/// What forward, recomputation and backward take.
using profiled_parts = std::array<profiled_share, 3>;
inline profiled_parts by_part(const profiled& p) {
  profiled_parts parts;
  detail::for_each_share(
      p, [&](int v, const profiled_share& s) { parts[static_cast<std::size_t>(detail::part_of(p.plan, v))] += s; });
  return parts;
}

/// What each operation takes over the step, the longest first.
struct profiled_operation : profiled_share {
  std::string_view name;
  int count = 0;
};
inline std::vector<profiled_operation> by_operation(const profiled& p) {
  std::vector<profiled_operation> all;
  detail::for_each_share(p, [&](int v, const profiled_share& s) {
    auto row = std::ranges::find(all, p.plan[v].operation, &profiled_operation::name);
    if (row == all.end()) row = all.insert(row, {{}, p.plan[v].operation});
    *row += s;
    ++row->count;
  });
  std::ranges::sort(all, std::greater{}, &profiled_operation::seconds);
  return all;
}

/// What each segment takes; the first is the program outside of them. What is computed again is counted where backward
/// asks for it, as in segment_plan.
inline std::vector<profiled_parts> by_segment(const profiled& p) {
  std::vector<profiled_parts> all(p.plan.segments.size());
  detail::for_each_share(p, [&](int v, const profiled_share& s) {
    const value& of = p.plan[v];
    profiled_parts& segment = all[static_cast<std::size_t>(of.again > 0 ? of.home : of.segment)];
    segment[static_cast<std::size_t>(detail::part_of(p.plan, v))] += s;
  });
  return all;
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
