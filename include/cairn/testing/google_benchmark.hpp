// Functions for benchmarks that are written with Google Benchmark. They run a training step, a segment of a training
// step, or any value, for example an operation of the user:
// `BENCHMARK(benchmark_value<softmax(input<"x", 128, 1000>)>);`
// Each function shows the work per second and its share of the processor's limits. The header needs Debian's
// libbenchmark-dev.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/report/account.hpp"
#include "cairn/report/roof.hpp"
#include "cairn/run/predictor.hpp"
#include "cairn/testing/value_runner.hpp"
#pragma GCC diagnostic pop

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

namespace detail {
/// Returns the processor's limits. They are measured at the first call.
template <class Real, int Threads>
const report::roof& processor_limits() {
  static const report::roof limits = report::roof_of<Real>(kernels::threads_at_hand(Threads));
  return limits;
}

/// The work of one iteration of a benchmark, and the seconds that the iteration would take at the processor's limits.
struct benchmark_work {
  std::int64_t flops = 0, bytes = 0;
  double at_roof = 0;

  void add(const report::step& s, const report::roof& limits) {
    flops += s.flops;
    bytes += s.read + s.written;
    at_roof += std::max(limits.seconds_of_work(s.flops), limits.seconds_of_memory(s.read + s.written));
  }
};
inline benchmark_work work_in(const report::account& a, const report::roof& limits) {
  benchmark_work all;
  for (const report::step& s : a.steps) all.add(s, limits);
  return all;
}

/// Sets the counters of a benchmark whose iterations took `seconds` seconds in total.
inline void show_work(benchmark::State& state, const benchmark_work& each, double seconds, const report::roof& limits) {
  const double times = static_cast<double>(state.iterations());
  const double flops = times * static_cast<double>(each.flops) / seconds;
  if (each.flops > 0) {
    state.counters["GFLOP/s"] = 1e-9 * flops;
    state.counters["%peak"] = 100 * flops / limits.flops;
  }
  state.counters["GB/s"] = 1e-9 * times * static_cast<double>(each.bytes) / seconds;
  state.counters["%roof"] = 100 * times * each.at_roof / seconds;
}

class stopwatch {
  using clock = std::chrono::steady_clock;

 public:
  void start() { begun_ = clock::now(); }
  void stop() { seconds_ += std::chrono::duration<double>(clock::now() - begun_).count(); }
  double seconds() const { return seconds_; }

 private:
  clock::time_point begun_;
  double seconds_ = 0;
};

/// Returns the plan steps in the segment `path` or in a segment within it, as ranges [first, second).
inline std::vector<std::pair<int, int>> steps_within(const report::account& a, std::string_view path) {
  const auto stands_in = [&](int segment) {
    while (segment != 0 && a.segment(segment).name != path) segment = a.segment(segment).parent;
    return segment != 0;
  };
  std::vector<std::pair<int, int>> ranges;
  for (int i = 0; i < static_cast<int>(a.steps.size()); ++i) {
    if (!stands_in(a.steps[static_cast<std::size_t>(i)].segment)) continue;
    if (ranges.empty() || ranges.back().second != i) ranges.emplace_back(i, i);
    ranges.back().second = i + 1;
  }
  return ranges;
}
}  // namespace detail

/// Runs training steps of a program on the given inputs. If the program updates its parameters, the steps train it.
/// The program must be initialized. The benchmark shows
/// - GFLOP/s, and its share of the processor's peak;
/// - GB/s, for the bytes of all operands;
/// - the share of the roof: the time that the kernels would take at the processor's limits of work and memory, divided
///   by the time that they take.
template <class Program, class... Bound>
void benchmark_step(benchmark::State& state, Program& step, const Bound&... inputs) {
  const auto& limits = detail::processor_limits<typename Program::real_type, Program::threads>();
  detail::stopwatch watch;
  watch.start();
  for (auto _ : state) benchmark::DoNotOptimize(cairn::detail::one_step(step, inputs...));
  watch.stop();
  detail::show_work(state, detail::work_in(report::account_of<Program>(), limits), watch.seconds(), limits);
}

/// Runs whole training steps, but measures one segment alone: the kernels of the segment in the forward pass, in
/// recomputation and in the backward pass. Example: `benchmark_segment(state, step, "block.0.ff", bind<"x">(x))`.
/// Afterwards parameters, moments, states and gradients of the program are as they were before.
template <class Program, class... Bound>
void benchmark_segment(benchmark::State& state, Program& step, std::string_view path, const Bound&... inputs) {
  const report::account a = report::account_of<Program>();
  const auto ranges = detail::steps_within(a, path);
  if (ranges.empty()) return state.SkipWithError("the program has no segment of this path");
  const auto& limits = detail::processor_limits<typename Program::real_type, Program::threads>();
  detail::benchmark_work work;
  for (const auto& [begin, end] : ranges) {
    for (int i = begin; i < end; ++i) work.add(a.steps[static_cast<std::size_t>(i)], limits);
  }
  detail::stopwatch watch;
  const auto measure = [&](auto run) {
    int next = 0;
    const auto run_until = [&](int end) {
      for (; next < end; ++next) run(next);
    };
    for (auto _ : state) {
      state.PauseTiming();
      next = 0;
      for (const auto& [begin, end] : ranges) {
        run_until(begin);
        state.ResumeTiming();
        watch.start();
        run_until(end);
        watch.stop();
        state.PauseTiming();
      }
      run_until(static_cast<int>(a.steps.size()));
      state.ResumeTiming();
    }
  };
  step.step_by_step(measure, inputs...);
  detail::show_work(state, work, watch.seconds(), limits);
}

/// Runs the forward pass of a value on random numbers. The value may be an operation on leaves, an operation of your
/// own, a chain, or a gradient. Takes the options of program, for example threads<2>. Rejects everything that a
/// predictor rejects. A value with random operations needs a program.
template <auto Output, class... Options>
void benchmark_value(benchmark::State& state) {
  static_assert(lang::report_of<decltype(detail::problem_of_program<Output, false, Options...>())>{}.shown);
  if constexpr (detail::runs<Output, false, Options...>) {
    using compiled = detail::compiled_of<Output, false, Options...>;
    const auto& limits = detail::processor_limits<typename compiled::real, compiled::threads>();
    detail::value_runner<compiled> run(seed{1});
    detail::stopwatch watch;
    watch.start();
    for (auto _ : state) {
      run();
      benchmark::ClobberMemory();
    }
    watch.stop();
    detail::show_work(state, detail::work_in(report::detail::account_from<compiled>(), limits), watch.seconds(),
                      limits);
  }
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
