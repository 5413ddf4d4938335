// Compares the gradient of each elementwise operation with finite differences, also with broadcasting. Values and
// slopes far from zero are compared with std's functions, in float, double and bf16.
#include <boost/mpl/list.hpp>
#include <cmath>
#include <limits>

#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_elementwise_operations)

constexpr auto a = param<"a", 3, 5>;
constexpr auto b = param<"b", 3, 5>;
constexpr auto row = param<"row", 5>;
constexpr auto column = param<"column", 3, 1>;
constexpr auto cube = param<"cube", 2, 1, 5>;
constexpr auto positive = square(a) + 0.5_c;

BOOST_AUTO_TEST_CASE(binary) {
  check<weighted(a + b)>();
  check<weighted(a - b)>();
  check<weighted(a * b)>();
  check<weighted(a / (b + 2_c))>();
  check<weighted(maximum(a, b))>();
}
BOOST_AUTO_TEST_CASE(broadcast) {
  check<weighted(a + row)>();
  check<weighted(row - a)>();
  check<weighted(a * column)>();
  check<weighted(row * column)>();
  check<weighted(column / (row + 2_c))>();
  check<weighted(maximum(column, row))>();
  check<weighted(cube * a)>();
  check<weighted(a * param<"scalar">)>();
}
BOOST_AUTO_TEST_CASE(constants) {
  check<weighted(a * 0.5_c + 3_c - 1e-2_c / (a + 4_c))>();
  check<weighted(-a)>();
}
BOOST_AUTO_TEST_CASE(exp_log_and_other_functions) {
  check<weighted(exp(a))>();
  check<weighted(log(positive))>();
  check<weighted(sqrt(positive))>();
  check<weighted(square(a))>();
  check<weighted(tanh(a * 2_c))>();
  check<weighted(sigmoid(a * 3_c))>();
  check<weighted(relu(a))>();
  check<weighted(gelu(a * 3_c))>();
}
BOOST_AUTO_TEST_CASE(more_functions) {
  constexpr auto y = sin(a * 4_c) * cos(b) + log1p(positive) * rsqrt(positive) + softplus(a * 3_c) * silu(b) +
                     abs(a) * minimum(column, row) + pow(positive, 2.3_c) + sign(a) * square(b);
  check<weighted(y)>();
  check<weighted(grad(sum(square(y)), a))>();
  check<weighted(grad(sum(square(y)), b))>();
  check<weighted(grad(sum(square(y)), row))>();
}
/// Rounded numbers are constants for the gradient.
BOOST_AUTO_TEST_CASE(erf_and_whole_numbers) {
  constexpr auto y = erf(a * 2_c) * b * row + floor(a) * square(b) + ceil(b) * a + round(row * 2_c) * a * b;
  check<weighted(y)>();
  check<weighted(grad(sum(square(y)), a))>();
  check<weighted(grad(sum(square(y)), b))>();
}
BOOST_AUTO_TEST_CASE(prelus) {
  constexpr auto wide = param_from<"wide", initial::uniform(9), 2, 1, 5>;  // far from the kink at 0
  constexpr auto y =
      prelu(a, param<"one", 1>) * b + prelu(a * 3_c, row) + (wide | nn::prelu<"act", 5> | nn::prelu<"next">);
  check<weighted(y)>();
  check<sum(grad(sum(square(y)), a) * b) + sum(square(grad(sum(square(y)), row)))>();
  constexpr auto inside = a | ckpt<"s">(nn::linear<"fc", 5> | nn::prelu<"act", 5> | nn::linear<"out", 2> | nn::tanh);
  check<weighted(square(inside))>();
}
/// An infinite number does not reach the gradient of the weight.
BOOST_AUTO_TEST_CASE(prelu_of_infinite_numbers) {
  constexpr auto x = input<"x", 1, 3>;
  program<sum(minimum(x | nn::prelu<"act">, 1_c)), wrt<"x">> step;
  step.init(seed{1});
  BOOST_TEST(step.param<"act.weight">()(0) == 0.25F);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(step.value_and_grad(bind<"x">(std::array{infinity, -2.0F, 0.5F})) == 1.0F);
  BOOST_TEST(step.grad<"act.weight">()(0) == -2.0F);
  BOOST_TEST(step.grad<"x">()(0, 0) == 0.0F);
  BOOST_TEST(step.grad<"x">()(0, 1) == 0.25F);
}
BOOST_AUTO_TEST_CASE(where_clamp_and_leaky_relu) {
  constexpr auto y = where(column < row, a * b, square(row)) + clamp(a * b, -0.1_c, 0.1_c) * b +
                     square(leaky_relu<0.2>(a)) + where(indices<"mask", 2, 5>, a, 2_c * column) +
                     where(a >= b, where(a != b, b, a), 0_c);
  const std::array mask{0, 1, 1, 0, 1};
  check<weighted(y)>(bind<"mask">(mask));
  check<weighted(grad(sum(square(y)), a))>(bind<"mask">(mask));
}
BOOST_AUTO_TEST_CASE(more_activations) {
  constexpr auto y = elu(a * 3_c) * hardsigmoid(b * 5_c) + elu<0.3>(b * 3_c) * mish(a * 4_c) +
                     hardswish(row * 5_c) * gelu_tanh(b * 3_c) + masked_fill(a * b, row < 0_c, 0.5_c);
  check<weighted(y)>();
  check<weighted(grad(sum(square(y)), a))>();
  check<weighted(grad(sum(square(y)), b))>();
  check<weighted(grad(sum(square(y)), row))>();
}
BOOST_AUTO_TEST_CASE(powers) {
  check<weighted(pow(a, 3_c) + pow(b, 6_c))>();
  check<weighted(pow(positive, 0.5_c) * pow(positive, -2_c))>();
  program<outputs(sum(pow(a, 3_c)), pow(a, 5_c), pow(a, -2_c)), real<double>> step;
  step.init(seed{1});
  const auto [cubes, fifth, quotient] = step.value_and_grad();
  double sum = 0;
  for (std::size_t i = 0; i < 15; ++i) {
    const double x = step.param<"a">().data()[i];
    BOOST_TEST(fifth.data()[i] == std::pow(x, 5), boost::test_tools::tolerance(1e-14));
    BOOST_TEST(quotient.data()[i] == 1 / (x * x), boost::test_tools::tolerance(1e-14));
    sum += x * x * x;
  }
  BOOST_TEST(cubes == sum, boost::test_tools::tolerance(1e-13));
}
BOOST_AUTO_TEST_CASE(ties_of_maximum_share_the_gradient) {
  program<sum(maximum(param<"x", 4>, param<"x", 4>)), real<double>> step;
  step.init(seed{1});
  step.value_and_grad();
  for (double g : step.grad<"x">()) BOOST_TEST(g == 1.0);
}
BOOST_AUTO_TEST_CASE(relu_has_no_slope_at_zero) {
  program<sum(relu(param_from<"x", initial{.fill = 0}, 4>)), real<double>> step;
  step.init(seed{1});
  step.value_and_grad();
  for (double g : step.grad<"x">()) BOOST_TEST(g == 0.0);
}

/// Arguments that bf16 holds exactly.
const std::vector<double> far{-80, -40, -13, -6.5, -3.5, -1, -0.25, 0.25, 1, 3.5, 6.5, 10, 13, 40, 80};
constexpr auto hidden = matmul(input<"x", 15, 1>, param_from<"one", initial::constant(1), 1, 1>);

using wide = long double;  // the type of exact values

/// The type of the numbers of a program, the options of the program, and the relative error of a number that is rounded
/// once on the way.
template <class Number, double Within, class... Options>
struct numbers_of {
  using real = Number;
  static constexpr double within = Within;
  template <auto Loss>
  using step = program<Loss, wrt<"x">, Options...>;
};
using all_numbers = boost::mpl::list<numbers_of<float, 1e-6>, numbers_of<double, 2e-15, real<double>>,
                                     numbers_of<float, 0x1p-8, mixed<bf16>>>;

template <int I>
constexpr auto numbers_at = slice<0, I, I + 1>(input<"x", 5, 4>);
/// At minus infinity the values and the slopes are 0. Beyond the root of the largest number, slopes stay finite.
BOOST_AUTO_TEST_CASE_TEMPLATE(functions_that_end_at_zero, Numbers, all_numbers) {
  using real = typename Numbers::real;
  constexpr auto y = concatenate<0>(gelu(numbers_at<0>), gelu_tanh(numbers_at<1>), silu(numbers_at<2>),
                                    mish(numbers_at<3>), hardswish(numbers_at<4>));
  typename Numbers::template step<outputs(sum(y), y)> step;
  const real huge = std::ldexp(real{1}, std::numeric_limits<real>::max_exponent - 5);
  const std::array<real, 4> ends{-std::numeric_limits<real>::infinity(), -huge, 0, huge}, values{0, 0, 0, huge};
  std::vector<real> x;
  for (int i = 0; i < 5; ++i) x.insert(x.end(), ends.begin(), ends.end());
  const auto results = step.value_and_grad(bind<"x">(x));
  const auto slope = step.template grad<"x">();
  for (int i = 0; i < 5; ++i) {
    const std::array<real, 4> slopes{0, 0, slope(i, 2), 1};
    BOOST_TEST(slopes[2] > 0.4, "function " << i << " at 0");
    for (int k = 0; k < 4; ++k) {
      const auto at = static_cast<std::size_t>(k);
      BOOST_TEST(std::get<1>(results)(i, k) == values[at], "function " << i << " at " << ends[at]);
      BOOST_TEST(slope(i, k) == slopes[at], "slope of function " << i << " at " << ends[at]);
    }
  }
}

/// Second gradients are 0 where the slope is constant, also at infinities.
BOOST_AUTO_TEST_CASE_TEMPLATE(second_gradients_end_at_zero, Numbers, all_numbers) {
  using real = typename Numbers::real;
  constexpr auto x = input<"x", 4>;
  constexpr auto y = gelu(x) + gelu_tanh(x) + silu(x) + mish(x) + hardswish(x) + erf(x);
  typename Numbers::template step<sum(grad(sum(y), x))> step;
  const real infinity = std::numeric_limits<real>::infinity();
  const real huge = std::ldexp(real{1}, std::numeric_limits<real>::max_exponent - 5);
  step.value_and_grad(bind<"x">(std::array<real, 4>{-infinity, -huge, huge, infinity}));
  for (const real second : step.template grad<"x">()) BOOST_TEST(second == 0);
}

/// Compares the values of a function, and the gradient of their sum, with exact values.
template <class Numbers, auto Function>
void check_far(const char* name, auto value, auto slope) {
  using real = typename Numbers::real;
  constexpr auto y = Function(hidden);
  typename Numbers::template step<outputs(sum(y), y)> step;
  step.init(seed{1});
  const std::vector<real> x(far.begin(), far.end());
  const auto results = step.value_and_grad(bind<"x">(x));
  for (std::size_t i = 0; i < far.size(); ++i) {
    const auto near = [&](const char* what, real found, wide exact) {
      BOOST_TEST(std::abs(found - exact) <= Numbers::within * std::abs(exact) + std::numeric_limits<real>::denorm_min(),
                 name << " at " << far[i] << ": " << what << ' ' << found << ", but " << exact << " is exact");
    };
    near("value", std::get<1>(results).data()[i], value(far[i]));
    near("slope", step.template grad<"x">().data()[i], slope(far[i]));
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(values_and_slopes_far_from_zero, Numbers, all_numbers) {
  const auto logistic = [](wide v) { return v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v)); };
  const auto bell = [=](wide v) { return logistic(v) * logistic(-v); };
  const auto share = [](wide v) { return std::erfc(-v * std::sqrt(wide{0.5})) / 2; };
  const auto density = [](wide v) { return std::exp(-v * v / 2) / std::sqrt(2 * std::acos(wide{-1})); };
  const auto log_of_sum = [](wide v) { return std::log1p(std::exp(-std::abs(v))) + std::max(v, wide{0}); };
  check_far<Numbers, [](auto v) { return tanh(v); }>(
      "tanh", [](wide v) { return std::tanh(v); }, [=](wide v) { return 4 * bell(2 * v); });
  check_far<Numbers, [](auto v) { return sigmoid(v); }>("sigmoid", logistic, bell);
  check_far<Numbers, [](auto v) { return softplus(v); }>("softplus", log_of_sum, logistic);
  check_far<Numbers, [](auto v) { return grad(sum(softplus(v)), v); }>("softplus'", logistic, bell);
  check_far<Numbers, [](auto v) { return silu(v); }>(
      "silu", [=](wide v) { return v * logistic(v); }, [=](wide v) { return logistic(v) * (1 + v * logistic(-v)); });
  // In bf16, the slope of elu is rounded more than once, and the slope of erf at 10 is below all numbers.
  if constexpr (Numbers::within < 0x1p-8) {
    check_far<Numbers, [](auto v) { return elu(v); }>(
        "elu", [](wide v) { return v > 0 ? v : std::expm1(v); }, [](wide v) { return std::min(std::exp(v), wide{1}); });
    check_far<Numbers, [](auto v) { return erf(v); }>(
        "erf", [](wide v) { return std::erf(v); },
        [](wide v) { return 2 / std::sqrt(std::acos(wide{-1})) * std::exp(-v * v); });
  }
  check_far<Numbers, [](auto v) { return gelu(v); }>(
      "gelu", [=](wide v) { return v * share(v); }, [=](wide v) { return share(v) + v * density(v); });
}
/// The logit of the label's class is 20 above the other logits. The slope of the label must keep the digits of the
/// other classes' shares. This is checked for the loss itself and for the loss written out in other operations.
template <class Numbers, auto LossOf, bool OfShare = false>
void check_confident(const char* name) {
  constexpr auto eye = generated<5, 5>([](int i, int j) { return i == j ? 1.0 : 0.0; });
  typename Numbers::template step<LossOf(matmul(input<"x", 1, 5>, eye), labels<"class", 5, 1>)> step;
  step.init(seed{1});
  const std::vector<typename Numbers::real> logits{0, 1, 20, -1, 0.5};
  step.value_and_grad(bind<"x">(logits), bind<"class">(std::array{2}));
  wide others = 0;
  for (const wide logit : {0.0, 1.0, -1.0, 0.5}) others += std::exp(logit - 20);
  const wide share = 1 / (1 + others);
  for (std::size_t i = 0; i < 5; ++i) {
    const wide exact = (i == 2 ? -others : std::exp(wide{logits[i]} - 20)) * share * (OfShare ? share : 1);
    const auto found = step.template grad<"x">().data()[i];
    BOOST_TEST(std::abs(found / exact - 1) <= 2 * Numbers::within,
               name << ": " << found << " at class " << i << ", but " << exact << " is exact");
  }
}
BOOST_AUTO_TEST_CASE_TEMPLATE(slope_of_a_confident_class, Numbers, all_numbers) {
  check_confident<Numbers, [](auto x, auto c) { return cross_entropy(x, c); }>("cross_entropy");
  check_confident<Numbers, [](auto x, auto c) { return -sum(log_softmax(x) * one_hot(c)); }>("log_softmax");
  check_confident<Numbers, [](auto x, auto c) { return -sum(gather<0>(reshape<5>(log_softmax(x)), c)); }>("gather");
  check_confident<Numbers, [](auto x, auto c) { return -sum(log_softmax<0>(transpose(x)) * transpose(one_hot(c))); }>(
      "log_softmax<0>");
  check_confident<Numbers, [](auto x, auto c) { return -sum(softmax(x) * one_hot(c)); }, true>("softmax");
}

BOOST_AUTO_TEST_SUITE_END()
