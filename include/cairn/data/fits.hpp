// Numbers of files that become numbers of another type.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

namespace cairn::data::detail {

/// True for numbers, but not for characters and truth values.
template <class T>
concept a_number =
    std::floating_point<T> || (std::integral<T> && !std::same_as<T, bool> &&
                               (std::same_as<T, std::make_signed_t<T>> || std::same_as<T, std::make_unsigned_t<T>>));

/// Returns true if x becomes a T without more than a rounding.
template <class T, class From>
bool fits_in(From x) {
  if constexpr (std::is_floating_point_v<T>) {
    return !std::isfinite(static_cast<double>(x)) || std::isfinite(static_cast<T>(x));
  } else if constexpr (std::is_floating_point_v<From>) {
    using limits = std::numeric_limits<T>;
    return x == std::trunc(x) && x >= static_cast<From>(limits::min()) && x < std::ldexp(From{1}, limits::digits);
  } else {
    return std::in_range<T>(x);
  }
}

/// What `fits_in<T>` demands, for messages.
template <class T>
inline constexpr const char* what_fits =
    std::is_integral_v<T> ? "whole numbers that fit" : "numbers that fit in a float";

}  // namespace cairn::data::detail
