// Sums over axes.
#pragma once

#include <algorithm>
#include <array>

#include "cairn/core/shape.hpp"
#include "cairn/kernel/simd.hpp"

namespace cairn::kernel {

/// A reduction as nested pairs of loops, outermost pair first: over `gone` axes, and within it over `kept`
/// ones.
struct reduction {
  struct pair {
    int gone = 1, kept = 1;
  };
  int pairs = 1;
  std::array<pair, max_rank + 1> at{};
};

/// Neighbouring axes of one sort count as one axis.
constexpr reduction as_pairs(const shape& from, axis_set axes) {
  reduction r;
  for (int axis = 0; axis < from.rank; ++axis) {
    const int extent = from.extent[axis];
    if (extent == 1) continue;
    auto* last = &r.at[static_cast<std::size_t>(r.pairs - 1)];
    if ((axes >> axis & 1U) == 0) {
      last->kept *= extent;
    } else {
      if (last->kept != 1) last = &r.at[static_cast<std::size_t>(r.pairs++)];
      last->gone *= extent;
    }
  }
  return r;
}

/// out {Columns of a row} = or += the sum of Rows rows of `stride` numbers, row after row, in registers.
template <int Rows, int Columns, class Real>
void sum_columns(const Real* in, int stride, Real* out, bool add) {
  using vec = lanes<Real>;
  constexpr int registers = (Columns + vec::width - 1) / vec::width;
  vec sum[registers];
#pragma GCC unroll 4
  for (int j = 0; j < registers; ++j) sum[j] = add ? load_row<Columns>(out, j * vec::width) : vec::fill(0);
  for (int row = 0; row < Rows; ++row, in += stride)
#pragma GCC unroll 4
    for (int j = 0; j < registers; ++j) sum[j] = sum[j] + load_row<Columns>(in, j * vec::width);
#pragma GCC unroll 4
  for (int j = 0; j < registers; ++j) store_row<Columns>(sum[j], out, j * vec::width);
}

/// out {Columns} = or += the sum of `in` {Rows, Columns} over the rows.
template <int Rows, int Columns, class Real>
void sum_rows(const Real* in, Real* out, bool add) {
  constexpr int chunk = 4 * lanes<Real>::width, tail = Columns % chunk;
  int j = 0;
  for (; j + chunk <= Columns; j += chunk) sum_columns<Rows, chunk>(in + j, Columns, out + j, add);
  if constexpr (tail != 0) sum_columns<Rows, tail>(in + j, Columns, out + j, add);
}

/// The sum of N numbers: four registers of partial sums, so that an addition need not wait for the one
/// before.
template <int N, class Real>
Real sum_row(const Real* in) {
  using vec = lanes<Real>;
  vec part[4] = {vec::fill(0), vec::fill(0), vec::fill(0), vec::fill(0)};
  int i = 0;
  for (; i + 4 * vec::width <= N; i += 4 * vec::width)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) part[j] = part[j] + vec::load(in + i + j * vec::width);
  for (; i < N; i += vec::width) part[0] = part[0] + load_row<N>(in, i);
  return sum((part[0] + part[1]) + (part[2] + part[3]));
}

template <class Real, reduction R, int Pair = 0>
void reduce_pairs(const Real* in, Real* out, bool add) {
  constexpr auto pair = R.at[Pair];
  if constexpr (Pair + 1 < R.pairs) {
    constexpr auto inner = [] {
      std::array<std::int64_t, 2> count{1,
                                        1};  // of the numbers in `in` and `out` for one turn of these loops
      for (std::size_t k = Pair + 1; k < static_cast<std::size_t>(R.pairs); ++k) {
        count[0] *= std::int64_t{R.at[k].gone} * R.at[k].kept;
        count[1] *= R.at[k].kept;
      }
      return count;
    }();
    for (int gone = 0; gone < pair.gone; ++gone)
      for (int kept = 0; kept < pair.kept; ++kept, in += inner[0])
        reduce_pairs<Real, R, Pair + 1>(in, out + kept * inner[1], add || gone > 0);
  } else if constexpr (pair.kept == 1) {
    const Real total = sum_row<pair.gone>(in);
    *out = add ? *out + total : total;
  } else {
    // Long rows are read a few at a time, along the rows, for processors fetch ahead few streams.
    constexpr int chunk = 4 * lanes<Real>::width;
    constexpr int rows = pair.kept <= chunk ? pair.gone : std::min(pair.gone, 8);
    int row = 0;
    for (; row + rows <= pair.gone; row += rows)
      sum_rows<rows, pair.kept>(in + std::int64_t{row} * pair.kept, out, add || row > 0);
    if constexpr (pair.gone % rows != 0)
      sum_rows<pair.gone % rows, pair.kept>(in + std::int64_t{row} * pair.kept, out, add || row > 0);
  }
}

/// out = the sums of `in` {From} over the axes in Axes; which of them stay as 1 makes no difference here.
template <class Real, shape From, axis_set Axes>
void reduce_sum(const Real* in, Real* out) {
  reduce_pairs<Real, as_pairs(From, Axes)>(in, out, false);
}

}  // namespace cairn::kernel
