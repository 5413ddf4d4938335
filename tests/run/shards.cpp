// Programs with shards<L>. Gradients, outputs and states of the shards are joined in one binary tree, with the bits of a
// tree that is written out.
#include "divided.hpp"

namespace {

using namespace divided;

constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
constexpr auto everything = cross_entropy(x | nn::linear<"fc1", 7> | nn::batch_norm<"bn", local> |
                                              nn::dropout<"d", 0.25> | nn::tanh | nn::linear<"fc2", classes>,
                                          y) +
                            0.1_c * sum(square(param<"w", 9>));
/// The state becomes the largest sum of a row so far, or the sums of the last part.
template <shard_join Join>
constexpr auto with_state = [] {
  const auto h = x | nn::linear<"fc1", 7> | nn::tanh;
  const auto before = state<"seen", initial{}, rows>;
  const auto seen = sum<-1>(h);
  return cross_entropy(updated<Join>(h, before, maximum(0.5_c * before, seen)) | nn::linear<"fc2", classes>, y);
}();

constexpr auto in_a_loop = cross_entropy(
    scan<3, "step">([](auto h) { return h | nn::linear<"w", 7> | nn::batch_norm<"bn", local> | nn::tanh; },
                    carried(x | nn::linear<"fc1", 7>)) |
        nn::linear<"fc2", classes>,
    y);

/// Compares three training steps with steps that are written out, in bits.
template <auto Loss, int L, int M, shard_join Join, class... Options>
void compare() {
  using real = typename program<Loss, Options...>::real_type;
  written_out<Loss, L, M, M, Options...> apart;
  apart.join = Join;
  using each = std::conditional_t<(M > 1), microbatch<(M > 1 ? M : 2)>, any_size>;
  program<Loss, shards<L>, each, Options...> divided;
  program<Loss, each, shards<L>, update<adamw_options{.lr = 0.01}>, Options...> inside;
  apart.one.init(seed{3});
  divided.init(seed{3});
  inside.init(seed{3});
  adamw expected{apart.one, {.lr = 0.01}};
  adamw beside{divided, {.lr = 0.01}};
  for (int step = 0; step < 3; ++step) {
    const batch<real> b(L * M, step);
    const real loss =
        apart.value_and_grad([&](int part, auto use) { use(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part))); });
    BOOST_TEST(std::isfinite(loss));
    BOOST_TEST(same_bits(loss, divided.value_and_grad([&](int part) {
      return inputs(bind<"x">(b.x_of(part)), bind<"y">(b.y_of(part)));
    })));
    BOOST_TEST(same_bits(loss, inside.train(bind<"x">(b.x), bind<"y">(b.y))));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(divided)));
    BOOST_TEST(same_bits(gradients_of(apart.one), gradients_of(inside)));
    expected.update();
    beside.update();
    BOOST_TEST(same_bits(parameters_of(apart.one), parameters_of(divided)));
    BOOST_TEST(same_bits(parameters_of(apart.one), parameters_of(inside)));
    BOOST_TEST(divided.random().step == static_cast<std::uint32_t>(L * M * (step + 1)));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shards_of_a_batch)

BOOST_AUTO_TEST_CASE(shards_are_summed_in_a_binary_tree) {
  compare<everything, 2, 1, shard_join::mean>();
  compare<everything, 4, 1, shard_join::mean>();
  compare<everything, 8, 1, shard_join::mean, real<double>>();
}
BOOST_AUTO_TEST_CASE(each_shard_has_its_microbatches) {
  compare<everything, 2, 3, shard_join::mean>();
  compare<everything, 4, 2, shard_join::mean, real<double>>();
}
BOOST_AUTO_TEST_CASE(states_of_shards_are_joined_as_the_model_says) {
  compare<with_state<shard_join::mean>, 4, 1, shard_join::mean>();
  compare<with_state<shard_join::maximum>, 4, 2, shard_join::maximum>();
  compare<with_state<shard_join::last>, 4, 1, shard_join::last>();
  compare<in_a_loop, 2, 2, shard_join::mean>();
}

/// The maximum of states is NaN if the state of any shard is.
BOOST_AUTO_TEST_CASE(a_maximum_of_states_keeps_nan) {
  constexpr auto seen = input<"v">;
  constexpr auto largest = state<"largest", initial{}>;
  constexpr auto loss = updated<shard_join::maximum>(square(param<"a"> - seen), largest, seen);
  for (int bad = 0; bad < 4; ++bad) {
    program<loss, shards<4>> step;
    step.init(seed{1});
    std::array numbers{1.0F, 4.0F, 3.0F, 2.0F};
    step.value_and_grad(bind<"v">(numbers));
    BOOST_TEST(step.param<"largest">()() == 4.0F);
    numbers[static_cast<std::size_t>(bad)] = std::numeric_limits<float>::quiet_NaN();
    step.value_and_grad(bind<"v">(numbers));
    BOOST_TEST(std::isnan(step.param<"largest">()()));
  }
}

BOOST_AUTO_TEST_SUITE_END()
