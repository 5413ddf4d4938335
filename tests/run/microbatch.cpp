// Programs with microbatch<N>. Their gradients have the bits of accumulate_gradients, and their losses are means over the
// parts of the batch.
#include <cairn/gradcheck.hpp>

#include "divided.hpp"

namespace {

using namespace divided;

constexpr auto net = nn::linear<"fc1", 7> | nn::tanh | nn::linear<"fc2", classes>;
constexpr auto classified = cross_entropy(x | net, y);
constexpr auto dropped = cross_entropy(
    x | nn::linear<"fc1", 7> | nn::dropout<"d", 0.25> | nn::gelu | nn::linear<"fc2", classes> | nn::dropout<"e", 0.1>,
    y);
constexpr auto normalized =
    cross_entropy(x | nn::linear<"fc1", 7> | nn::batch_norm<"bn"> | nn::relu | nn::linear<"fc2", classes>, y);
/// Gradients of `w` are elementwise functions of `w`, which are cheap enough to recompute, and a parameter has no other
/// gradient than that.
constexpr auto penalized = cross_entropy(x | net, y) + 0.1_c * sum(square(param<"w", 9>)) +
                           0.01_c * sum(square(param<"fc1.weight", 7, features>)) + sum(param<"v", 3>);

const auto arrays_of = [](const auto& b) {
  return [&b](int part, auto use) { use(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); };
};

/// Compares three training steps with steps that are written out, in bits. Optimizers follow the steps.
template <auto Loss, int N, class... Options>
void compare() {
  using real = typename program<Loss, Options...>::real_type;
  written_out<Loss, 1, N, N, Options...> apart;
  program<Loss, microbatch<N>, Options...> divided;
  program<Loss, microbatch<N>, update<adamw_options{.lr = 0.01}>, Options...> inside;
  apart.one.init(seed{3});
  divided.init(seed{3});
  inside.init(seed{3});
  adamw expected{apart.one, {.lr = 0.01}};
  adamw beside{divided, {.lr = 0.01}};
  for (int step = 0; step < 3; ++step) {
    const batch<real> b(N, step);
    const real loss = apart.value_and_grad(arrays_of(b));
    BOOST_TEST(std::isfinite(loss));
    BOOST_TEST(same_bits(loss, divided.value_and_grad(bind<"x">(b.x), bind<"y">(b.y))));
    BOOST_TEST(same_bits(
        loss, inside.train([&](int part) { return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); })));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(divided)));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(inside)));
    expected.update();
    beside.update();
    BOOST_TEST(same_bits(parameters_of(apart.one), parameters_of(divided)));
    BOOST_TEST(same_bits(parameters_of(apart.one), parameters_of(inside)));
    BOOST_TEST(divided.random().step == static_cast<std::uint32_t>(N * (step + 1)));
    BOOST_TEST(inside.random().step == divided.random().step);
  }
  BOOST_TEST(inside.steps() == 3);
}

/// Compares step number `step` of a program with microbatch<up_to<Most>>. The parts of a shard draw as `Most` parts do.
template <auto Loss, int Shards, int N, int Most, class... Options>
void compare_varied(auto& divided, int step) {
  using real = typename program<Loss, Options...>::real_type;
  written_out<Loss, Shards, N, Most, Options...> apart;
  apart.one.init(seed{3});
  apart.steps = static_cast<std::uint32_t>(step);
  const batch<real> b(Shards * N, step);
  const real loss = apart.value_and_grad(arrays_of(b));
  const auto callback = [&](int part) { return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); };
  const std::uint32_t before = divided.random().step;
  BOOST_TEST(same_bits(loss, divided.value_and_grad(bind<"x">(b.x), bind<"y">(b.y))));
  BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(divided)));
  BOOST_TEST(divided.random().step == before + static_cast<std::uint32_t>(Shards * Most));
  divided.random().step = before;
  BOOST_TEST(same_bits(loss, divided.value_and_grad(parts{N}, callback)));
  BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(divided)));
}

/// Compares a program of two parts with one of the whole batch.
template <auto Part, auto Whole>
void equals(double loss_share) {
  program<Part, microbatch<2>, real<double>> divided;
  program<Whole, real<double>> whole;
  divided.init(seed{3});
  whole.init(seed{3});
  const batch<double> b(2, 0);
  const double expected = whole.value_and_grad(bind<"x">(b.x));
  BOOST_TEST(divided.value_and_grad(bind<"x">(b.x)) == loss_share * expected, boost::test_tools::tolerance(1e-12));
  const std::vector<double> ours = gradients_of(divided), theirs = gradients_of(whole);
  for (std::size_t i = 0; i < ours.size(); ++i) BOOST_TEST(std::abs(ours[i] - loss_share * theirs[i]) < 1e-12);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(microbatches)

BOOST_AUTO_TEST_CASE(gradients_have_the_bits_of_accumulate_gradients) {
  compare<classified, 2>();
  compare<classified, 3, real<double>>();
  compare<classified, 4>();
  compare<classified, 5, real<double>>();
  compare<classified, 5>();
}
BOOST_AUTO_TEST_CASE(each_part_draws_its_own_random_numbers) {
  compare<dropped, 3>();
  compare<dropped, 2, real<double>>();
}
BOOST_AUTO_TEST_CASE(each_part_moves_the_states) {
  compare<normalized, 3>();
  compare<normalized, 4, real<double>>();
}
BOOST_AUTO_TEST_CASE(a_term_of_parameters_alone_keeps_its_weight) {
  compare<penalized, 3>();
  compare<penalized, 4, real<double>>();
}
BOOST_AUTO_TEST_CASE(the_loss_is_the_mean_of_the_parts) {
  constexpr auto part = x | nn::linear<"fc", 2>;
  constexpr auto whole = input<"x", 2 * rows, features> | nn::linear<"fc", 2>;
  constexpr auto penalty = sum(square(param<"w", 9>)) + 0.01_c * sum(square(param<"fc.weight", 2, features>));
  equals<mean(square(part)), mean(square(whole))>(1);
  equals<mean(square(part)) + penalty, mean(square(whole)) + penalty>(1);
  equals<sum(square(part)), sum(square(whole))>(0.5);
}
BOOST_AUTO_TEST_CASE(losses_of_many_parts_lose_no_digits) {
  constexpr int count = 4096;
  program<outputs(sum(param<"w", 3> * input<"x", 2, 3>), mean(input<"x", 2, 3>)), microbatch<count>> step;
  std::ranges::fill(step.param<"w">(), 0.1F);
  const std::vector<float> x(6 * count, 0.1F);
  const auto [loss, mean_of_x] = step.value_and_grad(bind<"x">(x));
  BOOST_TEST(std::abs(loss - 6 * 0.1F * 0.1F) < 1e-8);
  BOOST_TEST(std::abs(mean_of_x - 0.1F) < 1.2e-8);
}
BOOST_AUTO_TEST_CASE(losses_near_the_largest_number_have_a_mean) {
  program<outputs(mean(param<"w", 1> * input<"x", 1>), mean(input<"x", 1>)), microbatch<4>> step;
  step.param<"w">().fill(1);
  const auto [loss, mean_of_x] = step.value_and_grad(bind<"x">(std::vector<float>(4, 1.8e38F)));
  BOOST_TEST(loss == 1.8e38F);
  BOOST_TEST(mean_of_x == 1.8e38F);
}
BOOST_AUTO_TEST_CASE(moments_have_the_bits_of_an_optimizer) {
  program<classified, microbatch<3>> beside;
  program<classified, microbatch<3>, update<sgd_options{.momentum = 0.9}, "fc1">, update<adamw_options{}, "fc2">>
      inside;
  beside.init(seed{3});
  inside.init(seed{3});
  adamw first{beside, {.lr = 0.01}};
  sgd second{beside, {.lr = 0.01, .momentum = 0.9}};
  const batch<float> b(3, 0);
  beside.value_and_grad(bind<"x">(b.x), bind<"y">(b.y));
  inside.train({.lr = 0.01}, bind<"x">(b.x), bind<"y">(b.y));
  first.update();
  second.update();
  const auto is_in = [](auto moment, auto all) {
    return std::search(all.begin(), all.end(), moment.begin(), moment.end()) != all.end() && moment(1, 2) != 0;
  };
  BOOST_TEST((is_in(inside.moment<"fc1.weight", "momentum_buffer">(), second.velocity())));
  BOOST_TEST((is_in(inside.moment<"fc2.weight", "exp_avg">(), first.mean())));
  BOOST_TEST((is_in(inside.moment<"fc2.weight", "exp_avg_sq">(), first.square())));
}
BOOST_AUTO_TEST_CASE(the_number_of_parts_varies) {
  program<dropped, microbatch<up_to<5>>> divided;
  divided.init(seed{3});
  compare_varied<dropped, 1, 3, 5>(divided, 0);
  compare_varied<dropped, 1, 5, 5>(divided, 1);
  compare_varied<dropped, 1, 1, 5>(divided, 2);
  program<dropped, microbatch<up_to<3>>, shards<2>, real<double>> in_shards;
  in_shards.init(seed{3});
  compare_varied<dropped, 2, 2, 3, real<double>>(in_shards, 0);
  compare_varied<dropped, 2, 1, 3, real<double>>(in_shards, 1);
  compare_varied<dropped, 2, 3, 3, real<double>>(in_shards, 2);
  program<classified, microbatch<up_to<3>>, mixed<bf16>> rounded;
  rounded.init(seed{3});
  compare_varied<classified, 1, 3, 3, mixed<bf16>>(rounded, 0);
}
BOOST_AUTO_TEST_CASE(an_update_follows_any_number_of_parts) {
  program<penalized, microbatch<up_to<4>>, update<adamw_options{.lr = 0.01}>> varied;
  program<penalized, microbatch<3>, update<adamw_options{.lr = 0.01}>> three;
  varied.init(seed{3});
  three.init(seed{3});
  for (int step = 0; step < 2; ++step) {
    const batch<float> b(3, step);
    const float loss = three.train(bind<"x">(b.x), bind<"y">(b.y));
    BOOST_TEST(same_bits(loss, varied.train(bind<"x">(b.x), bind<"y">(b.y))));
    BOOST_TEST(same_bits(gradients_of(three), gradients_of(varied)));
    BOOST_TEST(same_bits(parameters_of(three), parameters_of(varied)));
  }
}
BOOST_AUTO_TEST_CASE(gradients_follow_differences) {
  const batch<double> b(4, 0);
  BOOST_TEST((gradcheck<penalized, microbatch<4>>(seed{1}, bind<"x">(b.x), bind<"y">(b.y)).relative) <
             gradient_tolerance);
  BOOST_TEST((gradcheck<dropped, shards<2>, microbatch<2>>(seed{1}, bind<"x">(b.x), bind<"y">(b.y)).relative) <
             gradient_tolerance);
}

BOOST_AUTO_TEST_SUITE_END()
