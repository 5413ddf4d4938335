// The counters that Google Benchmark gets for a training step, a segment and a value agree with the account of the
// plan.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/google_benchmark.hpp>
#include <map>
#include <string>

using namespace cairn;

namespace {

constexpr auto body = repeat<2, "block">(
    [](auto) { return ckpt<"ff">(nn::linear<"fc1", 96> | nn::gelu | nn::linear<"fc2", 64>) | nn::tanh; });
constexpr auto loss = mean(square(input<"x", 32, 64> | body));
using train_step = program<loss>;
const std::vector<float> x(32 * 64, 0.5F);

train_step begun() {
  train_step step;
  step.init(seed{1});
  return step;
}
void whole(benchmark::State& state) {
  train_step step = begun();
  benchmark_step(state, step, bind<"x">(x));
}
void updating(benchmark::State& state) {
  program<loss, update<sgd_options{.lr = 0.1}>> step;
  step.init(seed{1});
  benchmark_step(state, step, bind<"x">(x));
  if (step.steps() != 7) state.SkipWithError("not as many updates as iterations");
}
void part(benchmark::State& state) {
  train_step step = begun(), other = begun();
  benchmark_segment(state, step, "block.1.ff", bind<"x">(x));
  if (step.value_and_grad(bind<"x">(x)) != other.value_and_grad(bind<"x">(x))) state.SkipWithError("changed");
}
void missing(benchmark::State& state) {
  train_step step = begun();
  benchmark_segment(state, step, "block.2.ff", bind<"x">(x));
}
constexpr auto at = indices<"at", 100, 50>;
BENCHMARK(whole)->Iterations(7);
BENCHMARK(updating)->Iterations(7);
BENCHMARK(part)->Iterations(7);
BENCHMARK(missing)->Iterations(7);
BENCHMARK(benchmark_value<matmul(input<"a", 20, 30>, param<"b", 30, 40>)>)->Name("product")->Iterations(7);
BENCHMARK(benchmark_value<gather<0>(input<"table", 100, 64>, at), threads<2>>)->Name("gather")->Iterations(7);

/// Stores the reports and prints nothing.
struct silent : benchmark::BenchmarkReporter {
  std::map<std::string, Run> runs;

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& told) override {
    for (const Run& run : told) runs[run.run_name.function_name] = run;
  }
};
const std::map<std::string, silent::Run>& runs() {
  static const auto found = [] {
    silent reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter, ".*");
    return reporter.runs;
  }();
  return found;
}
double counter(const std::string& of, const std::string& name) {
  const auto& counters = runs().at(of).counters;
  return counters.contains(name) ? counters.at(name).value : -1;
}
/// Returns the floating-point operations for each byte.
double intensity(const std::string& of) { return counter(of, "GFLOP/s") / counter(of, "GB/s"); }
bool near(double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); }

}  // namespace

BOOST_AUTO_TEST_SUITE(google_benchmarks)

BOOST_AUTO_TEST_CASE(all_benchmarks_run) {
  BOOST_TEST(runs().size() == 6U);
  for (const auto& [name, run] : runs()) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(run.error_occurred == (name == "missing"));
      BOOST_TEST((run.error_occurred || run.iterations == 7));
      if (run.error_occurred) continue;
      BOOST_TEST(counter(name, "GB/s") > 0);
      BOOST_TEST(counter(name, "%roof") > 0);
      BOOST_TEST((counter(name, "%peak") > 0) == (name != "gather"));
    }
  }
  BOOST_TEST(runs().at("missing").error_message == "the program has no segment of this path");
}
BOOST_AUTO_TEST_CASE(counters_agree_with_the_plan) {
  BOOST_TEST(near(intensity("product"), 2.0 * 20 * 30 * 40 / (4 * (20 * 30 + 30 * 40 + 20 * 40))));
  const report::account a = report::account_of<train_step>();
  double flops = 0, bytes = 0;
  for (const report::step& s : a.steps)
    flops += static_cast<double>(s.flops), bytes += static_cast<double>(s.read + s.written);
  BOOST_TEST(near(intensity("whole"), flops / bytes));
  BOOST_TEST(flops == static_cast<double>(train_step::flops().total()));
}
// In each block, the forward pass has two products, the recomputation has one, and the backward pass has four.
BOOST_AUTO_TEST_CASE(a_segment_counts_forward_recomputation_and_backward) {
  const report::account a = report::account_of<train_step>();
  const auto ranges = detail::steps_within(a, "block.1.ff");
  std::int64_t flops = 0;
  for (const auto& [begin, end] : ranges) {
    for (int i = begin; i < end; ++i) flops += a.steps[static_cast<std::size_t>(i)].flops;
  }
  BOOST_TEST(ranges.size() == 2U);
  const std::int64_t product = 2 * 32 * 64 * 96;
  BOOST_TEST(flops >= 7 * product);
  BOOST_TEST(flops < 8 * product);
}

BOOST_AUTO_TEST_SUITE_END()
