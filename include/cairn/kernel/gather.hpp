// Where indices point: parts of a table, the sums of what is laid there, rows with a one. For each index of the axes
// before the table's axis there is a run of numbers, side by side, at each position along it.
#pragma once

#include "cairn/expr/gather.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/kernel/threads.hpp"

#include <cstring>

namespace cairn {

namespace kernel {

/// So many positions along an axis of a table.
template <class Index>
struct positions {
  around_axis table;
  const Index* at;
  std::int64_t count;
};

/// out {outer, count, inner} = the runs of `table` at the positions. Threads share the runs.
template <class Index, class Number>
[[gnu::noinline]] void gather(const positions<Index>& x, const Number* table, Number* out, int threads = 1) {
  const std::int64_t inner = x.table.inner, runs = x.table.outer * x.count;
  shares{40 * runs * inner, runs}(threads, [=, &x](range own) {
    const Number* from = table + own.begin / x.count * x.table.extent * inner;
    std::int64_t i = own.begin % x.count;
    for (auto run = own.begin; run < own.end; ++run) {
      if (inner == 1) out[run] = from[x.at[i]];
      else std::memcpy(out + run * inner, from + x.at[i] * inner, static_cast<std::size_t>(inner) * sizeof(Number));
      if (++i < x.count) continue;
      i = 0;
      from += x.table.extent * inner;
    }
  });
}

/// Some columns of out {extent, inner} = the sums of the rows of `in` {count, inner} that are laid at each position.
template <class Index, class Real>
void add_rows(const positions<Index>& x, const Real* in, Real* out, range columns) {
  const std::int64_t inner = x.table.inner;
  for (std::int64_t row = 0; row < x.table.extent; ++row)
    std::fill(out + row * inner + columns.begin, out + row * inner + columns.end, Real{0});
  for (std::int64_t i = 0; i < x.count; ++i, in += inner) {
    Real* const to = out + x.at[i] * inner;
    for (auto j = columns.begin; j < columns.end; j += lanes<Real>::width)
      store_row(load_row(to, j, columns.end) + load_row(in, j, columns.end), to, j, columns.end);
  }
}

/// out {outer, extent, inner} = the sums of the runs of `in` {outer, count, inner} that are laid at each position. Each
/// number is summed by one thread, in the order of the indices, whichever thread it is: they share what lies outside of
/// the axis, or else the columns.
template <class Index, class Real>
[[gnu::noinline]] void scatter_add(const positions<Index>& x, const Real* in, Real* out, int threads = 1) {
  const std::int64_t outer = x.table.outer, inner = x.table.inner;
  const std::int64_t step = x.count * inner, table = x.table.extent * inner;
  const bool many = outer > 1;
  constexpr std::int64_t line = 64 / sizeof(Real);
  shares{40 * outer * (2 * step + table), many ? outer : inner, many ? 1 : line}(threads, [=, &x](range own) {
    if (!many) return add_rows(x, in, out, own);
    for (auto k = own.begin; k < own.end; ++k) add_rows(x, in + k * step, out + k * table, {0, x.table.inner});
  });
}

/// out {count, bound}: 1 at each index, else 0.
template <class Index, class Real>
[[gnu::noinline]] void one_hot(const Index* at, std::int64_t count, int bound, Real* out, int threads = 1) {
  shares{40 * count * bound, count}(threads, [=](range own) {
    std::fill(out + own.begin * bound, out + own.end * bound, Real{0});
    for (auto i = own.begin; i < own.end; ++i) out[i * bound + at[i]] = 1;
  });
}

/// The type of indices, which is the same in every program.
template <class Tensor>
using index_of = stored_as<Tensor::element.type, float>;

}  // namespace kernel

template <int Axis, class Real, class X, class I>
void compute(gather_op<Axis>, signature<Real, X, I>, void* const* p, int threads) {
  using number = stored_as<X::element.type, Real>;
  using index = kernel::index_of<I>;
  const kernel::positions<index> at{kernel::around(X::shape, Axis), static_cast<const index*>(p[2]), I::shape.count()};
  kernel::gather(at, static_cast<const number*>(p[1]), static_cast<number*>(p[0]), threads);
}
template <int Axis, int Extent, class Real, class X, class I>
void compute(scatter_add_op<Axis, Extent>, signature<Real, X, I>, void* const* p, int threads) {
  using index = kernel::index_of<I>;
  constexpr shape to = scatter_add_op<Axis, Extent>::result(X::shape, I::shape);
  const kernel::positions<index> at{kernel::around(to, Axis), static_cast<const index*>(p[2]), I::shape.count()};
  kernel::scatter_add(at, static_cast<const Real*>(p[1]), static_cast<Real*>(p[0]), threads);
}
template <class Real, class I>
void compute(one_hot_op, signature<Real, I>, void* const* p, int threads) {
  kernel::one_hot(static_cast<const kernel::index_of<I>*>(p[1]), I::shape.count(), I::element.bound,
                  static_cast<Real*>(p[0]), threads);
}

}  // namespace cairn
