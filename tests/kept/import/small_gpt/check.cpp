// Compares the imported model with numbers that PyTorch computed.
#include "model.hpp"

#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace cairn;

namespace {

/// The largest deviation of an array from PyTorch's, the largest number of PyTorch's array, and the deviation that the
/// array may have.
struct deviation {
  std::string name;
  double value, size, limit;
};

int arrays = 0, far_arrays = 0;  // all arrays, and those that are not close

double largest(const auto& array) {
  double out = 0;
  for (const double x : array) out = std::isfinite(x) ? std::max(out, std::abs(x)) : out;
  return out;
}

std::vector<double> of_pytorch(const std::string& kind, const std::string& name) {
  return data::read_safetensors<double>("numbers.safetensors", kind + "/" + name).values;
}

/// Compares an array with PyTorch's. The limit is `tolerance` times the largest number of PyTorch's array, or `least`.
deviation compared(const std::string& kind, const std::string& name, const auto& array, double tolerance,
                   double least = 0) {
  const std::vector<double> expected = of_pytorch(kind, name);
  double value = expected.size() == std::size(array) ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(expected.size(), std::size(array)); ++i) {
    const double x = array.data()[i];
    const double difference = x == expected[i] ? 0 : std::abs(x - expected[i]);
    value = std::isnan(difference) ? INFINITY : std::max(value, difference);
  }
  const double size = largest(expected);
  return {name, value, size, std::max(tolerance * size, least)};
}

/// Prints a line for arrays of one kind, with the deviation that is nearest to its limit. Prints another line for each
/// array that is not close.
void report(const std::string& what, const std::vector<deviation>& all) {
  const deviation& worst = *std::max_element(all.begin(), all.end(), [](const deviation& a, const deviation& b) {
    return a.value * b.limit < b.value * a.limit;
  });
  std::printf("%s: ", what.c_str());
  if (all.size() == 1) std::printf("deviation %.1e of %.1e\n", worst.value, worst.size);
  else std::printf("largest deviation %.1e of %.1e, in %s\n", worst.value, worst.size, worst.name.c_str());
  for (const auto& [name, value, size, limit] : all) {
    ++arrays;
    if (value <= limit) continue;
    ++far_arrays;
    std::printf("  NOT CLOSE: %s, deviation %.1e of %.1e, limit %.1e\n", name.c_str(), value, size, limit);
  }
}

}  // namespace

int main() {
  const auto text = data::read_safetensors<std::int32_t>("numbers.safetensors", "inputs/text").values;
  const auto following = data::read_safetensors<std::int32_t>("numbers.safetensors", "inputs/following").values;
  predictor<small_gpt::output> predict_output{"weights.safetensors"};
  report("output", {compared("outputs", "output", predict_output(bind<"text">(text)), 1e-5)});

  // Gradients are computed in double. A float may round to the other side of a kink, such as that of relu at 0, and
  // then a gradient changes by percents.
  program<small_gpt::loss, real<double>> step;
  static_cast<void>(step.load("weights.safetensors"));
  static_cast<void>(step.value_and_grad(bind<"text">(text), bind<"following">(following)));
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
      loss = step.value_and_grad(bind<"text">(text), bind<"following">(following));
      optimizer.update();
    }
    report("losses of " + std::to_string(losses.size()) + " steps with " + rule,
           {compared("losses", rule, losses, 1e-4)});
  };
  compare_steps("sgd", sgd{step, {.lr = 0.01}});
  static_cast<void>(step.load("weights.safetensors"));
  compare_steps("adamw", adamw{step, {.lr = 1e-3, .weight_decay = 0.01}});
  step.save("trained.safetensors");

  if (far_arrays == 0) std::puts("The model agrees with PyTorch's numbers.");
  else std::printf("%d of %d arrays are not close to PyTorch's.\n", far_arrays, arrays);
  return far_arrays == 0 ? 0 : 1;
}
