// Benchmarks of your own model and operations with Google Benchmark: a whole training step, one of its segments, and
// an operation. Each benchmark shows its work per second and its share of the processor's limits. The usual arguments
// of Google Benchmark work:
// --benchmark_filter=step --benchmark_repetitions=5
#include <cairn/cairn.hpp>
#include <cairn/google_benchmark.hpp>

using namespace cairn;

namespace mine {

/// The operation x * sigmoid(1.702 x), a fast gelu, as an operation of your own.
struct quick_gelu_op : elementwise_op {
  static constexpr fixed_string name = "quick_gelu";
  static constexpr auto vjp(auto g, auto, auto x) {
    const auto s = sigmoid(1.702_c * x);
    return gradients(g * s * (1_c + 1.702_c * x * (1_c - s)));
  }
};
template <an_expression X>
constexpr made<quick_gelu_op, X> quick_gelu(X) {
  return {};
}
template <class V>
V lanewise(quick_gelu_op, V x) {
  using kernels::exp;
  return x / (kernels::all<V>(1) + exp(kernels::all<V>(-1.702) * x));
}

}  // namespace mine

namespace {

constexpr auto bend = layer([](auto x) { return mine::quick_gelu(x); });
constexpr auto feed_forward = nn::linear<"fc1", 512> | bend | nn::linear<"fc2", 128>;
constexpr auto blocks = repeat<2, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto logits = input<"x", 64, 128> | blocks | nn::linear<"head", 10>;
constexpr auto loss = cross_entropy(logits, labels<"y", 10, 64>);

/// A program with a batch for training.
struct fixture {
  program<loss, update<adamw_options{}>> step;
  std::vector<float> x = std::vector<float>(64 * 128, 0.5F);
  std::vector<std::int32_t> y = std::vector<std::int32_t>(64, 3);

  fixture() { step.init(seed{1}); }
};

void step(benchmark::State& state) {
  fixture f;
  benchmark_step(state, f.step, bind<"x">(f.x), bind<"y">(f.y));
  state.SetItemsProcessed(64 * state.iterations());  // examples a second
}
BENCHMARK(step)->Unit(benchmark::kMicrosecond);

void segment(benchmark::State& state) {
  fixture f;
  benchmark_segment(state, f.step, "block.0.ff", bind<"x">(f.x), bind<"y">(f.y));
}
BENCHMARK(segment)->Unit(benchmark::kMicrosecond);

constexpr auto wide = input<"wide", 256, 1024>;
BENCHMARK(benchmark_value<mine::quick_gelu(wide)>)->Name("quick_gelu");
BENCHMARK(benchmark_value<gelu(wide)>)->Name("gelu");
BENCHMARK(benchmark_value<grad(sum(mine::quick_gelu(wide) * input<"g", 256, 1024>), wide)>)
    ->Name("gradient of quick_gelu");

}  // namespace

BENCHMARK_MAIN();
