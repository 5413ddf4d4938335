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

BOOST_AUTO_TEST_SUITE_END()
