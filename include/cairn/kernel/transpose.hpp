// This kernel copies a tensor with its axes in another order.
#pragma once

#include "cairn/kernel/run.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/op/transpose.hpp"

#include <algorithm>

namespace cairn::kernels {

/// The axes of a permuted tensor, in the order of the result. For each axis, `from` is the distance of neighbouring
/// elements in the argument, and `to` is their distance in the result.
struct permutation {
  struct axis {
    int extent = 1;
    std::int64_t from = 1, to = 1;
  };
  int rank = 0;
  axis at[max_rank + 1] = {};  ///< if all axes have extent 1, there is one axis of extent 1
  axis inner = {};             ///< the axis that is contiguous in the argument
};

/// Computes the permutation that moves axis order[k] of the argument to axis k of the result. Axes of extent 1 are left
/// out. Axes that are neighbours in the argument and in the result are merged into one axis.
constexpr permutation permuted_axes(const shape& from, const int* order) {
  permutation p;
  for (int i = 0; i < from.rank; ++i) {
    std::int64_t stride = 1;
    for (int k = order[i] + 1; k < from.rank; ++k) stride *= from.extent[k];
    const int extent = from.extent[order[i]];
    if (extent == 1) continue;
    permutation::axis& last = p.at[p.rank > 0 ? p.rank - 1 : 0];
    if (p.rank > 0 && last.from == extent * stride) last = {last.extent * extent, stride, 1};
    else p.at[p.rank++] = {extent, stride, 1};
  }
  if (p.rank == 0) p.at[p.rank++] = {1, 1, 1};
  std::int64_t stride = 1;
  for (int k = p.rank; k-- > 0; stride *= p.at[k].extent) p.at[k].to = stride;
  for (int k = 0; k < p.rank; ++k) {
    if (p.at[k].from == 1) p.inner = p.at[k];
  }
  return p;
}

/// Computes out(j, i) = in(i, j) for i < rows and j < columns. Both extents are at most the width of a register.
template <class Real>
[[gnu::always_inline]] inline void transpose_square(const Real* in, std::int64_t from, int rows, Real* out,
                                                    std::int64_t to, int columns) {
  using vec = lanes<Real>;
  vec square[vec::width];
#pragma GCC unroll 16
  for (int i = 0; i < vec::width; ++i) {
    if (i >= rows) square[i] = vec::fill(0);
    else square[i] = columns == vec::width ? vec::load(in + i * from) : vec::load(in + i * from, columns);
  }
  vec::transpose(square);
#pragma GCC unroll 16
  for (int j = 0; j < vec::width; ++j) {
    if (j >= columns) break;
    if (rows == vec::width) square[j].store(out + j * to);
    else square[j].store(out + j * to, rows);
  }
}

/// Transposes a matrix. The axis that is contiguous in `in` gets the stride `to` in `out`. The axis that has the stride
/// `from` in `in` becomes contiguous in `out`. The function transposes squares of registers, in strips of a few cache
/// lines.
template <class Number>
void transpose_matrix(const Number* in, std::int64_t from, int rows, Number* out, std::int64_t to, int columns) {
  if constexpr (std::floating_point<Number>) {
    constexpr int width = lanes<Number>::width, strip = 4 * width;
    for (int first = 0; first < rows; first += strip)
      for (int j = 0; j < columns; j += width)
        for (int i = first; i < std::min(first + strip, rows); i += width)
          transpose_square(in + i * from + j, from, std::min(width, rows - i), out + j * to + i, to,
                           std::min(width, columns - j));
  } else {
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) out[j * to + i] = in[i * from + j];
  }
}

/// Permutes the axes from `axis` on. If the last axis of the result is not contiguous in the argument, the last axis is
/// moved together with `p.inner`, the axis that is contiguous in the argument.
template <class Number>
void permute(const permutation& p, int axis, const Number* in, Number* out) {
  const permutation::axis &here = p.at[axis], &last = p.at[p.rank - 1];
  if (axis == p.rank - 1 && here.from == 1) {
    std::copy_n(in, here.extent, out);
  } else if (axis == p.rank - 1) {
    transpose_matrix(in, last.from, last.extent, out, p.inner.to, p.inner.extent);
  } else if (here.from == 1) {
    permute(p, axis + 1, in, out);
  } else {
    for (int i = 0; i < here.extent; ++i) permute(p, axis + 1, in + i * here.from, out + i * here.to);
  }
}

/// Permutes the axes of `in` as `p` says and writes the result to `out`. Numbers of type float and double are
/// transposed in registers. Numbers of other types are copied one by one.
template <class Number>
[[gnu::noinline]] void transpose(const permutation& p, const Number* in, Number* out) {
  permute(p, 0, in, out);
}

template <shape From, auto Permutation>
inline constexpr permutation permutation_of = permuted_axes(From, Permutation.data());

}  // namespace cairn::kernels

namespace cairn::lang {

template <auto Permutation, class Real, class X>
void compute(transpose_op<Permutation>, signature<Real, X>, void* const* p, const kernels::launch&) {
  using number = stored_as<X::element.type, Real>;
  kernels::transpose(kernels::permutation_of<X::shape, Permutation>, static_cast<const number*>(p[1]),
                     static_cast<number*>(p[0]));
}

}  // namespace cairn::lang
