// Reads elements of a table, and adds elements to a table, at indices along an axis. Elements that differ only in their
// position along the axis are a column of the table.
#pragma once

#include "cairn/kernel/gather.hpp"
#include "cairn/kernel/sections.hpp"
#include "cairn/op/gather_along.hpp"

#include <cstring>

namespace cairn::kernels {

/// Writes to out {outer, count, inner} the elements of `table` {outer, extent, inner} at the positions `at`
/// {outer, count, inner} along the axis. Threads share the indices before the axis. If there is only one, they share
/// the positions along the axis.
template <class Index, class Number>
[[gnu::noinline]] void gather_along(const around_axis& a, const Index* at, std::int64_t count, const Number* table,
                                    Number* out, int threads = 1) {
  const bool many = a.outer > 1;
  const std::int64_t inner = a.inner, step = a.extent * inner;
  shares{40 * a.outer * count * inner, many ? a.outer : count}(threads, [=](costs::range own) {
    const costs::range outer = many ? own : costs::range{0, 1}, rows = many ? costs::range{0, count} : own;
    for (auto k = outer.begin; k < outer.end; ++k) {
      for (auto row = k * count + rows.begin; row < k * count + rows.end; ++row)
        for (std::int64_t j = 0; j < inner; ++j)
          out[row * inner + j] = table[k * step + at[row * inner + j] * inner + j];
    }
  });
}

/// Adds the elements of `in` {outer, count, inner} to sums {outer, extent, inner} at the positions `at` along the axis,
/// in the order of `in`. Each sum belongs to one thread, so it has the same bits for any number of threads.
///
/// If `lost` is not null, it has room for a number for each sum: what rounding took from the sum when the last element
/// was added. The next element is added together with this number, as in sections of one term.
template <class Index, class Real>
[[gnu::noinline]] void scatter_add_along(const around_axis& a, const Index* at, std::int64_t count, const Real* in,
                                         Real* sums, Real* lost, int threads = 1) {
  const bool many = a.outer > 1;
  const std::int64_t inner = a.inner, step = a.extent * inner;
  const auto add_columns = [=](std::int64_t k, costs::range columns) {
    Real* const to = sums + k * step;
    Real* const rest = lost == nullptr ? nullptr : lost + k * step;
    for (std::int64_t i = 0; rest != nullptr && i < a.extent; ++i)
      std::fill(rest + i * inner + columns.begin, rest + i * inner + columns.end, Real{0});
    for (auto row = k * count; row < (k + 1) * count; ++row) {
      for (auto j = columns.begin; j < columns.end; ++j) {
        const std::int64_t place = at[row * inner + j] * inner + j;
        const Real term = in[row * inner + j];
        if (rest == nullptr) {
          to[place] += term;
        } else {
          rest[place] += term;
          join(to[place], rest[place]);
        }
      }
    }
  };
  constexpr std::int64_t line = 64 / sizeof(Real);
  const std::int64_t work = 80 * a.outer * count * inner;
  shares{work, many ? a.outer : inner, many ? 1 : line}(threads, [=](costs::range own) {
    if (!many) return add_columns(0, own);
    for (auto k = own.begin; k < own.end; ++k) add_columns(k, {0, inner});
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Axis, class Real, class X, class I>
void compute(gather_along_op<Axis>, signature<Real, X, I>, void* const* p, const kernels::launch& how) {
  using number = stored_as<X::element.type, Real>;
  kernels::gather_along(kernels::around(X::shape, Axis), static_cast<const kernels::index_of<I>*>(p[2]), I::shape[Axis],
                        static_cast<const number*>(p[1]), static_cast<number*>(p[0]), how.threads);
}
template <int Axis, class Real, class X, class I, class V>
void compute(scatter_add_along_op<Axis>, signature<Real, X, I, V>, void* const* p, const kernels::launch& how) {
  constexpr std::size_t bytes = static_cast<std::size_t>(X::shape.count()) * sizeof(Real);
  constexpr bool has_rest = scatter_add_along_op<Axis>::scratch(sizeof(Real), X::shape, I::shape, V::shape).each > 0;
  Real* const sums = static_cast<Real*>(p[0]);
  if (p[0] != p[1]) std::memcpy(p[0], p[1], bytes);
  Real* rest = nullptr;
  if constexpr (has_rest) rest = static_cast<Real*>(p[4]);
  kernels::scatter_add_along(kernels::around(X::shape, Axis), static_cast<const kernels::index_of<I>*>(p[2]),
                             I::shape[Axis], static_cast<const Real*>(p[3]), sums, rest, how.threads);
}

}  // namespace cairn::lang
