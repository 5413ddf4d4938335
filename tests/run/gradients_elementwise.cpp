// The gradient of each elementwise operation against finite differences, with broadcasting.
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
BOOST_AUTO_TEST_CASE(functions) {
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
BOOST_AUTO_TEST_CASE(choices) {
  constexpr auto y = where(column < row, a * b, square(row)) + clamp(a * b, -0.1_c, 0.1_c) * b +
                     square(leaky_relu<0.2>(a)) + where(indices<"mask", 2, 5>, a, 2_c * column) +
                     where(a >= b, where(a != b, b, a), 0_c);
  const std::array mask{0, 1, 1, 0, 1};
  check<weighted(y)>(bind<"mask">(mask));
  check<weighted(grad(sum(square(y)), a))>(bind<"mask">(mask));
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

BOOST_AUTO_TEST_SUITE_END()
