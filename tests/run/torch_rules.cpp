// Update rules change a parameter as PyTorch's optimizers do, over ten training steps, in double.
#include "torch_values.hpp"

namespace {

/// Trains a parameter with ten gradients, and compares it with the case of this name. The gradient of sum(w * g) is g.
template <auto Rule, int... Extents>
void trains_as(const std::string& name) {
  program<sum(param<"w", Extents...> * input<"g", Extents...>), update<Rule>, real<double>> step;
  const auto fill = [](auto view, std::string_view of) {
    for (std::size_t i = 0; i < view.size(); ++i) view.data()[i] = filled(of, i);
  };
  fill(step.template param<"w">(), "w");
  std::vector<double> gradient(step.template param<"w">().size());
  for (int i = 0; i < 10; ++i) {
    fill(std::span(gradient), "g" + std::to_string(i));
    step.train(bind<"g">(gradient));
  }
  compare(name, step.template param<"w">());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(torch_rules)

BOOST_AUTO_TEST_CASE(rmsprop) {
  trains_as<rmsprop_options{}, 3, 5>("rmsprop");
  trains_as<rmsprop_options{.alpha = 0.9, .epsilon = 1e-3, .momentum = 0.5, .weight_decay = 0.1}, 3, 5>(
      "rmsprop_with_momentum");
  trains_as<rmsprop_options{.alpha = 0.9, .momentum = 0.5, .centered = true}, 3, 5>("rmsprop_centered");
}

BOOST_AUTO_TEST_CASE(lamb) {
  trains_as<lamb_options{}, 3, 5>("lamb");
  trains_as<lamb_options{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 1e-3, .weight_decay = 0.5}, 2, 3, 4>(
      "lamb_with_options");
}
BOOST_AUTO_TEST_CASE(muon) {
  trains_as<muon_options{}, 3, 5>("muon");
  trains_as<muon_options{.lr = 0.1, .weight_decay = 0, .momentum = 0.5, .nesterov = false}, 7, 4>("muon_of_columns");
}
BOOST_AUTO_TEST_CASE(adafactor) {
  trains_as<adafactor_options{}, 3, 5>("adafactor");
  trains_as<adafactor_options{.lr = 0.5, .epsilon2 = 0.5, .threshold = 2, .weight_decay = 0.1}, 2, 3, 4>(
      "adafactor_with_options");
  trains_as<adafactor_options{.beta2_decay = -0.5}, 7>("adafactor_of_vectors");
}
BOOST_AUTO_TEST_CASE(rates) {
  const auto rates_of = [](auto rate) {
    std::array<double, 20> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = rate(static_cast<std::int64_t>(i));
    return all;
  };
  compare("linear_rate", rates_of(linear_rate{.peak = 0.5, .steps = 12, .last = 0.05}), 1e-14);
  compare("one_cycle", rates_of(one_cycle{.peak = 0.5, .steps = 20}), 1e-14);
  compare("one_cycle_of_19",
          rates_of(one_cycle{.peak = 0.5, .steps = 19, .rising = 0.4, .start_divisor = 5, .end_divisor = 10}), 1e-14);
}
BOOST_AUTO_TEST_CASE(rates_on_plateaus) {
  const auto agrees = [](const std::string& name, on_plateau rate) {
    std::array<double, 40> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      rate.observe(std::round(8 * std::abs(filled("results", i))) / 4 - 1);
      all[i] = rate(0);
    }
    compare(name, all, 1e-14);
  };
  agrees("plateau", {.peak = 0.5, .factor = 0.5, .patience = 3});
  agrees("plateau_highest", {.peak = 0.5,
                             .factor = 0.25,
                             .patience = 2,
                             .threshold = 0.1,
                             .cooldown = 3,
                             .least = 0.01,
                             .higher_is_better = true});
  agrees("plateau_absolute",
         {.peak = 0.5, .factor = 0.5, .patience = 0, .threshold = 0.25, .is_absolute = true, .cooldown = 2});
}

BOOST_AUTO_TEST_SUITE_END()
