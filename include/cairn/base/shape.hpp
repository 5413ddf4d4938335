// Extents of row-major tensors, which are known at compile time.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cairn {

inline constexpr int max_rank = 6;

/// The extents of a row-major tensor. A shape of rank 0 is a scalar's. A negative rank means that there is no shape.
struct shape {
  int rank = 0;
  int extent[max_rank] = {};

  constexpr shape() = default;
  template <class... Int>
    requires(sizeof...(Int) > 0 && sizeof...(Int) <= max_rank)
  explicit constexpr shape(Int... extents) : rank(sizeof...(Int)), extent{static_cast<int>(extents)...} {}

  constexpr bool valid() const { return rank >= 0; }
  /// Returns the extent of an axis. Negative axes count from the end: axis -1 is the last.
  constexpr int operator[](int axis) const { return extent[axis < 0 ? rank + axis : axis]; }
  /// Returns the number of elements.
  constexpr std::int64_t count() const {
    std::int64_t n = 1;
    for (int axis = 0; axis < rank; ++axis) n *= extent[axis];
    return n;
  }
  friend constexpr bool operator==(const shape&, const shape&) = default;
};

namespace detail {
/// Returns true if a tensor can have this computed extent: it is positive and fits into an int.
constexpr bool is_extent(std::int64_t n) { return n > 0 && n <= std::numeric_limits<int>::max(); }
/// Returns true if std::int64_t can count the elements of a tensor of these extents, and its bytes.
template <class... Int>
constexpr bool can_be_counted(Int... extents) {
  std::int64_t left = std::int64_t{1} << 60;
  ((left /= extents), ...);
  return left > 0;
}
/// Whether a tensor can have these extents.
template <std::int64_t... Extents>
inline constexpr bool can_be_shape =
    sizeof...(Extents) <= max_rank && (is_extent(Extents) && ...) && can_be_counted(Extents...);
}  // namespace detail

/// The result of a shape rule if the arguments do not fit. no_shape has a type of its own. Therefore the expression
/// `fits ? tensor : no_shape` has the type of `tensor`, and keeps its element type.
inline constexpr struct {
  template <std::derived_from<shape> S>
  constexpr operator S() const {
    S none;
    none.rank = -1;
    return none;
  }
} no_shape;

/// Returns the shape to which two shapes broadcast, or no_shape, by NumPy's rule: extents are aligned at the last axis,
/// and an extent of 1 stretches.
constexpr shape broadcast(const shape& a, const shape& b) {
  shape out;
  out.rank = std::max(a.rank, b.rank);
  for (int back = 1; back <= out.rank; ++back) {
    const int x = back <= a.rank ? a[-back] : 1;
    const int y = back <= b.rank ? b[-back] : 1;
    if (x != y && x != 1 && y != 1) return no_shape;
    out.extent[out.rank - back] = x == 1 ? y : x;
  }
  return out;
}

namespace detail {
/// A set of axes as bits: bit k is axis k.
using axis_set = std::uint32_t;

/// Returns the axes of `to` along which a tensor of shape `from` is repeated when it is broadcast to `to`.
constexpr axis_set stretched_axes(const shape& from, const shape& to) {
  axis_set axes = 0;
  for (int axis = 0; axis < to.rank; ++axis) {
    const int own = axis - (to.rank - from.rank);
    if (own < 0 || (from.extent[own] == 1 && to.extent[axis] != 1)) axes |= axis_set{1} << axis;
  }
  return axes;
}

/// The extents of an array that a user binds. A flat array stands for a tensor of any shape, so an extent of an array
/// may exceed 2^31, which an extent of a tensor may not.
struct array_extents {
  int rank = 0;
  std::int64_t extent[max_rank] = {};

  friend constexpr bool operator==(const array_extents& given, const shape& wanted) {
    return given.rank == wanted.rank && std::equal(given.extent, given.extent + given.rank, wanted.extent);
  }
};

/// Returns true if an array has the extents of an input, or if it is flat and has as many elements as the input.
constexpr bool extents_fit(const array_extents& given, const shape& wanted) {
  const std::int64_t flat = given.rank == 0 ? 1 : given.extent[0];
  return given == wanted || (given.rank <= 1 && flat == wanted.count());
}
}  // namespace detail

/// Returns the shape that a reduction over `axes` leaves. If `keep` is true, the extents of the reduced axes become 1;
/// otherwise the axes vanish.
constexpr shape reduced(const shape& from, detail::axis_set axes, bool keep) {
  shape out;
  for (int axis = 0; axis < from.rank; ++axis) {
    const bool gone = (axes >> axis & 1U) != 0;
    if (!gone || keep) out.extent[out.rank++] = gone ? 1 : from.extent[axis];
  }
  return out;
}

}  // namespace cairn
