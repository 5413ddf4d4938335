// Softmax along an axis.
#pragma once

#include "cairn/core/shape.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <limits>

namespace cairn::kernel {

/// Both subtract the largest number first, so that no exp overflows:
/// softmax(x) = exp(x - max) / sum exp(x - max), log_softmax(x) = x - max - log sum exp(x - max).
enum class normalized { softmax, log_softmax };

/// What a number counts for as work: its exp as 200, four other operations as ten each, twice moved as forty.
inline constexpr std::int64_t normalizing = 200 + 4 * 10 + 2 * 40;

/// Lanes past the end of a row hold minus infinity: never the largest, and nothing to a sum of exps.
template <class Real>
inline constexpr Real nothing = -std::numeric_limits<Real>::infinity();

template <int N, class Real>
Real row_largest(const Real* row) {
  auto most = load_row<N>(row, 0, nothing<Real>);
  for (int i = lanes<Real>::width; i < N; i += lanes<Real>::width) most = max(load_row<N>(row, i, nothing<Real>), most);
  return largest(most);
}

/// sum exp(x - shift) over a row.
template <int N, class Real>
Real row_sum_exp(const Real* row, Real shift) {
  using vec = lanes<Real>;
  vec total = vec::fill(0);
  for (int i = 0; i < N; i += vec::width) total = total + exp(load_row<N>(row, i, nothing<Real>) - vec::fill(shift));
  return sum(total);
}

/// One row of N numbers; in == out is allowed.
template <normalized Form, int N, class Real>
void normalize_row(const Real* in, Real* out) {
  using vec = lanes<Real>;
  const Real most = row_largest<N>(in);
  if constexpr (Form == normalized::softmax) {
    vec total = vec::fill(0);
    for (int i = 0; i < N; i += vec::width) {
      const vec e = exp(load_row<N>(in, i, nothing<Real>) - vec::fill(most));
      total = total + e;
      store_row<N>(e, out, i);
    }
    const vec scale = vec::fill(1 / sum(total));
    for (int i = 0; i < N; i += vec::width) store_row<N>(load_row<N>(out, i) * scale, out, i);
  } else {
    const vec shift = vec::fill(most), log_total = vec::fill(std::log(row_sum_exp<N>(in, most)));
    for (int i = 0; i < N; i += vec::width) store_row<N>(load_row<N>(in, i) - shift - log_total, out, i);
  }
}

/// Some columns of {N, Stride} along the first axis, a register of columns at a time.
template <normalized Form, int N, int Stride, class Real>
void normalize_columns(const Real* in, Real* out, range columns) {
  using vec = lanes<Real>;
  for (int j = static_cast<int>(columns.begin); j < columns.end; j += vec::width) {
    const auto load = [&](const Real* from, int i) { return load_row<Stride>(from + std::int64_t{i} * Stride, j); };
    const auto store = [&](vec x, int i) { store_row<Stride>(x, out + std::int64_t{i} * Stride, j); };
    vec most = load(in, 0);
    for (int i = 1; i < N; ++i) most = max(load(in, i), most);
    vec total = vec::fill(0);
    for (int i = 0; i < N; ++i) {
      const vec e = exp(load(in, i) - most);
      total = total + e;
      if constexpr (Form == normalized::softmax) store(e, i);
    }
    if constexpr (Form == normalized::softmax) {
      const vec scale = vec::fill(1) / total;
      for (int i = 0; i < N; ++i) store(load(out, i) * scale, i);
    } else {
      const vec log_total = log(total);
      for (int i = 0; i < N; ++i) store(load(in, i) - most - log_total, i);
    }
  }
}

/// Threads share what lies outside of the axis, or else the columns.
template <normalized Form, class Real, shape S, int Axis>
void normalize(const Real* in, Real* out, int threads) {
  constexpr int axis = Axis < 0 ? S.rank + Axis : Axis, extent = S[axis];
  constexpr int inner = [] {
    int n = 1;
    for (int k = axis + 1; k < S.rank; ++k) n *= S[k];
    return n;
  }();
  constexpr std::int64_t step = std::int64_t{extent} * inner, outer = S.count() / step;
  constexpr std::int64_t n = outer > 1 ? outer : inner, unit = outer > 1 ? 1 : lanes<Real>::width;
  in_shares<normalizing * S.count(), n, unit>(threads, [=](range own) {
    if constexpr (outer == 1 && inner > 1) {
      normalize_columns<Form, extent, inner>(in, out, own);
    } else {
      for (std::int64_t at = own.begin * step; at < own.end * step; at += step)
        if constexpr (inner == 1) normalize_row<Form, extent>(in + at, out + at);
        else normalize_columns<Form, extent, inner>(in + at, out + at, {0, inner});
    }
  });
}

/// Softmax of `in` {S} along Axis (negative axes count from the last); in == out is allowed.
template <class Real, shape S, int Axis>
void softmax(const Real* in, Real* out, int threads = 1) {
  normalize<normalized::softmax, Real, S, Axis>(in, out, threads);
}

/// The logarithm of softmax; in == out is allowed.
template <class Real, shape S, int Axis>
void log_softmax(const Real* in, Real* out, int threads = 1) {
  normalize<normalized::log_softmax, Real, S, Axis>(in, out, threads);
}

}  // namespace cairn::kernel
