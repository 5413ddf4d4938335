// Settings: numbers that say how something is to be done, for example a learning rate. A value outside of its range
// is refused. The compiler refuses it if it is a template argument; otherwise the first use of the setting refuses it.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>

namespace cairn {

/// A setting: its name, its value, and the range of values that it may have.
struct setting {
  std::string_view name;
  double value;
  bool allowed;
  std::string_view range;  ///< the range in words, which follow "expected" in the message

  /// The largest number of training steps that is set or read. It leaves room to count further steps.
  static constexpr std::int64_t most_steps = std::int64_t{1} << 62;

  constexpr setting(std::string_view called, double has, bool may, std::string_view words)
      : name(called), value(has), allowed(may), range(words) {}

  /// Returns true if the value is finite as a float. Most programs compute in floats.
  static constexpr bool is_finite(double value) {
    constexpr double most = std::numeric_limits<float>::max();
    return value >= -most && value <= most;
  }
  static constexpr setting not_negative(std::string_view name, double value) {
    return {name, value, value >= 0 && is_finite(value), "0 or more, finite in float"};
  }
  static constexpr setting below_one(std::string_view name, double value) {
    return {name, value, value >= 0 && value < 1, "0 or more, below 1"};
  }
  static constexpr setting at_most_one(std::string_view name, double value) {
    return {name, value, value >= 0 && value <= 1, "from 0 to 1"};
  }
  static constexpr setting step_count(std::string_view name, std::int64_t value) {
    return {name, static_cast<double>(value), value >= 0 && value <= most_steps, "from 0 to 2^62"};
  }
  static constexpr setting at_least_one(std::string_view name, double value) {
    return {name, value, value >= 1 && is_finite(value), "1 or more"};
  }
};

namespace detail {
/// Returns the index of the first setting that has a forbidden value. If all values are allowed, returns all.size().
constexpr std::size_t first_refused(std::span<const setting> all) {
  std::size_t i = 0;
  while (i < all.size() && all[i].allowed) ++i;
  return i;
}
/// Throws std::invalid_argument for the setting `wrong` of `object`.
[[noreturn, gnu::noinline, gnu::cold]] inline void refuse_setting(std::string_view object, const setting& wrong) {
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", wrong.value);
  for (char* c = number; *c != '\0'; ++c) {
    if (std::strchr("+-0123456789.einfa", *c) == nullptr) *c = '.';  // replaces the locale's decimal separator
  }
  refuse(std::invalid_argument(
      text_of({"cairn: ", object, ".", wrong.name, ": expected ", wrong.range, ", got ", number})));
}
/// Throws std::invalid_argument for the first setting of `object` that has a forbidden value, if any.
constexpr void check_settings(std::string_view object, std::span<const setting> all) {
  if (const std::size_t i = first_refused(all); i < all.size()) refuse_setting(object, all[i]);
}
}  // namespace detail

}  // namespace cairn
