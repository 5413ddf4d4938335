// These kernels compute sums over axes. All other reductions over axes use the functions of this file, too.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/sections.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cairn::kernels {

/// A reduction as nested pairs of loops; the outermost pair comes first. In each pair, the outer loop visits `reduced`
/// indices, and the inner loop visits the `remaining` indices.
struct reduction {
  struct pair {
    std::int64_t reduced = 1, remaining = 1;
    std::int64_t in_stride = 1, out_stride = 1;  ///< the distance in `in` and in `out` between neighbouring indices
  };
  int pairs = 1;
  std::array<pair, max_rank + 1> at{};
};

/// Computes the pairs of loops for a reduction of `from` over `axes`. Neighbouring axes that are both reduced, or that
/// both remain, are merged into one. Axes of extent 1 are left out.
constexpr reduction as_pairs(const shape& from, cairn::detail::axis_set axes) {
  reduction r;
  for (int axis = 0; axis < from.rank; ++axis) {
    const int extent = from.extent[axis];
    if (extent == 1) continue;
    auto* last = &r.at[static_cast<std::size_t>(r.pairs - 1)];
    if ((axes >> axis & 1U) == 0) {
      last->remaining *= extent;
    } else {
      if (last->remaining != 1) last = &r.at[static_cast<std::size_t>(r.pairs++)];
      last->reduced *= extent;
    }
  }
  for (auto k = static_cast<std::size_t>(r.pairs - 1); k-- > 0;) {
    const auto& inner = r.at[k + 1];
    r.at[k].in_stride = inner.in_stride * inner.reduced * inner.remaining;
    r.at[k].out_stride = inner.out_stride * inner.remaining;
  }
  return r;
}

/// The registers, or numbers, of N reductions that are computed together.
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
template <class V, int N>
[[gnu::always_inline]] inline void join(several<V, N>& total, several<V, N>& part) {
  for (int k = 0; k < N; ++k) join(total.of[k], part.of[k]);
}

/// Describes a reduction. `start` is its neutral value and `of` combines two values. `join` adds the reduction of a
/// section to a total, and leaves in `part` the value with which the next section begins.
struct adding {
  template <class Real>
  static constexpr Real start = 0;
  template <class V>
  [[gnu::always_inline]] static V of(V a, V b) {
    return a + b;
  }
  template <class V>
  [[gnu::always_inline]] static void join(V& total, V& part) {
    kernels::join(total, part);
  }
};

/// Reduces `rows` rows of some columns and writes the result to `out`. If `add` is true, the reduction begins with the
/// numbers in `out`. The columns fill `Registers` registers, of which the last has `last` columns. The rows are added
/// one after another, and the sums stay in registers.
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

/// The number of columns that are reduced together.
template <class Real>
inline constexpr int chunk = 4 * lanes<Real>::width;

/// Adds the reductions of a section of rows to the totals of n columns.
template <class Fold, class Real>
[[gnu::noinline]] void join_columns(Real* part, Real* total, std::int64_t n) {
  using vec = lanes<Real>;
  for (std::int64_t j = 0; j < n; j += vec::width) {
    vec sum = load_row(total, j, n), more = load_row(part, j, n);
    Fold::join(sum, more);
    store_row(sum, total, j, n);
    store_row(more, part, j, n);
  }
}
/// N reductions of some columns. `total` holds the reductions of the complete sections, and `part` holds those of the
/// open section. The number of columns is at most `most`, so that the first-level cache has room for rows, too.
template <class Fold, class Real, int N>
struct open_columns {
  static constexpr std::int64_t most = std::max<std::int64_t>(4096 / (N * chunk<Real> * sizeof(Real)), 1) * chunk<Real>;
  costs::range columns;
  Real* total[N];  ///< the address of column 0
  alignas(64) Real part[N][most];

  void start(costs::range some) {
    columns = some;
    for (int k = 0; k < N; ++k) {
      std::fill(total[k] + some.begin, total[k] + some.end, Fold::template start<Real>);
      std::fill_n(part[k], some.end - some.begin, Fold::template start<Real>);
    }
  }
  /// Returns the address that the open reduction of column 0 would have.
  Real* open(int k) {
    Real* const first = &part[k][0];
    return first - columns.begin;
  }
  /// Ends the section of the columns `some` if `row` rows of `rows` have been added, and `row` is the section's last.
  void end_row(std::int64_t row, std::int64_t rows, costs::range some) {
    if (row % costs::section_terms != 0 && row != rows) return;
    for (int k = 0; k < N; ++k) join_columns<Fold>(open(k) + some.begin, total[k] + some.begin, some.end - some.begin);
  }
};

/// Reduces the columns `own` of `in` over `rows` rows, which are `stride` apart, and writes the result to `out`. If
/// `add` is true, the reduction begins with the numbers in `out`. The rows are added one after another.
template <class Fold, class In, class Real>
void fold_section(const In* in, std::int64_t rows, std::int64_t stride, Real* out, bool add, costs::range own) {
  constexpr int width = lanes<Real>::width;
  std::int64_t j = own.begin;
  for (; j + chunk<Real> <= own.end; j += chunk<Real>) fold_columns<Fold, 4>(in + j, rows, stride, out + j, add, width);
  for (; j < own.end; j += width)
    fold_columns<Fold, 1>(in + j, rows, stride, out + j, add,
                          static_cast<int>(std::min<std::int64_t>(width, own.end - j)));
}
/// Returns how many rows are read at a time: few where rows are long, because processors fetch ahead few streams.
template <class Real>
std::int64_t rows_at_a_time(std::int64_t columns) {
  return columns <= chunk<Real> ? costs::section_terms : 8;
}
/// Adds rows to the open columns `own`.
template <class Fold, class In, class Real>
void fold_into(open_columns<Fold, Real, 1>& sums, const In* in, std::int64_t rows, std::int64_t stride,
               costs::range own) {
  const std::int64_t some = rows_at_a_time<Real>(stride);
  for (std::int64_t row = 0; row < rows; row += some) {
    const std::int64_t count = std::min(some, rows - row);
    fold_section<Fold>(in + row * stride, count, stride, sums.open(0), true, own);
    sums.end_row(row + count, rows, own);
  }
}
/// Computes out {columns} = the reduction of `in` {rows, columns} over the rows, for the columns `own` only.
template <class Fold, class In, class Real>
[[gnu::noinline]] void fold_rows(const In* in, std::int64_t rows, std::int64_t columns, Real* out, costs::range own) {
  if (rows <= costs::section_terms) {
    const std::int64_t some = rows_at_a_time<Real>(columns);
    for (std::int64_t row = 0; row < rows; row += some)
      fold_section<Fold>(in + row * columns, std::min(some, rows - row), columns, out, row > 0, own);
    return;
  }
  open_columns<Fold, Real, 1> sums;
  sums.total[0] = out;
  for (auto j = own.begin; j < own.end; j += sums.most) {
    sums.start({j, std::min(j + sums.most, own.end)});
    fold_into(sums, in, rows, columns, sums.columns);
  }
}

/// Reduces n numbers. at(i) returns the register of numbers from number i on; lanes after the last number hold the
/// neutral value. The function uses four registers of partial reductions, so that an addition need not wait for the
/// addition before.
template <class Fold, class Real>
[[gnu::always_inline]] inline auto fold_row(std::int64_t n, auto at) {
  using vec = decltype(at(n));
  constexpr int width = lanes<Real>::width;
  const vec start = vec::fill(Fold::template start<Real>);
  vec total, rest = start;
  for (std::int64_t i = 0;;) {
    const bool first = i == 0;
    const std::int64_t end = std::min(n, i + costs::section_terms * 4 * width);
    vec part[4] = {rest, start, start, start};
    for (; i + 4 * width <= end; i += 4 * width)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) part[j] = Fold::of(part[j], at(i + j * width));
    for (; i < end; i += width) part[0] = Fold::of(part[0], at(i));
    rest = Fold::of(Fold::of(part[0], part[1]), Fold::of(part[2], part[3]));
    if (first) total = std::exchange(rest, start);
    else Fold::join(total, rest);
    if (i >= n) return folded(total, [](auto x, auto y) { return Fold::of(x, y); });
  }
}
template <class Fold, class Real, class In>
Real fold_row(const In* in, std::int64_t n) {
  return fold_row<Fold, Real>(
      n, [in, n](std::int64_t i) { return load_row_as<Real>(in, i, n, Fold::template start<Real>); });
}

/// Computes N reductions of n numbers each. of_section(begin, length) reduces `length` numbers from `begin` on. If n is
/// at least 16 * 1024, the numbers are reduced in sections. The sections do not depend on the number of threads.
template <class Fold, class Real, int N>
several<Real, N> fold_all(std::int64_t n, std::int64_t work, int threads, auto of_section) {
  if (n < 16 * 1024) return of_section(std::int64_t{0}, n);
  constexpr std::int64_t most = 64;
  const std::int64_t length = (n + most - 1) / most, sections = (n + length - 1) / length;
  Real parts[N][most];
  shares{work, sections}(threads, [&parts, n, length, &of_section](costs::range own) {
    for (auto s = own.begin; s < own.end; ++s) {
      const several<Real, N> part = of_section(s * length, std::min(length, n - s * length));
      for (int k = 0; k < N; ++k) parts[k][s] = part.of[k];
    }
  });
  several<Real, N> out;
  for (int k = 0; k < N; ++k) out.of[k] = fold_row<Fold, Real>(parts[k], sections);
  return out;
}

/// Computes *out = the reduction of n numbers.
template <class Fold, class In, class Real>
[[gnu::noinline]] void reduce_all(const In* in, std::int64_t n, Real* out, int threads) {
  const auto of_section = [in](std::int64_t begin, std::int64_t count) {
    return several<Real, 1>{{fold_row<Fold, Real>(in + begin, count)}};
  };
  *out = fold_all<Fold, Real, 1>(n, 40 * n, threads, of_section).of[0];
}
/// Computes out {columns} = the reduction of `in` {rows, columns} over the rows. Threads share the columns.
template <class Fold, class In, class Real>
[[gnu::noinline]] void reduce_rows(const In* in, std::int64_t rows, std::int64_t columns, Real* out, int threads) {
  shares{40 * rows * columns, columns, chunk<Real>}(
      threads, [=](costs::range own) { fold_rows<Fold>(in, rows, columns, out, own); });
}
/// Reduces `in` over the loops of `pair`, once for each of `remaining` indices of an outer axis that remains.
template <class Fold, class In, class Real>
[[gnu::noinline]] void reduce_each(std::int64_t remaining, const reduction::pair& pair, const In* in, Real* out,
                                   int threads) {
  const std::int64_t step = pair.reduced * pair.remaining;
  shares{40 * remaining * step, remaining}(threads, [=, &pair](costs::range own) {
    for (auto k = own.begin; k < own.end; ++k) {
      if (pair.remaining == 1) out[k] = fold_row<Fold, Real>(in + k * step, pair.reduced);
      else fold_rows<Fold>(in + k * step, pair.reduced, pair.remaining, out + k * pair.remaining, {0, pair.remaining});
    }
  });
}

/// Computes reductions over several pairs. The pairs before number `cut` are visited with one remaining index at a
/// time, and pair `cut` with several, so that all results that are visited at a time fit into the open columns.
template <class Fold, class In, class Real>
struct nested_reduction {
  const reduction& r;
  open_columns<Fold, Real, 1> sums;
  std::size_t cut = 0;

  explicit nested_reduction(const reduction& over) : r(over) {
    while (r.at[cut].out_stride > sums.most) ++cut;
  }
  /// Returns the number of remaining indices that threads share: those of all pairs up to `cut`.
  std::int64_t units() const {
    std::int64_t n = 1;
    for (std::size_t k = 0; k <= cut; ++k) n *= r.at[k].remaining;
    return n;
  }
  void run(const In* in, Real* out, costs::range own) {
    const auto& pair = r.at[cut];
    for (auto unit = own.begin; unit < own.end;) {
      const std::int64_t first = unit % pair.remaining;
      const std::int64_t n = std::min({own.end - unit, pair.remaining - first, sums.most / pair.out_stride});
      std::int64_t from = first * pair.in_stride, to = first * pair.out_stride, rest = unit / pair.remaining;
      for (std::size_t k = cut; k-- > 0; rest /= r.at[k].remaining) {
        from += rest % r.at[k].remaining * r.at[k].in_stride;
        to += rest % r.at[k].remaining * r.at[k].out_stride;
      }
      sums.total[0] = out + to;
      sums.start({0, n * pair.out_stride});
      visit(0, in + from, 0, n);
      unit += n;
    }
  }

 private:
  /// Adds the pairs from number `at` on to the open columns from `to` on. The loop of pair `cut` visits `some` indices.
  void visit(std::size_t at, const In* in, std::int64_t to, std::int64_t some) {
    const auto& pair = r.at[at];
    const auto last = static_cast<std::size_t>(r.pairs - 1);
    const costs::range own{to, to + (at < cut ? 1 : at == cut ? some : pair.remaining) * pair.out_stride};
    if (at == last) return fold_into(sums, in - to, pair.reduced, pair.remaining, own);
    const bool of_numbers = at + 1 == last && r.at[last].remaining == 1;
    for (std::int64_t index = 0; index < pair.reduced; ++index, in += pair.in_stride * pair.remaining) {
      const In* from = in;
      for (std::int64_t j = own.begin; j < own.end; j += pair.out_stride, from += pair.in_stride) {
        if (of_numbers) sums.open(0)[j] = Fold::of(sums.open(0)[j], fold_row<Fold, Real>(from, r.at[last].reduced));
        else visit(at + 1, from, j, some);
      }
      if (of_numbers) sums.end_row(index + 1, pair.reduced, own);
    }
  }
};

/// Reduces `in` over several pairs of loops. Threads share the indices that remain.
template <class Fold, class In, class Real>
[[gnu::noinline]] void reduce_nested(const reduction& r, std::int64_t count, const In* in, Real* out, int threads) {
  if (r.pairs == 2 && r.at[0].reduced == 1) return reduce_each<Fold>(r.at[0].remaining, r.at[1], in, out, threads);
  shares{40 * count, nested_reduction<Fold, In, Real>(r).units()}(
      threads, [&r, in, out](costs::range own) { nested_reduction<Fold, In, Real>(r).run(in, out, own); });
}

/// The pairs of loops of a reduction. They do not depend on whether reduced axes stay in the result with extent 1.
template <shape From, cairn::detail::axis_set Axes>
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
    constexpr double digits_are_safe = 0x1p-900;  // squares lost to underflow are below the last place of this sum
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

/// Reduces an argument over axes. Only the code for the kind of reduction that the axes need is compiled.
template <class Fold, class X, cairn::detail::axis_set Axes, class In, class Real>
void reduce(const In* in, Real* out, int threads) {
  constexpr const reduction& r = reduction_of<X::shape, Axes>;
  if constexpr (r.pairs > 1) reduce_nested<Fold>(r, X::shape.count(), in, out, threads);
  else if constexpr (r.at[0].remaining == 1) reduce_all<Fold>(in, r.at[0].reduced, out, threads);
  else reduce_rows<Fold>(in, r.at[0].reduced, r.at[0].remaining, out, threads);
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <cairn::detail::axis_set Axes, bool Keep, class Real, class X>
void compute(sum_op<Axes, Keep>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  kernels::reduce<kernels::adding, X, Axes>(static_cast<const Real*>(p[1]), static_cast<Real*>(p[0]), how.threads);
}

}  // namespace cairn::lang
