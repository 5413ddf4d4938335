// What the elements of a tensor are.
#pragma once

#include "cairn/core/shape.hpp"

#include <type_traits>

namespace cairn {

struct random_stream;

/// Types of elements. Those of users begin at `own`; they are real numbers that are computed as another type.
enum class dtype : std::uint8_t {
  real,  ///< the program's: float, or what real<...> says
  f32,
  f64,
  i32,
  u8,
  key,  ///< what a random operation draws from: no numbers
  own,
};

/// Sorts of elements: what operations ask of their arguments.
enum class kind : std::uint8_t { real, whole, key, any };

constexpr kind kind_of(dtype t) {
  return t == dtype::key ? kind::key : t == dtype::i32 || t == dtype::u8 ? kind::whole : kind::real;
}

/// A type of elements; whole numbers are in [0, bound), where there is a bound.
struct element_type {
  dtype type = dtype::real;
  int bound = 0;

  friend constexpr bool operator==(const element_type&, const element_type&) = default;
};

/// Of class indices and of positions along an axis: they are in [0, bound).
constexpr element_type index_below(int bound) { return {dtype::i32, bound}; }

/// A shape and its elements: what the rule of an operation is given of each argument. Compared as shapes are.
struct tensor_type : shape {
  element_type element;

  constexpr tensor_type() = default;
  constexpr tensor_type(const cairn::shape& extents, element_type of = {}) : cairn::shape(extents), element(of) {}
};

/// The C++ type of elements in memory, in a program over Real. For a type of their own users specialize it, as
/// docs/inside.md shows.
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
template <class Real>
struct element_in<dtype::key, Real> {
  using type = random_stream;
};
template <dtype T, class Real>
using stored_as = typename element_in<T, Real>::type;

}  // namespace cairn
