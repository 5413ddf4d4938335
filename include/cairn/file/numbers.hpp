// Numbers of a program as elements of a file, and back.
#pragma once

#include "cairn/file/errors.hpp"
#include "cairn/file/tensor.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace cairn::file {

/// Elements that cannot be copied: they are of a type that has no numbers here, are not as many, or a whole number was
/// asked for and there is none.
struct number_error : std::invalid_argument {
  std::string expected, actual;

  [[gnu::cold]] number_error(std::string_view wanted, std::string_view given)
      : std::invalid_argument(text_of({"cairn: elements of a file: expected ", wanted, ", got ", given})),
        expected(wanted),
        actual(given) {}
};

namespace detail {

/// The upper half of a float.
struct bf16 {
  std::uint16_t bits;
};

inline float as_float(bf16 number) { return std::bit_cast<float>(std::uint32_t{number.bits} << 16); }

/// The nearest, and of two that are as near the even one.
inline bf16 as_bf16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (number != number) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};  // what is cut off may be all it has
  return {static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}
/// Of a double, rounded once: as a float that lies between two it becomes the odd one, which is never halfway between
/// two of half the bits.
inline bf16 as_bf16(double number) {
  const auto near = static_cast<float>(number);
  auto bits = std::bit_cast<std::uint32_t>(near);
  if (static_cast<double>(near) != number && number == number && bits % 2 == 0)
    bits += std::abs(static_cast<double>(near)) > std::abs(number) ? -1U : 1U;
  return as_bf16(std::bit_cast<float>(bits));
}

template <class Real, class Element>
Real from_element(Element element) {
  if constexpr (std::is_same_v<Element, bf16>) return static_cast<Real>(as_float(element));
  else return static_cast<Real>(element);
}

template <class Element, class Real>
Element to_element(Real number) {
  if constexpr (std::is_same_v<Element, bf16>) {
    return as_bf16(number);
  } else if constexpr (std::is_integral_v<Element>) {
    // The largest of Element may be none of Real; one more is a power of two.
    constexpr Real limit = -static_cast<Real>(std::numeric_limits<Element>::min());
    if (!(number >= -limit && number < limit) || std::trunc(number) != number)
      refuse(number_error(sizeof(Element) == 8 ? "whole numbers of 64 bits" : "whole numbers of 32 bits",
                          std::to_string(number)));
    return static_cast<Element>(number);
  } else {
    return static_cast<Element>(number);
  }
}

/// Calls `with` with an element of that type, where `count` of them are in `size` bytes.
template <class F>
void with_element(dtype type, std::size_t size, std::size_t count, F with) {
  const auto bits = static_cast<std::size_t>(bits_of(type));
  if (size * 8 != count * bits)
    refuse(number_error(std::to_string(size * 8 / bits) + " numbers", std::to_string(count)));
  switch (type) {
    case dtype::f32:
      return with(float{});
    case dtype::f64:
      return with(double{});
    case dtype::bf16:
      return with(bf16{});
    case dtype::i32:
      return with(std::int32_t{});
    case dtype::i64:
      return with(std::int64_t{});
    default:
      refuse(number_error("F32, F64, BF16, I32 or I64", name_of(type)));
  }
}

template <class Real>
void read_numbers(dtype type, std::span<const std::byte> from, std::span<Real> to) {
  with_element(type, from.size(), to.size(), [&](auto element) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::memcpy(&element, from.data() + i * sizeof element, sizeof element);
      to[i] = from_element<Real>(element);
    }
  });
}
template <class Real>
void write_numbers(std::span<const Real> from, dtype type, std::span<std::byte> to) {
  with_element(type, to.size(), from.size(), [&](auto element) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      element = to_element<decltype(element)>(from[i]);
      std::memcpy(to.data() + i * sizeof element, &element, sizeof element);
    }
  });
}

}  // namespace detail

/// Whether elements of this type are copied as numbers.
constexpr bool has_numbers(dtype type) {
  return type == dtype::f32 || type == dtype::f64 || type == dtype::bf16 || type == dtype::i32 || type == dtype::i64;
}

/// The elements of a tensor as numbers, each the nearest. These throw number_error.
inline void copy_numbers(const tensor& from, std::span<float> to) { detail::read_numbers(from.type, from.bytes, to); }
inline void copy_numbers(const tensor& from, std::span<double> to) { detail::read_numbers(from.type, from.bytes, to); }

/// Numbers as elements of a type: of real numbers each the nearest, of whole numbers only what is one.
inline void copy_numbers(std::span<const float> from, dtype type, std::span<std::byte> to) {
  detail::write_numbers(from, type, to);
}
inline void copy_numbers(std::span<const double> from, dtype type, std::span<std::byte> to) {
  detail::write_numbers(from, type, to);
}

}  // namespace cairn::file
