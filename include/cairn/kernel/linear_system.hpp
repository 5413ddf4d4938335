// Kernels for small systems of linear equations. Each thread computes whole matrices.
#pragma once

#include "cairn/kernel/launch.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/linear_system.hpp"

#include <algorithm>
#include <cmath>

namespace cairn::kernels {

/// Solves a x = b for a matrix a {n, n}. Before the call, x {n, columns} holds b. The decomposition takes the place of
/// a. In each column, the row with the largest number becomes the pivot.
template <class Real>
[[gnu::noinline]] void solve_one(Real* a, Real* x, std::int64_t n, std::int64_t columns) {
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    if (pivot != k) {
      std::swap_ranges(a + k * n + k, a + k * n + n, a + pivot * n + k);
      std::swap_ranges(x + k * columns, x + (k + 1) * columns, x + pivot * columns);
    }
    for (std::int64_t i = k + 1; i < n; ++i) {
      const Real factor = a[i * n + k] / a[k * n + k];
      for (std::int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      for (std::int64_t j = 0; j < columns; ++j) x[i * columns + j] -= factor * x[k * columns + j];
    }
  }
  for (std::int64_t i = n - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < n; ++k)
      for (std::int64_t j = 0; j < columns; ++j) x[i * columns + j] -= a[i * n + k] * x[k * columns + j];
    for (std::int64_t j = 0; j < columns; ++j) x[i * columns + j] /= a[i * n + i];
  }
}

/// Computes the Cholesky factor l {n, n} of a. l == a is allowed.
template <class Real>
[[gnu::noinline]] void cholesky_one(const Real* a, Real* l, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      Real rest = a[i * n + j];
      for (std::int64_t k = 0; k < j; ++k) rest -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = j < i ? rest / l[j * n + j] : std::sqrt(rest);
    }
    std::fill(l + i * n + i + 1, l + (i + 1) * n, Real(0));
  }
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <class Real, class A, class B>
void compute(solve_op op, signature<Real, A, B>, void* const* p, const kernels::launch& how) {
  constexpr std::int64_t n = A::shape[-1], columns = B::shape[-1];
  constexpr workspace room = op.scratch(sizeof(Real), A::shape, B::shape);
  const int parts = std::min(room.parts, how.threads);
  kernels::in_parts(parts, [=](int part) {
    Real* const copy = static_cast<Real*>(p[3]) + part * room.each;
    const costs::range own = costs::share(op.matrices(A::shape), 1, part, parts);
    for (auto i = own.begin; i < own.end; ++i) {
      Real* const x = static_cast<Real*>(p[0]) + i * n * columns;
      std::copy_n(static_cast<const Real*>(p[1]) + i * n * n, n * n, copy);
      std::copy_n(static_cast<const Real*>(p[2]) + i * n * columns, n * columns, x);
      kernels::solve_one(copy, x, n, columns);
    }
  });
}
template <class Real, class A>
void compute(cholesky_op, signature<Real, A>, void* const* p, const kernels::launch& how) {
  constexpr std::int64_t n = A::shape[-1];
  const auto* const a = static_cast<const Real*>(p[1]);
  auto* const l = static_cast<Real*>(p[0]);
  kernels::shares{10 * cholesky_op::flops(A::shape), solve_op::matrices(A::shape)}(how.threads, [=](costs::range own) {
    for (auto i = own.begin; i < own.end; ++i) kernels::cholesky_one(a + i * n * n, l + i * n * n, n);
  });
}

}  // namespace cairn::lang
