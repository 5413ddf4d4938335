// Compares gradients and training steps of the imported model with PyTorch's. This file is apart from check.cpp, so
// that both can be compiled at once.
#include "check.hpp"
#include "model.hpp"

#include <cairn/file/saving.hpp>

using namespace cairn;

void check_training() {
  const auto images = data::read_safetensors<double>("numbers.safetensors", "inputs/images").values;
  const auto labels_ = data::read_safetensors<std::int32_t>("numbers.safetensors", "inputs/labels").values;

  // Gradients are computed in double. A float may round to the other side of a kink, such as that of relu at 0, and
  // then a gradient changes by percents.
  program<digits::loss, real<double>> step;
  static_cast<void>(step.load("weights.safetensors"));
  static_cast<void>(step.value_and_grad(bind<"images">(images), bind<"labels">(labels_)));
  double most = 0;
  step.for_each_gradient([&](std::string_view, auto gradient) { most = std::max(most, largest(gradient)); });
  std::vector<deviation> gradients;
  step.for_each_gradient([&](std::string_view name, auto gradient) {
    gradients.push_back(compared("gradients", std::string(name), gradient, 1e-4, 1e-6 * most));
  });
  report("gradients of " + std::to_string(gradients.size()) + " parameters", gradients);

  const auto compare_steps = [&](const std::string& rule, auto optimizer) {
    std::vector<double> losses(of_pytorch("losses", rule).size());
    for (double& loss : losses) {
      loss = step.value_and_grad(bind<"images">(images), bind<"labels">(labels_));
      optimizer.update();
    }
    report("losses of " + std::to_string(losses.size()) + " steps with " + rule,
           {compared("losses", rule, losses, 1e-4)});
  };
  compare_steps("sgd", sgd{step, {.lr = 0.01}});
  static_cast<void>(step.load("weights.safetensors"));
  compare_steps("adamw", adamw{step, {.lr = 1e-3, .weight_decay = 0.01}});
  step.save("trained.safetensors");
}
