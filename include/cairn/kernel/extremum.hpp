// Computes the largest or smallest numbers over axes, and their positions.
#pragma once

#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/op/extremum.hpp"

namespace cairn::kernels {

/// Reduces numbers to the largest or smallest of them. The result is NaN if one of them is NaN.
template <lang::extremum Which>
struct comparing {
  template <class Real>
  static constexpr Real start = Which == lang::extremum::largest ? minus_infinity<Real> : -minus_infinity<Real>;
  template <class V>
  [[gnu::always_inline]] static V of(V a, V b) {
    const auto beats = Which == lang::extremum::largest ? greater(a, b) : greater(b, a);
    return select(beats, a, select(equal(a, a), b, a));
  }
  template <class V>
  [[gnu::always_inline]] static void join(V& total, const V& part) {
    total = of(total, part);
  }
};

/// Returns the first position of a row's extremum. If the row contains NaN, returns the first position of NaN.
template <lang::extremum Which, class Real>
int position_in_row(const Real* row, int n) {
  const Real best = fold_row<comparing<Which>, Real>(row, n);
  int i = 0;
  while (best == best ? row[i] != best : row[i] == row[i]) ++i;
  return i;
}

/// Writes these positions for some columns of an array {n, stride}. The positions are along the first axis.
template <lang::extremum Which, class Real>
void positions_in_columns(const Real* in, std::int32_t* out, int n, std::int64_t stride, costs::range columns) {
  for (auto j = columns.begin; j < columns.end; ++j) out[j] = 0;
  for (int i = 1; i < n; ++i) {
    for (auto j = columns.begin; j < columns.end; ++j) {
      const Real x = in[i * stride + j], best = in[out[j] * stride + j];
      if ((Which == lang::extremum::largest ? x > best : x < best) || (x != x && best == best)) out[j] = i;
    }
  }
}

/// Writes to out {outer, inner} the first position of the extremum along the axis. Threads share the indices outside of
/// the axis. If no axis of more than one index comes before the axis, they share the columns.
template <lang::extremum Which, class Real>
[[gnu::noinline]] void find_extremum(const around_axis& a, const Real* in, std::int32_t* out, int threads = 1) {
  const std::int64_t step = a.extent * a.inner;
  const bool many = a.outer > 1;
  shares{40 * a.outer * step, many ? a.outer : a.inner, many ? 1 : 16}(threads, [=, &a](costs::range own) {
    if (!many && a.inner > 1) return positions_in_columns<Which>(in, out, a.extent, a.inner, own);
    for (auto k = own.begin; k < own.end; ++k) {
      if (a.inner == 1) out[k] = position_in_row<Which>(in + k * step, a.extent);
      else positions_in_columns<Which>(in + k * step, out + k * a.inner, a.extent, a.inner, {0, a.inner});
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <extremum Which, cairn::detail::axis_set Axes, bool Keep, class Real, class X>
void compute(extremum_op<Which, Axes, Keep>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  kernels::reduce<kernels::comparing<Which>, X, Axes>(static_cast<const Real*>(p[1]),
                                                      static_cast<kernels::sum_of<Real>*>(p[0]), how.threads);
}
template <extremum Which, int Axis, bool Keep, class Real, class X>
void compute(position_op<Which, Axis, Keep>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  kernels::find_extremum<Which>(kernels::around(X::shape, Axis), static_cast<const Real*>(p[1]),
                                static_cast<std::int32_t*>(p[0]), how.threads);
}

}  // namespace cairn::lang
