// The gradients that a program is asked for: gradients of inputs, and of any subset of parameters. Frozen parameters
// have no gradient.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

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

/// Returns a program after one training step.
template <class Step>
Step stepped() {
  Step step;
  step.init(seed{3});
  static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  return step;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradients_asked)

BOOST_AUTO_TEST_CASE(an_input_has_the_same_gradient_as_a_parameter_in_its_place) {
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

BOOST_AUTO_TEST_CASE(optimizers_update_only_the_trained_parameters) {
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
  adamw of_nothing{frozen};
  of_nothing.update();
}

BOOST_AUTO_TEST_CASE(inputs_may_share_a_gradient) {
  program<sum(input<"a", 3> + input<"b", 3>) + sum(input<"c", 3> * param<"w", 3>), wrt<"a", "b", "c">> step;
  step.init(seed{1});
  const std::array<float, 3> some{1, 2, 3};
  static_cast<void>(step.value_and_grad(bind<"a">(some), bind<"b">(some), bind<"c">(some)));
  for (float g : step.grad<"a">()) BOOST_TEST(g == 1);
  for (float g : step.grad<"b">()) BOOST_TEST(g == 1);
  BOOST_TEST(std::ranges::equal(step.grad<"c">(), step.param<"w">()));
  BOOST_TEST(std::ranges::equal(step.grad<"w">(), some));
}

BOOST_AUTO_TEST_CASE(a_cotangent_equals_a_weighted_sum_as_loss) {
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
  BOOST_TEST(std::ranges::equal(step.gradients(), weighted.gradients()));  // because 1 * v is v
  BOOST_TEST(std::ranges::equal(step.grad<"x">(), weighted.grad<"x">()));
  auto wild = numbers;
  wild.back() = std::nanf("");
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"x">(wild), bind<"v">(v))), loss_error);
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

BOOST_AUTO_TEST_CASE(the_cotangent_of_a_gradient_gives_a_product_with_the_hessian) {
  constexpr auto w = param<"w", 3>;
  program<grad(sum(w * w * w), w), cotangent<"v">> step;
  std::ranges::copy(std::array<float, 3>{1, 2, 3}, step.param<"w">().begin());
  static_cast<void>(step.value_and_grad(bind<"v">(std::array<float, 3>{1, -1, 2})));
  BOOST_TEST(std::ranges::equal(step.grad<"w">(), std::array<float, 3>{6, -12, 36}));  // 6 w v
}

BOOST_AUTO_TEST_CASE(a_parameter_as_output_has_the_cotangent_as_gradient) {
  program<param<"w", 3>, cotangent<"v">> step;
  step.init(seed{1});
  const std::array<float, 3> v{1, 2, 3};
  static_cast<void>(step.value_and_grad(bind<"v">(v)));
  BOOST_TEST(std::ranges::equal(step.grad<"w">(), v));
}

namespace {

constexpr std::array<float, 12> other_numbers{0.5, 1, -1, 2, -2, 0.25, 1, 3, -1, 0, -0.5, 2};
constexpr std::array<std::int32_t, 4> other_classes{1, 1, 0, 0};

/// Runs one training step on each of two batches.
void run_both(auto& step) {
  static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  static_cast<void>(step.value_and_grad(bind<"x">(other_numbers), bind<"y">(other_classes)));
}

/// Checks that numbers are equal up to the rounding of sums in another order.
void check_close(const auto& some, const auto& others, float tolerance = 1e-6F) {
  BOOST_TEST(std::ranges::equal(some, others, [&](float a, float b) { return std::abs(a - b) < tolerance; }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(accumulated_gradients_are_the_sum_over_training_steps) {
  program<loss, accumulate_gradients, wrt<"x">> step;
  program<loss, accumulate_gradients, wrt<"x">, plain> plainly;
  program<loss, wrt<"x">> single;
  step.init(seed{3});
  plainly.init(seed{3});
  single.init(seed{3});
  run_both(step);
  run_both(plainly);
  // Each parameter is used once, so the sum of the two gradients has only one addition.
  static_cast<void>(single.value_and_grad(bind<"x">(numbers), bind<"y">(classes)));
  std::vector<float> sum(single.gradients().begin(), single.gradients().end());
  std::vector<float> sum_of_x(single.grad<"x">().begin(), single.grad<"x">().end());
  static_cast<void>(single.value_and_grad(bind<"x">(other_numbers), bind<"y">(other_classes)));
  std::ranges::transform(sum, single.gradients(), sum.begin(), std::plus{});
  std::ranges::transform(sum_of_x, single.grad<"x">(), sum_of_x.begin(), std::plus{});
  BOOST_TEST(std::ranges::equal(step.gradients(), sum));
  BOOST_TEST(std::ranges::equal(plainly.gradients(), sum));
  BOOST_TEST(std::ranges::equal(step.grad<"x">(), sum_of_x));

  const auto wrong = std::array<std::int32_t, 4>{0, 1, 2, 0};
  BOOST_CHECK_THROW(static_cast<void>(step.value_and_grad(bind<"x">(numbers), bind<"y">(wrong))), label_error);
  BOOST_TEST(std::ranges::equal(step.gradients(), sum));

  step.zero_grad();
  BOOST_TEST(std::ranges::all_of(step.gradients(), [](float g) { return g == 0; }));
  BOOST_TEST(std::ranges::all_of(step.grad<"x">(), [](float g) { return g == 0; }));
  static_cast<void>(step.value_and_grad(bind<"x">(other_numbers), bind<"y">(other_classes)));
  BOOST_TEST(std::ranges::equal(step.gradients(), single.gradients()));
  step.init(seed{3});
  BOOST_TEST(std::ranges::all_of(step.gradients(), [](float g) { return g == 0; }));
}

template <class Step>
constexpr bool starts_anew = requires(Step& step) { step.zero_grad(); };
static_assert(starts_anew<program<loss, accumulate_gradients>> && !starts_anew<program<loss>>);

BOOST_AUTO_TEST_CASE(parts_of_a_batch_train_like_the_whole) {
  constexpr auto logits = [](auto rows) { return rows | nn::linear<"fc1", 6> | hidden | nn::linear<"head", 2>; };
  program<0.5_c * cross_entropy(logits(x), y), accumulate_gradients> parts;
  program<cross_entropy(logits(input<"x", 8, 3>), labels<"y", 2, 8>)> whole;
  parts.init(seed{3});
  whole.init(seed{3});
  std::array<float, 24> all{};
  std::array<std::int32_t, 8> all_classes{};
  std::ranges::copy(other_numbers, std::ranges::copy(numbers, all.begin()).out);
  std::ranges::copy(other_classes, std::ranges::copy(classes, all_classes.begin()).out);
  adamw of_parts{parts, {.lr = 0.05}}, of_whole{whole, {.lr = 0.05}};
  float first = 0, last = 0;
  for (int i = 0; i < 20; ++i) {
    parts.zero_grad();
    run_both(parts);
    last = whole.value_and_grad(bind<"x">(all), bind<"y">(all_classes));
    if (i == 0) first = last;
    if (i == 0) check_close(parts.gradients(), whole.gradients());
    of_parts.update();
    of_whole.update();
  }
  BOOST_TEST(last < 0.5F * first);
  check_close(parts.parameters(), whole.parameters(), 1e-3F);  // adamw divides by gradients, also by small ones
}

BOOST_AUTO_TEST_CASE(every_kernel_adds_in_place) {
  // Tiles with and without rests, several blocks of depth, and a parameter that is used twice.
  constexpr auto out = input<"x", 900, 37> | nn::linear<"a", 53> | nn::tanh | nn::linear<"b", 16> | nn::linear<"c", 16>;
  constexpr auto by_w = layer([](auto rows) { return tanh(matmul(rows, param<"w", 16, 16>) + param<"v", 16>); });
  constexpr auto model = mean(square(out | by_w | by_w) * 900_c);
  program<model, accumulate_gradients> step;
  program<model> single;
  step.init(seed{3});
  single.init(seed{3});
  std::vector<float> rows(900 * 37);
  random_sequence draw(seed{5}, 0);
  for (float& value : rows) value = 2 * static_cast<float>(uniform(draw())) - 1;
  static_cast<void>(single.value_and_grad(bind<"x">(rows)));
  static_cast<void>(step.value_and_grad(bind<"x">(rows)));
  BOOST_TEST(std::ranges::equal(step.gradients(), single.gradients()));  // because 0 + a + b is a + b
  static_cast<void>(step.value_and_grad(bind<"x">(rows)));
  for (float& g : step.grad<"w">()) g /= 2;
  check_close(step.grad<"w">(), single.grad<"w">(), 1e-4F);
  const auto is_twice = [](float a, float b) { return a == 2 * b; };
  BOOST_TEST(std::ranges::equal(step.grad<"a.weight">(), single.grad<"a.weight">(), is_twice));
  BOOST_TEST(std::ranges::equal(step.grad<"c.weight">(), single.grad<"c.weight">(), is_twice));
}

BOOST_AUTO_TEST_CASE(several_losses_are_one_weighted_sum) {
  constexpr auto features = x | nn::linear<"fc1", 6> | hidden;
  constexpr auto a = cross_entropy(features | nn::linear<"head", 2>, y);
  constexpr auto b = mean(square(features));
  program<outputs(a + 0.1_c * b, a, b)> step;
  program<outputs(a + 0_c * b, b)> of_a;
  program<outputs(0_c * a + b, a)> of_b;
  const auto run = [&](auto& any) {
    any.init(seed{3});
    return any.value_and_grad(bind<"x">(numbers), bind<"y">(classes));
  };
  const auto [total, first, second] = run(step);
  BOOST_TEST(first == std::get<0>(run(of_a)));
  BOOST_TEST(second == std::get<0>(run(of_b)));
  BOOST_TEST(std::abs(total - (first + 0.1F * second)) < 1e-6F);
  std::vector<float> sum(of_a.gradients().begin(), of_a.gradients().end());
  std::ranges::transform(sum, of_b.gradients(), sum.begin(), [](float one, float other) { return one + 0.1F * other; });
  check_close(step.gradients(), sum);
}

BOOST_AUTO_TEST_SUITE_END()
