// The usual update rules, as options: of the optimizers, and of update<...>, which has them in the step.
#pragma once

#include "cairn/expr/update.hpp"

#include <array>
#include <cmath>
#include <string_view>

namespace cairn {

/// Stochastic gradient descent with momentum, as torch.optim.SGD.
struct sgd_options {
  double lr = 1e-3;
  double momentum = 0;
  double weight_decay = 0;  // as an L2 penalty: added to the gradient
  bool nesterov = false;

  static constexpr std::array<std::string_view, 1> moments{"momentum_buffer"};
  constexpr int moment_count() const { return momentum != 0 ? 1 : 0; }
  constexpr std::array<double, 5> numbers(double rate, std::int64_t) const {
    return {rate, weight_decay, momentum, nesterov ? momentum : 1, nesterov ? 1.0 : 0.0};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto decay, auto, auto, auto) {
    return std::tuple{p - rate * (g + decay * p)};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto decay, auto momentum, auto by_velocity, auto by_slope,
                             auto velocity) {
    const auto slope = g + decay * p;
    const auto v = momentum * velocity + slope;
    return std::tuple{p - rate * (by_velocity * v + by_slope * slope), v};
  }
};

/// Adam with decoupled weight decay, as torch.optim.AdamW.
/// Loshchilov, Hutter: Decoupled weight decay regularization (ICLR 2019).
struct adamw_options {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;  // decoupled: shrinks the parameter itself

  static constexpr std::array<std::string_view, 2> moments{"exp_avg", "exp_avg_sq"};
  /// Both means are divided by what they lack of a mean over all steps; so that these divisions are no work of every
  /// number, they are in the rate and in epsilon.
  std::array<double, 5> numbers(double rate, std::int64_t step) const {
    const auto n = static_cast<double>(step);
    const double lack = std::sqrt(1 - std::pow(beta2, n));
    return {rate * lack / (1 - std::pow(beta1, n)), 1 - rate * weight_decay, 1 - beta1, 1 - beta2, epsilon * lack};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto keep, auto new1, auto new2, auto least, auto mean,
                             auto square) {
    const auto m = mean + new1 * (g - mean);
    const auto s = square + new2 * (g * g - square);
    return std::tuple{keep * p - rate * (m / (sqrt(s) + least)), m, s};
  }
};

}  // namespace cairn
