// gradcheck finds wrong gradients and names the place.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/gradcheck.hpp>
#include <cmath>
#include <vector>

namespace wrong {

/// x^2, with the gradient of x^2 / 2.
struct crooked_op : cairn::elementwise_op {
  static constexpr cairn::fixed_string name = "crooked";
  static constexpr auto vjp(auto g, auto, auto x) { return cairn::gradients(g * x); }
};
template <class V>
V lanewise(crooked_op, V x) {
  return x * x;
}
template <cairn::an_expression X>
constexpr cairn::made<crooked_op, X> crooked(X) {
  return {};
}

/// 2 x, with an infinite gradient.
struct endless_op : cairn::elementwise_op {
  static constexpr cairn::fixed_string name = "endless";
  static constexpr auto vjp(auto g, auto, auto x) {
    using namespace cairn;
    return gradients(square(g) / (x - x));
  }
};
template <class V>
V lanewise(endless_op, V x) {
  return x + x;
}
template <cairn::an_expression X>
constexpr cairn::made<endless_op, X> endless(X) {
  return {};
}

}  // namespace wrong

using namespace cairn;

namespace {

constexpr auto x = input<"x", 2, 3>;
const std::vector<double> numbers{0.5, 0, 0, 0, 4, 0};  // the wrong gradient is right at 0

}  // namespace

BOOST_AUTO_TEST_SUITE(gradient_checks)

BOOST_AUTO_TEST_CASE(a_wrong_gradient_rule_is_found_at_the_worst_parameter) {
  constexpr auto loss = sum(param<"right", 3>) + sum(wrong::crooked(param<"a.w", 2>));
  const gradient_deviation worst = gradcheck<loss>(seed{1});
  BOOST_TEST(worst.name == "a.w");
  BOOST_TEST(std::abs(worst.relative - 0.5) < 1e-6);
  BOOST_TEST(std::abs(worst.quotient - 2 * worst.gradient) < 1e-6);
}

BOOST_AUTO_TEST_CASE(inputs_are_varied_if_their_gradient_is_asked_for) {
  constexpr auto right = sum(x * param<"w", 3> * x);
  constexpr auto loss = right + sum(wrong::crooked(x));
  BOOST_TEST(gradcheck<loss>(seed{1}, bind<"x">(numbers)).relative < 1e-6);
  BOOST_TEST((gradcheck<right, wrt<"x">>(seed{1}, bind<"x">(numbers))).relative < 1e-6);
  const gradient_deviation worst = gradcheck<loss, wrt<"x">>(seed{1}, bind<"x">(numbers));
  BOOST_TEST(worst.name == "x");
  BOOST_TEST((worst.at == 0 || worst.at == 4));
  BOOST_TEST(worst.relative > 0.1);
}

BOOST_AUTO_TEST_CASE(several_inputs_of_any_container) {
  constexpr auto loss = sum(tanh(x * input<"y", 2, 3> + input<"z", 3> * param<"w", 3>));
  const double y[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const auto first = bind<"x">(numbers);
  const auto second = bind<"y">(y);
  const std::array<double, 3> z{1, -1, 0.5};
  BOOST_TEST((gradcheck<loss, wrt<"y", "z">>(seed{1}, first, second, bind<"z">(z))).relative < 1e-6);
  BOOST_TEST((gradcheck<loss, freeze<"w">, wrt<"x">>(seed{1}, first, second, bind<"z">(z))).relative < 1e-6);
  // A binding may own its numbers. These numbers are varied, too.
  const auto owned = [] { return std::vector<double>{1, -1, 0.5}; };
  BOOST_TEST((gradcheck<loss, wrt<"z">>(seed{1}, first, second, bind<"z">(owned()))).relative < 1e-6);
}

// The result fails in every form of comparison that the pages show.
BOOST_AUTO_TEST_CASE(a_loss_that_is_nan_fails_the_check) {
  constexpr auto loss = sum(log(x) * param<"a", 3>) + sum(param<"b", 3>);  // the part for a[0] is log(1) + log(-1)
  const std::vector<double> some{1, 1, 1, -1, 1, 1};
  const gradient_deviation worst = gradcheck<loss>(seed{1}, bind<"x">(some));
  BOOST_TEST(worst.relative > gradient_tolerance);
  BOOST_TEST(std::isinf(worst.relative));
  BOOST_TEST(std::isnan(worst.gradient));
  BOOST_TEST(worst.name == "a");
  BOOST_TEST(worst.at == 0U);
}

BOOST_AUTO_TEST_CASE(an_infinite_gradient_has_an_infinite_deviation) {
  constexpr auto loss = sum(param<"b", 3>) + sum(wrong::endless(param<"a", 2>));
  const gradient_deviation worst = gradcheck<loss>(seed{1});
  BOOST_TEST(std::isinf(worst.relative));
  BOOST_TEST(std::isinf(worst.gradient));
  BOOST_TEST(std::abs(worst.quotient - 2) < 1e-6);
  BOOST_TEST(worst.name == "a");
}

BOOST_AUTO_TEST_CASE(an_infinite_loss_has_an_infinite_deviation) {
  constexpr auto loss = sum(exp(1000_c * x)) * param<"a">;
  BOOST_TEST(std::isinf(gradcheck<loss>(seed{1}, bind<"x">(numbers)).relative));
}

BOOST_AUTO_TEST_CASE(an_array_that_does_not_fit_is_refused_before_it_is_copied) {
  const std::vector<double> few{1, 2};
  BOOST_CHECK_THROW(static_cast<void>(gradcheck<sum(x * param<"w", 3>), wrt<"x">>(seed{1}, bind<"x">(few))),
                    extent_error);
}

BOOST_AUTO_TEST_SUITE_END()
