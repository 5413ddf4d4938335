// Update rules that read whole tensors. They are for update<...>, which makes them a part of the training step: sums
// and products of matrices are then kernels of the step, and their results lie in its arena.
//
// No finite gradient makes a parameter or a moment infinite or NaN, as in rules.hpp.
#pragma once

#include "cairn/op/extremum.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/reductions.hpp"
#include "cairn/op/update.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace cairn {

namespace detail {
/// Returns the square root of a number of 1 or more. Not all compilers take std::sqrt in a constant.
constexpr double square_root(double x) {
  double root = x;
  for (int i = 0; i < 64; ++i) root = (root + x / root) / 2;
  return root;
}
}  // namespace detail

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

/// Gradient descent with momentum, where each step is a matrix whose singular values are all about 1, with the
/// semantics of torch.optim.Muon. It is for the weights of hidden layers, which are matrices. All other parameters need
/// another rule: `update<adamw_options{}>, update<muon_options{}, "*.up.weight">`. PyTorch rounds the products to bf16,
/// and cairn computes them in the numbers of the program. Jordan et al.: Muon (2024).
struct muon_options {
  double lr = 1e-3;
  double weight_decay = 0.1;  // decoupled: shrinks the parameter itself, independent of its gradient
  double momentum = 0.95;
  bool nesterov = true;
  double epsilon = 1e-7;  // the least norm by which a step is divided

  static constexpr bool whole_tensor = true;
  static constexpr bool takes(const shape& parameter) { return parameter.rank == 2; }
  constexpr std::array<setting, 3> settings() const {
    return {setting::not_negative("weight_decay", weight_decay), setting::below_one("momentum", momentum),
            setting::not_negative("epsilon", epsilon)};
  }
  static constexpr std::array<std::string_view, 1> moments{"momentum_buffer"};
  constexpr std::array<double, 7> numbers(double rate, std::int64_t) const {
    return {rate,
            1 - rate * weight_decay,
            momentum,
            1 - momentum,
            nesterov ? momentum : 1,
            nesterov ? 1 - momentum : 0,
            std::max(epsilon, 1e-18)};
  }
  /// A step of a matrix with more rows than columns is longer, so that the size of its numbers does not depend on the
  /// shape.
  static constexpr auto next(auto p, auto g, auto rate, auto keep, auto old1, auto new1, auto by_velocity,
                             auto by_slope, auto least, auto velocity) {
    const auto v = saturated(old1 * velocity + new1 * g, g);
    const auto direction = saturated(by_velocity * v + by_slope * g, g);
    constexpr auto longer = lang::constant<step_size(decltype(p)::shape)>;
    return std::tuple{saturated(keep * p - rate * longer * orthogonalized(direction, least), g), v};
  }

 private:
  static constexpr double step_size(const shape& s) {
    return detail::square_root(std::max(1.0, static_cast<double>(s[0]) / s[1]));
  }
  /// Moves the singular values of a matrix towards 1, by five steps of a Newton-Schulz iteration. The rows of the
  /// matrix that is multiplied by its transpose are at most as many as its columns.
  static constexpr auto orthogonalized(auto x, auto least) {
    if constexpr (x.shape[0] > x.shape[1]) return transpose(orthogonal_rows(transpose(x), least));
    else return orthogonal_rows(x, least);
  }
  /// The numbers are divided by the largest of them before they are squared, so that no square overflows.
  static constexpr auto orthogonal_rows(auto x, auto least) {
    const auto largest = maximum(max(abs(x)), least);
    const auto scaled = x / largest;
    return iterated<5>(scaled / maximum(vector_norm(scaled), least / largest));
  }
  template <int Steps>
  static constexpr auto iterated(auto x) {
    if constexpr (Steps == 0) {
      return x;
    } else {
      const auto products = matmul(x, transpose(x));
      const auto factor = lang::constant<-4.7750> * products + lang::constant<2.0315> * matmul(products, products);
      return iterated<Steps - 1>(lang::constant<3.4445> * x + matmul(factor, x));
    }
  }
};

/// Divides each gradient by the root of a mean of its squares, of which only the means over rows and over columns are
/// stored, with the semantics of torch.optim.Adafactor. The length of a step is proportional to the length of the
/// parameter. A tensor with more than two axes is many matrices. A parameter with one axis or none has a mean for each
/// number, in the moment "row_var". Shazeer, Stern: Adafactor (ICML 2018).
struct adafactor_options {
  double lr = 1e-2;  // the rate is at most one over the root of the number of steps
  double beta2_decay = -0.8;
  double epsilon1 = 0x1p-23;  // the least root of a mean; PyTorch takes the epsilon of the parameter's type
  double epsilon2 = 1e-3;     // the least length of a parameter
  double threshold = 1;       // the most that the numbers of a step measure, as the root of the mean of their squares
  double weight_decay = 0;    // decoupled: shrinks the parameter itself, independent of its gradient

  static constexpr bool whole_tensor = true;
  static constexpr shape moment_shape(int k, shape s) {
    if (s.rank < 2) return k == 0 ? s : no_shape;
    s.extent[s.rank - (k == 0 ? 1 : 2)] = 1;
    return s;
  }
  constexpr std::array<setting, 5> settings() const {
    return {{{"beta2_decay", beta2_decay, beta2_decay <= 0 && setting::is_finite(beta2_decay), "0 or less, finite"},
             setting::not_negative("epsilon1", epsilon1),
             setting::not_negative("epsilon2", epsilon2),
             setting::at_least_one("threshold", threshold),
             setting::not_negative("weight_decay", weight_decay)}};
  }
  static constexpr std::array<std::string_view, 2> moments{"row_var", "col_var"};
  std::array<double, 6> numbers(double rate, std::int64_t step) const {
    const auto n = static_cast<double>(step);
    return {std::min(rate, 1 / std::sqrt(n)),
            1 - rate * weight_decay,
            std::pow(n, beta2_decay),
            std::max(epsilon1, 1e-18),
            epsilon2,
            threshold};
  }
  static constexpr auto next(auto p, auto gradient, auto rate, auto keep, auto share, auto least, auto least_size,
                             auto most, auto row, auto column) {
    const auto g = squarable(gradient);
    const auto rows = row + share * (saturated(mean<-1>(square(g), keepdim), share) - row);
    const auto columns = column + share * (saturated(mean<-2>(square(g), keepdim), share) - column);
    const auto of_all = maximum(saturated(mean<-2>(rows, keepdim), share), least);
    const auto estimate = saturated(rows / of_all * columns, share);
    return std::tuple{moved(p, gradient, g, estimate, rate, keep, least, least_size, most), rows, columns};
  }
  static constexpr auto next(auto p, auto gradient, auto rate, auto keep, auto share, auto least, auto least_size,
                             auto most, auto variance) {
    const auto g = squarable(gradient);
    const auto estimate = variance + share * (square(g) - variance);
    return std::tuple{moved(p, gradient, g, estimate, rate, keep, least, least_size, most), estimate};
  }

 private:
  static constexpr auto moved(auto p, auto gradient, auto g, auto estimate, auto rate, auto keep, auto least,
                              auto least_size, auto most) {
    const auto step = g / sqrt(maximum(estimate, least * least));
    const auto length = maximum(root_mean_square(p, rate), least_size) * rate;
    const auto excess = maximum(root_mean_square(step, rate) / most, lang::constant<1>);
    return saturated(keep * p - saturated(length / excess * step, gradient), gradient);
  }
  static constexpr auto root_mean_square(auto x, auto finite) {
    constexpr double root = detail::square_root(static_cast<double>(decltype(x)::shape.count()));
    return saturated(vector_norm(x), finite) / lang::constant<root>;
  }
};

}  // namespace cairn
