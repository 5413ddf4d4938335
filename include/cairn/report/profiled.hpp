// The result of `report::profile`: the times of the plan steps, and their sums by part, by operation and by segment.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/account.hpp"
#include "cairn/report/residuals.hpp"
#include "cairn/report/roof.hpp"

#include <array>
#include <functional>
#include <map>

namespace cairn::report {

/// The phase of a training step to which an operation belongs.
enum class phase { forward, recomputation, backward };
inline constexpr std::string_view phase_names[] = {"forward", "recomputation", "backward"};

/// A plan step with its time: one kernel or fused loop, which may do several operations.
struct profiled_step {
  std::string operations;    ///< "matmul, add, 2 mul"
  std::string origin;        ///< the layer of the step, or the parameter that the step updates or differentiates
  std::string_view segment;  ///< path of the innermost segment, or empty
  phase what;                ///< the phase of the operation with the most work
  std::int64_t flops, recomputed_flops;
  std::int64_t read, written;  ///< bytes of the operands that are read, and of the results that are written
  std::int64_t live;           ///< bytes of the arena that the step needs
  double seconds;              ///< median of the times over all rounds
  double least;                ///< time in seconds that the step would take at the roof
  bool by_memory;              ///< true if memory limits the speed at the roof, false if arithmetic does
};

/// The measurements of one call of `profile`.
struct profiled {
  account plan{};
  std::vector<profiled_step> steps{};
  roof limits{};
  int rounds = 0, threads = 1;
  std::optional<peak_plan> peak{};  ///< has a value if the program has segments

  double seconds() const {
    double sum = 0;
    for (const profiled_step& s : steps) sum += s.seconds;
    return sum;
  }
};

/// A share of a plan step's figures, or a sum of several shares.
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
inline phase phase_of(const account& a, int v) {
  return a[v].recomputes != graphs::none ? phase::recomputation : v < a.value_turn ? phase::forward : phase::backward;
}

/// Returns for each plan step the operations that it does, as the values that are their first results.
inline std::vector<std::vector<int>> operations_of(const account& a) {
  std::vector<std::vector<int>> by_step(a.steps.size());
  for (int v = 0; v < static_cast<int>(a.values.size()); ++v) {
    if (a[v].step >= 0 && a[v].is_first_result) by_step[static_cast<std::size_t>(a[v].step)].push_back(v);
  }
  return by_step;
}

/// Returns the origin of a value by a name that the user knows: the parameter that it is a gradient or a new value of,
/// or the layer that computes it.
inline std::string origin_of(const account& a, const std::vector<std::string>& layers, int v) {
  if (a[v].gradient != graphs::none) return "gradient of " + std::string(a.name(a.leaf(a[v].gradient)));
  if (a[v].updated != graphs::none) return std::string(a.name(a.leaf(a[v].updated)));
  const int forward = a[v].recomputes != graphs::none ? a[v].recomputes : v;
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
      if (a[v].gradient != graphs::none || a[v].updated != graphs::none) origin = origin_of(a, layers, v);
    }
    const double work = out.limits.seconds_of_work(s.flops), memory = out.limits.seconds_of_memory(s.read + s.written);
    if (origin.empty()) origin = a.segment(s.segment).name;
    out.steps.push_back({counted_names(names), origin, a.segment(s.segment).name, phase_of(a, most), s.flops,
                         s.recomputed_flops, s.read, s.written, s.live, seconds[i], std::max(work, memory),
                         memory > work});
  }
  return out;
}

/// The memory of a value at an offset in the arena during the plan steps [from, to]. `value` is -1 for the workspace of
/// a plan step.
struct holding {
  int value, from, to;
  std::int64_t offset, bytes;
};
/// Returns all holdings of the arena in the order of their first plan steps. If a later holding begins at the same
/// offset, as for a value that is written in place over another, the earlier holding ends before the later one begins.
inline std::vector<holding> holdings_of(const account& a) {
  std::vector<holding> all;
  for (int v = 0; v < static_cast<int>(a.values.size()); ++v) {
    const int last = std::min(a[v].last, static_cast<int>(a.steps.size()) - 1);
    if (a[v].offset >= 0) all.push_back({v, a[v].step, last, a[v].offset, plans::aligned(a[v].bytes)});
  }
  for (int i = 0; i < static_cast<int>(a.steps.size()); ++i) {
    const step& s = a.steps[static_cast<std::size_t>(i)];
    if (s.workspace_bytes > 0) all.push_back({-1, i, i, s.workspace_offset, s.workspace_bytes});
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

/// Calls `visit(value, share)` for each operation. The time of a plan step is divided among its operations in
/// proportion to their floating-point operations. If the plan step has none, all of its time goes to its first
/// operation.
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

/// The shares of the forward pass, of recomputation and of the backward pass.
using phase_shares = std::array<profiled_share, 3>;
inline phase_shares by_phase(const profiled& p) {
  phase_shares phases;
  detail::for_each_share(
      p, [&](int v, const profiled_share& s) { phases[static_cast<std::size_t>(detail::phase_of(p.plan, v))] += s; });
  return phases;
}

/// The share of all uses of an operation in a training step. `by_operation` returns the operation with the longest time
/// first.
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

/// Returns the shares of each segment. Entry 0 is the program outside of segments. A recomputed value is counted in the
/// segment in the backward pass of which it is needed, as in segment_plan.
inline std::vector<phase_shares> by_segment(const profiled& p) {
  std::vector<phase_shares> all(p.plan.segments.size());
  detail::for_each_share(p, [&](int v, const profiled_share& s) {
    const value& of = p.plan[v];
    phase_shares& segment =
        all[static_cast<std::size_t>(of.recomputes != graphs::none ? of.recomputed_for : of.segment)];
    segment[static_cast<std::size_t>(detail::phase_of(p.plan, v))] += s;
  });
  return all;
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
