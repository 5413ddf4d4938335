// Learning rates as functions of the step: `optimizer.lr(schedule(step))`, steps counted from 0.
// Any function of the step will do; these are the usual ones.
#pragma once

#include "cairn/core/refuse.hpp"
#include "cairn/core/text.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <stdexcept>

namespace cairn {

/// Rises linearly from almost nothing and reaches 1 at step `steps`; no step is wasted on a rate of 0.
constexpr double warm_up(std::int64_t step, std::int64_t steps) {
  return step < steps ? static_cast<double>(step + 1) / static_cast<double>(steps + 1) : 1;
}

/// `peak` at every step after the warm-up.
struct constant_rate {
  double peak;
  std::int64_t warm_up = 0;

  constexpr double operator()(std::int64_t step) const { return peak * cairn::warm_up(step, warm_up); }
};

/// `peak`, and after every `every` steps the product with `factor`: torch.optim.lr_scheduler.StepLR.
/// Throws std::invalid_argument where `every` is not above 0.
struct step_rate {
  double peak;
  std::int64_t every;
  double factor = 0.1;
  std::int64_t warm_up = 0;

  double operator()(std::int64_t step) const {
    if (every < 1)
      refuse(std::invalid_argument(
          detail::text_of({"cairn: step_rate: expected .every of at least 1, got ", detail::text_of(every)})));
    return peak * cairn::warm_up(step, warm_up) * std::pow(factor, static_cast<double>(step / every));
  }
};

/// Half a cosine from `peak`, at the end of the warm-up, to zero at step `steps` and beyond.
/// Loshchilov, Hutter: SGDR (ICLR 2017), one cycle of it.
struct cosine {
  double peak;
  std::int64_t steps;  // of the whole training, the warm-up among them
  std::int64_t warm_up = 0;

  constexpr double operator()(std::int64_t step) const {
    if (step >= steps) return 0;
    if (step <= warm_up) return peak * cairn::warm_up(step, warm_up);
    const auto part = static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
    return peak * (1 + std::cos(std::numbers::pi * part)) / 2;
  }
};

}  // namespace cairn
