// The errors and checks of the option check_finite.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cairn {

/// Thrown if the loss of a training step is infinite or not a number. The gradients of this training step are of no
/// use. Parameters and states are unchanged.
struct loss_error : std::domain_error {
  explicit loss_error(double loss)
      : std::domain_error("cairn: the loss is " + (std::isnan(loss) ? "nan" : std::to_string(loss)) +
                          ", expected a finite number"),
        actual(loss) {}
  double actual;
};

/// Thrown if a gradient of a training step contains a number that is infinite or not a number. Parameters and states
/// are unchanged. Parameters change only if the caller catches the error and updates an optimizer all the same.
struct gradient_error : std::domain_error {
  gradient_error(std::string_view name, std::size_t at, double number)
      : std::domain_error(
            detail::text_of({"cairn: gradient of '", name, "': number ", detail::text_of(static_cast<std::int64_t>(at)),
                             " is ", std::to_string(number), ", expected finite numbers"})),
        leaf(name),
        index(at),
        actual(number) {}
  std::string leaf;  ///< name of the parameter or input
  std::size_t index;
  double actual;
};

namespace detail {
/// Throws gradient_error if a number of the gradient is infinite or not a number.
template <class Real>
[[gnu::noinline]] void check_gradient(std::string_view name, std::span<const Real> gradient) {
  const auto at = std::ranges::find_if(gradient, [](Real g) { return !std::isfinite(g); });
  if (at == gradient.end()) return;
  refuse(gradient_error(name, static_cast<std::size_t>(at - gradient.begin()), static_cast<double>(*at)));
}
}  // namespace detail
}  // namespace cairn
