// Gradients of what a program asks for: of inputs, of any subset, and of what is frozen none.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <numeric>

using namespace cairn;

namespace {

constexpr auto x = input<"x", 4, 3>;
constexpr auto y = labels<"y", 2, 4>;
constexpr auto hidden = ckpt<"s", allow_useless>(nn::tanh | nn::linear<"fc2", 5> | nn::gelu);
constexpr auto loss_of(auto features) {
  return cross_entropy(features | nn::linear<"fc1", 6> | hidden | nn::linear<"head", 2>, y);
}
constexpr auto loss = loss_of(x);

constexpr std::array<float, 12> numbers{1, -2, 3, 0.5, 0.25, -1, 2, 2, -3, 0, 1, 0};
constexpr std::array<std::int32_t, 4> classes{0, 1, 1, 0};

/// A program after one step.
template <class Step>
Step stepped() {
  Step step;
  step.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  return step;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradients_asked)

BOOST_AUTO_TEST_CASE(the_gradient_of_an_input_is_that_of_a_parameter_in_its_place) {
  program<loss_of(param<"x", 4, 3>)> of_parameter;
  of_parameter.init(seed{3});
  std::ranges::copy(numbers, of_parameter.param<"x">().begin());
  static_cast<void>(of_parameter.value_and_grad(bind<"y">(classes)));
  auto step = stepped<program<loss, wrt<"x">>>();
  auto input_only = stepped<program<loss, freeze<"fc1", "fc2", "head">, wrt<"x">>>();
  auto plainly = stepped<program<loss, wrt<"x">, plain>>();
  BOOST_TEST(step.grad<"x">().shape()[1] == 3U);
  BOOST_TEST(of_parameter.grad<"x">()(3, 2) != 0);
  BOOST_TEST(std::ranges::equal(step.grad<"x">(), of_parameter.grad<"x">()));
  BOOST_TEST(std::ranges::equal(step.grad<"x">(), input_only.grad<"x">()));
  BOOST_TEST(std::ranges::equal(step.grad<"x">(), plainly.grad<"x">()));
}

BOOST_AUTO_TEST_CASE(optimizers_see_the_trained_parameters_alone) {
  auto step = stepped<program<loss, freeze<"fc1">, wrt<"x">>>();
  auto without = stepped<program<loss, freeze<"fc1">>>();
  BOOST_TEST(std::ranges::equal(step.gradients(), without.gradients()));
  static_assert(step.memory().gradient_bytes == without.memory().gradient_bytes + 64);
  BOOST_TEST(step.grad<"x">().data() == step.gradients().data() + step.gradients().size());
  sgd optimizer{step, {.lr = 0.5}}, other{without, {.lr = 0.5}};
  optimizer.update();
  other.update();
  BOOST_TEST(std::ranges::equal(step.parameters(), without.parameters()));
  auto frozen = stepped<program<loss, freeze<"fc1", "fc2", "head">, wrt<"x">>>();
  BOOST_TEST(frozen.parameters().empty());
  frozen.for_each_trained([](std::size_t) { BOOST_TEST(false); });
}

BOOST_AUTO_TEST_CASE(an_input_is_a_gradient_and_two_inputs_share_one) {
  program<sum(input<"a", 3> + input<"b", 3>) + sum(input<"c", 3> * param<"w", 3>), wrt<"a", "b", "c">> step;
  step.init(seed{1});
  const std::array<float, 3> some{1, 2, 3};
  static_cast<void>(step.value_and_grad(bind<"a">(some), bind<"b">(some), bind<"c">(some)));
  for (float g : step.grad<"a">()) BOOST_TEST(g == 1);
  for (float g : step.grad<"b">()) BOOST_TEST(g == 1);
  BOOST_TEST(std::ranges::equal(step.grad<"c">(), step.param<"w">()));
  BOOST_TEST(std::ranges::equal(step.grad<"w">(), some));
}

BOOST_AUTO_TEST_CASE(a_given_cotangent_stands_for_the_sum_weighted_with_it) {
  constexpr auto out = x | nn::linear<"fc1", 6> | hidden;
  constexpr std::array<float, 20> v{1, -1, 2, 0.5, 0, 3, 1, -2, 1, 1, 0.25, 2, -1, 1, 4, 1, -3, 1, 2, 0};
  program<out, cotangent<"v">, wrt<"x">, check_finite> step;
  program<out, cotangent<"v">, wrt<"x">, plain> plainly;
  program<sum(out * input<"v", 4, 5>), wrt<"x">> weighted;
  const auto run = [&](auto& any) {
    any.init(seed{3});
    return any.value_and_grad(bind<"x">(numbers), bind<"v">(v));
  };
  const auto result = run(step);
  run(plainly);
  const float total = run(weighted);
  BOOST_TEST(result.shape()[1] == 5U);
  BOOST_TEST(std::abs(std::inner_product(v.begin(), v.end(), result.begin(), 0.0F) - total) < 1e-5F);
  BOOST_TEST(std::ranges::equal(step.gradients(), plainly.gradients()));
  BOOST_TEST(std::ranges::equal(step.grad<"x">(), plainly.grad<"x">()));
  BOOST_TEST(std::ranges::equal(step.gradients(), weighted.gradients()));  // for 1 * v is v
  BOOST_TEST(std::ranges::equal(step.grad<"x">(), weighted.grad<"x">()));
}

BOOST_AUTO_TEST_CASE(the_jacobian_of_a_linear_map_is_its_matrix) {
  constexpr auto out = matmul(param<"m", 2, 3>, input<"u", 3, 1>);
  program<outputs(out, sum(out)), cotangent<"v">, freeze<"m">, wrt<"u">> step;
  std::ranges::copy(std::array<float, 6>{1, 2, 3, 4, 5, 6}, step.param<"m">().begin());
  const auto [y_of_u, total] =
      step.value_and_grad(bind<"u">(std::array<float, 3>{1, 0, -1}), bind<"v">(std::array<float, 2>{10, 1}));
  BOOST_TEST(y_of_u(0, 0) == -2);
  BOOST_TEST(y_of_u(1, 0) == -2);
  BOOST_TEST(total == -4);
  BOOST_TEST(std::ranges::equal(step.grad<"u">(), std::array<float, 3>{14, 25, 36}));
}

BOOST_AUTO_TEST_CASE(a_parameter_as_output_has_the_cotangent_as_gradient) {
  program<param<"w", 3>, cotangent<"v">> step;
  const std::array<float, 3> v{1, 2, 3};
  static_cast<void>(step.value_and_grad(bind<"v">(v)));
  BOOST_TEST(std::ranges::equal(step.grad<"w">(), v));
}

BOOST_AUTO_TEST_SUITE_END()
