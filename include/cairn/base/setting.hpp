// Settings: numbers that say how something is to be done. A value that cannot be meant is refused: by the compiler
// where it is a template argument, else where the setting is first used.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>

namespace cairn {

/// A setting with its value, and the values that it may have.
struct setting {
  std::string_view name;
  double value;
  bool allowed;
  std::string_view range;  ///< in words that follow "expected"

  constexpr setting(std::string_view called, double has, bool may, std::string_view words)
      : name(called), value(has), allowed(may), range(words) {}

  static constexpr bool is_finite(double value) {
    constexpr double most = std::numeric_limits<double>::max();
    return value >= -most && value <= most;
  }
  static constexpr setting not_negative(std::string_view name, double value) {
    return {name, value, value >= 0 && is_finite(value), "0 or more, finite"};
  }
  static constexpr setting below_one(std::string_view name, double value) {
    return {name, value, value >= 0 && value < 1, "0 or more, below 1"};
  }
  static constexpr setting at_least_one(std::string_view name, double value) {
    return {name, value, value >= 1, "1 or more"};
  }
};

namespace detail {
/// The place of the first setting whose value is not allowed; as many as there are if all are.
constexpr std::size_t first_refused(std::span<const setting> all) {
  std::size_t i = 0;
  while (i < all.size() && all[i].allowed) ++i;
  return i;
}
/// Throws std::invalid_argument for a setting of this object.
[[noreturn, gnu::noinline, gnu::cold]] inline void refuse_setting(std::string_view object, const setting& wrong) {
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", wrong.value);
  for (char* c = number; *c != '\0'; ++c) {
    if (std::strchr("+-0123456789.einfa", *c) == nullptr) *c = '.';  // the decimal separator of the locale
  }
  refuse(std::invalid_argument(
      text_of({"cairn: ", object, ".", wrong.name, ": expected ", wrong.range, ", got ", number})));
}
/// Throws std::invalid_argument for the first of these settings of an object whose value is not allowed.
constexpr void check_settings(std::string_view object, std::span<const setting> all) {
  if (const std::size_t i = first_refused(all); i < all.size()) refuse_setting(object, all[i]);
}
}  // namespace detail

}  // namespace cairn
