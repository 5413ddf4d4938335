// Permutations of axes.
#pragma once

#include "cairn/core/shape.hpp"
#include "cairn/kernel/simd.hpp"

#include <algorithm>
#include <array>

namespace cairn::kernel {

/// The axes of a permuted tensor, in order of the result: how far apart their elements lie before and after.
struct permutation {
  struct axis {
    int extent = 1;
    std::int64_t from = 0, to = 0;
  };
  int rank = 0;
  std::array<axis, max_rank> at{};
};

/// Axes of extent 1 vanish, and axes that stay neighbours become one.
template <std::size_t Rank>
constexpr permutation permuted_axes(const shape& from, const std::array<int, Rank>& order) {
  permutation p;
  for (const int axis : order) {
    std::int64_t stride = 1;
    for (int k = axis + 1; k < from.rank; ++k) stride *= from.extent[k];
    const int extent = from.extent[axis];
    if (extent == 1) continue;
    if (p.rank > 0 && p.at[static_cast<std::size_t>(p.rank - 1)].from == extent * stride) {
      auto& last = p.at[static_cast<std::size_t>(p.rank - 1)];
      last = {last.extent * extent, stride, 0};
    } else {
      p.at[static_cast<std::size_t>(p.rank++)] = {extent, stride, 0};
    }
  }
  std::int64_t stride = 1;
  for (auto k = static_cast<std::size_t>(p.rank); k-- > 0; stride *= p.at[k].extent) p.at[k].to = stride;
  return p;
}

/// out(j, i) = in(i, j) for i < rows and j < columns, at most a register wide each.
template <class Real>
[[gnu::always_inline]] inline void transpose_square(const Real* in, std::int64_t from, int rows, Real* out,
                                                    std::int64_t to, int columns) {
  using vec = lanes<Real>;
  vec square[vec::width];
#pragma GCC unroll 16
  for (int i = 0; i < vec::width; ++i) {
    if (i >= rows) square[i] = vec::fill(0);
    else square[i] = columns == vec::width ? vec::load(in + i * from) : vec::load(in + i * from, columns);
  }
  vec::transpose(square);
#pragma GCC unroll 16
  for (int j = 0; j < vec::width; ++j) {
    if (j >= columns) break;
    if (rows == vec::width) square[j].store(out + j * to);
    else square[j].store(out + j * to, rows);
  }
}

/// The axis that is contiguous in `in` becomes one with stride `to`, and the one with stride `from` becomes
/// contiguous: squares of registers, in strips of a few cache lines.
template <class Real, int Rows, int Columns>
void transpose_matrix(const Real* in, std::int64_t from, Real* out, std::int64_t to) {
  constexpr int width = lanes<Real>::width, strip = 4 * width;
  for (int first = 0; first < Rows; first += strip)
    for (int j = 0; j < Columns; j += width)
      for (int i = first; i < std::min(first + strip, Rows); i += width) {
        const Real* square = in + i * from + j;
        if (i + width <= Rows && j + width <= Columns)
          transpose_square(square, from, width, out + j * to + i, to, width);
        else
          transpose_square(square, from, std::min(width, Rows - i), out + j * to + i, to, std::min(width, Columns - j));
      }
}

template <class Real, permutation P, int Axis = 0>
void permute(const Real* in, Real* out) {
  constexpr auto last = P.rank > 0 ? P.at[static_cast<std::size_t>(P.rank - 1)] : permutation::axis{1, 1, 1};
  if constexpr (Axis >= P.rank - 1 && last.from == 1) {
    std::copy_n(in, last.extent, out);
  } else if constexpr (Axis == P.rank - 1) {
    constexpr auto inner = *std::find_if(P.at.begin(), P.at.end(), [](auto axis) { return axis.from == 1; });
    transpose_matrix<Real, last.extent, inner.extent>(in, last.from, out, inner.to);
  } else if constexpr (P.at[Axis].from == 1) {
    permute<Real, P, Axis + 1>(in, out);
  } else {
    for (int i = 0; i < P.at[Axis].extent; ++i)
      permute<Real, P, Axis + 1>(in + i * P.at[Axis].from, out + i * P.at[Axis].to);
  }
}

/// Axis k of `out` is axis Permutation[k] of `in` {From}; Permutation is a std::array<int, rank>.
template <class Real, shape From, auto Permutation>
void transpose(const Real* in, Real* out) {
  permute<Real, permuted_axes(From, Permutation)>(in, out);
}

}  // namespace cairn::kernel
