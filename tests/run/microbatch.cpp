// Programs with microbatch<N>. Their gradients have the bits of accumulate_gradients, their losses are means, and counts
// are those of the whole batch.
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

BOOST_AUTO_TEST_SUITE_END()
