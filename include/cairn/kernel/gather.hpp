// Computes what indices ask for: gather reads parts of a table, scatter_add adds parts to the positions to which
// indices point, and one_hot makes rows with a one. For each index of the axes before the table's axis, the table has a
// run of numbers at each position along the axis. The numbers of a run are side by side.
#pragma once

#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/gather.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cairn::kernels {

/// Indices, which point to positions along an axis of a table.
template <class Index>
struct positions {
  around_axis table;
  const Index* at;
  std::int64_t count;
  std::int64_t padding = -1;  ///< scatter_add leaves out the runs of indices that are equal to it; -1: none
};

/// Copies numbers that are side by side. If `Made` has fewer bits, rounds them.
template <class Number, class Made>
void copy_run(const Number* from, Made* to, std::int64_t n) {
  if constexpr (std::is_same_v<Number, Made>) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(Number));
  else
    for (std::int64_t j = 0; j < n; j += lanes<Number>::width) store_row(load_row(from, j, n), to, j, n);
}
/// Writes to out {outer, count, inner} the runs of `table` at the positions. Threads share the runs.
template <class Index, class Number, class Made>
[[gnu::noinline]] void gather(const positions<Index>& x, const Number* table, Made* out, int threads = 1) {
  const std::int64_t inner = x.table.inner, runs = x.table.outer * x.count;
  shares{40 * runs * inner, runs}(threads, [=, &x](costs::range own) {
    const Number* from = table + own.begin / x.count * x.table.extent * inner;
    std::int64_t i = own.begin % x.count;
    for (auto run = own.begin; run < own.end; ++run) {
      const Number* const there = from + x.at[i] * inner;
      Made* const to = out + run * inner;
      if (inner == 1) *to = static_cast<Made>(*there);
      else copy_run(there, to, inner);
      if (++i < x.count) continue;
      i = 0;
      from += x.table.extent * inner;
    }
  });
}

/// Sorts indices by the positions to which they point. Indices that point to the same position stay in their own order.
/// Indices that are equal to `padding` are left out.
template <class Index>
struct sorted_indices {
  const positions<Index>& x;
  std::int64_t buckets, width;  ///< number of buckets, at most one for each index; positions of a bucket
  std::int32_t *ends, *of;      ///< ends of the buckets; numbers of the sorted indices

  /// Counts the indices of each bucket, and then sorts the indices. `to` has room for the indices and the buckets.
  sorted_indices(const positions<Index>& from, std::int32_t* to)
      : x(from),
        buckets(std::min<std::int64_t>(x.table.extent, x.count)),
        width((x.table.extent + buckets - 1) / buckets),
        ends(to),
        of(to + buckets) {
    std::fill_n(ends, buckets, 0);
    for_each([this](std::int64_t, std::int64_t bucket) { ++ends[bucket]; });
    std::exclusive_scan(ends, ends + buckets, ends, 0);
    for_each([this](std::int64_t i, std::int64_t bucket) { of[ends[bucket]++] = static_cast<std::int32_t>(i); });
    const auto comes_before = [this](auto a, auto b) { return x.at[a] != x.at[b] ? x.at[a] < x.at[b] : a < b; };
    for (std::int64_t bucket = 0; width > 1 && bucket < buckets; ++bucket)
      std::sort(of + begin(bucket), of + ends[bucket], comes_before);
  }
  /// Returns the number, in sorted order, of the first index that points to `position` or to a later position.
  std::int64_t first(std::int64_t position) const {
    std::int64_t k = begin(position / width);
    while (k < ends[buckets - 1] && x.at[of[k]] < position) ++k;
    return k;
  }
  /// Returns how many indices point to `position`. `first` is the number, in sorted order, of the first of them.
  std::int64_t count(std::int64_t first, std::int64_t position) const {
    std::int64_t k = first;
    while (k < ends[buckets - 1] && x.at[of[k]] == position) ++k;
    return k - first;
  }

 private:
  std::int64_t begin(std::int64_t bucket) const { return bucket == 0 ? 0 : ends[bucket - 1]; }
  void for_each(auto visit) const {
    for (std::int64_t i = 0; i < x.count; ++i)
      if (x.at[i] != x.padding) visit(i, x.at[i] / width);
  }
};

/// Writes some columns of `to`: the sums of `count` runs of `in`. The array `runs` holds the numbers of the runs, all
/// of which point to one position. If there are more runs than one section holds, they are summed in sections.
template <class In, class Sum>
void sum_runs(const In* in, std::int64_t inner, const std::int32_t* runs, std::int64_t count, Sum* to,
              costs::range columns) {
  const auto add_run = [=](std::int64_t k, Sum* sum, costs::range some) {
    const In* const run = in + runs[k] * inner;
    for (auto j = some.begin; j < some.end; j += lanes<Sum>::width)
      store_row(load_row(sum, j, some.end) + load_row_as<Sum>(run, j, some.end), sum, j, some.end);
  };
  if (count <= costs::section_terms) {
    std::fill(to + columns.begin, to + columns.end, Sum{0});
    for (std::int64_t k = 0; k < count; ++k) add_run(k, to, columns);
    return;
  }
  open_columns<adding, Sum, 1> sums;
  sums.total[0] = to;
  for (auto j = columns.begin; j < columns.end; j += sums.most) {
    sums.start({j, std::min(j + sums.most, columns.end)});
    for (std::int64_t k = 0; k < count; ++k) {
      add_run(k, sums.open(0), sums.columns);
      sums.end_row(k + 1, count, sums.columns);
    }
  }
}

/// Writes some columns of `to`: the numbers of `table` plus the sums of `count` runs of `in`. `to` may be `table`.
template <class In, class Sum>
void add_runs(const In* in, std::int64_t inner, const std::int32_t* runs, std::int64_t count, const Sum* table, Sum* to,
              costs::range columns) {
  constexpr std::int64_t most = 4096 / sizeof(Sum);
  alignas(64) Sum sums[most];
  if (count == 0) {
    if (to != table) std::copy(table + columns.begin, table + columns.end, to + columns.begin);
    return;
  }
  for (auto j = columns.begin; j < columns.end; j += most) {
    const std::int64_t n = std::min(most, columns.end - j);
    sum_runs(in + j, inner, runs, count, sums, {0, n});
    for (std::int64_t i = 0; i < n; i += lanes<Sum>::width)
      store_row(load_row(table + j, i, n) + load_row(sums, i, n), to + j, i, n);
  }
}

/// Writes to out {outer, extent, inner} the sums of the runs of `in` {outer, count, inner} that point to each position.
/// If `onto` is not null, the numbers of this table are added to the sums, and `out` may be `onto`. Each number is
/// summed by one thread in the order of the indices, so it has the same bits for any number of threads.
/// The shape decides what the threads share:
/// - If there are several indices before the axis, threads share them.
/// - Otherwise, if the axis has more positions than there are indices, so that most positions get nothing, threads
///   share the positions.
/// - Otherwise threads share the columns.
template <class Index, class In, class Sum>
[[gnu::noinline]] void scatter_add(const positions<Index>& x, const In* in, Sum* out, std::int32_t* scratch,
                                   int threads = 1, const Sum* onto = nullptr) {
  const sorted_indices sorted(x, scratch);
  const std::int64_t outer = x.table.outer, inner = x.table.inner;
  const std::int64_t step = x.count * inner, table = x.table.extent * inner;
  const auto sum_rows = [=, &sorted](std::int64_t k, costs::range rows, costs::range columns) {
    std::int64_t first = sorted.first(rows.begin), count = 0;
    for (auto row = rows.begin; row < rows.end; ++row, first += count) {
      count = sorted.count(first, row);
      const std::int64_t place = k * table + row * inner;
      const std::int32_t* const runs = sorted.of + first;
      if (onto == nullptr) sum_runs(in + k * step, inner, runs, count, out + place, columns);
      else add_runs(in + k * step, inner, runs, count, onto + place, out + place, columns);
    }
  };
  const costs::range rows{0, x.table.extent}, columns{0, inner};
  const std::int64_t work = 40 * outer * (2 * step + table);
  constexpr std::int64_t line = 64 / sizeof(Sum);
  if (outer > 1) {
    shares{work, outer}(threads, [=](costs::range own) {
      for (auto k = own.begin; k < own.end; ++k) sum_rows(k, rows, columns);
    });
  } else if (rows.end > x.count) {
    shares{work, rows.end}(threads, [=](costs::range own) { sum_rows(0, own, columns); });
  } else {
    shares{work, inner, line}(threads, [=](costs::range own) { sum_rows(0, rows, own); });
  }
}

/// Writes to out {count, bound} a row for each index, with 1 at the index and 0 elsewhere.
template <class Index, class Made>
[[gnu::noinline]] void one_hot(const Index* at, std::int64_t count, int bound, Made* out, int threads = 1) {
  shares{40 * count * bound, count}(threads, [=](costs::range own) {
    std::fill(out + own.begin * bound, out + own.end * bound, Made{});
    for (auto i = own.begin; i < own.end; ++i) out[i * bound + at[i]] = static_cast<Made>(1.0F);
  });
}

/// The type of indices. It is the same in every program, whatever the program's type of real numbers.
template <class Tensor>
using index_of = stored_as<Tensor::element.type, float>;

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Axis, int Padding, class Numbers, class X, class I>
void compute(gather_op<Axis, Padding>, signature<Numbers, X, I>, void* const* p, const kernels::launch& how) {
  using number = kernels::taken_of<Numbers, X>;
  using made = std::conditional_t<kernels::makes_halves<Numbers>, bf16, number>;
  using index = kernels::index_of<I>;
  const kernels::positions<index> at{kernels::around(X::shape, Axis), static_cast<const index*>(p[2]),
                                     I::shape.count()};
  kernels::gather(at, static_cast<const number*>(p[1]), static_cast<made*>(p[0]), how.threads);
}
template <int Axis, int Extent, int Padding, class Real, class X, class I>
void compute(scatter_add_op<Axis, Extent, Padding>, signature<Real, X, I>, void* const* p, const kernels::launch& how) {
  using index = kernels::index_of<I>;
  constexpr shape to = scatter_add_op<Axis, Extent>::result(X::shape, I::shape);
  const kernels::positions<index> at{kernels::around(to, Axis), static_cast<const index*>(p[2]), I::shape.count(),
                                     Padding};
  kernels::scatter_add(at, static_cast<const kernels::taken_of<Real, X>*>(p[1]),
                       static_cast<kernels::sum_of<Real>*>(p[0]), static_cast<std::int32_t*>(p[3]), how.threads);
}
template <int Axis, int Extent, int Padding, class Real, class T, class X, class I>
void compute(scatter_add_onto_op<Axis, Extent, Padding>, signature<Real, T, X, I>, void* const* p,
             const kernels::launch& how) {
  using index = kernels::index_of<I>;
  using sum = kernels::sum_of<Real>;
  const kernels::positions<index> at{kernels::around(T::shape, Axis), static_cast<const index*>(p[3]), I::shape.count(),
                                     Padding};
  kernels::scatter_add(at, static_cast<const kernels::taken_of<Real, X>*>(p[2]), static_cast<sum*>(p[0]),
                       static_cast<std::int32_t*>(p[4]), how.threads, static_cast<const sum*>(p[1]));
}
template <class Real, class I>
void compute(one_hot_op, signature<Real, I>, void* const* p, const kernels::launch& how) {
  kernels::one_hot(static_cast<const kernels::index_of<I>*>(p[1]), I::shape.count(), I::element.bound,
                   static_cast<kernels::made_of<Real>*>(p[0]), how.threads);
}

}  // namespace cairn::lang
