// Types of a tensor's elements.
#pragma once

#include "cairn/base/shape.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace cairn {

struct random_stream;

/// Types of elements. `bf16` and all later types are real numbers that are computed in the program's type and rounded
/// after each operation. The types that users add begin at `own`.
enum class dtype : std::uint8_t {
  real,  ///< the program's type: float, or the type that real<...> names
  f32,
  f64,
  i32,
  u8,
  key,  ///< what a random operation draws from; a key is not a number
  bf16,
  own,
};
/// Returns true if numbers of this type are rounded after each operation.
constexpr bool is_rounded(dtype t) { return t >= dtype::bf16; }

/// The upper half of a float: its sign, its exponent, and 8 bits of precision. A conversion rounds as x86's
/// vcvtneps2bf16 does:
/// - It rounds to the nearest bf16, and a tie to the even one.
/// - A number whose size is below the least normal float becomes a zero of the same sign.
/// - A NaN becomes a quiet NaN.
struct bf16 {
  static constexpr cairn::dtype dtype = cairn::dtype::bf16;
  std::uint16_t bits = 0;

  bf16() = default;
  template <std::floating_point Real>
  constexpr explicit bf16(Real x) {
    const auto nearest = static_cast<float>(x);
    auto all = std::bit_cast<std::uint32_t>(nearest);
    if constexpr (sizeof(Real) > sizeof nearest) {
      // The first rounding, to float, is made a cut toward zero. If anything was cut off, the last bit is set. The
      // second rounding, to bf16, then sees on which side of a tie x lies.
      if (x < 0 ? nearest < x : nearest > x) --all;
      all |= nearest != x;
    }
    const std::uint32_t size = all & 0x7fffffffU;
    const std::uint32_t rounded = all + 0x7fff + (all >> 16 & 1U);
    const std::uint32_t half = size > 0x7f800000U ? all | 0x400000U : size < 0x800000U ? all & 0x80000000U : rounded;
    bits = static_cast<std::uint16_t>(half >> 16);
  }
  template <std::floating_point Real>
  constexpr explicit operator Real() const {
    return static_cast<Real>(std::bit_cast<float>(std::uint32_t{bits} << 16));
  }
};

/// Sorts of elements. An operation accepts an argument by its sort.
enum class kind : std::uint8_t { real, whole, key, any };

constexpr kind kind_of(dtype t) {
  return t == dtype::key ? kind::key : t == dtype::i32 || t == dtype::u8 ? kind::whole : kind::real;
}

/// A type of elements. If `bound` is positive, the elements are whole numbers in [0, bound).
struct element_type {
  dtype type = dtype::real;
  int bound = 0;

  friend constexpr bool operator==(const element_type&, const element_type&) = default;
};

namespace detail {
/// Returns the element type of several tensors of one type that are joined. If each tensor has a bound, the bound of
/// the result is the largest of them; otherwise the result has no bound.
constexpr element_type joined_elements(const element_type& first, const auto&... more) {
  const bool bounded = first.bound > 0 && ((more.bound > 0) && ...);
  return {first.type, bounded ? std::max({first.bound, more.bound...}) : 0};
}
}  // namespace detail

/// Returns the element type of class indices, and of positions along an axis: i32 numbers in [0, bound).
constexpr element_type index_below(int bound) { return {dtype::i32, bound}; }

/// A shape and the type of its elements. An operation's shape rule gets one for each argument. Two tensor types are
/// compared as shapes, without their elements.
struct tensor_type : shape {
  element_type element;

  constexpr tensor_type() = default;
  constexpr tensor_type(const cairn::shape& extents, element_type of = {}) : cairn::shape(extents), element(of) {}
};

/// The C++ type of elements in memory, in a program over Real. Users specialize it for a type of their own, as
/// docs/add-an-operation.md shows.
template <dtype T, class Real>
struct element_in;
template <class Real>
struct element_in<dtype::real, Real> {
  using type = Real;
};
template <class Real>
struct element_in<dtype::f32, Real> {
  using type = float;
};
template <class Real>
struct element_in<dtype::f64, Real> {
  using type = double;
};
template <class Real>
struct element_in<dtype::i32, Real> {
  using type = std::int32_t;
};
template <class Real>
struct element_in<dtype::u8, Real> {
  using type = std::uint8_t;
};
/// A program over doubles checks gradients, so it does not round anything to bf16.
template <class Real>
struct element_in<dtype::bf16, Real> {
  using type = std::conditional_t<std::is_same_v<Real, float>, bf16, Real>;
};
template <class Real>
struct element_in<dtype::key, Real> {
  using type = random_stream;
};
template <dtype T, class Real>
using stored_as = typename element_in<T, Real>::type;

namespace detail {
/// Stands in place of a type for the numbers of a mixed program: it computes in floats and stores computed values
/// rounded to bf16. graph/builder.hpp says which values are rounded.
struct floats_rounded {};
/// Like floats_rounded, for a program that also stores its parameters as bf16.
struct floats_and_weights_rounded {};
template <class Numbers>
struct computed_type {
  using type = Numbers;
};
template <>
struct computed_type<floats_rounded> {
  using type = float;
};
template <>
struct computed_type<floats_and_weights_rounded> {
  using type = float;
};
/// True if the parameters of a program with these numbers are bf16.
template <class Numbers>
inline constexpr bool rounds_parameters = std::is_same_v<Numbers, floats_and_weights_rounded>;
/// The type in which a program with these numbers computes.
template <class Numbers>
using real_type_of = typename computed_type<Numbers>::type;
}  // namespace detail

}  // namespace cairn
