// Benchmarks of every kernel by itself, on numbers that mostly lie in a second-level or third-level cache.
// bench/kernels.py compiles this file for three processors and makes one table. The benchmarks of gradients run the
// kernels that only the backward pass has.
#include <cairn/cairn.hpp>
#include <cairn/google_benchmark.hpp>

using namespace cairn;

namespace {

constexpr auto rows = input<"rows", 512, 1000>;
constexpr auto more = input<"more", 512, 1000>;
constexpr auto classes = labels<"classes", 1000, 512>;
constexpr auto pixels = input<"pixels", 8, 28, 28, 64>;
constexpr auto beside = input<"beside", 8, 28, 28, 64>;
constexpr auto filters = param<"filters", 64, 64, 3, 3>;
constexpr auto narrow = param<"narrow", 64, 64, 1, 1>;
constexpr auto depthwise = param<"depthwise", 64, 1, 3, 3>;
constexpr auto heads = input<"heads", 8, 128, 8, 64>;
constexpr auto words = param<"words", 5000, 128>;
constexpr auto tokens = indices<"tokens", 5000, 2048>;
constexpr nn::window same{.padding = 1}, each{.padding = 1, .groups = 64};

/// The gradient of Y with respect to X, for a cotangent that has the shape of Y.
template <auto Y, auto X>
constexpr auto pulled_back = []<int... E>(std::integer_sequence<int, E...>) {
  return grad(sum(Y * input<"cotangent", Y.shape.extent[E]...>), X);
}(std::make_integer_sequence<int, Y.shape.rank>{});

constexpr auto moments = [] {
  const auto [mean, scale, variance] = make<lang::moments_op<1e-5>>(input<"x", 6272, 64>);
  return outputs(mean, scale, variance);
}();

template <auto... Value>
void run(benchmark::State& state) {
  benchmark_value<Value...>(state);
}
/// Measures a training step that consists of little more than an update. The gradient is an input.
template <auto Rule>
void updating(benchmark::State& state) {
  program<sum(param<"w", 1 << 19> * input<"g", 1 << 19>), update<Rule>> step;
  step.init(seed{1});
  const std::vector<float> gradient(1 << 19, 0.5F);
  benchmark_step(state, step, bind<"g">(gradient));
}
/// Measures dropout. benchmark_value computes values without randomness, so this is a training step: dropout in the
/// forward pass, and the same work in the backward pass.
void dropping(benchmark::State& state) {
  program<dropout<"d", 0.1>(param<"w", 512, 1000>), cotangent<"g">> step;
  step.init(seed{1});
  const std::vector<float> gradient(512 * 1000, 0.5F);
  benchmark_step(state, step, bind<"g">(gradient));
}

BENCHMARK(run<matmul(input<"a", 512, 512>, input<"b", 512, 512>)>)->Name("product, 512 x 512 x 512");
BENCHMARK(run<matmul(input<"a", 128, 1024>, transpose(param<"w", 256, 1024>))>)
    ->Name("product, 128 x 1024 x 256, B transposed");
BENCHMARK(run<matmul(transpose(input<"a", 128, 1024>), input<"b", 128, 256>)>)
    ->Name("product, 1024 x 128 x 256, A transposed");
BENCHMARK(run<matmul(input<"a", 32, 64, 64>, input<"b", 32, 64, 64>)>)->Name("32 products, 64 x 64 x 64");
BENCHMARK(run<matmul(input<"a", 1024, 256>, param<"w", 256, 1>)>)->Name("product, 1024 x 256 x 1");

BENCHMARK(run<conv2d<same>(pixels, filters)>)->Name("convolution 3 x 3, 64 to 64 channels");
BENCHMARK(run<pulled_back<conv2d<same>(pixels, filters), pixels>>)->Name("its gradient by images");
BENCHMARK(run<pulled_back<conv2d<same>(pixels, filters), filters>>)->Name("its gradient by filters");
BENCHMARK(run<conv2d(pixels, narrow)>)->Name("convolution 1 x 1, 64 to 64 channels");
BENCHMARK(run<conv2d<each>(pixels, depthwise)>)->Name("depthwise convolution 3 x 3");

BENCHMARK(run<rows * more + rows>)->Name("loop: x y + x");
BENCHMARK(run<gelu(rows)>)->Name("loop: gelu");
BENCHMARK(run<tanh(rows)>)->Name("loop: tanh");
BENCHMARK(run<exp(rows)>)->Name("loop: exp");
BENCHMARK(run<where(rows > more, rows, more)>)->Name("loop: where x > y");
BENCHMARK(run<as<double>(rows)>)->Name("conversion to double");
BENCHMARK(run<flip<1>(rows)>)->Name("loop: flip");
BENCHMARK(run<roll<1, 1>(rows) - roll<1, -1>(rows)>)->Name("loop: roll of columns");
BENCHMARK(run<roll<0, 1>(rows) - roll<0, -1>(rows)>)->Name("loop: roll of rows");
BENCHMARK(run<mean(square(rows))>)->Name("loop with a sum: mean square");

BENCHMARK(run<moments>)->Name("mean and variance of columns");
BENCHMARK(run<rows | nn::layer_norm<"ln">>)->Name("layer norm");
BENCHMARK(run<pulled_back<make<lang::normalized_op<0>>(rows, input<"mean", 512, 1>, input<"scale", 512, 1>,
                                                       param<"w", 1000>, param<"b", 1000>),
                          param<"w", 1000>>>)
    ->Name("sums of its gradient");
BENCHMARK(run<nn::rotary(heads)>)->Name("rotary of heads of 64");
BENCHMARK(run<softmax(rows)>)->Name("softmax");
BENCHMARK(run<log_softmax(rows)>)->Name("log softmax");
BENCHMARK(run<pulled_back<softmax(rows), rows>>)->Name("gradient of softmax, and it");
BENCHMARK(run<cross_entropy(rows, classes)>)->Name("cross entropy");
BENCHMARK(run<grad(cross_entropy(rows, classes), rows)>)->Name("gradient of cross entropy");

BENCHMARK(run<sum<-1>(rows)>)->Name("sum of rows");
BENCHMARK(run<sum<0>(rows)>)->Name("sum of columns");
BENCHMARK(run<sum(rows)>)->Name("sum of all");
BENCHMARK(run<max<-1>(rows)>)->Name("largest of rows");
BENCHMARK(run<max<0>(rows)>)->Name("largest of columns");
BENCHMARK(run<argmax<-1>(rows)>)->Name("where the largest of rows is");

BENCHMARK(run<gather<0>(words, tokens)>)->Name("gather 2048 rows of 128");
BENCHMARK(run<pulled_back<gather<0>(words, tokens), words>>)->Name("its gradient, 5000 rows");
BENCHMARK(run<transpose<1, 0>(rows)>)->Name("transpose 512 x 1000");
BENCHMARK(run<transpose<0, 2, 1, 3>(input<"x", 8, 64, 8, 128>)>)->Name("transpose heads of 128");
BENCHMARK(run<transpose<0, 3, 1, 2>(pixels)>)->Name("transpose channels to the front");
BENCHMARK(run<concatenate<0>(rows, more)>)->Name("concatenate rows");
BENCHMARK(run<concatenate<1>(rows, more)>)->Name("concatenate columns");
BENCHMARK(dropping)->Name("dropout, and its gradient");

BENCHMARK(run<max_pool2d<2>(pixels)>)->Name("max pool 2 x 2");
BENCHMARK(run<max_pool2d<3, nn::window{.stride = 2, .padding = 1}>(pixels)>)->Name("max pool 3 x 3, stride 2");
BENCHMARK(run<pulled_back<max_pool2d<2>(pixels), pixels>>)->Name("gradient of max pool 2 x 2");
BENCHMARK(run<avg_pool2d<2>(pixels)>)->Name("average pool 2 x 2");
BENCHMARK(run<global_average(pixels)>)->Name("global average");
BENCHMARK(run<upsample2d<2>(pixels)>)->Name("upsample 2 x 2");

BENCHMARK(updating<sgd_options{.lr = 1e-6, .momentum = 0.9}>)->Name("update: sgd with momentum");
BENCHMARK(updating<adamw_options{.lr = 1e-6}>)->Name("update: adamw");

}  // namespace

BENCHMARK_MAIN();
