// Softmax along an axis.
#pragma once

#include "cairn/expr/softmax.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <limits>

namespace cairn {

namespace kernel {

/// Both subtract the largest number first, so that no exp overflows:
/// softmax(x) = exp(x - max) / sum exp(x - max), log_softmax(x) = x - max - log sum exp(x - max).
enum class normalized { softmax, log_softmax };

/// What a number counts for as work: its exp as 200, four other operations as ten each, twice moved as forty.
inline constexpr std::int64_t normalizing = 200 + 4 * 10 + 2 * 40;

/// Lanes past the end of a row hold minus infinity: never the largest, and nothing to a sum of exps.
template <class Real>
inline constexpr Real nothing = -std::numeric_limits<Real>::infinity();

template <class Real>
Real row_largest(const Real* row, int n) {
  auto most = load_row(row, 0, n, nothing<Real>);
  for (int i = lanes<Real>::width; i < n; i += lanes<Real>::width) most = max(load_row(row, i, n, nothing<Real>), most);
  return largest(most);
}

/// sum exp(x - shift) over a row.
template <class Real>
Real row_sum_exp(const Real* row, int n, Real shift) {
  using vec = lanes<Real>;
  vec total = vec::fill(0);
  for (int i = 0; i < n; i += vec::width) total = total + exp(load_row(row, i, n, nothing<Real>) - vec::fill(shift));
  return sum(total);
}

/// One row of n numbers; in == out is allowed.
template <normalized Form, class Real>
void normalize_row(const Real* in, Real* out, int n) {
  using vec = lanes<Real>;
  const Real most = row_largest(in, n);
  if constexpr (Form == normalized::softmax) {
    vec total = vec::fill(0);
    for (int i = 0; i < n; i += vec::width) {
      const vec e = exp(load_row(in, i, n, nothing<Real>) - vec::fill(most));
      total = total + e;
      store_row(e, out, i, n);
    }
    const vec scale = vec::fill(1 / sum(total));
    for (int i = 0; i < n; i += vec::width) store_row(load_row(out, i, n) * scale, out, i, n);
  } else {
    const vec shift = vec::fill(most), log_total = vec::fill(std::log(row_sum_exp(in, n, most)));
    for (int i = 0; i < n; i += vec::width) store_row(load_row(in, i, n) - shift - log_total, out, i, n);
  }
}

/// Some columns of {n, stride} along the first axis, a register of columns at a time.
template <normalized Form, class Real>
void normalize_columns(const Real* in, Real* out, int n, std::int64_t stride, range columns) {
  using vec = lanes<Real>;
  for (std::int64_t j = columns.begin; j < columns.end; j += vec::width) {
    const auto load = [&](const Real* from, int i) { return load_row(from + i * stride, j, stride); };
    const auto store = [&](vec x, int i) { store_row(x, out + i * stride, j, stride); };
    vec most = load(in, 0);
    for (int i = 1; i < n; ++i) most = max(load(in, i), most);
    vec total = vec::fill(0);
    for (int i = 0; i < n; ++i) {
      const vec e = exp(load(in, i) - most);
      total = total + e;
      if constexpr (Form == normalized::softmax) store(e, i);
    }
    if constexpr (Form == normalized::softmax) {
      const vec scale = vec::fill(1) / total;
      for (int i = 0; i < n; ++i) store(load(out, i) * scale, i);
    } else {
      const vec log_total = log(total);
      for (int i = 0; i < n; ++i) store(load(in, i) - most - log_total, i);
    }
  }
}

/// A shape around one of its axes: {outer, extent, inner}.
struct around_axis {
  std::int64_t outer = 1;
  int extent = 1;
  std::int64_t inner = 1;
};
/// Negative axes count from the last.
constexpr around_axis around(const shape& s, int axis) {
  const int at = axis < 0 ? s.rank + axis : axis;
  around_axis a;
  for (int k = 0; k < at; ++k) a.outer *= s.extent[k];
  a.extent = s.extent[at];
  for (int k = at + 1; k < s.rank; ++k) a.inner *= s.extent[k];
  return a;
}

/// Threads share what lies outside of the axis, or else the columns; in == out is allowed.
template <normalized Form, class Real>
[[gnu::noinline]] void normalize(const around_axis& a, const Real* in, Real* out, const launch& how = {}) {
  const std::int64_t step = a.extent * a.inner;
  const bool many = a.outer > 1;
  shares{normalizing * a.outer * step, many ? a.outer : a.inner, many ? 1 : lanes<Real>::width}(
      how.threads, [=, &a, &how](range own) {
        if (!many && a.inner > 1) return normalize_columns<Form>(in, out, a.extent, a.inner, own);
        how.in_rows(own, step * static_cast<int>(sizeof(Real)), [=, &a](range some) {
          for (std::int64_t at = some.begin * step; at < some.end * step; at += step) {
            if (a.inner == 1) normalize_row<Form>(in + at, out + at, a.extent);
            else normalize_columns<Form>(in + at, out + at, a.extent, a.inner, {0, a.inner});
          }
        });
      });
}

}  // namespace kernel

template <int Axis, class Real, class X>
void compute(softmax_op<Axis>, signature<Real, X>, void* const* p, const kernel::launch& how) {
  kernel::normalize<kernel::normalized::softmax>(kernel::around(X::shape, Axis), static_cast<const Real*>(p[1]),
                                                 static_cast<Real*>(p[0]), how);
}
template <int Axis, class Real, class X>
void compute(log_softmax_op<Axis>, signature<Real, X>, void* const* p, const kernel::launch& how) {
  kernel::normalize<kernel::normalized::log_softmax>(kernel::around(X::shape, Axis), static_cast<const Real*>(p[1]),
                                                     static_cast<Real*>(p[0]), how);
}

}  // namespace cairn
