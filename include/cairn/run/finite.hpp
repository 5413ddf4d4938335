// What check_finite looks for.
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

/// A step's loss is infinite or not a number. Its gradients are of no use; parameters and states are as they were.
struct loss_error : std::domain_error {
  explicit loss_error(double loss)
      : std::domain_error("cairn: the loss is " + (std::isnan(loss) ? "nan" : std::to_string(loss)) +
                          ", expected a finite number"),
        actual(loss) {}
  double actual;
};

/// A step's gradient is infinite or not a number somewhere; states are as they were, and parameters until an optimizer
/// follows it.
struct gradient_error : std::domain_error {
  gradient_error(std::string_view name, std::size_t at, double number)
      : std::domain_error(
            detail::text_of({"cairn: gradient of '", name, "': number ", detail::text_of(static_cast<std::int64_t>(at)),
                             " is ", std::to_string(number), ", expected finite numbers"})),
        leaf(name),
        index(at),
        actual(number) {}
  std::string leaf;  ///< the parameter or input
  std::size_t index;
  double actual;
};

namespace detail {
/// Throws gradient_error.
template <class Real>
[[gnu::noinline]] void check_gradient(std::string_view name, std::span<const Real> gradient) {
  const auto at = std::ranges::find_if(gradient, [](Real g) { return !std::isfinite(g); });
  if (at == gradient.end()) return;
  refuse(gradient_error(name, static_cast<std::size_t>(at - gradient.begin()), static_cast<double>(*at)));
}
}  // namespace detail
}  // namespace cairn
