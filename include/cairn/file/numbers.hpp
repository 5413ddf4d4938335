// Elements of a file as numbers of a program.
#pragma once

#include "cairn/core/element.hpp"
#include "cairn/file/errors.hpp"
#include "cairn/file/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cairn::file {

/// Elements that cannot be copied: they are of a type that has no numbers here, or are not as many.
struct number_error : std::invalid_argument {
  std::string expected, actual;

  [[gnu::cold]] number_error(std::string_view wanted, std::string_view given)
      : std::invalid_argument(text_of({"cairn: elements of a file: expected ", wanted, ", got ", given})),
        expected(wanted),
        actual(given) {}
};

namespace detail {

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
      if constexpr (std::is_same_v<Real, bf16>) to[i] = bf16(static_cast<double>(element));
      else to[i] = static_cast<Real>(element);
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
inline void copy_numbers(const tensor& from, std::span<bf16> to) { detail::read_numbers(from.type, from.bytes, to); }

}  // namespace cairn::file
