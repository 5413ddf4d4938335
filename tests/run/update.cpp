// The optimizer in the training step. Parameters, moments and losses have the same bits as with an optimizer next to
// the program, for all models, segments and options. A training step that fails changes nothing.
#include "cairn/cairn.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <vector>

using namespace cairn;

namespace {

/// Lion, from Chen et al., Symbolic Discovery of Optimization Algorithms (2023), as a rule that a user writes.
struct lion {
  double lr = 1e-2, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;

  static constexpr std::array<std::string_view, 1> moments{"exp_avg"};
  constexpr std::array<double, 4> numbers(double rate, std::int64_t) const {
    return {rate, 1 - rate * weight_decay, 1 - beta1, 1 - beta2};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto keep, auto new1, auto new2, auto m) {
    return std::tuple{keep * p - rate * sign(m + new1 * (g - m)), m + new2 * (g - m)};
  }
};
/// A rule that shrinks small parameters to zero. Rules may contain choices and comparisons.
struct shrinking {
  double lr = 0.05;
  static constexpr std::array<std::string_view, 0> moments{};
  constexpr std::array<double, 1> numbers(double rate, std::int64_t) const { return {rate}; }
  static constexpr auto next(auto p, auto g, auto rate) {
    const auto moved = p - rate * g;
    return std::tuple{where(abs(moved) < 0.01_c, 0_c * moved, moved)};
  }
};

template <class Array>
void fill(Array& numbers, int seed) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<typename Array::value_type>(std::sin(static_cast<double>(i * 7 + 1) * (seed + 0.3)));
}
template <class Program>
std::vector<typename Program::real_type> all_parameters(Program& step) {
  std::vector<typename Program::real_type> all;
  step.for_each_parameter(
      [&](std::string_view, auto view) { all.insert(all.end(), view.data(), view.data() + view.size()); });
  return all;
}

/// Trains with the rule in the training step and with an optimizer next to the program. Compares losses, parameters and
/// states.
template <auto Loss, auto Rule, class... Options>
void compare(auto... make_bound) {
  program<Loss, Options...> beside;
  program<Loss, update<Rule>, Options...> inside;
  beside.init(seed{3});
  inside.init(seed{3});
  rule_optimizer rule{beside, Rule};
  for (int i = 0; i < 4; ++i) {
    rule.lr(0.01 / (1 + i));
    const auto expected = beside.value_and_grad(make_bound(i)...);
    rule.update();
    BOOST_TEST(inside.train({.lr = 0.01 / (1 + i)}, make_bound(i)...) == expected);
    BOOST_TEST(all_parameters(inside) == all_parameters(beside));
  }
  static_assert(inside.memory().gradient_bytes == 0);
  BOOST_TEST(inside.steps() == 4);
}

/// Makes the same comparison for gradients that are clipped by their common norm.
template <auto Loss, class... Options>
void compare_clipped(auto... make_bound) {
  program<Loss, Options...> beside;
  program<Loss, update<sgd_options{.momentum = 0.9}>, clip<0.01>, Options...> inside;
  static_assert(inside.memory().gradient_bytes == beside.memory().gradient_bytes);
  beside.init(seed{3});
  inside.init(seed{3});
  sgd descent{beside, {.lr = 0.1, .momentum = 0.9}};
  for (int i = 0; i < 3; ++i) {
    beside.value_and_grad(make_bound(i)...);
    inside.train({.lr = 0.1}, make_bound(i)...);
    double squares = 0;
    beside.for_each_trained([&](std::size_t k) { squares += std::pow(static_cast<double>(beside.gradients()[k]), 2); });
    BOOST_TEST(inside.gradient_norm() == std::sqrt(squares), boost::test_tools::tolerance(1e-6));
    BOOST_TEST(inside.gradient_norm() > 0.01);
    beside.for_each_gradient([&](std::string_view name, auto expected) {
      inside.for_each_gradient([&](std::string_view other, auto seen) {
        if (other == name) BOOST_TEST(std::equal(seen.begin(), seen.end(), expected.begin(), expected.end()), name);
      });
    });
    const auto factor = static_cast<float>(0.01 / (inside.gradient_norm() + 1e-6));
    for (float& g : beside.gradients()) g *= factor;
    descent.update();
    BOOST_TEST(all_parameters(inside) == all_parameters(beside));
  }
}

template <class Real>
struct batch {
  std::vector<Real> x = std::vector<Real>(16 * 12);
  std::vector<std::int32_t> y = std::vector<std::int32_t>(16);
  explicit batch(int seed) {
    fill(x, seed);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i * 5 % 4);
  }
};
template <class Real>
const batch<Real>& batch_of(int i) {
  static const std::vector<batch<Real>> all{batch<Real>(0), batch<Real>(1), batch<Real>(2), batch<Real>(3)};
  return all[static_cast<std::size_t>(i)];
}
const auto rows = [](int i) { return bind<"x">(batch_of<float>(i).x); };
const auto wide_rows = [](int i) { return bind<"x">(batch_of<double>(i).x); };
const auto classes = [](int i) { return bind<"y">(batch_of<float>(i).y); };

constexpr auto x = input<"x", 16, 12>;
constexpr auto y = labels<"y", 4, 16>;
constexpr auto body = nn::linear<"fc1", 32> | nn::gelu | nn::linear<"fc2", 12>;
constexpr auto block_of = [](auto) { return ckpt<"ff">(nn::residual(body)); };
constexpr auto dense = cross_entropy(x | repeat<3, "block">(block_of) | nn::linear<"head", 4>, y);
constexpr auto nested =
    cross_entropy(x | ckpt<"outer">(repeat<2, "block">(block_of) | nn::layer_norm<"ln">) | nn::linear<"head", 4>, y);
constexpr auto kept = cross_entropy(x | repeat<2, "block">([](auto) {
                                      return ckpt<"ff", save_matmuls, allow_useless>(nn::residual(body));
                                    }) | nn::linear<"head", 4>,
                                    y);
constexpr auto dropped = cross_entropy(
    x | nn::linear<"fc1", 32> | nn::dropout<"drop", 0.5> | nn::batch_norm<"bn"> | nn::linear<"head", 4>, y);

constexpr auto images = input<"x", 2, 6, 4, 4>;
constexpr auto image_classes = labels<"y2", 4, 2>;
constexpr auto convolved =
    cross_entropy(images | nn::conv2d<"c1", 8, 3, nn::window{.padding = 1}> | nn::batch_norm<"bn"> | nn::relu |
                      nn::conv2d<"c2", 8, 1> | nn::flatten | nn::linear<"head", 4>,
                  image_classes);
const auto pictures = [](int i) { return bind<"x">(batch_of<float>(i).x); };
const auto picture_classes = [](int) {
  static const std::vector<std::int32_t> two{1, 3};
  return bind<"y2">(two);
};

// Parameters that are read in every way: twice, through views and maps, by the gradient of another parameter, and in a
// penalty of the loss.
constexpr auto w = param<"w", 12, 12>;
constexpr auto scale = param_from<"scale", initial::constant(1.0), 12>;
constexpr auto in_every_way = mean(square(matmul(matmul(x, w), transpose(w)) * scale + slice<0, 2, 3>(w))) +
                              0.1_c * sum(square(w)) + mean(reshape<1, 12>(scale) * x);
// The fused loop that computes this gradient also reads elements of w at other positions. Therefore the gradient cannot
// be written over w.
constexpr auto turned = mean(x) + mean(w * transpose(w));
constexpr auto number = param<"n">;
constexpr auto scalar = mean(square(x * number)) + number;
constexpr auto of_constants = sum(param<"a", 3>) + 2_c * mean(param<"b", 5>);
const auto cotangents = [](int i) { return bind<"v">(std::span(batch_of<float>(i).x).first(64)); };

}  // namespace

BOOST_AUTO_TEST_SUITE(update_in_step)

BOOST_AUTO_TEST_CASE(updates_in_the_step_have_the_bits_of_an_optimizer) {
  compare<dense, adamw_options{.weight_decay = 0.1}>(rows, classes);
  compare<dense, sgd_options{}>(rows, classes);
  compare<dense, sgd_options{.momentum = 0.9, .weight_decay = 0.01}>(rows, classes);
  compare<dense, sgd_options{.momentum = 0.9, .nesterov = true}>(rows, classes);
  compare<dense, lion{.weight_decay = 0.1}>(rows, classes);
  compare<dense, lion_options{.weight_decay = 0.1}>(rows, classes);
  compare<dense, rmsprop_options{.momentum = 0.9, .centered = true, .weight_decay = 0.01}>(rows, classes);
  compare<dense, shrinking{}>(rows, classes);
}
BOOST_AUTO_TEST_CASE(updates_with_all_segments_and_options) {
  compare<dense, adamw_options{}, plain>(rows, classes);
  compare<nested, adamw_options{}>(rows, classes);
  compare<kept, adamw_options{}>(rows, classes);
  compare<dense, adamw_options{}, real<double>>(wide_rows, classes);
  compare<dense, adamw_options{}, freeze<"block.1">>(rows, classes);
  compare<dense, adamw_options{}, check_finite>(rows, classes);
  compare<dropped, adamw_options{}>(rows, classes);
  compare<convolved, adamw_options{}>(pictures, picture_classes);
  compare<in_every_way, adamw_options{}>(rows);
  compare<turned, adamw_options{}>(rows);
  compare<scalar, adamw_options{}>(rows);
#ifdef _OPENMP
  compare<dense, adamw_options{}, threads<3>>(rows, classes);
#endif
}

BOOST_AUTO_TEST_CASE(several_rules_chosen_by_name) {
  program<dense, update<adamw_options{.weight_decay = 0.5}>, update<adamw_options{.weight_decay = 0}, "*.bias", "head">>
      step;
  program<dense> decayed, free;
  for (auto* one : {&decayed, &free}) one->init(seed{1});
  step.init(seed{1});
  adamw with{decayed, {.weight_decay = 0.5}}, without{free, {.weight_decay = 0}};
  const auto loss = step.train({.lr = 0.1}, rows(0), classes(0));
  for (auto* one : {&decayed, &free}) BOOST_TEST(one->value_and_grad(rows(0), classes(0)) == loss);
  with.lr(0.1);
  without.lr(0.1);
  with.update();
  without.update();
  int seen = 0;
  step.for_each_parameter([&](std::string_view name, auto view) {
    const bool is_free = name.ends_with(".bias") || name.starts_with("head");
    (is_free ? free : decayed).for_each_parameter([&](std::string_view other, auto expected) {
      if (other != name) return;
      ++seen;
      BOOST_TEST(std::equal(view.data(), view.data() + view.size(), expected.data()), name);
    });
  });
  BOOST_TEST(seen == 14);
}

BOOST_AUTO_TEST_CASE(the_rate_of_the_rule_is_the_default) {
  program<dense, update<lion{.lr = 0.25}>> first, second;
  first.init(seed{1});
  second.init(seed{1});
  first.train(rows(0), classes(0));
  second.train({.lr = 0.25}, rows(0), classes(0));
  BOOST_TEST(all_parameters(first) == all_parameters(second));
}

BOOST_AUTO_TEST_CASE(gradients_are_clipped_as_in_pytorch) {
  program<dense> beside;
  program<dense, update<sgd_options{}>, clip<1e9>> loose;
  beside.init(seed{1});
  loose.init(seed{1});
  beside.value_and_grad(rows(0), classes(0));
  double squares = 0;
  for (const float g : beside.gradients()) squares += static_cast<double>(g) * static_cast<double>(g);
  sgd descent{beside, {.lr = 0.1}};
  descent.update();
  loose.train({.lr = 0.1}, rows(0), classes(0));
  BOOST_TEST(loose.gradient_norm() == std::sqrt(squares), boost::test_tools::tolerance(1e-6));
  BOOST_TEST(all_parameters(loose) == all_parameters(beside));  // nothing is clipped
}
BOOST_AUTO_TEST_CASE(clipped_gradients_are_scaled_gradients) {
  compare_clipped<dense>(rows, classes);
  compare_clipped<dense, plain>(rows, classes);
  compare_clipped<dense, freeze<"block.1">>(rows, classes);
  compare_clipped<dense, wrt<"x">>(rows, classes);
  compare_clipped<nested>(rows, classes);
  compare_clipped<dropped>(rows, classes);
  compare_clipped<in_every_way>(rows);
  compare_clipped<outputs(in_every_way, w)>(rows);
  compare_clipped<turned>(rows);
  compare_clipped<scalar>(rows);
  compare_clipped<of_constants>();
  compare_clipped<x | nn::linear<"fc", 4>, cotangent<"v">>(rows, cotangents);
}
BOOST_AUTO_TEST_CASE(the_norm_of_gradients_does_not_depend_on_threads) {
  constexpr auto long_one = mean(square(param<"a", 300, 200> - param<"b", 200>));
  program<long_one, update<sgd_options{}>, clip<1.0>> one;
  one.init(seed{1});
  one.train();
  double squares = 0;
  for (const float g : one.gradients()) squares += static_cast<double>(g) * static_cast<double>(g);
  BOOST_TEST(one.gradient_norm() == std::sqrt(squares), boost::test_tools::tolerance(1e-6));
#ifdef _OPENMP
  program<long_one, update<sgd_options{}>, clip<1.0>, threads<3>> three;
  three.init(seed{1});
  three.train();
  BOOST_TEST(three.gradient_norm() == one.gradient_norm());
#endif
}
// Gradients of all magnitudes have a norm, and the training step scales them to the requested norm.
template <class Real, class... Options>
void clip_gradients_of(std::initializer_list<double> sizes) {
  constexpr auto of_inputs = sum(param_from<"w", initial{}, 4> * input<"x", 4>);
  program<of_inputs, update<sgd_options{}>, clip<0.5>, check_finite, Options...> step;
  for (const double size : sizes) {
    step.init(seed{1});
    const std::vector<Real> x(4, static_cast<Real>(size));
    const auto exact = static_cast<double>(x[0]);
    step.train({.lr = 1}, bind<"x">(x));
    const double length =
        exact > std::numeric_limits<double>::max() / 2 ? std::numeric_limits<double>::max() : 2 * exact;
    const auto near = boost::test_tools::tolerance(1e-6);
    BOOST_TEST(step.gradient_norm() == length, near);
    const auto w = static_cast<double>(step.template param<"w">()(0));
    BOOST_TEST(w == (length > 0.5 ? -exact * (0.5 / length) : -exact), near);
  }
}
BOOST_AUTO_TEST_CASE(gradients_of_any_magnitude_have_a_norm) {
  clip_gradients_of<float>({2e22, 1e19, 3.4e38, 1, 1e-20, 1e-25, 1e-40});
  clip_gradients_of<float, mixed<bf16>>({0x1p70, 0x1p-70});
  clip_gradients_of<double, real<double>>({2e22, 1e160, 1.7e308, 1e-150, 1e-170, 1e-310});
}
BOOST_AUTO_TEST_CASE(norms_of_many_numbers) {
  constexpr std::int64_t most = 3'000'000;
  std::vector<float> same(most, 0.1F), large(most, 1e25F);
  std::vector<double> wide(most, 1e200), narrow(most, 1e-200);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{100'003}, most}) {
    const double root = std::sqrt(static_cast<double>(n));
    for (const int threads : {1, 3}) {
      const auto near = boost::test_tools::tolerance(1e-12);
      BOOST_TEST(kernels::length_of(same.data(), n, threads) == root * static_cast<double>(0.1F), near);
      BOOST_TEST(kernels::length_of(large.data(), n, threads) == root * static_cast<double>(1e25F), near);
      BOOST_TEST(kernels::length_of(wide.data(), n, threads) == root * 1e200, near);
      BOOST_TEST(kernels::length_of(narrow.data(), n, threads) == root * 1e-200, near);
    }
  }
  wide[7] = std::numeric_limits<double>::infinity();
  narrow[7] = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(std::isinf(kernels::length_of(wide.data(), most, 1)));
  BOOST_TEST(std::isnan(kernels::length_of(narrow.data(), most, 1)));
}
BOOST_AUTO_TEST_CASE(an_infinite_gradient_is_refused_before_anything_is_updated) {
  constexpr auto roots = sum(sqrt(param_from<"w", initial{}, 4> + input<"x", 4>));  // at 0, only the slope is infinite
  program<roots, update<adamw_options{}>, clip<0.5>, check_finite> step;
  step.init(seed{1});
  BOOST_CHECK_THROW(step.train(bind<"x">(std::vector<float>{1, 2, 3, 0})), gradient_error);
  BOOST_TEST(std::isinf(step.gradient_norm()));
  BOOST_TEST(step.steps() == 0);
  BOOST_TEST(step.param<"w">()(0) == 0);
  BOOST_TEST((step.moment<"w", "exp_avg">()(0) == 0));
}
BOOST_AUTO_TEST_CASE(a_norm_that_is_nan_makes_parameters_nan) {
  constexpr auto broken =
      mean(x * param_from<"a", initial::constant(1), 12>) + mean(sqrt(abs(x * param_from<"b", initial{}, 12>)));
  program<broken, update<sgd_options{}>, clip<1.0>> step;
  step.init(seed{1});
  step.train({.lr = 0.1}, rows(0));
  BOOST_TEST(std::isnan(step.gradient_norm()));
  BOOST_TEST(std::isnan(step.param<"a">()(0)));  // as after torch.nn.utils.clip_grad_norm_
}
BOOST_AUTO_TEST_CASE(gradients_are_clipped_by_value) {
  program<dense> beside;
  program<dense, update<adamw_options{}>, clip_value<1e-3>> inside;
  static_assert(inside.memory().gradient_bytes == 0);
  beside.init(seed{1});
  inside.init(seed{1});
  adamw adam{beside};
  for (int i = 0; i < 3; ++i) {
    beside.value_and_grad(rows(i), classes(i));
    int cut = 0;
    for (float& g : beside.gradients()) {
      cut += std::abs(g) > 1e-3F;
      g = std::min(std::max(g, -1e-3F), 1e-3F);
    }
    BOOST_TEST(cut > 0);
    adam.update();
    inside.train({.lr = 1e-3}, rows(i), classes(i));
    BOOST_TEST(all_parameters(inside) == all_parameters(beside));
  }
}

BOOST_AUTO_TEST_CASE(a_meaningless_rate_changes_nothing) {
  program<dropped, update<adamw_options{}>> step;
  step.init(seed{1});
  const auto before = all_parameters(step);
  for (const double rate : {-0.5, std::nan(""), HUGE_VAL})
    BOOST_CHECK_EXCEPTION(step.train({.lr = rate}, rows(0), classes(0)), std::invalid_argument, [](const auto& e) {
      return std::string_view(e.what()).starts_with("cairn: train.lr: expected 0 or more, finite in float, got ");
    });
  BOOST_CHECK_THROW(step.steps(-1), std::invalid_argument);
  BOOST_CHECK_THROW(step.steps(std::numeric_limits<std::int64_t>::max()), std::invalid_argument);
  BOOST_TEST(all_parameters(step) == before);
  BOOST_TEST(step.steps() == 0);
  BOOST_TEST(step.random().step == 0U);
  step.train({.lr = 0}, rows(0), classes(0));
}
BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_changes_nothing) {
  program<dropped, update<adamw_options{}>, check_finite> step, untouched;
  step.init(seed{1});
  untouched.init(seed{1});
  step.train({.lr = 0.1}, rows(0), classes(0));
  untouched.train({.lr = 0.1}, rows(0), classes(0));
  auto broken = batch_of<float>(1);
  broken.x[5] = std::numeric_limits<float>::quiet_NaN();
  BOOST_CHECK_THROW(step.train({.lr = 0.1}, bind<"x">(broken.x), classes(1)), loss_error);
  BOOST_TEST(all_parameters(step) == all_parameters(untouched));
  BOOST_TEST(step.steps() == 1);
  untouched.random().step = step.random().step;
  BOOST_TEST(step.train({.lr = 0.1}, rows(2), classes(2)) == untouched.train({.lr = 0.1}, rows(2), classes(2)));
  BOOST_TEST(all_parameters(step) == all_parameters(untouched));  // the moments have not changed either
}
BOOST_AUTO_TEST_CASE(stored_gradients_that_are_not_finite_change_nothing) {
  constexpr auto loss = mean(sqrt(abs(x * param_from<"p", initial{}, 12>)));  // the slope at 0 is infinity times 0
  program<loss, update<sgd_options{}>, clip<1.0>, check_finite> step;
  step.init(seed{1});
  const auto before = all_parameters(step);
  BOOST_CHECK_THROW(step.train({.lr = 0.1}, rows(0)), gradient_error);
  BOOST_TEST(all_parameters(step) == before);
  BOOST_TEST(step.steps() == 0);
}

BOOST_AUTO_TEST_CASE(a_requested_gradient_of_an_input_is_stored) {
  program<dense, wrt<"x">> beside;
  program<dense, wrt<"x">, update<sgd_options{}>> inside;
  beside.init(seed{1});
  inside.init(seed{1});
  beside.value_and_grad(rows(0), classes(0));
  inside.train({.lr = 0.1}, rows(0), classes(0));
  const auto a = beside.grad<"x">(), b = inside.grad<"x">();
  BOOST_TEST(std::equal(a.data(), a.data() + a.size(), b.data()));
  BOOST_TEST(inside.memory().gradient_bytes == 16 * 12 * 4);
}

BOOST_AUTO_TEST_CASE(a_parameter_as_result_has_the_value_that_the_step_read) {
  program<outputs(in_every_way, w), update<sgd_options{}>> step;
  step.init(seed{1});
  const auto before = all_parameters(step);
  const auto [loss, shown] = step.train({.lr = 0.1}, rows(0));
  BOOST_TEST(std::equal(shown.data(), shown.data() + shown.size(), before.begin()));
  BOOST_TEST(all_parameters(step) != before);
}

BOOST_AUTO_TEST_CASE(averages_are_exponential_and_can_be_run) {
  compare<dense, averaged{adamw_options{}, 0.9}>(rows, classes);
  compare<dense, averaged{sgd_options{}, 0.9}>(rows, classes);
  program<dense, update<averaged{sgd_options{.momentum = 0.9}, 0.75}>> step;
  step.init(seed{1});
  std::vector<double> sum(all_parameters(step).size());
  double weights = 0;
  for (int i = 0; i < 4; ++i) {
    step.train({.lr = 0.1}, rows(i), classes(i));
    const auto now = all_parameters(step);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = 0.75 * sum[k] + now[k];
    weights = 0.75 * weights + 1;
  }
  const auto last = all_parameters(step);
  const float in_moment = step.moment<"head.weight", "average">()(1, 2);
  step.exchange("average");
  BOOST_TEST(step.param<"head.weight">()(1, 2) == in_moment);
  const auto average = all_parameters(step);
  for (std::size_t k = 0; k < sum.size(); ++k) BOOST_TEST(std::abs(average[k] - sum[k] / weights) < 1e-6);
  BOOST_TEST(average != last);
  step.exchange("average");
  BOOST_TEST(all_parameters(step) == last);
  BOOST_TEST((step.moment<"head.bias", "momentum_buffer">().size() == 4U));
}

BOOST_AUTO_TEST_CASE(parameters_are_not_exchanged_with_averages_that_do_not_exist_yet) {
  program<dense, update<averaged{adamw_options{}, 0.9}>> step;
  step.init(seed{1});
  const auto start = all_parameters(step);
  BOOST_CHECK_EXCEPTION(step.exchange("average"), program_error, [](const program_error& e) {
    return e.what() == std::string_view(
                           "cairn: the moment 'average' is zero, as it is before the first training step, and "
                           "would make all parameters zero; train first");
  });
  BOOST_TEST(all_parameters(step) == start);
  step.train(rows(0), classes(0));
  step.exchange("average");
  BOOST_TEST(all_parameters(step) != start);
}

BOOST_AUTO_TEST_CASE(init_restarts_parameters_moments_and_steps) {
  program<dense, update<adamw_options{}>> step;
  step.init(seed{1});
  const float first = step.train(rows(0), classes(0)), second = step.train(rows(0), classes(0));
  step.init(seed{1});
  BOOST_TEST(step.steps() == 0);
  BOOST_TEST(step.train(rows(0), classes(0)) == first);
  BOOST_TEST(step.train(rows(0), classes(0)) == second);
}

BOOST_AUTO_TEST_SUITE_END()
