// The usual learning rates, as functions of the training step: `optimizer.lr(schedule(step))`. Steps are counted from
// 0. Any function of the step can take their place. `warm_up` is the number of steps in which a rate rises linearly;
// with 0 there is no warm-up. Each of these functions throws std::invalid_argument if a setting has a value that is not
// allowed.
#pragma once

#include "cairn/base/setting.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace cairn {

/// Returns the factor of a linear warm-up, (step + 1) / (steps + 1), which reaches 1 at step `steps`. The factor is
/// above 0 at step 0, so that the first step is not wasted on a rate of 0.
constexpr double warm_up(std::int64_t step, std::int64_t steps) {
  return step < steps ? static_cast<double>(step + 1) / static_cast<double>(steps + 1) : 1;
}

namespace detail {
constexpr setting warm_up_setting(std::int64_t steps) {
  return {"warm_up", static_cast<double>(steps), steps >= 0, "0 or more"};
}
}  // namespace detail

/// A rate that is `peak` at every step after the warm-up.
struct constant_rate {
  double peak;
  std::int64_t warm_up = 0;

  constexpr double operator()(std::int64_t step) const {
    detail::check_settings("constant_rate", settings());
    return peak * cairn::warm_up(step, warm_up);
  }
  constexpr std::array<setting, 2> settings() const {
    return {setting::not_negative("peak", peak), detail::warm_up_setting(warm_up)};
  }
};

/// A rate that starts at `peak` and is multiplied by `factor` after every `every` steps, as in
/// torch.optim.lr_scheduler.StepLR.
struct step_rate {
  double peak;
  std::int64_t every;
  double factor = 0.1;
  std::int64_t warm_up = 0;

  double operator()(std::int64_t step) const {
    detail::check_settings("step_rate", settings());
    return peak * cairn::warm_up(step, warm_up) * std::pow(factor, static_cast<double>(step / every));
  }
  constexpr std::array<setting, 4> settings() const {
    return {setting::not_negative("peak", peak), setting::at_least_one("every", static_cast<double>(every)),
            setting::not_negative("factor", factor), detail::warm_up_setting(warm_up)};
  }
};

/// A rate that falls along half a cosine. It is `peak` at the end of the warm-up, and 0 at step `steps` and later.
/// Loshchilov, Hutter: SGDR (ICLR 2017), one cycle without restarts.
struct cosine {
  double peak;
  std::int64_t steps;  // steps of the whole training, including the warm-up
  std::int64_t warm_up = 0;

  constexpr double operator()(std::int64_t step) const {
    detail::check_settings("cosine", settings());
    if (step >= steps) return 0;
    if (step <= warm_up) return peak * cairn::warm_up(step, warm_up);
    const auto part = static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
    return peak * (1 + std::cos(std::numbers::pi * part)) / 2;
  }
  constexpr std::array<setting, 4> settings() const {
    return {setting::not_negative("peak", peak),
            setting::at_least_one("steps", static_cast<double>(steps)),
            detail::warm_up_setting(warm_up),
            {"warm_up", static_cast<double>(warm_up), warm_up < steps, "below .steps"}};
  }
};

}  // namespace cairn
