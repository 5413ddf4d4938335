// Sums over axes.
#pragma once

#include "cairn/core/shape.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

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

/// Columns that are summed together.
template <class Real>
inline constexpr int chunk = 4 * lanes<Real>::width;

/// out {Columns} = or += the sum of `in` {Rows, Columns} over the rows, for some of the columns.
template <int Rows, int Columns, class Real>
void sum_rows(const Real* in, Real* out, bool add, range columns) {
  constexpr int tail = Columns % chunk<Real>;
  std::int64_t j = columns.begin;
  for (; j + chunk<Real> <= columns.end; j += chunk<Real>) {
    sum_columns<Rows, chunk<Real>>(in + j, Columns, out + j, add);
  }
  if constexpr (tail != 0)
    if (j < columns.end) sum_columns<Rows, tail>(in + j, Columns, out + j, add);
}

/// The same for any number of rows: long rows are read a few at a time, along the rows, for processors fetch ahead few
/// streams.
template <int Rows, int Columns, class Real>
void sum_long_rows(const Real* in, Real* out, bool add, range columns) {
  constexpr int some = Columns <= chunk<Real> ? Rows : std::min(Rows, 8);
  int row = 0;
  for (; row + some <= Rows; row += some)
    sum_rows<some, Columns>(in + std::int64_t{row} * Columns, out, add || row > 0, columns);
  if constexpr (Rows % some != 0)
    sum_rows<Rows % some, Columns>(in + std::int64_t{row} * Columns, out, add || row > 0, columns);
}

/// The sum of N numbers, of which at(i) gives the register from number i on: four registers of partial sums, so that an
/// addition need not wait for the one before.
template <int N, class Real>
Real sum_row(auto at) {
  using vec = lanes<Real>;
  vec part[4] = {vec::fill(0), vec::fill(0), vec::fill(0), vec::fill(0)};
  int i = 0;
  for (; i + 4 * vec::width <= N; i += 4 * vec::width)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) part[j] = part[j] + at(i + j * vec::width);
  for (; i < N; i += vec::width) part[0] = part[0] + at(i);
  return sum((part[0] + part[1]) + (part[2] + part[3]));
}
template <int N, class Real>
Real sum_row(const Real* in) {
  return sum_row<N, Real>([in](int i) { return load_row<N>(in, i); });
}

template <std::int64_t N>
inline constexpr std::integral_constant<int, static_cast<int>(N)> length{};

/// The sum of N numbers, of which sum_section(begin, length) sums some. Many are summed in sections, the same for any
/// number of threads.
template <std::int64_t N, class Real, std::int64_t Work = 40 * N>
Real sum_all(int threads, auto sum_section) {
  constexpr std::int64_t most = 64, section = (N + most - 1) / most, whole = N / section, rest = N % section;
  constexpr int sections = static_cast<int>(whole + (rest > 0));
  if constexpr (N < 16 * 1024) {
    return sum_section(std::int64_t{0}, length<N>);
  } else {
    Real sums[sections];
    in_shares<Work, sections>(threads, [&sums, sum_section](range own) {
      for (auto s = own.begin; s < own.end; ++s) {
        if (s < whole) sums[s] = sum_section(s * section, length<section>);
        else sums[s] = sum_section(s * section, length<rest>);
      }
    });
    return sum_row<sections>(sums);
  }
}

/// Numbers of `in` and of `out` for one turn of the loops of a pair.
struct turn {
  std::int64_t in = 1, out = 1;
};
constexpr turn turn_of(const reduction& r, int pair) {
  turn size;
  for (int k = pair + 1; k < r.pairs; ++k) {
    size.in *= std::int64_t{r.at[static_cast<std::size_t>(k)].gone} * r.at[static_cast<std::size_t>(k)].kept;
    size.out *= r.at[static_cast<std::size_t>(k)].kept;
  }
  return size;
}

template <class Real, reduction R, int Pair = 0>
void reduce_pairs(const Real* in, Real* out, bool add) {
  constexpr auto pair = R.at[Pair];
  if constexpr (Pair + 1 < R.pairs) {
    constexpr turn size = turn_of(R, Pair);
    for (int gone = 0; gone < pair.gone; ++gone)
      for (int kept = 0; kept < pair.kept; ++kept, in += size.in)
        reduce_pairs<Real, R, Pair + 1>(in, out + kept * size.out, add || gone > 0);
  } else if constexpr (pair.kept == 1) {
    const Real total = sum_row<pair.gone>(in);
    *out = add ? *out + total : total;
  } else {
    sum_long_rows<pair.gone, pair.kept>(in, out, add, {0, pair.kept});
  }
}

/// out = the sums of `in` {From} over the axes in Axes; which of them stay as 1 makes no difference here. Threads share
/// what is kept.
template <class Real, shape From, axis_set Axes>
void reduce_sum(const Real* in, Real* out, int threads = 1) {
  constexpr reduction r = as_pairs(From, Axes);
  constexpr auto first = r.at[0];
  constexpr bool one_pair = r.pairs == 1;
  if constexpr (one_pair && first.kept == 1) {
    *out = sum_all<From.count(), Real>(
        threads, [in](std::int64_t begin, auto count) { return sum_row<count.value>(in + begin); });
  } else if constexpr (one_pair || first.gone == 1) {
    in_shares<40 * From.count(), first.kept, one_pair ? chunk<Real> : 1>(threads, [=](range own) {
      if constexpr (one_pair) {
        sum_long_rows<first.gone, first.kept>(in, out, false, own);
      } else {
        constexpr turn size = turn_of(r, 0);
        for (auto kept = own.begin; kept < own.end; ++kept)
          reduce_pairs<Real, r, 1>(in + kept * size.in, out + kept * size.out, false);
      }
    });
  } else {
    reduce_pairs<Real, r>(in, out, false);
  }
}

}  // namespace cairn::kernel
