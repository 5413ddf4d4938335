// Mean and variance of columns, in one pass over the rows.
#pragma once

#include "cairn/expr/moments.hpp"
#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/reduce.hpp"

namespace cairn {

namespace kernel {

/// The sums of what some rows have beyond `origin`, and of its squares, for `Registers` registers of columns.
template <int Registers, class In, class Real>
void sum_squares(const In* in, std::int64_t rows, std::int64_t stride, const Real* origin, Real* sums, Real* squares,
                 int last) {
  using vec = lanes<Real>;
  const auto load = [last](const auto* at, int j) {
    return load_row_as<Real>(at, j * vec::width, j * vec::width + (j + 1 < Registers ? vec::width : last));
  };
  vec from[Registers], sum[Registers], square[Registers];
#pragma GCC unroll 4
  for (int j = 0; j < Registers; ++j) {
    from[j] = load(origin, j);
    sum[j] = square[j] = vec::fill(0);
  }
  for (std::int64_t row = 0; row < rows; ++row, in += stride)
#pragma GCC unroll 4
    for (int j = 0; j < Registers; ++j) {
      const vec off = load(in, j) - from[j];
      sum[j] = sum[j] + off;
      square[j] = fused(off, off, square[j]);
    }
#pragma GCC unroll 4
  for (int j = 0; j < Registers; ++j) {
    const int count = j + 1 < Registers ? vec::width : last;
    sum[j].store(sums + j * vec::width, count);
    square[j].store(squares + j * vec::width, count);
  }
}

/// mean, variance {columns} of `in` {rows, columns}; null where nobody reads it. Threads share the sections of rows.
/// scratch: {2 * sections + 1, columns}.
template <class In, class Real>
[[gnu::noinline]] void moments(const In* in, std::int64_t rows, std::int64_t columns, int sections, Real* mean,
                               Real* variance, Real* scratch, int threads) {
  constexpr int width = lanes<Real>::width;
  Real* const origin = scratch + 2 * sections * columns;
  const std::int64_t some = std::min<std::int64_t>(rows, 16);
  fold_rows<adding>(in, some, columns, origin, {0, columns});
  for (std::int64_t j = 0; j < columns; ++j) origin[j] /= static_cast<Real>(some);
  shares{40 * rows * columns, sections}(threads, [=](range own) {
    for (std::int64_t s = own.begin; s < own.end; ++s) {
      const range part = share(rows, 1, static_cast<int>(s), sections);
      const In* const from = in + part.begin * columns;
      Real *const sums = scratch + 2 * s * columns, *const squares = sums + columns;
      const auto columns_from = [=]<int Registers>(std::integral_constant<int, Registers>, std::int64_t j) {
        const std::int64_t last = std::min<std::int64_t>(columns - j - (Registers - 1) * width, width);
        sum_squares<Registers>(from + j, part.end - part.begin, columns, origin + j, sums + j, squares + j,
                               static_cast<int>(last));
      };
      std::int64_t j = 0;
      for (; j + 3 * width < columns; j += 4 * width) columns_from(std::integral_constant<int, 4>{}, j);
      if (j + 2 * width < columns) columns_from(std::integral_constant<int, 3>{}, j);
      else if (j + width < columns) columns_from(std::integral_constant<int, 2>{}, j);
      else if (j < columns) columns_from(std::integral_constant<int, 1>{}, j);
    }
  });
  for (std::int64_t j = 0; j < columns; ++j) {
    Real sum = 0, square = 0;
    for (int s = 0; s < sections; ++s) {
      sum += scratch[2 * s * columns + j];
      square += scratch[(2 * s + 1) * columns + j];
    }
    const Real off = sum / static_cast<Real>(rows);
    if (mean != nullptr) mean[j] = origin[j] + off;
    if (variance != nullptr) variance[j] = std::max(square / static_cast<Real>(rows) - off * off, Real{});
  }
}

}  // namespace kernel

/// Of what is joined, columns by piece.
template <class Real, class X>
void compute(moments_op, signature<Real, X>, void* const* p, const kernel::launch& how) {
  using sum = kernel::sum_of<Real>;
  static constexpr int whole[]{X::shape[-1]};
  const std::span<const int> pieces = how.pieces_or(whole);
  sum *mean = static_cast<sum*>(p[0]), *variance = static_cast<sum*>(p[1]);
  sum* scratch = static_cast<sum*>(p[2 + pieces.size()]);
  constexpr int sections = moments_op::sections(X::shape);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    kernel::moments(static_cast<const Real*>(p[2 + i]), moments_op::rows(X::shape), pieces[i], sections, mean, variance,
                    scratch, how);
    scratch += (2 * sections + 1) * std::int64_t{pieces[i]};  // planned for the columns of all
    if (mean != nullptr) mean += pieces[i];
    if (variance != nullptr) variance += pieces[i];
  }
}

}  // namespace cairn
