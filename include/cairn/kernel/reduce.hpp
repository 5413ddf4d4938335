// Sums over axes, and how all that is reduced over axes is computed.
#pragma once

#include "cairn/expr/reduce.hpp"
#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/threads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cairn {

namespace kernel {

/// A reduction as nested pairs of loops, outermost pair first: over `gone` axes, and within it over `kept`
/// ones.
struct reduction {
  struct pair {
    std::int64_t gone = 1, kept = 1;
    std::int64_t in = 1, out = 1;  ///< numbers for one turn of the loops
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
  for (auto k = static_cast<std::size_t>(r.pairs - 1); k-- > 0;) {
    const auto& inner = r.at[k + 1];
    r.at[k].in = inner.in * inner.gone * inner.kept;
    r.at[k].out = inner.out * inner.kept;
  }
  return r;
}

/// What a reduction does with one more number, or register, and what it starts from.
struct adding {
  template <class Real>
  static constexpr Real start = 0;
  template <class V>
  [[gnu::always_inline]] static V of(V a, V b) {
    return a + b;
  }
};

/// out = the reduction of `rows` rows, and of `out` if `add`, of some registers of columns, row after row, in
/// registers; the last register has `last` columns.
template <class Fold, int Registers, class In, class Real>
void fold_columns(const In* in, std::int64_t rows, std::int64_t stride, Real* out, bool add, int last) {
  using vec = lanes<Real>;
  const auto load = [last](const auto* at, int j) {
    return load_row_as<Real>(at, j * vec::width, j * vec::width + (j + 1 < Registers ? vec::width : last));
  };
  vec sum[Registers];
#pragma GCC unroll 4
  for (int j = 0; j < Registers; ++j) sum[j] = add ? load(out, j) : vec::fill(Fold::template start<Real>);
  for (std::int64_t row = 0; row < rows; ++row, in += stride)
#pragma GCC unroll 4
    for (int j = 0; j < Registers; ++j) sum[j] = Fold::of(sum[j], load(in, j));
#pragma GCC unroll 4
  for (int j = 0; j < Registers; ++j) {
    if (j + 1 < Registers || last == vec::width) sum[j].store(out + j * vec::width);
    else sum[j].store(out + j * vec::width, last);
  }
}

/// Columns that are reduced together.
template <class Real>
inline constexpr int chunk = 4 * lanes<Real>::width;

/// out {columns} = the reduction of `in` {rows, columns} over the rows, and of `out` if `add`, for some of the columns.
/// Long rows are read a few at a time, along the rows, for processors fetch ahead few streams.
template <class Fold, class In, class Real>
[[gnu::noinline]] void fold_rows(const In* in, std::int64_t rows, std::int64_t columns, Real* out, bool add,
                                 range own) {
  constexpr int width = lanes<Real>::width;
  const std::int64_t some = columns <= chunk<Real> ? rows : std::min<std::int64_t>(rows, 8);
  for (std::int64_t row = 0; row < rows; row += some, add = true) {
    const std::int64_t count = std::min(some, rows - row);
    const In* const from = in + row * columns;
    std::int64_t j = own.begin;
    for (; j + chunk<Real> <= own.end; j += chunk<Real>)
      fold_columns<Fold, 4>(from + j, count, columns, out + j, add, width);
    for (; j < own.end; j += width)
      fold_columns<Fold, 1>(from + j, count, columns, out + j, add,
                            static_cast<int>(std::min<std::int64_t>(width, own.end - j)));
  }
}

/// Registers, or numbers, of so many reductions that are made at once.
template <class V, int N>
struct several {
  V of[N];

  template <class X>
  [[gnu::always_inline]] static several fill(X x) {
    several all;
    for (V& v : all.of) v = V::fill(x);
    return all;
  }
  [[gnu::always_inline]] friend several operator+(several a, const several& b) {
    for (int k = 0; k < N; ++k) a.of[k] = a.of[k] + b.of[k];
    return a;
  }
  [[gnu::always_inline]] friend several masked(several a, int n) {
    for (V& v : a.of) v = masked(v, n);
    return a;
  }
  [[gnu::always_inline]] friend auto folded(const several& a, auto combine) {
    several<decltype(folded(a.of[0], combine)), N> out;
    for (int k = 0; k < N; ++k) out.of[k] = folded(a.of[k], combine);
    return out;
  }
};

/// The reduction of n numbers, of which at(i) gives the register from number i on, and behind the last the start: four
/// registers of partial ones, so that an addition need not wait for the one before.
template <class Fold, class Real>
[[gnu::always_inline]] inline auto fold_row(std::int64_t n, auto at) {
  using vec = decltype(at(n));
  constexpr int width = lanes<Real>::width;
  const vec start = vec::fill(Fold::template start<Real>);
  vec part[4] = {start, start, start, start};
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) part[j] = Fold::of(part[j], at(i + j * width));
  for (; i < n; i += width) part[0] = Fold::of(part[0], at(i));
  return folded(Fold::of(Fold::of(part[0], part[1]), Fold::of(part[2], part[3])),
                [](auto x, auto y) { return Fold::of(x, y); });
}
template <class Fold, class Real>
Real fold_row(const Real* in, std::int64_t n) {
  return fold_row<Fold, Real>(n, [in, n](std::int64_t i) { return load_row(in, i, n, Fold::template start<Real>); });
}

/// N reductions of n numbers each, of which section(begin, length) reduces some. Many are reduced in sections, the same
/// for any number of threads.
template <class Fold, class Real, int N>
several<Real, N> fold_all(std::int64_t n, std::int64_t work, int threads, auto of_section) {
  if (n < 16 * 1024) return of_section(std::int64_t{0}, n);
  constexpr std::int64_t most = 64;
  const std::int64_t section = (n + most - 1) / most, sections = (n + section - 1) / section;
  Real parts[N][most];
  shares{work, sections}(threads, [&parts, n, section, &of_section](range own) {
    for (auto s = own.begin; s < own.end; ++s) {
      const several<Real, N> part = of_section(s * section, std::min(section, n - s * section));
      for (int k = 0; k < N; ++k) parts[k][s] = part.of[k];
    }
  });
  several<Real, N> out;
  for (int k = 0; k < N; ++k) out.of[k] = fold_row<Fold>(parts[k], sections);
  return out;
}

/// out = the reduction over the pairs from number `number` on, and of `out` if `add`.
template <class Fold, class Real>
void reduce_pairs(const reduction& r, int number, const Real* in, Real* out, bool add) {
  const auto& pair = r.at[static_cast<std::size_t>(number)];
  if (number + 1 < r.pairs) {
    for (std::int64_t gone = 0; gone < pair.gone; ++gone)
      for (std::int64_t kept = 0; kept < pair.kept; ++kept, in += pair.in)
        reduce_pairs<Fold>(r, number + 1, in, out + kept * pair.out, add || gone > 0);
  } else if (pair.kept == 1) {
    const Real total = fold_row<Fold>(in, pair.gone);
    *out = add ? Fold::of(*out, total) : total;
  } else {
    fold_rows<Fold>(in, pair.gone, pair.kept, out, add, {0, pair.kept});
  }
}

/// out = the reduction of n numbers.
template <class Fold, class Real>
[[gnu::noinline]] void reduce_all(const Real* in, std::int64_t n, Real* out, int threads) {
  const auto of_section = [in](std::int64_t begin, std::int64_t count) {
    return several<Real, 1>{{fold_row<Fold>(in + begin, count)}};
  };
  *out = fold_all<Fold, Real, 1>(n, 40 * n, threads, of_section).of[0];
}
/// out {columns} = the reduction of `in` {rows, columns} over the rows. Threads share the columns.
template <class Fold, class Real>
[[gnu::noinline]] void reduce_rows(const Real* in, std::int64_t rows, std::int64_t columns, Real* out, int threads) {
  shares{40 * rows * columns, columns, chunk<Real>}(
      threads, [=](range own) { fold_rows<Fold>(in, rows, columns, out, false, own); });
}
/// out = the reduction of `in` over several pairs. Threads share what the outermost keeps, if nothing of it is gone.
template <class Fold, class Real>
[[gnu::noinline]] void reduce_nested(const reduction& r, std::int64_t count, const Real* in, Real* out, int threads) {
  const auto& first = r.at[0];
  if (first.gone > 1) return reduce_pairs<Fold>(r, 0, in, out, false);
  shares{40 * count, first.kept}(threads, [&r, &first, in, out](range own) {
    for (auto kept = own.begin; kept < own.end; ++kept)
      reduce_pairs<Fold>(r, 1, in + kept * first.in, out + kept * first.out, false);
  });
}

/// Which axes stay as 1 makes no difference here.
template <shape From, axis_set Axes>
inline constexpr reduction reduction_of = as_pairs(From, Axes);

/// Computes the sum of the squares of n numbers, each multiplied by `scale`, in double.
template <class Real>
[[gnu::noinline]] double sum_of_squares(const Real* in, std::int64_t n, double scale, int threads) {
  const auto of_section = [in, scale](std::int64_t begin, std::int64_t count) {
    const auto square = [from = in + begin, count, by = lanes<double>::fill(scale)](std::int64_t i) {
      const auto x = load_row_as<double>(from, i, count) * by;
      return x * x;
    };
    return several<double, 1>{{fold_row<adding, double>(count, square)}};
  };
  return fold_all<adding, double, 1>(n, 40 * n, threads, of_section).of[0];
}

/// Computes the length of a vector of n numbers. The squares of all floats are doubles. Squares of doubles may be too
/// large or too small; then the numbers are first divided by a power of two near the largest. The length of finite
/// numbers is finite: a length above the largest double is returned as the largest double.
template <class Real>
double length_of(const Real* in, std::int64_t n, int threads) {
  const double squares = sum_of_squares(in, n, 1, threads);
  if constexpr (std::is_same_v<Real, double>) {
    constexpr double digits_are_safe = 0x1p-900;  // what smaller squares lose is below a last place of this sum
    if (!(squares >= digits_are_safe && std::isfinite(squares))) {
      double largest = 0;
      for (std::int64_t i = 0; i < n; ++i) largest = std::abs(in[i]) > largest ? std::abs(in[i]) : largest;
      if (largest > 0 && std::isfinite(largest)) {
        const double scale = std::ldexp(1, std::clamp(-std::ilogb(largest), -1022, 1022));
        const double length = std::sqrt(sum_of_squares(in, n, scale, threads)) / scale;
        return length > std::numeric_limits<double>::max() ? std::numeric_limits<double>::max() : length;
      }
    }
  }
  return std::sqrt(squares);
}

/// The reduction of an argument over axes, by the code of its sort alone.
template <class Fold, class X, axis_set Axes, class Real>
void reduce(const Real* in, Real* out, int threads) {
  constexpr const reduction& r = reduction_of<X::shape, Axes>;
  if constexpr (r.pairs > 1) reduce_nested<Fold>(r, X::shape.count(), in, out, threads);
  else if constexpr (r.at[0].kept == 1) reduce_all<Fold>(in, r.at[0].gone, out, threads);
  else reduce_rows<Fold>(in, r.at[0].gone, r.at[0].kept, out, threads);
}

}  // namespace kernel

template <axis_set Axes, bool Keep, class Real, class X>
void compute(sum_op<Axes, Keep>, signature<Real, X>, void* const* p, int threads) {
  kernel::reduce<kernel::adding, X, Axes>(static_cast<const Real*>(p[1]), static_cast<Real*>(p[0]), threads);
}

}  // namespace cairn
