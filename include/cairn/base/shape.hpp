// Extents of tensors: row-major, known at compile time.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cairn {

inline constexpr int max_rank = 6;

/// The extents of a row-major tensor. Rank 0 is a scalar; a negative rank is "no such shape".
struct shape {
  int rank = 0;
  int extent[max_rank] = {};

  constexpr shape() = default;
  template <class... Int>
    requires(sizeof...(Int) > 0 && sizeof...(Int) <= max_rank)
  explicit constexpr shape(Int... extents) : rank(sizeof...(Int)), extent{static_cast<int>(extents)...} {}

  constexpr bool valid() const { return rank >= 0; }
  /// Extent of an axis; negative axes count from the last: [-1] is the last.
  constexpr int operator[](int axis) const { return extent[axis < 0 ? rank + axis : axis]; }
  constexpr std::int64_t count() const {
    std::int64_t n = 1;
    for (int axis = 0; axis < rank; ++axis) n *= extent[axis];
    return n;
  }
  friend constexpr bool operator==(const shape&, const shape&) = default;
};

namespace detail {
/// Returns true if an extent that was computed is one that a tensor can have.
constexpr bool is_extent(std::int64_t n) { return n > 0 && n <= std::numeric_limits<int>::max(); }
/// Returns true if a tensor of these extents can be counted, and its bytes.
template <class... Int>
constexpr bool can_be_counted(Int... extents) {
  std::int64_t left = std::int64_t{1} << 60;
  ((left /= extents), ...);
  return left > 0;
}
/// Whether a tensor can have these extents.
template <std::int64_t... Extents>
inline constexpr bool proper = sizeof...(Extents) <= max_rank && (is_extent(Extents) && ...) &&
                               can_be_counted(Extents...);
}  // namespace detail

/// The answer of a shape rule to arguments that do not fit. A type of its own, so that `fits ? tensor : no_shape` keeps
/// what a tensor has beside its extents.
inline constexpr struct {
  template <std::derived_from<shape> S>
  constexpr operator S() const {
    S none;
    none.rank = -1;
    return none;
  }
} no_shape;

/// NumPy's rule: extents are aligned at the last axis, and an extent of 1 stretches.
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

/// A set of axes as bits: bit k is axis k.
using axis_set = std::uint32_t;

/// The axes of `to` along which a tensor of shape `from` is repeated when it is broadcast to `to`.
constexpr axis_set stretched_axes(const shape& from, const shape& to) {
  axis_set axes = 0;
  for (int axis = 0; axis < to.rank; ++axis) {
    const int own = axis - (to.rank - from.rank);
    if (own < 0 || (from.extent[own] == 1 && to.extent[axis] != 1)) axes |= axis_set{1} << axis;
  }
  return axes;
}

namespace detail {
/// The extents of an array that is bound. Unlike those of a tensor, they may pass 2^31: a flat array stands for a
/// tensor of any shape.
struct array_extents {
  int rank = 0;
  std::int64_t extent[max_rank] = {};

  friend constexpr bool operator==(const array_extents& given, const shape& wanted) {
    return given.rank == wanted.rank && std::equal(given.extent, given.extent + given.rank, wanted.extent);
  }
};

/// Returns true if an array has the extents of an input, or is flat and has as many elements.
constexpr bool extents_fit(const array_extents& given, const shape& wanted) {
  const std::int64_t flat = given.rank == 0 ? 1 : given.extent[0];
  return given == wanted || (given.rank <= 1 && flat == wanted.count());
}
}  // namespace detail

/// The shape left by a reduction over `axes`: they become 1 (`keep`) or vanish.
constexpr shape reduced(const shape& from, axis_set axes, bool keep) {
  shape out;
  for (int axis = 0; axis < from.rank; ++axis) {
    const bool gone = (axes >> axis & 1U) != 0;
    if (!gone || keep) out.extent[out.rank++] = gone ? 1 : from.extent[axis];
  }
  return out;
}

}  // namespace cairn
