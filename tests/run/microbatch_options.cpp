// Programs that divide their batch, with the other options and kinds of models. The steps have the bits of steps that
// are written out.
#include <cairn/report/dot.hpp>
#include <cairn/report/dump.hpp>
#include <cairn/report/profile.hpp>
#include <cairn/report/residuals.hpp>
#include <cairn/report/summary.hpp>
#include <sstream>

#include "divided.hpp"

namespace {

using namespace divided;

constexpr auto body = nn::linear<"fc1", 9> | nn::gelu | nn::linear<"fc2", 9>;
constexpr auto blocks = [](auto) { return ckpt<"ff">(nn::residual(body)); };
constexpr auto last =
    cross_entropy(x | nn::linear<"in", 9> | repeat<3, "block">(blocks) | nn::linear<"head", classes>, y);
constexpr auto kept =
    cross_entropy(x | nn::linear<"in", 9> | repeat<2, "block">([](auto) {
                    return ckpt<"ff", save_matmuls, allow_useless>(nn::residual(body | nn::dropout<"d", 0.25>));
                  }) | nn::batch_norm<"bn"> |
                      nn::linear<"head", classes>,
                  y);
constexpr auto unmarked = cross_entropy(
    x | nn::linear<"in", 9> | repeat<4, "block">([](auto) { return nn::residual(body); }) | nn::linear<"head", classes>,
    y);
template <class Policy>
constexpr auto looped =
    cross_entropy(scan<6, "step", Policy>([](auto h) { return tanh(h | nn::linear<"w", 9> | nn::dropout<"d", 0.25>); },
                                          carried(x | nn::linear<"in", 9>)) |
                      nn::linear<"head", classes>,
                  y);
constexpr auto sloped = [] {
  const auto h = x | nn::linear<"in", 9> | nn::tanh;
  const auto own = cross_entropy(h | nn::linear<"head", classes>, y);
  return own + mean(square(grad(own, h)));
}();

/// Compares two training steps with steps that are written out: losses, gradients, and what the rule makes of them.
template <auto Loss, int N, auto Rule, class... Options>
void compare(auto change_gradients, auto... more) {
  using real = typename program<Loss, Options...>::real_type;
  written_out<Loss, 1, N, N, Options...> apart;
  program<Loss, microbatch<N>, update<Rule>, Options..., decltype(more)...> inside;
  apart.one.init(seed{3});
  inside.init(seed{3});
  rule_optimizer expected{apart.one, Rule};
  for (int step = 0; step < 2; ++step) {
    const batch<real> b(N, step);
    const real loss =
        apart.value_and_grad([&](int part, auto use) { use(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); });
    BOOST_TEST(same_bits(loss, inside.train(bind<"x">(b.x), bind<"y">(b.y))));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(inside)));
    change_gradients(apart.one.gradients(), inside);
    expected.update();
    BOOST_TEST(same_bits(parameters_of(apart.one), parameters_of(inside)));
  }
}
constexpr auto as_they_are = [](auto, auto&) {};
template <auto Loss, class... Options>
void compare() {
  compare<Loss, 3, adamw_options{.lr = 0.01}, Options...>(as_they_are);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(options_of_microbatches)

BOOST_AUTO_TEST_CASE(the_norm_for_clipping_is_that_of_the_sum) {
  compare<last, 3, sgd_options{.lr = 0.1, .momentum = 0.9}>(
      [](auto gradients, auto& inside) {
        double squares = 0;
        for (const float g : gradients) squares += static_cast<double>(g) * static_cast<double>(g);
        BOOST_TEST(inside.gradient_norm() == std::sqrt(squares), boost::test_tools::tolerance(1e-6));
        BOOST_TEST(inside.gradient_norm() > 0.01);
        const auto factor = static_cast<float>(0.01 / (inside.gradient_norm() + 1e-6));
        for (float& g : gradients) g *= factor;
      },
      clip<0.01>{});
}
BOOST_AUTO_TEST_CASE(each_number_of_the_sum_is_clipped) {
  compare<last, 3, sgd_options{.lr = 0.1, .momentum = 0.9}>(
      [](auto gradients, auto&) {
        BOOST_TEST(std::ranges::any_of(gradients, [](float g) { return std::abs(g) > 1e-3F; }));
        for (float& g : gradients) g = std::clamp(g, -1e-3F, 1e-3F);
      },
      clip_value<1e-3>{});
}
BOOST_AUTO_TEST_CASE(frozen_parameters_and_segments) {
  compare<last, freeze<"block.1">>();
  compare<last, plain>();
  compare<kept>();
  using rule = update<adamw_options{.lr = 0.01}>;
  constexpr std::int64_t least = detail::compiled_of<unmarked, true, microbatch<3>, rule, fit<1>>::layout.peak_bytes;
  static_assert(least < detail::compiled_of<unmarked, true, microbatch<3>, rule>::layout.peak_bytes);
  compare<unmarked, 3, adamw_options{.lr = 0.01}>(as_they_are, fit<least>{});
}
BOOST_AUTO_TEST_CASE(as_few_parts_as_fit) {
  using rule = update<adamw_options{.lr = 0.01}>;
  constexpr auto loss_of = [](auto rows) {
    return cross_entropy(input<"x", rows, features> | nn::linear<"fc1", 64> | nn::tanh | nn::linear<"fc2", classes>,
                         labels<"y", classes, rows>);
  };
  constexpr auto part = loss_of(std::integral_constant<int, 16>{});
  constexpr auto whole = loss_of(std::integral_constant<int, 48>{});
  using one = program<whole, rule>;
  using limit = budget<one::memory().peak_bytes / 2>;
  using three = program_in_parts<loss_of, 48, limit, rule>;
  static_assert(parts_that_fit<loss_of, 48, limit, rule> == 3);
  static_assert(std::same_as<three, program<part, limit, rule, microbatch<3, of<whole>>>>);
  static_assert(std::same_as<program_in_parts<loss_of, 48, rule>, one>);
  one a;
  three b;
  a.init(seed{3});
  b.init(seed{3});
  for (int step = 0; step < 3; ++step) {
    const batch<float> all(8, step);
    BOOST_TEST(a.train(bind<"x">(all.x), bind<"y">(all.y)) == b.train(bind<"x">(all.x), bind<"y">(all.y)),
               boost::test_tools::tolerance(1e-4F));
  }
}
BOOST_AUTO_TEST_CASE(loops) {
  compare<looped<revolve<2>>>();
  compare<looped<store_all>, real<double>>();
}
BOOST_AUTO_TEST_CASE(a_gradient_in_the_model_is_that_of_the_part) { compare<sloped>(); }

BOOST_AUTO_TEST_CASE(half_the_bytes) {
  written_out<last, 1, 3, 3, mixed<bf16>> apart;
  program<last, microbatch<3>, mixed<bf16>> beside;
  program<last, microbatch<3>, update<adamw_options{.lr = 0.01}>, mixed<bf16>> inside;
  program<last, microbatch<3>, update<adamw_options{.lr = 0.01}>, mixed<bf16, stochastic_rounding>> rounded, again;
  apart.one.init(seed{3});
  beside.init(seed{3});
  inside.init(seed{3});
  rounded.init(seed{3});
  again.init(seed{3});
  adamw optimizer{apart.one, {.lr = 0.01}};
  adamw second{beside, {.lr = 0.01}};
  for (int step = 0; step < 3; ++step) {
    const batch<float> b(3, step);
    const float loss =
        apart.value_and_grad([&](int part, auto use) { use(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); });
    BOOST_TEST(same_bits(loss, beside.value_and_grad(bind<"x">(b.x), bind<"y">(b.y))));
    BOOST_TEST(same_bits(loss, inside.train(bind<"x">(b.x), bind<"y">(b.y))));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(beside)));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(inside)));
    const float drawn = rounded.train(bind<"x">(b.x), bind<"y">(b.y));
    BOOST_TEST(same_bits(drawn, again.train(bind<"x">(b.x), bind<"y">(b.y))));
    BOOST_TEST(drawn == loss, boost::test_tools::tolerance(0.02F));
    optimizer.update();
    second.update();
    BOOST_TEST(same_bits(parameters_of(apart.one), parameters_of(beside)));
    BOOST_TEST(same_bits(parameters_of(apart.one), parameters_of(inside)));
  }
  BOOST_TEST(same_bits(parameters_of(rounded), parameters_of(again)));
}

BOOST_AUTO_TEST_CASE(outputs_are_means) {
  constexpr auto logits = x | nn::linear<"fc", classes>;
  constexpr auto own = cross_entropy(logits, y);
  program<outputs(own, accuracy(logits, y), sum(logits))> one;
  program<outputs(own, accuracy(logits, y), sum(logits)), shards<2>, microbatch<3>> divided;
  one.init(seed{3});
  divided.init(seed{3});
  const batch<float> b(6, 0);
  std::array<std::array<double, 3>, 2> sums{};
  for (int part = 0; part < 6; ++part) {
    const auto [loss, right, all] = one.value_and_grad(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
    std::array<double, 3>& to = sums[std::size_t(part / 3)];
    to[0] += loss;
    to[1] += right;
    to[2] += all;
  }
  const auto [loss, right, all] = divided.value_and_grad(bind<"x">(b.x), bind<"y">(b.y));
  // What a shard adds to the mean is rounded once.
  const auto mean_of = [&](std::size_t k) {
    return static_cast<float>(sums[0][k] / 6) + static_cast<float>(sums[1][k] / 6);
  };
  BOOST_TEST(loss == mean_of(0));
  BOOST_TEST(right == mean_of(1));
  BOOST_TEST(all == mean_of(2));
}

BOOST_AUTO_TEST_CASE(models_without_numbers_and_with_single_ones) {
  constexpr auto words = indices<"words", 7, 4>;
  constexpr auto embedded = mean(square(words | nn::embedding<"table", 3>)) * as_real(indices<"n", 5>);
  program<embedded, microbatch<3>> divided;
  program<embedded, accumulate_gradients> one;
  divided.init(seed{3});
  one.init(seed{3});
  const std::array<std::int32_t, 12> ids{0, 1, 2, 3, 3, 3, 3, 3, 6, 5, 4, 6};
  const std::array<std::int32_t, 3> numbers{1, 4, 2};
  double total = 0;
  for (std::size_t part = 0; part < 3; ++part)
    total += one.value_and_grad(bind<"words">(std::span(ids).subspan(part * 4, 4)),
                                bind<"n">(std::span(numbers).subspan(part, 1)));
  BOOST_TEST(divided.value_and_grad(bind<"words">(ids), bind<"n">(numbers)) == static_cast<float>(total / 3));
  BOOST_TEST(divided.value_and_grad([&](int part) {
    const auto p = static_cast<std::size_t>(part);
    return inputs(bind<"n">(std::vector<std::int32_t>{numbers[p]}),
                  bind<"words">(std::vector<std::int32_t>(ids.begin() + part * 4, ids.begin() + part * 4 + 4)));
  }) == static_cast<float>(total / 3));
  for (std::size_t i = 0; i < one.gradients().size(); ++i)
    BOOST_TEST(divided.gradients()[i] == one.gradients()[i] / 3, boost::test_tools::tolerance(1e-6F));

  constexpr auto scaled = mean(square(param<"w", 4> * input<"s">));
  program<scaled, microbatch<2>> of_numbers;
  of_numbers.init(seed{3});
  const float both = of_numbers.value_and_grad(bind<"s">(std::array<float, 2>{1, 3}));
  const float least = of_numbers.value_and_grad(bind<"s">(std::array<float, 2>{1, 1}));
  BOOST_TEST(both == 5 * least, boost::test_tools::tolerance(1e-6F));

  program<sum(square(param<"w", 4>)), microbatch<4>> without, alike;
  without.init(seed{3});
  const float penalty = without.value_and_grad();
  alike.init(seed{3});
  BOOST_TEST(penalty == alike.value_and_grad([](int) { return inputs(); }));
}

BOOST_AUTO_TEST_CASE(arrays_of_every_kind) {
  constexpr auto own = mean(square(x | nn::linear<"fc", classes>));
  program<own, microbatch<2>> step;
  step.init(seed{3});
  const batch<float> b(2, 0);
  std::array<std::array<float, features>, 2 * rows> nested{};
  float c_array[2 * rows][features];
  for (std::size_t i = 0; i < b.x.size(); ++i)
    nested[i / features][i % features] = c_array[i / features][i % features] = b.x[i];
  const float flat = step.value_and_grad(bind<"x">(b.x));
  BOOST_TEST(step.value_and_grad(bind<"x">(nested)) == flat);
  BOOST_TEST(step.value_and_grad(bind<"x">(c_array)) == flat);
  BOOST_TEST(step.value_and_grad(bind<"x">(std::span(b.x))) == flat);
  BOOST_TEST(step.value_and_grad(bind<"x">(std::vector<float>(b.x))) == flat);
  BOOST_TEST(step.value_and_grad([&](int part) {
    std::array<std::array<float, features>, rows> own_rows;
    std::copy_n(nested.begin() + part * rows, rows, own_rows.begin());
    return inputs(bind<"x">(std::move(own_rows)));
  }) == flat);
  const auto rows_of_part = [&](int part) { return inputs(bind<"x">(b.x_of(part))); };
  BOOST_TEST(step.value_and_grad(rows_of_part) == flat);
}

BOOST_AUTO_TEST_CASE(predictors_read_the_program) {
  constexpr auto logits = x | nn::linear<"fc", classes> | nn::batch_norm<"bn">;
  program<cross_entropy(logits, y), microbatch<2>, update<averaged{sgd_options{.lr = 0.1}, 0.5}>> step;
  program<cross_entropy(logits, y)> copy;
  step.init(seed{3});
  copy.init(seed{4});
  predictor<logits> read{step};
  predictor<logits> of_copy{copy};
  const batch<float> b(2, 0);
  const auto expect_the_same = [&] {
    step.for_each_parameter([&](std::string_view name, auto from) {
      copy.for_each_parameter([&](std::string_view other, auto to) {
        if (name == other) std::copy(from.begin(), from.end(), to.begin());
      });
    });
    const auto seen = read(bind<"x">(b.x_of(0))), expected = of_copy(bind<"x">(b.x_of(0)));
    BOOST_TEST(std::equal(seen.begin(), seen.end(), expected.begin(), expected.end()));
  };
  expect_the_same();
  for (int i = 0; i < 2; ++i) step.train(bind<"x">(b.x), bind<"y">(b.y));
  expect_the_same();
  const std::vector<float> trained = parameters_of(step);
  step.exchange("average");
  BOOST_TEST(!same_bits(trained, parameters_of(step)));
  expect_the_same();
  BOOST_CHECK_THROW(step.train(bind<"x">(b.x), bind<"y">(b.y)), program_error);
  step.exchange("average");
  BOOST_TEST(same_bits(trained, parameters_of(step)));
  step.train(bind<"x">(b.x), bind<"y">(b.y));
}

BOOST_AUTO_TEST_CASE(reports) {
  constexpr auto counted_loss = cross_entropy<nn::cross_entropy_options{.ignore_index = 2}>(
      x | nn::linear<"fc1", 7> | nn::batch_norm<"bn"> | nn::dropout<"d"> | nn::linear<"fc", classes>, y);
  using counted = program<counted_loss, microbatch<2>, update<adamw_options{}>>;
  counted step;
  step.init(seed{3});
  const batch<float> b(2, 0);
  const std::vector<float> before = parameters_of(step);
  const report::profiled p = report::profile<2>(step, bind<"x">(b.x), bind<"y">(b.y));
  BOOST_TEST(!p.steps.empty());
  BOOST_TEST(same_bits(before, parameters_of(step)));
  BOOST_TEST(step.random().step == 0U);
  BOOST_TEST(step.steps() == 0);
  const report::profiled of_callback =
      report::profile<2>(step, [&](int part) { return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); });
  BOOST_TEST(of_callback.steps.size() == p.steps.size());
  BOOST_TEST(step.random().step == 0U);
  BOOST_TEST(same_bits(before, parameters_of(step)));
  counted unmeasured;
  unmeasured.init(seed{3});
  BOOST_TEST(same_bits(step.train(bind<"x">(b.x), bind<"y">(b.y)), unmeasured.train(bind<"x">(b.x), bind<"y">(b.y))));
  BOOST_TEST(same_bits(parameters_of(step), parameters_of(unmeasured)));
  using plainly = program<counted_loss, microbatch<2>, update<adamw_options{}>, plain>;
  std::ostringstream out;
  report::summary<counted>(out);
  report::profile_table(out, p);
  report::dot<counted>(out);
  report::residuals<counted>(out);
  BOOST_TEST(!out.str().empty());
  std::ostringstream table, dumped;
  report::step_table<counted, plainly>(table);
  BOOST_TEST(table.str().find("sums of parts  ") != std::string::npos);
  dump::all<counted_loss, microbatch<2>, update<adamw_options{}>>(dumped);
  // The second copies of a running mean and of a running variance of 7 floats take 64 bytes each.
  BOOST_TEST(dumped.str().find(", 128 for sums of parts\n") != std::string::npos);
}

#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(threads_do_not_change_bits) {
  // The layers are large enough for two threads, and so is the sum of the gradients of shards.
  constexpr auto wide = cross_entropy(input<"x", 64, 96> | nn::linear<"fc1", 300> | nn::dropout<"d"> | nn::gelu |
                                          nn::linear<"fc2", 200> | nn::linear<"head", classes>,
                                      labels<"y", classes, 64>);
  program<wide, shards<4>, microbatch<2>, update<adamw_options{}>> one;
  program<wide, shards<4>, microbatch<2>, update<adamw_options{}>, threads<2>> two;
  one.init(seed{3});
  two.init(seed{3});
  std::vector<float> x(8 * 64 * 96);
  std::vector<std::int32_t> y(8 * 64);
  random_sequence draw(seed{3}, 0);
  for (float& value : x) value = uniform(draw());
  for (std::int32_t& label : y) label = static_cast<std::int32_t>(draw.below(classes));
  for (int step = 0; step < 2; ++step) {
    const float loss = one.train(bind<"x">(x), bind<"y">(y));
    BOOST_TEST(same_bits(loss, two.train(bind<"x">(x), bind<"y">(y))));
    BOOST_TEST(same_bits(gradients_of(one), gradients_of(two)));
    BOOST_TEST(same_bits(parameters_of(one), parameters_of(two)));
  }
}
#endif

BOOST_AUTO_TEST_SUITE_END()
