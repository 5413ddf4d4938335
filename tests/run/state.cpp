// States in programs: the running statistics after some training steps, and the values that read them.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cmath>
#include <vector>

using namespace cairn;

namespace {

constexpr int features = 3, rows = 2 * 5;
constexpr auto x = input<"x", 2, 5, features>;
constexpr auto hidden = nn::batch_norm<"bn"> | nn::tanh | nn::linear<"fc", 4> | nn::gelu;
constexpr auto model = repeat<1, "block">([](auto) { return ckpt<"s", allow_useless>(hidden); });
constexpr auto loss = mean(square(x | model));

using batch = std::array<double, rows * features>;
batch batch_of(std::uint64_t number) {
  batch b;
  random_sequence draw(seed{5}, number);
  for (double& value : b) value = 6 * static_cast<double>(uniform(draw())) - 2;
  return b;
}

struct statistics {
  double mean = 0, var = 1;
};
/// Returns the statistics of torch.nn.BatchNorm1d after some training steps, computed by plain loops.
std::array<statistics, features> expected_after(std::uint64_t steps, double momentum = 0.1) {
  std::array<statistics, features> running;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const batch b = batch_of(step);
    for (std::size_t f = 0; f < features; ++f) {
      double sum = 0, squares = 0;
      for (std::size_t row = 0; row < rows; ++row) sum += b[row * features + f];
      for (std::size_t row = 0; row < rows; ++row) squares += std::pow(b[row * features + f] - sum / rows, 2);
      running[f].mean = (1 - momentum) * running[f].mean + momentum * sum / rows;
      running[f].var = (1 - momentum) * running[f].var + momentum * squares / (rows - 1);
    }
  }
  return running;
}

void check_statistics(auto& step, std::uint64_t steps) {
  const auto expected = expected_after(steps);
  const auto m = step.template param<"block.0.bn.running_mean">();
  const auto var = step.template param<"block.0.bn.running_var">();
  for (std::size_t f = 0; f < features; ++f) {
    BOOST_TEST(std::abs(m(f) - expected[f].mean) < 1e-12);
    BOOST_TEST(std::abs(var(f) - expected[f].var) < 1e-12);
  }
}

/// Checks the statistics after five training steps in which the parameters change as well.
template <class... Options>
void check_steps() {
  program<loss, real<double>, Options...> step;
  step.init(seed{1});
  sgd optimizer{step, {.lr = 0.1}};
  for (std::uint64_t number = 0; number < 5; ++number) {
    check_statistics(step, number);
    static_cast<void>(step.value_and_grad(bind<"x">(batch_of(number))));
    optimizer.update();
  }
  check_statistics(step, 5);
  step.init(seed{1});
  check_statistics(step, 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(states)

BOOST_AUTO_TEST_CASE(each_step_updates_running_statistics_once) {
  check_steps<>();
  check_steps<plain>();
  check_steps<freeze<"block.0.bn">>();
}

BOOST_AUTO_TEST_CASE(running_statistics_follow_the_momentum) {
  constexpr auto options = nn::batch_norm_options{.momentum = 0.3, .eps = 0.5};
  program<sum(square(x | nn::batch_norm<"bn", options>)), real<double>> step;
  step.init(seed{1});
  for (std::uint64_t number = 0; number < 2; ++number) {
    static_cast<void>(step.value_and_grad(bind<"x">(batch_of(number))));
  }
  const auto expected = expected_after(2, 0.3);
  std::array<double, features> normalized;
  for (std::size_t f = 0; f < features; ++f) {
    BOOST_TEST(std::abs(step.param<"bn.running_mean">()(f) - expected[f].mean) < 1e-12);
    BOOST_TEST(std::abs(step.param<"bn.running_var">()(f) - expected[f].var) < 1e-12);
    normalized[f] = (1 - expected[f].mean) / std::sqrt(expected[f].var + 0.5);
  }
  predictor<input<"one", 1, features> | nn::batch_norm<"bn", options>, real<double>> predict{step};
  const std::array<double, features> ones{1, 1, 1};
  const auto y = predict(bind<"one">(ones));
  for (std::size_t f = 0; f < features; ++f) BOOST_TEST(std::abs(y.data()[f] - normalized[f]) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_step_normalizes_by_its_batch_and_a_predictor_by_running_statistics) {
  constexpr auto normalized = x | nn::batch_norm<"bn">;
  constexpr auto shared = input<"one", 1, features> | nn::batch_norm<"bn">;
  program<outputs(sum(square(normalized)), normalized), real<double>> step;
  step.init(seed{1});
  const std::array<double, features> weight{1, -2, 0.5}, bias{0.25, 1, -1};
  std::ranges::copy(weight, step.param<"bn.weight">().begin());
  std::ranges::copy(bias, step.param<"bn.bias">().begin());
  for (std::uint64_t number = 0; number < 3; ++number) {
    const auto [value, y] = step.value_and_grad(bind<"x">(batch_of(number)));
    for (std::size_t f = 0; f < features; ++f) {
      double sum = 0, squares = 0;
      for (std::size_t row = 0; row < rows; ++row) sum += y.data()[row * features + f];
      for (std::size_t row = 0; row < rows; ++row) squares += std::pow(y.data()[row * features + f] - bias[f], 2);
      BOOST_TEST(std::abs(sum / rows - bias[f]) < 1e-12);
      // The difference is the 1e-5 that is added to the variance.
      BOOST_TEST(std::abs(squares / rows - weight[f] * weight[f]) < 1e-4);
    }
  }

  predictor<shared, real<double>> predict{step};
  const std::array<double, features> one{3, -1, 0};
  const auto running = expected_after(3);
  for (int time = 0; time < 2; ++time) {  // a prediction changes nothing
    const auto y = predict(bind<"one">(one));
    for (std::size_t f = 0; f < features; ++f) {
      const double expected = (one[f] - running[f].mean) / std::sqrt(running[f].var + 1e-5) * weight[f] + bias[f];
      BOOST_TEST(std::abs(y(0, f) - expected) < 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(all_states_change_together_at_the_end_of_a_step) {
  constexpr auto a = state<"a", initial{.fill = 1}, 2>;
  constexpr auto b = state<"b", initial{.fill = 2}, 2>;
  constexpr auto count = state<"count", initial{}>;
  constexpr auto w = param<"w", 2>;
  constexpr auto counted = updated(sum(w * (a - b)) + count, count, count + 1_c);
  program<updated(updated(counted, a, reshape<2>(b)), b, a)> step;
  step.init(seed{1});
  step.param<"w">().fill(1);
  for (int number = 0; number < 3; ++number) {
    const float sign = number % 2 == 0 ? 1.0F : -1.0F;
    BOOST_TEST(step.param<"count">()() == static_cast<float>(number));
    BOOST_TEST(step.value_and_grad() == static_cast<float>(number) - 2 * sign);
    BOOST_TEST(step.grad<"w">()(0) == -sign);
    BOOST_TEST(step.param<"a">()(1) == 1.5F + sign / 2);
    BOOST_TEST(step.param<"b">()(1) == 1.5F - sign / 2);
  }
}

/// A state among the results, or a view of a state, has the value that the training step read. All other values that
/// the training step computes read this value, too.
BOOST_AUTO_TEST_CASE(results_show_states_as_the_step_read_them) {
  constexpr auto s = state<"s", initial{.fill = 1}, 2, 2>;
  constexpr auto total = sum(updated(param<"w", 2, 2>, s, s * 2_c));
  program<outputs(total, s, reshape<4>(s), sum(s))> step;
  step.init(seed{1});
  for (const float now : {1.0F, 2.0F, 4.0F}) {
    const auto [loss, seen, viewed, added] = step.value_and_grad();
    BOOST_TEST(seen(1, 1) == now);
    BOOST_TEST(viewed(3) == now);
    BOOST_TEST(added == 4 * now);
    BOOST_TEST(step.param<"s">()(0, 1) == 2 * now);
  }
}

BOOST_AUTO_TEST_CASE(a_refused_step_changes_no_state) {
  program<loss, real<double>, check_finite> step;
  step.init(seed{1});
  static_cast<void>(step.value_and_grad(bind<"x">(batch_of(0))));
  batch wild = batch_of(1);
  wild[7] = std::nan("");
  BOOST_CHECK_THROW(step.value_and_grad(bind<"x">(wild)), loss_error);
  check_statistics(step, 1);
  const std::vector<double> too_many(rows * features + 1);
  BOOST_CHECK_THROW(step.value_and_grad(bind<"x">(too_many)), extent_error);
  check_statistics(step, 1);
}

BOOST_AUTO_TEST_SUITE_END()
