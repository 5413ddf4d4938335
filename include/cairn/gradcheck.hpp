// Checks a model's gradients against finite differences, in double.
#pragma once

#include "cairn/exec/program.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cairn {

/// How far a gradient is from a difference quotient, at the element where it is farthest.
struct gradient_deviation {
  double relative = 0;   ///< |gradient - quotient| / max(|gradient|, |quotient|, 1e-3)
  std::size_t at = 0;    ///< index in program::parameters()
  double gradient = 0, quotient = 0;
};

/// The largest deviation over all trained parameters of the loss, each drawn from `s`. The quotient is the five-point
/// central difference, whose error is of fourth order in the step. Each loss is that of the first step from `s`, with
/// the same random numbers and states. Gradients of inputs, as by wrt<...>, are not compared. `gradcheck<loss>(seed{1},
/// bind<"x">(x)).relative < 1e-6`; options are those of program, without real.
template <auto Loss, class... Options, class... Bound>
gradient_deviation gradcheck(seed s, const Bound&... inputs) {
  program<Loss, real<double>, Options...> step;
  const auto loss = [&](std::size_t i, double offset) {
    step.init(s);
    if (offset != 0) step.parameters()[i] += offset;
    const auto result = step.value_and_grad(inputs...);
    if constexpr (requires { std::get<0>(result); }) return std::get<0>(result);
    else return result;
  };

  static_cast<void>(loss(0, 0));
  const std::vector<double> gradient(step.gradients().begin(), step.gradients().end());
  gradient_deviation worst;
  step.for_each_trained([&](std::size_t i) {
    const double h = 1e-3;
    const double quotient = (8 * (loss(i, h) - loss(i, -h)) - (loss(i, 2 * h) - loss(i, -2 * h))) / (12 * h);
    const double scale = std::max({std::abs(gradient[i]), std::abs(quotient), 1e-3});
    const double relative = std::abs(gradient[i] - quotient) / scale;
    if (!(relative <= worst.relative)) worst = {relative, i, gradient[i], quotient};
  });
  return worst;
}

}  // namespace cairn
