// Update rules that read whole tensors. They are for update<...>, which makes them a part of the training step: sums
// and products of matrices are then kernels of the step, and their results lie in its arena.
//
// No finite gradient makes a parameter or a moment infinite or NaN, as in rules.hpp.
#pragma once

#include "cairn/op/matmul.hpp"
#include "cairn/op/reductions.hpp"
#include "cairn/op/update.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace cairn {

/// AdamW with a step whose length is proportional to the length of the parameter: the step of each tensor is multiplied
/// by its trust ratio, the norm of the parameter divided by the norm of the step. If one of the norms is 0, the ratio
/// is 1. You et al.: Large batch optimization for deep learning (ICLR 2020), algorithm 2, where phi is the identity.
struct lamb_options {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 1e-2;  // weight_decay times the parameter is added to the step before its norm is taken

  static constexpr bool whole_tensor = true;
  constexpr std::array<setting, 4> settings() const {
    return {setting::below_one("beta1", beta1), setting::below_one("beta2", beta2),
            setting::not_negative("epsilon", epsilon), setting::not_negative("weight_decay", weight_decay)};
  }
  static constexpr std::array<std::string_view, 2> moments{"exp_avg", "exp_avg_sq"};
  /// Returns numbers that contain the corrections of the bias, as in adamw_options.
  std::array<double, 6> numbers(double rate, std::int64_t step) const {
    const auto n = static_cast<double>(step);
    const double bias_correction = std::sqrt(1 - std::pow(beta2, n));
    return {rate,      bias_correction / (1 - std::pow(beta1, n)), weight_decay, 1 - beta1,
            1 - beta2, std::max(epsilon * bias_correction, 1e-18)};
  }
  static constexpr auto next(auto p, auto gradient, auto rate, auto scale, auto decay, auto new1, auto new2, auto least,
                             auto mean, auto square) {
    const auto g = squarable(gradient);
    const auto m = mean + new1 * (g - mean);
    const auto s = square + new2 * (g * g - square);
    const auto direction = saturated(scale * (m / (sqrt(s) + least)) + decay * p, gradient);
    const auto length = saturated(vector_norm(p), rate);
    const auto of_step = saturated(vector_norm(direction), rate);
    const auto ratio =
        where(minimum(length, of_step) > lang::constant<0>, saturated(length / of_step, rate), lang::constant<1>);
    return std::tuple{saturated(p - rate * saturated(ratio * direction, gradient), gradient), m, s};
  }
};

}  // namespace cairn
