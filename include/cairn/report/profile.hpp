// Measures where the time of a training step goes: `const auto p = report::profile(step, bind<"images">(x), ...)`. The
// profile is shown by `report::profile_table(out, p)`, by `report::trace(out, p)` of trace.hpp, and by
// `report::page(out, p)` of page.hpp.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/profiled.hpp"
#include "cairn/report/stream.hpp"

namespace cairn::report {

namespace detail {
inline double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::ranges::nth_element(of, middle);
  return *middle;
}

/// Runs all plan steps `rounds` times, and returns the median time of each plan step in seconds.
inline std::vector<double> time_steps(const std::function<void(int)>& run, std::size_t steps, int rounds) {
  std::vector<std::vector<double>> taken(steps);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < steps; ++i) {
      const auto begin = clock::now();
      run(static_cast<int>(i));
      taken[i].push_back(seconds_between(begin, clock::now()));
    }
  }
  std::vector<double> medians;
  for (const auto& one : taken) medians.push_back(median(one));
  return medians;
}
}  // namespace detail

/// Measures the time of each plan step of a program, over `Rounds` rounds on these inputs. Parameters, moments, states,
/// gradients and the random state stay as they are. The function also measures what the processor can do, which takes
/// about half a second and 256 MiB of memory. In a program that divides its batch, the plan steps run on the first
/// microbatch, and each of them counts once. Throws what value_and_grad throws before it computes anything.
template <int Rounds = 15, class Program, class... Bound>
  requires(Rounds > 0)
profiled profile(Program& step, const Bound&... inputs) {
  const account a = account_of<Program>();
  std::vector<double> seconds;
  step.step_by_step([&](auto run) { seconds = detail::time_steps(run, a.steps.size(), Rounds); }, inputs...);
  const int threads = kernels::threads_at_hand(Program::threads);
  profiled measured = detail::profile_of(a, seconds, roof_of<typename Program::real_type>(threads), Rounds, threads);
  if constexpr (!Program::segments().empty()) measured.peak = Program::peak();
  return measured;
}

namespace detail {
/// Returns an amount per second with its unit, for example "118 GFLOP/s". Returns an empty text if nothing was
/// measured.
inline std::string per_second(double n, const char* const (&units)[5], double seconds) {
  if (seconds <= 0 || n <= 0) return "";
  return scaled(std::llround(n / seconds), 1000, units);
}
inline std::string flops_per_second(const profiled_share& s) {
  static constexpr const char* units[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"};
  return per_second(static_cast<double>(s.flops), units, s.seconds);
}
inline std::string bytes_per_second(const profiled_share& s) {
  static constexpr const char* units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return per_second(s.bytes, units, s.seconds);
}
/// Returns a time with its unit, for example "1.23 ms".
inline std::string time(double seconds) {
  static constexpr const char* units[] = {"ns", "us", "ms", "s"};
  return seconds <= 0 ? "" : scaled(std::llround(seconds * 1e9), 1000, units);
}
inline std::string percent_of(double part, double whole) {
  return percent(std::llround(1e12 * part), std::llround(1e12 * whole));
}
/// Adds a row to a table: first the columns `row`, then the figures of a share.
inline void add_share(table& t, std::vector<std::string> row, const profiled_share& s, double whole) {
  for (std::string text : {time(s.seconds), percent_of(s.seconds, whole), flops(s.flops), flops_per_second(s),
                           bytes_per_second(s), percent_of(s.least, s.seconds)})
    row.push_back(std::move(text));
  t.add(std::move(row));
}
inline table share_table(std::vector<std::string> first) {
  for (const char* name : {"time", "", "work", "", "bytes moved", "of the roof"}) first.emplace_back(name);
  return table(std::move(first));
}

inline void print_phases(std::ostream& out, const profiled& p) {
  const auto phases = by_phase(p);
  profiled_share all;
  for (const profiled_share& s : phases) all += s;
  table t = share_table({"part"});
  for (std::size_t i = 0; i < phases.size(); ++i) add_share(t, {std::string(phase_names[i])}, phases[i], p.seconds());
  add_share(t, {"in all"}, all, p.seconds());
  t.print(out);
}
inline void print_operations(std::ostream& out, const profiled& p) {
  table t = share_table({"operation", ""});
  for (const profiled_operation& o : by_operation(p))
    add_share(t, {std::string(o.name), std::to_string(o.count) + " x"}, o, p.seconds());
  t.print(out);
}
/// Prints the segments. Equal segments share a line, which shows the means of their times.
inline void print_segments(std::ostream& out, const profiled& p) {
  if (p.plan.plans.empty()) return;
  const auto shares = by_segment(p);
  table t({"segment", "", "forward", "recomputation", "backward", "not stored"});
  for (const alike& g : folded(p.plan.plans)) {
    double sums[3] = {};
    for (std::size_t s = 0; s < p.plan.plans.size(); ++s) {
      for (std::size_t i = 0; i < 3; ++i) sums[i] += g.takes(p.plan.plans[s]) ? shares[s + 1][i].seconds : 0;
    }
    t.add({from_to(g.first.path, g.last.path, g.count), g.count > 1 ? std::to_string(g.count) + " x" : "",
           time(sums[0] / g.count), time(sums[1] / g.count), time(sums[2] / g.count), bytes(g.first.interior_bytes)});
  }
  t.print(out << '\n');
  if (p.peak) peak_lines(out, *p.peak);
}
inline void print_longest(std::ostream& out, const profiled& p, std::size_t most) {
  std::vector<const profiled_step*> longest;
  for (const profiled_step& s : p.steps) longest.push_back(&s);
  std::ranges::sort(longest, std::greater{}, &profiled_step::seconds);
  longest.resize(std::min(most, longest.size()));
  table t({"longest steps", "", "of", "part", "time", "", "bytes moved", "of the roof", ""}, 4);
  for (const profiled_step* s : longest) {
    const profiled_share share = profiled_share::of(*s, s->flops, 1);
    t.add({std::to_string(s - p.steps.data()), s->operations, s->origin,
           std::string(phase_names[static_cast<std::size_t>(s->what)]), time(s->seconds), flops_per_second(share),
           bytes_per_second(share), percent_of(s->least, s->seconds), s->by_memory ? "memory" : "arithmetic"});
  }
  t.print(out);
}
}  // namespace detail

/// Writes a profile as tables: by part, by operation and by segment, and then the longest plan steps. The table of
/// segments shows the time of a segment's recomputation next to the bytes that the segment does not store.
///
/// The column "of the roof" compares a speed with the highest speed that the processor could have with this number of
/// operations and bytes. For a plan step, the last column says which of the two limits the speed, arithmetic or memory.
inline void profile_table(std::ostream& out, const profiled& p) {
  const detail::plain_numbers guard(out);
  using namespace detail;
  if (p.steps.empty()) return;
  const roof& r = p.limits;
  out << time(p.seconds()) << " on " << p.threads << (p.threads == 1 ? " thread" : " threads") << ", the median of "
      << p.rounds << " rounds of " << p.steps.size() << " steps; at most "
      << flops_per_second({1, 0, 0, std::llround(r.flops)}) << ", and " << bytes_per_second({1, r.moved.back().rate})
      << " from memory to " << bytes_per_second({1, r.moved.front().rate}) << " in a cache\n\n";
  print_phases(out, p);
  print_operations(out << '\n', p);
  print_segments(out, p);
  print_longest(out << '\n', p, 12);
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
