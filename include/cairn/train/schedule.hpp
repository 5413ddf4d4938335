// The usual learning rates, as functions of the training step: `optimizer.lr(schedule(step))`. Steps are counted from
// 0. Any function of the step can take their place. `warm_up` is the number of steps in which a rate rises linearly;
// with 0 there is no warm-up. Each of these functions throws std::invalid_argument if a setting has a value that is not
// allowed. on_plateau also depends on the results of validations.
#pragma once

#include "cairn/base/setting.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace cairn {

/// Returns the factor of a linear warm-up, (step + 1) / (steps + 1), which reaches 1 at step `steps`. The factor is
/// above 0 at step 0, so that the first step is not wasted on a rate of 0.
constexpr double warm_up(std::int64_t step, std::int64_t steps) {
  return step < steps ? static_cast<double>(step + 1) / static_cast<double>(steps + 1) : 1;
}

namespace detail {
/// A setting that must be given. The checks of settings refuse it.
inline constexpr double not_given = std::numeric_limits<double>::quiet_NaN();
}  // namespace detail

/// A rate that is `peak` at every step after the warm-up.
struct constant_rate {
  double peak = detail::not_given;
  std::int64_t warm_up = 0;

  constexpr double operator()(std::int64_t step) const {
    detail::check_settings("constant_rate", settings());
    return peak * cairn::warm_up(step, warm_up);
  }
  constexpr std::array<setting, 2> settings() const {
    return {setting::not_negative("peak", peak), setting::step_count("warm_up", warm_up)};
  }
};

/// A rate that starts at `peak` and is multiplied by `factor` after every `every` steps, as in
/// torch.optim.lr_scheduler.StepLR.
struct step_rate {
  double peak = detail::not_given;
  std::int64_t every;
  double factor = 0.1;
  std::int64_t warm_up = 0;

  double operator()(std::int64_t step) const {
    detail::check_settings("step_rate", settings());
    return peak * cairn::warm_up(step, warm_up) * std::pow(factor, static_cast<double>(step / every));
  }
  constexpr std::array<setting, 4> settings() const {
    return {setting::not_negative("peak", peak), setting::at_least_one("every", static_cast<double>(every)),
            setting::not_negative("factor", factor), setting::step_count("warm_up", warm_up)};
  }
};

/// A rate that falls along half a cosine. It is `peak` at the end of the warm-up, and 0 at step `steps` and later.
/// Loshchilov, Hutter: SGDR (ICLR 2017), one cycle without restarts.
struct cosine {
  double peak = detail::not_given;
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
            setting::step_count("warm_up", warm_up),
            {"warm_up", static_cast<double>(warm_up), warm_up < steps, "below .steps"}};
  }
};

/// A rate that falls along a line. It is `peak` at the end of the warm-up, and `last` at step `steps` and later.
/// Without a warm-up, these are the rates of torch.optim.lr_scheduler.LinearLR with a start factor of 1.
struct linear_rate {
  double peak = detail::not_given;
  std::int64_t steps;  // steps of the whole training, including the warm-up
  std::int64_t warm_up = 0;
  double last = 0;

  constexpr double operator()(std::int64_t step) const {
    detail::check_settings("linear_rate", settings());
    if (step >= steps) return last;
    if (step <= warm_up) return peak * cairn::warm_up(step, warm_up);
    const auto part = static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
    return peak + (last - peak) * part;
  }
  constexpr std::array<setting, 5> settings() const {
    return {setting::not_negative("peak", peak), setting::at_least_one("steps", static_cast<double>(steps)),
            setting::step_count("warm_up", warm_up),
            setting{"warm_up", static_cast<double>(warm_up), warm_up < steps, "below .steps"},
            setting::not_negative("last", last)};
  }
};

/// A rate that rises along half a cosine to `peak`, and then falls along half a cosine to nearly 0. These are the rates
/// of torch.optim.lr_scheduler.OneCycleLR, whose names for the settings are below. The momentum stays as it is, as with
/// cycle_momentum=False. Smith, Topin: Super-convergence (2018).
struct one_cycle {
  double peak = detail::not_given;  // max_lr
  std::int64_t steps;               // total_steps; step `steps` - 1 and later steps have the last rate
  double rising = 0.3;              // pct_start: the part of the steps in which the rate rises
  double start_divisor = 25;        // div_factor: the first rate is `peak` divided by this number
  double end_divisor = 1e4;         // final_div_factor: the last rate is the first rate divided by this number

  double operator()(std::int64_t step) const {
    detail::check_settings("one_cycle", settings());
    const double top = rising * static_cast<double>(steps) - 1, end = static_cast<double>(steps - 1);
    const double at = std::min(static_cast<double>(step), end), first = peak / start_divisor;
    if (at < top) return between(first, peak, at / top);
    return between(peak, first / end_divisor, (at - top) / (end - top));
  }
  constexpr std::array<setting, 5> settings() const {
    return {setting::not_negative("peak", peak), setting::at_least_one("steps", static_cast<double>(steps)),
            setting::below_one("rising", rising), setting::at_least_one("start_divisor", start_divisor),
            setting::at_least_one("end_divisor", end_divisor)};
  }

 private:
  static double between(double from, double to, double part) {
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
  }
};

/// What on_plateau knows of the results so far. These numbers are to be saved with a run. `train::loop` saves them.
struct plateau_state {
  double best = std::numeric_limits<double>::quiet_NaN();  // the best result; NaN before the first one
  std::int64_t worse = 0;                                  // results in a row that were not better than the best one
  std::int64_t cooling = 0;     // results to come that do not count as worse, because the rate was reduced
  std::int64_t reductions = 0;  // how many times the rate was multiplied by the factor
};

/// A rate that is multiplied by `factor` when results stop getting better, with the semantics of
/// torch.optim.lr_scheduler.ReduceLROnPlateau:
///
///   on_plateau rate{.peak = 1e-3, .patience = 2};
///   step.train({.lr = rate(step.steps())}, ...);  // each training step
///   rate.observe(validation_loss);                // each epoch
///
/// PyTorch ignores a reduction of less than 1e-8. Here every reduction counts.
struct on_plateau {
  double peak = detail::not_given;
  double factor = 0.1;
  std::int64_t patience = 10;  // this many results in a row may be no better; the next one reduces the rate
  double threshold = 1e-4;     // a better result is better by more than this part of the best one
  bool is_absolute = false;    // if true, the threshold is a difference and not a part
  std::int64_t cooldown = 0;   // this many results after a reduction do not count as worse
  double least = 0;            // the rate does not fall below this rate
  bool higher_is_better = false;
  plateau_state state = {};

  /// Returns the rate, which is the same for all steps between two results.
  double operator()(std::int64_t /* step */) const {
    detail::check_settings("on_plateau", settings());
    return std::max(peak * std::pow(factor, static_cast<double>(state.reductions)), least);
  }
  /// Takes the result of a validation. A result that is not a number is never better.
  void observe(double result) {
    detail::check_settings("on_plateau", settings());
    const bool better = is_better(result);
    if (better) state.best = result;
    state.worse = better || state.cooling > 0 ? 0 : state.worse + 1;
    state.cooling = std::max<std::int64_t>(state.cooling - 1, 0);
    if (state.worse <= patience) return;
    ++state.reductions;
    state.cooling = cooldown;
    state.worse = 0;
  }
  std::array<setting, 6> settings() const {
    return {setting::not_negative("peak", peak),
            setting::below_one("factor", factor),
            setting::not_negative("patience", static_cast<double>(patience)),
            {"threshold", threshold, threshold >= 0 && (is_absolute ? setting::is_finite(threshold) : threshold < 1),
             is_absolute ? "0 or more, finite in float" : "0 or more, below 1 without .is_absolute"},
            setting::not_negative("cooldown", static_cast<double>(cooldown)),
            {"least", least, least >= 0 && least <= peak, "0 to .peak"}};
  }

 private:
  bool is_better(double result) const {
    const double sign = higher_is_better ? 1 : -1;
    const double best = std::isnan(state.best) ? -sign * std::numeric_limits<double>::infinity() : state.best;
    const double bound = is_absolute ? best + sign * threshold : best * (1 + sign * threshold);
    return higher_is_better ? result > bound : result < bound;
  }
};

}  // namespace cairn
