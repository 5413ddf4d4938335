// These kernels compute sines and cosines of positions, and rotate pairs of features by these sines and cosines.
#pragma once

#include "cairn/kernel/functions.hpp"
#include "cairn/kernel/gather.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/rotary.hpp"

namespace cairn::kernels {

/// Computes out {count, columns}: the sines and cosines of p / base^(2 j / columns), where p is a position and j is the
/// number of a frequency. If `halves` is true, the first half of the columns holds the cosines, and the second half
/// holds the sines. Otherwise the sine and the cosine of each frequency are in neighbouring columns. The outer loop
/// visits one register of frequencies at a time, and the inner loop visits all positions.
template <class Index, class Real>
[[gnu::noinline]] void waves(const Index* at, std::int64_t count, int columns, double base, bool halves, Real* out) {
  using vec = lanes<double>;
  const double step = -2 * std::log(base) / columns;
  const int half = (columns + 1) / 2;
  for (int j = 0; j < half; j += vec::width) {
    double exponents[vec::width], sine[vec::width], cosine[vec::width];
    for (int k = 0; k < vec::width; ++k) exponents[k] = step * (j + k);
    const vec frequency = exp(vec::load(exponents));
    for (std::int64_t i = 0; i < count; ++i) {
      const vec angle = frequency * vec::fill(static_cast<double>(at[i]));
      sin(angle).store(sine);
      cos(angle).store(cosine);
      Real* const row = out + i * columns;
      for (int k = 0; k < std::min(vec::width, half - j); ++k) {
        const int first = halves ? j + k : 2 * (j + k), second = halves ? half + j + k : first + 1;
        row[first] = static_cast<Real>(halves ? cosine[k] : sine[k]);
        if (second < columns) row[second] = static_cast<Real>(halves ? sine[k] : cosine[k]);
      }
    }
  }
}

/// Computes out = x {rows, heads, features}, in which each pair of features (j, j + features / 2) is rotated by the
/// angle whose cosine and sine are in `waves`. If `Back` is true, the rotation is in the opposite direction. Row i of x
/// uses row i % period of `waves`. out == x is allowed. Threads share the rows.
template <bool Back, class Real>
[[gnu::noinline]] void rotate(const Real* x, const Real* waves, Real* out, std::int64_t rows, std::int64_t period,
                              std::int64_t heads, std::int64_t features, int threads) {
  using vec = lanes<Real>;
  const std::int64_t half = features / 2;
  shares{40 * rows * heads * features, rows}(threads, [=](costs::range own) {
    for (auto row = own.begin; row < own.end; ++row) {
      const Real* const rotation = waves + row % period * features;
      for (auto head = row * heads; head < (row + 1) * heads; ++head) {
        const Real* const from = x + head * features;
        Real* const to = out + head * features;
        for (std::int64_t j = 0; j < half; j += vec::width) {
          const vec cosine = load_row(rotation, j, half), wave = load_row(rotation + half, j, half);
          const vec sine = Back ? -wave : wave;
          const vec first = load_row(from, j, half), second = load_row(from + half, j, half);
          store_row(fused(first, cosine, -(second * sine)), to, j, half);
          store_row(fused(second, cosine, first * sine), to + half, j, half);
        }
      }
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Columns, double Base, bool Halves, class Real, class P>
void compute(waves_op<Columns, Base, Halves>, signature<Real, P>, void* const* p, const kernels::launch&) {
  kernels::waves(static_cast<const kernels::index_of<P>*>(p[1]), P::shape.count(), Columns, Base, Halves,
                 static_cast<Real*>(p[0]));
}
template <bool Back, class Real, class X, class W>
void compute(rotated_op<Back>, signature<Real, X, W>, void* const* p, const kernels::launch& how) {
  constexpr std::int64_t heads = X::shape[-2], features = X::shape[-1], rows = X::shape.count() / heads / features;
  kernels::rotate<Back>(static_cast<const Real*>(p[1]), static_cast<const Real*>(p[2]), static_cast<Real*>(p[0]), rows,
                        W::shape.count() / features, heads, features, how.threads);
}

}  // namespace cairn::lang
