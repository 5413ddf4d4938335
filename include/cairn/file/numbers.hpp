// Converts the elements of a file to the numbers of a program.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/file/errors.hpp"
#include "cairn/file/tensor.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cairn::file {

/// Thrown for elements that cannot be copied: their type has no numbers here, their count is not the wanted one, or one
/// of them is out of range.
struct number_error : std::invalid_argument {
  std::string expected, actual;

  [[gnu::cold]] number_error(std::string_view wanted, std::string_view given)
      : std::invalid_argument(detail::text_of({"cairn: elements of a file: expected ", wanted, ", got ", given})),
        expected(wanted),
        actual(given) {}
};

namespace detail {

/// The types of numbers that are read, for messages.
inline constexpr std::string_view names_of_number_types = "F32, F64, F16, BF16, I32 or I64";

/// A number of IEEE's binary16: a sign, 5 bits of exponent and 10 bits of precision. A float can have each of its
/// values.
struct f16 {
  std::uint16_t bits = 0;

  template <std::floating_point Real>
  constexpr explicit operator Real() const {
    const std::uint32_t size = bits & 0x7fffU, precision = bits & 0x3ffU, sign = (bits & 0x8000U) << 16U;
    const bool is_finite = size < 0x7c00U;
    // A float has 13 more bits of precision, and its exponent is larger by 127 - 15.
    const std::uint32_t normal = (size << 13U) + (127U - 15U) * 0x800000U;
    const std::uint32_t small = std::bit_cast<std::uint32_t>(static_cast<float>(precision) * 0x1p-24F);
    const std::uint32_t infinite = 0x7f800000U | precision << 13U;
    return static_cast<Real>(std::bit_cast<float>(sign | (!is_finite ? infinite : size < 0x400U ? small : normal)));
  }
};

/// Calls `with` with an element of the C++ type for `type`. Throws number_error if `size` bytes do not hold exactly
/// `count` elements, or if the type has no numbers here.
template <class F>
void with_element(dtype type, std::size_t size, std::size_t count, F with) {
  const auto bits = static_cast<std::size_t>(detail::bits_of(type));
  if (size * 8 != count * bits)
    refuse(number_error(std::to_string(size * 8 / bits) + " numbers", std::to_string(count)));
  switch (type) {
    case dtype::f32:
      return with(float{});
    case dtype::f64:
      return with(double{});
    case dtype::bf16:
      return with(bf16{});
    case dtype::f16:
      return with(f16{});
    case dtype::i32:
      return with(std::int32_t{});
    case dtype::i64:
      return with(std::int64_t{});
    default:
      refuse(number_error(names_of_number_types, name_of(type)));
  }
}

/// Returns the number of type Real that is nearest to `element`.
template <class Real, class Element>
Real nearest(Element element) {
  if constexpr (!std::is_same_v<Real, bf16>) return static_cast<Real>(element);
  else if constexpr (!std::is_same_v<Element, std::int64_t>) return bf16(static_cast<double>(element));
  else {
    // A double holds 53 of the 64 bits, so a large number would be rounded twice: to double and then to bf16. To avoid
    // this, the lowest bits are cut off, and the lowest remaining bit is set if any of them was 1. The double is then
    // exact, and rounding to bf16 sees on which side of a tie the number lies.
    constexpr std::uint64_t below = 0x7ff;
    auto size = static_cast<std::uint64_t>(element < 0 ? ~element : element) + (element < 0);
    if (size >> 53 != 0) size = (size & ~below) | ((size & below) != 0 ? below + 1 : 0);
    const auto exact = static_cast<double>(size);
    return bf16(element < 0 ? -exact : exact);
  }
}

template <class Real>
inline constexpr dtype dtype_of_real = std::is_same_v<Real, bf16>    ? dtype::bf16
                                       : std::is_same_v<Real, float> ? dtype::f32
                                                                     : dtype::f64;

/// Returns the first number that is finite in the file and would be infinite in the type Real, or 0 if there is none.
template <class Real>
double first_out_of_range(dtype type, std::span<const std::byte> from, std::size_t count) {
  double found = 0;
  with_element(type, from.size(), count, [&](auto element) {
    if constexpr (sizeof element > sizeof(Real) && !std::is_integral_v<decltype(element)>) {
      for (std::size_t i = 0; i < count && found == 0; ++i) {
        std::memcpy(&element, from.data() + i * sizeof element, sizeof element);
        const auto number = static_cast<double>(element);
        if (std::isfinite(number) && std::isinf(static_cast<double>(nearest<Real>(element)))) found = number;
      }
    }
  });
  return found;
}
/// Two texts of messages: what is expected of the numbers that are converted (`expected_numbers`), and the digits of a
/// number (`digits_of`).
template <class Real>
std::string expected_numbers() {
  return text_of({"numbers within the range of ", name_of(dtype_of_real<Real>)});
}
[[gnu::cold]] inline std::string digits_of(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

template <class Real>
void read_numbers(dtype type, std::span<const std::byte> from, std::span<Real> to) {
  if (const double beyond = first_out_of_range<Real>(type, from, to.size()); beyond != 0)
    refuse(number_error(expected_numbers<Real>(), digits_of(beyond)));
  with_element(type, from.size(), to.size(), [&](auto element) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::memcpy(&element, from.data() + i * sizeof element, sizeof element);
      to[i] = nearest<Real>(element);
    }
  });
}

/// Returns true if elements of this type can be copied as numbers.
constexpr bool has_numbers(dtype type) {
  return type == dtype::f32 || type == dtype::f64 || type == dtype::f16 || type == dtype::bf16 || type == dtype::i32 ||
         type == dtype::i64;
}
}  // namespace detail

/// Copies the elements of a tensor to numbers of a program. Each number is the nearest one to its element. Throws
/// number_error, also if a finite number would become infinite, and then nothing was copied.
inline void copy_numbers(const tensor& from, std::span<float> to) { detail::read_numbers(from.type, from.bytes, to); }
inline void copy_numbers(const tensor& from, std::span<double> to) { detail::read_numbers(from.type, from.bytes, to); }
inline void copy_numbers(const tensor& from, std::span<bf16> to) { detail::read_numbers(from.type, from.bytes, to); }

}  // namespace cairn::file
