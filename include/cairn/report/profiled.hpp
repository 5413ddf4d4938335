// What `report::profile` measured of a step: by kernel, and summed up by part, by operation and by segment.
#pragma once

#include "cairn/report/account.hpp"
#include "cairn/report/residuals.hpp"
#include "cairn/report/roof.hpp"

#include <array>
#include <functional>

namespace cairn::report {

/// What an operation is for.
enum class part { forward, recomputation, backward };
inline constexpr std::string_view part_names[] = {"forward", "recomputation", "backward"};

/// A step of the plan as it ran: one kernel, which may do several operations.
struct profiled_step {
  std::string operations;    ///< "matmul, add, 2 mul"
  std::string origin;        ///< the layer in which it stands, the parameter whose gradient it computes, or its segment
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
  double seconds = 0;  ///< of all steps; the median over rounds
};

/// A share of a step's figures, or a sum of such.
struct profiled_share {
  double seconds = 0, bytes = 0, least = 0;
  std::int64_t flops = 0;

  void add(const profiled_step& s, std::int64_t of_flops, double share) {
    seconds += share * s.seconds;
    bytes += share * static_cast<double>(s.read + s.written);
    least += share * s.least;
    flops += of_flops;
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
  const int forward = a[v].again > 0 ? a[v].again - 1 : v;
  return forward < a.value_turn ? layers[static_cast<std::size_t>(forward)] : "";
}

inline profiled profile_of(const account& a, const std::vector<double>& seconds, roof limits, int rounds, int threads) {
  profiled out{a, {}, std::move(limits), rounds, threads, seconds.back()};
  const std::vector<std::string> layers = layers_of(a);
  const auto operations = operations_of(a);
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const step& s = a.steps[i];
    std::vector<std::pair<std::string_view, int>> names;
    for (const int v : operations[i]) count_one(names, a[v].operation);
    const int most = *std::ranges::max_element(operations[i], {}, [&](int v) { return a[v].flops; });
    std::string origin = origin_of(a, layers, most);
    for (const int v : operations[i]) {
      if (a[v].gradient > 0) origin = origin_of(a, layers, v);
    }
    const double work = out.limits.seconds_of_work(s.flops), memory = out.limits.seconds_of_memory(s.read + s.written);
    if (origin.empty()) origin = a.name(a.segment(s.segment));
    out.steps.push_back({counted_names(names), origin, a.name(a.segment(s.segment)), part_of(a, most), s.flops, s.again,
                         s.read, s.written, s.live, seconds[i], std::max(work, memory), memory > work});
  }
  return out;
}

/// Calls `visit(value, flops, step, share)` for each operation: the time of a step is divided among its operations by
/// their FLOP, and goes to the first of them where there are none.
inline void for_each_share(const profiled& p, auto visit) {
  const auto operations = operations_of(p.plan);
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const profiled_step& s = p.steps[i];
    for (const int v : operations[i]) {
      const std::int64_t flops = p.plan[v].flops;
      const double share =
          s.flops > 0 ? static_cast<double>(flops) / static_cast<double>(s.flops) : v == operations[i][0];
      visit(v, flops, s, share);
    }
  }
}
}  // namespace detail

/// What forward, recomputation and backward take.
inline std::array<profiled_share, 3> by_part(const profiled& p) {
  std::array<profiled_share, 3> parts;
  detail::for_each_share(p, [&](int v, std::int64_t flops, const profiled_step& s, double share) {
    parts[static_cast<std::size_t>(detail::part_of(p.plan, v))].add(s, flops, share);
  });
  return parts;
}

/// What each operation takes over the step, the longest first.
struct profiled_operation : profiled_share {
  std::string_view name;
  int count = 0;
};
inline std::vector<profiled_operation> by_operation(const profiled& p) {
  std::vector<profiled_operation> all;
  detail::for_each_share(p, [&](int v, std::int64_t flops, const profiled_step& s, double share) {
    auto row = std::ranges::find(all, p.plan[v].operation, &profiled_operation::name);
    if (row == all.end()) row = all.insert(row, {{}, p.plan[v].operation});
    row->add(s, flops, share);
    ++row->count;
  });
  std::ranges::sort(all, std::greater{}, &profiled_operation::seconds);
  return all;
}

/// What each segment takes, by part; the first is the program outside of them. What is computed again is counted where
/// backward asks for it, as in segment_plan.
inline std::vector<std::array<profiled_share, 3>> by_segment(const profiled& p) {
  std::vector<std::array<profiled_share, 3>> all(p.plan.segments.size());
  detail::for_each_share(p, [&](int v, std::int64_t flops, const profiled_step& s, double share) {
    const value& of = p.plan[v];
    auto& segment = all[static_cast<std::size_t>(of.again > 0 ? of.home : of.segment)];
    segment[static_cast<std::size_t>(detail::part_of(p.plan, v))].add(s, flops, share);
  });
  return all;
}

}  // namespace cairn::report
