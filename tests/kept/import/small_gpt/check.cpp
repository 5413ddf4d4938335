// Compares the imported model with numbers that PyTorch computed.
#include "model.hpp"

#include <cairn/data/npy.hpp>
#include <cairn/file/saving.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

using namespace cairn;

namespace {

bool is_close = true;

double largest(const auto& array) {
  double out = 0;
  for (const auto x : array) out = std::max(out, std::abs(static_cast<double>(x)));
  return out;
}
/// Prints how far an array is from PyTorch's. The deviation may be `tolerance` times the largest number of PyTorch's
/// array, or `least`.
void compare(const std::string& name, const auto& array, double tolerance, double least = 0) {
  const std::vector<double> expected = data::read_npy<double>("numbers/" + name + ".npy").values;
  double deviation = expected.size() == std::size(array) ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(expected.size(), std::size(array)); ++i) {
    const double difference = std::abs(static_cast<double>(array.data()[i]) - expected[i]);
    deviation = difference <= deviation ? deviation : difference;  // also takes NaN
  }
  const double size = largest(expected);
  const bool close = deviation <= std::max(tolerance * size, least);
  is_close = is_close && close;
  std::printf("%-60s deviation %.1e of %.1e%s\n", name.c_str(), deviation, size, close ? "" : "  NOT CLOSE");
}

}  // namespace

int main() {
  const auto text = data::read_npy<std::int32_t>("numbers/text.npy").values;
  const auto following = data::read_npy<std::int32_t>("numbers/following.npy").values;
  predictor<small_gpt::output> predict_output{"weights.safetensors"};
  compare("output", predict_output(bind<"text">(text)), 1e-5);

  // Gradients are computed in double. A float may round to the other side of a kink, such as that of relu at 0, and
  // then a gradient changes by percents.
  program<small_gpt::loss, real<double>> step;
  static_cast<void>(step.load("weights.safetensors"));
  static_cast<void>(step.value_and_grad(bind<"text">(text), bind<"following">(following)));
  double most = 0;
  step.for_each_gradient([&](std::string_view, auto gradient) { most = std::max(most, largest(gradient)); });
  step.for_each_gradient([&](std::string_view name, auto gradient) {
    compare("gradients/" + std::string(name), gradient, 1e-4, 1e-6 * most);
  });
  const auto compare_steps = [&](const std::string& name, auto optimizer) {
    std::vector<double> losses(data::read_npy<double>("numbers/" + name + ".npy").values.size());
    for (double& loss : losses) {
      loss = step.value_and_grad(bind<"text">(text), bind<"following">(following));
      optimizer.update();
    }
    compare(name, losses, 1e-4);
  };
  compare_steps("losses_sgd", sgd{step, {.lr = 0.01}});
  static_cast<void>(step.load("weights.safetensors"));
  compare_steps("losses_adamw", adamw{step, {.lr = 1e-3, .weight_decay = 0.01}});
  step.save("trained.safetensors");
  return is_close ? 0 : 1;
}
