// Gradients and losses that are sums of many terms keep their digits, and the sums of scans have the same bits under
// every policy.
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <vector>

using namespace cairn;

namespace {

/// The bound of the relative error. A section of 32 equal terms loses at most 16 roundings, and a few more follow.
template <class Real>
constexpr double margin = 20 * std::numeric_limits<Real>::epsilon() / 2;
constexpr double term = 0.1F;
const double term_of_bf16 = static_cast<float>(bf16{0.1F});
void all_terms_count(double sum, double terms, double most = margin<float>, double of = term) {
  BOOST_TEST(std::abs(sum / (terms * of) - 1) < most);
}
const std::vector<float> ones(2'000'000, 1.F), tenths(2'000'000, 0.1F);

/// Returns the gradient of a parameter that is multiplied by the same number in each iteration, and once outside.
template <int T, class Policy, class Real, class... Options>
std::vector<Real> of_steps() {
  constexpr auto body = [](auto h, auto x) { return std::tuple{tanh(h + x), x * param<"w", 3>}; };
  constexpr auto loop = scan<T, "step", Policy>(body, carried(input<"h", 3>), each(input<"x", T, 3>));
  constexpr auto loss = sum(std::get<1>(loop)) + sum(std::get<0>(loop)) + sum(param<"step.w", 3> * input<"h", 3>);
  program<loss, Options...> step;
  step.init(seed{1});
  const std::vector<Real> h(3, static_cast<Real>(0.1)), x(3 * T, static_cast<Real>(0.1));
  step.value_and_grad(bind<"h">(h), bind<"x">(x));
  const auto w = step.template grad<"step.w">();
  return {w.data(), w.data() + 3};
}
template <int T>
void check_loop() {
  const auto w = of_steps<T, store_all, float>();
  all_terms_count(w[0], T + 1);
  BOOST_TEST((of_steps<T, revolve<7>, float>() == w));
  BOOST_TEST((of_steps<T, segment_every<8>, float>() == w));
  const auto exact = of_steps<T, store_all, double, real<double>>();
  BOOST_TEST(std::abs(exact[0] / ((T + 1) * 0.1) - 1) < margin<double>);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sums)

BOOST_AUTO_TEST_CASE(gradients_over_the_iterations_of_a_scan) {
  check_loop<33>();
  check_loop<1'000>();
  all_terms_count(of_steps<100'000, store_all, float>()[0], 100'001);
  all_terms_count(of_steps<100'000, store_all, float, mixed<bf16>>()[0], 100'001);
}
// Each scan has sections of its own.
BOOST_AUTO_TEST_CASE(gradients_over_the_iterations_of_nested_scans) {
  constexpr auto outer = [](auto h, auto x) {
    return scan<500, "in">([](auto in, auto y) { return in + y * param<"w", 1>; }, carried(h), each(x));
  };
  program<sum(scan<400, "out">(outer, carried(zeros<1>), each(input<"x", 400, 500, 1>)))> step;
  step.init(seed{1});
  step.value_and_grad(bind<"x">(std::span(tenths).first(200'000)));
  all_terms_count(step.grad<"out.in.w">()(0), 200'000, 2 * margin<float>);
}

/// Checks the gradient of a bias over a million rows, and the means of the rows, if all numbers are `of`.
template <class Real, class... Options>
void check_rows(double of) {
  constexpr auto x = input<"x", 1'000'000, 2>;
  program<outputs(sum((input<"one", 1'000'000, 1> | nn::linear<"fc", 2>)*x), mean<0>(x), mean(x)), Options...> dense;
  dense.init(seed{1});
  const std::vector<Real> one(1'000'000, 1), all(2'000'000, static_cast<Real>(of));
  const auto [loss, of_columns, of_all] = dense.value_and_grad(bind<"one">(one), bind<"x">(all));
  all_terms_count(dense.template grad<"fc.bias">()(0), 1'000'000, margin<Real>, of);
  all_terms_count(of_columns(1), 1, margin<Real>, of);
  all_terms_count(of_all, 1, margin<Real>, of);
}
BOOST_AUTO_TEST_CASE(gradients_of_biases) {
  check_rows<float>(term);
  check_rows<float, mixed<bf16>>(term_of_bf16);
  check_rows<double, real<double>>(0.1);

  constexpr auto pixels = input<"x", 10, 200, 500, 2>;
  constexpr auto filtered = (input<"one", 10, 200, 500, 1> | nn::conv2d<"conv", 2, 1>)*pixels;
  program<outputs(sum(filtered), global_average(pixels), mean<-1>(input<"y", 2, 1'000'000>))> images;
  images.init(seed{1});
  const auto [total, averages, rows] =
      images.value_and_grad(bind<"one">(std::span(ones).first(1'000'000)), bind<"x">(tenths), bind<"y">(tenths));
  all_terms_count(images.grad<"conv.bias">()(0), 1'000'000);
  all_terms_count(averages(9, 1), 1);
  all_terms_count(rows(1), 1);
}
BOOST_AUTO_TEST_CASE(gradients_of_a_table_in_bf16) {
  constexpr auto y = gather<0>(param<"table", 4, 2>, indices<"at", 4, 100'000>) * input<"x", 100'000, 2>;
  program<sum(y), mixed<bf16>> step;
  step.init(seed{1});
  const std::vector<std::int32_t> at(100'000, 3);
  step.value_and_grad(bind<"at">(at), bind<"x">(std::span(tenths).first(200'000)));
  all_terms_count(step.grad<"table">()(3, 1), 100'000, margin<float>, term_of_bf16);
}
// Each training step adds its gradient to the accumulated gradient, in float and with one rounding.
BOOST_AUTO_TEST_CASE(accumulated_gradients_of_many_steps) {
  constexpr int steps = 10'000;
  const auto check = [=](auto step) {
    step.init(seed{1});
    step.zero_grad();
    for (int i = 0; i < steps; ++i) step.value_and_grad(bind<"x">(std::span(tenths).first(3)));
    all_terms_count(step.template grad<"w">()(1), steps, steps * 0x1p-24);
  };
  constexpr auto loss = sum(input<"x", 3> * param<"w", 3>);
  check(program<loss, accumulate_gradients>());
  check(program<loss, accumulate_gradients, mixed<bf16>>());
}
/// One query reads many keys with equal scores, and many queries read one key, so that their gradients add up. The
/// bounds are in docs/kernels.md.
template <class... Options>
void check_attention(double of) {
  constexpr int n = 100'000;
  constexpr auto many = nn::attention(zeros<1, 1, 1, 1>, zeros<1, n, 1, 1>, input<"x", 1, n, 1, 1>);
  constexpr auto one = nn::attention(zeros<1, n, 1, 1>, zeros<1, 1, 1, 1>, param<"v", 1, 1, 1, 1>);
  program<outputs(sum(one * input<"x", 1, n, 1, 1>), many), Options...> step;
  step.init(seed{1});
  const auto [loss, average] = step.value_and_grad(bind<"x">(std::span(tenths).first(n)));
  constexpr double bound = 3e-8 * (cairn::costs::attention_tiles::most_tile_length +
                                   (n + cairn::costs::attention_tiles::most_tile_length - 1) /
                                       cairn::costs::attention_tiles::most_tile_length);
  all_terms_count(average(0, 0, 0, 0), 1, bound, of);
  all_terms_count(step.template grad<"v">()(0, 0, 0, 0), n, bound, of);
}
BOOST_AUTO_TEST_CASE(attention_over_many_keys) {
  check_attention(term);
  check_attention<mixed<bf16>>(term_of_bf16);
}
BOOST_AUTO_TEST_CASE(losses_over_many_rows) {
  program<cross_entropy(input<"x", 1'000'000, 2> * param<"w", 2>, labels<"at", 2, 1'000'000>)> step;
  step.init(seed{1});
  step.param<"w">()(0) = 1, step.param<"w">()(1) = 3;
  const std::vector<std::int32_t> at(1'000'000, 1);
  const double loss = step.value_and_grad(bind<"x">(tenths), bind<"at">(at));
  const double slope = 1 / (1 + std::exp(2 * term));
  BOOST_TEST(std::abs(loss / std::log1p(std::exp(-2 * term)) - 1) < margin<float>);
  BOOST_TEST(std::abs(step.grad<"w">()(0) / (term * slope) - 1) < margin<float>);
}

BOOST_AUTO_TEST_SUITE_END()
