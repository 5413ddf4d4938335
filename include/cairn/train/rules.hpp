// The usual update rules. They are the options of an optimizer, or of update<...>, which makes the rule a part of the
// training step.
//
// No finite gradient makes a parameter or a moment infinite or NaN: a number that overflows becomes the largest finite
// number of its sign. An infinite gradient turns its parameter into NaN.
#pragma once

#include "cairn/op/update.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace cairn {

/// Stochastic gradient descent with momentum, with the semantics of torch.optim.SGD.
struct sgd_options {
  double lr = 1e-3;
  double momentum = 0;
  double weight_decay = 0;  // an L2 penalty: weight_decay times the parameter is added to its gradient
  bool nesterov = false;    // needs a momentum above 0

  constexpr std::array<setting, 3> settings() const {
    return {{{"momentum", momentum, momentum >= 0 && momentum <= 1, "0 to 1"},
             setting::not_negative("weight_decay", weight_decay),
             {"nesterov", nesterov ? 1.0 : 0.0, !nesterov || momentum != 0, "false without momentum"}}};
  }
  static constexpr std::array<std::string_view, 1> moments{"momentum_buffer"};
  constexpr int moment_count() const { return momentum != 0 ? 1 : 0; }
  constexpr std::array<double, 5> numbers(double rate, std::int64_t) const {
    return {rate, weight_decay, momentum, nesterov ? momentum : 1, nesterov ? 1.0 : 0.0};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto decay, auto, auto, auto) {
    return std::tuple{saturated(p - rate * saturated(g + decay * p, g), g)};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto decay, auto momentum, auto by_velocity, auto by_slope,
                             auto velocity) {
    const auto slope = saturated(g + decay * p, g);
    const auto v = saturated(momentum * velocity + slope, g);
    return std::tuple{saturated(p - rate * saturated(by_velocity * v + by_slope * slope, g), g), v};
  }
};

/// Adam with decoupled weight decay, with the semantics of torch.optim.AdamW.
/// Loshchilov, Hutter: Decoupled weight decay regularization (ICLR 2019).
struct adamw_options {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;  // decoupled: shrinks the parameter itself, independent of its gradient

  constexpr std::array<setting, 4> settings() const {
    return {setting::below_one("beta1", beta1), setting::below_one("beta2", beta2),
            setting::not_negative("epsilon", epsilon), setting::not_negative("weight_decay", weight_decay)};
  }
  static constexpr std::array<std::string_view, 2> moments{"exp_avg", "exp_avg_sq"};
  /// Returns the numbers that are the same for all parameters in this step. Adam corrects the bias of both means by
  /// dividing them by 1 - beta^step. The rate and epsilon contain these divisions, so that they need not be done for
  /// every parameter. Epsilon is at least 1e-18, and at least 1e-18 times the rate. So neither a mean divided by
  /// epsilon overflows, nor the rate times this quotient.
  std::array<double, 5> numbers(double rate, std::int64_t step) const {
    const auto n = static_cast<double>(step);
    const double bias_correction = std::sqrt(1 - std::pow(beta2, n));
    const double corrected = rate * bias_correction / (1 - std::pow(beta1, n));
    return {corrected, 1 - rate * weight_decay, 1 - beta1, 1 - beta2,
            std::max(epsilon * bias_correction, 1e-18 * std::max(corrected, 1.0))};
  }
  /// If the square of a gradient would overflow, the gradient is replaced by the largest number of its sign that can be
  /// squared. This is harmless, because a step of Adam depends on the ratios of the gradients of several steps, and not
  /// on their size.
  static constexpr auto next(auto p, auto gradient, auto rate, auto keep, auto new1, auto new2, auto least, auto mean,
                             auto square) {
    const auto g = squarable(gradient);
    const auto m = mean + new1 * (g - mean);
    const auto s = square + new2 * (g * g - square);
    return std::tuple{saturated(keep * p - rate * (m / (sqrt(s) + least)), g), m, s};
  }
};

/// Divides each gradient by the root of a running mean of its squares, with the semantics of torch.optim.RMSprop.
/// Hinton: Neural networks for machine learning, lecture 6e (2012). With `centered`, the square of the mean gradient is
/// subtracted from the mean of the squares, so that the root is a standard deviation.
struct rmsprop_options {
  double lr = 1e-2;
  double alpha = 0.99;  // how much of both means stays in a step
  double epsilon = 1e-8;
  double momentum = 0;
  bool centered = false;    // stores all three moments, even without momentum
  double weight_decay = 0;  // an L2 penalty: weight_decay times the parameter is added to its gradient

  constexpr std::array<setting, 4> settings() const {
    return {setting::below_one("alpha", alpha), setting::not_negative("epsilon", epsilon),
            setting::at_most_one("momentum", momentum), setting::not_negative("weight_decay", weight_decay)};
  }
  static constexpr std::array<std::string_view, 3> moments{"square_avg", "momentum_buffer", "grad_avg"};
  constexpr int moment_count() const { return centered ? 3 : momentum != 0 ? 2 : 1; }
  /// Epsilon is at least 1e-18, so that no gradient divided by epsilon overflows.
  constexpr std::array<double, 5> numbers(double rate, std::int64_t) const {
    return {rate, weight_decay, 1 - alpha, std::max(epsilon, 1e-18), momentum};
  }
  /// If the square of a gradient would overflow, the gradient is replaced as in adamw_options.
  static constexpr auto slope_of(auto p, auto g, auto decay) { return squarable(saturated(g + decay * p, g)); }
  static constexpr auto next(auto p, auto g, auto rate, auto decay, auto share, auto least, auto, auto square) {
    const auto slope = slope_of(p, g, decay);
    const auto s = square + share * (slope * slope - square);
    return std::tuple{saturated(p - rate * (slope / (sqrt(s) + least)), g), s};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto decay, auto share, auto least, auto momentum, auto square,
                             auto velocity) {
    const auto slope = slope_of(p, g, decay);
    const auto s = square + share * (slope * slope - square);
    const auto v = saturated(momentum * velocity + slope / (sqrt(s) + least), g);
    return std::tuple{saturated(p - rate * v, g), s, v};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto decay, auto share, auto least, auto momentum, auto square,
                             auto velocity, auto mean) {
    const auto slope = slope_of(p, g, decay);
    const auto s = square + share * (slope * slope - square);
    const auto m = mean + share * (slope - mean);
    // Rounding may make the difference of equal numbers negative.
    const auto variance = maximum(s - m * m, lang::constant<0>);
    const auto v = saturated(momentum * velocity + slope / (sqrt(variance) + least), g);
    return std::tuple{saturated(p - rate * v, g), s, v, m};
  }
};

/// Moves each parameter by the rate, in the direction of the sign of a running mean of gradients. Weight decay is
/// decoupled, as in the authors' code. Chen et al.: Symbolic discovery of optimization algorithms (NeurIPS 2023).
struct lion_options {
  double lr = 1e-4;
  double beta1 = 0.9;   // how much of the mean counts for the direction of a step
  double beta2 = 0.99;  // how much of the mean stays in a step
  double weight_decay = 0;

  constexpr std::array<setting, 3> settings() const {
    return {setting::below_one("beta1", beta1), setting::below_one("beta2", beta2),
            setting::not_negative("weight_decay", weight_decay)};
  }
  static constexpr std::array<std::string_view, 1> moments{"exp_avg"};
  constexpr std::array<double, 6> numbers(double rate, std::int64_t) const {
    return {rate, 1 - rate * weight_decay, beta1, 1 - beta1, beta2, 1 - beta2};
  }
  static constexpr auto next(auto p, auto g, auto rate, auto keep, auto old1, auto new1, auto old2, auto new2,
                             auto mean) {
    return std::tuple{saturated(keep * p - rate * sign(old1 * mean + new1 * g), g),
                      saturated(old2 * mean + new2 * g, g)};
  }
};

/// An update rule that also keeps an exponential average of each parameter, over about 1 / (1 - decay) steps:
/// `update<averaged{adamw_options{}, 0.999}>`. The average is the moment "average". `step.exchange("average")`
/// exchanges the parameters with their averages, and a second call exchanges them back.
/// Polyak and Juditsky: Acceleration of stochastic approximation by averaging (1992). They take the plain mean; this
/// average is exponential.
template <class Rule>
struct averaged {
  Rule rule;
  double decay = 0.999;
  double lr = rule.lr;

  constexpr auto settings() const {
    const auto of_rule = lang::settings_of(rule);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array{setting::below_one("decay", decay), of_rule[I]...};
    }(std::make_index_sequence<std::tuple_size_v<decltype(lang::settings_of(rule))>>{});
  }
  static constexpr std::size_t count = static_cast<std::size_t>(lang::numbers_of<Rule>);
  static constexpr bool whole_tensor = lang::reads_whole_tensors<Rule>;
  static constexpr bool takes(const shape& parameter)
    requires requires { Rule::takes(parameter); }
  {
    return Rule::takes(parameter);
  }
  static constexpr shape moment_shape(int k, const shape& parameter) {
    return k == 0 ? parameter : lang::moment_shape<Rule>(k - 1, parameter);
  }
  template <std::size_t Values>  // counts the rule's numbers, the average, and the moments of the rule
  static constexpr bool goes_on = [] {
    if constexpr (Values <= count) return false;
    else return lang::is_whole_or_elementwise<Rule, static_cast<int>(Values - count) - 1>();
  }();

  static constexpr auto moments = [] {
    std::array<std::string_view, Rule::moments.size() + 1> all{"average"};
    for (std::size_t k = 0; k < Rule::moments.size(); ++k) all[k + 1] = Rule::moments[k];
    return all;
  }();
  constexpr int moment_count() const { return 1 + lang::moments_of(rule); }
  /// Returns the weight of this step's parameter in the average, followed by the numbers of the rule. The weight
  /// corrects the bias of an average that begins at 0: in the first step it is 1, so the average is then the parameter
  /// itself.
  auto numbers(double rate, std::int64_t step) const {
    const auto of_rule = rule.numbers(rate, step);
    std::array<double, std::tuple_size_v<decltype(rule.numbers(rate, step))> + 1> all{};
    all[0] = (1 - decay) / (1 - std::pow(decay, static_cast<double>(step)));
    std::copy(of_rule.begin(), of_rule.end(), all.begin() + 1);
    return all;
  }
  template <class... Rest>
    requires(goes_on<sizeof...(Rest)>)
  static constexpr auto next(auto p, auto g, auto share, Rest... rest) {
    return [&]<std::size_t... N, std::size_t... M>(std::index_sequence<N...>, std::index_sequence<M...>) {
      const auto all = std::tuple{rest...};
      const auto average = std::get<sizeof...(N)>(all);
      return std::apply(
          [=](auto next, auto... kept) {
            return std::tuple{next, average + share * saturated(next - average, g), kept...};
          },
          Rule::next(p, g, std::get<N>(all)..., std::get<sizeof...(N) + 1 + M>(all)...));
    }(std::make_index_sequence<count>{}, std::make_index_sequence<sizeof...(Rest) - count - 1>{});
  }
};

}  // namespace cairn
