// Every operation's kernel: which code computes an operation with static shapes. One overload of `compute`
// each.
#pragma once

#include "cairn/expr/join.hpp"
#include "cairn/expr/linalg.hpp"
#include "cairn/expr/loss.hpp"
#include "cairn/expr/random.hpp"
#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/join.hpp"
#include "cairn/kernel/loss.hpp"
#include "cairn/kernel/norm.hpp"
#include "cairn/kernel/random.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/view.hpp"

namespace cairn {

template <axis_set Axes, bool Keep, class Real, class X>
void compute(sum_op<Axes, Keep>, signature<Real, X>, void* const* p, int threads) {
  kernel::reduce_sum<Real, X::shape, Axes>(static_cast<const Real*>(p[1]), static_cast<Real*>(p[0]), threads);
}

template <auto Permutation, class Real, class X>
void compute(transpose_op<Permutation>, signature<Real, X>, void* const* p) {
  kernel::transpose<Real, X::shape, Permutation>(static_cast<const Real*>(p[1]), static_cast<Real*>(p[0]));
}

template <int Axis, class Real, class X, class... More>
void compute(concatenate_op<Axis>, signature<Real, X, More...>, void* const* p, int threads) {
  std::array<const Real*, 1 + sizeof...(More)> in;
  std::transform(p + 1, p + 1 + in.size(), in.begin(), [](void* x) { return static_cast<const Real*>(x); });
  kernel::concatenate<Real, (Axis + X::shape.rank) % X::shape.rank, X::shape, More::shape...>(
      in, static_cast<Real*>(p[0]), threads);
}
template <int Axis, int Begin, int End, class Real, class X>
void compute(slice_op<Axis, Begin, End>, signature<Real, X>, void* const* p, int threads) {
  using op = slice_op<Axis, Begin, End>;
  kernel::slice<Real, X::shape, (Axis + X::shape.rank) % X::shape.rank, op::begin(X::shape), op::end(X::shape)>(
      static_cast<const Real*>(p[1]), static_cast<Real*>(p[0]), threads);
}
template <int Axis, int Begin, int Extent, class Real, class X>
void compute(pad_op<Axis, Begin, Extent>, signature<Real, X>, void* const* p, int threads) {
  kernel::pad<Real, X::shape, (Axis + X::shape.rank) % X::shape.rank, Begin, Extent>(static_cast<const Real*>(p[1]),
                                                                                     static_cast<Real*>(p[0]), threads);
}

template <int Axis, class Real, class X>
void compute(softmax_op<Axis>, signature<Real, X>, void* const* p, int threads) {
  kernel::softmax<Real, X::shape, (Axis + X::shape.rank) % X::shape.rank>(static_cast<const Real*>(p[1]),
                                                                          static_cast<Real*>(p[0]), threads);
}
template <int Axis, class Real, class X>
void compute(log_softmax_op<Axis>, signature<Real, X>, void* const* p, int threads) {
  kernel::log_softmax<Real, X::shape, (Axis + X::shape.rank) % X::shape.rank>(static_cast<const Real*>(p[1]),
                                                                              static_cast<Real*>(p[0]), threads);
}

template <class Real, class X, class L>
void compute(cross_entropy_op, signature<Real, X, L>, void* const* p, int threads) {
  kernel::cross_entropy<Real, static_cast<int>(L::shape.count()), X::shape[-1]>(
      static_cast<const Real*>(p[1]), static_cast<const std::int32_t*>(p[2]), static_cast<Real*>(p[0]), threads);
}
template <class Real, class X, class L>
void compute(softmax_error_op, signature<Real, X, L>, void* const* p, int threads) {
  kernel::softmax_error<Real, static_cast<int>(L::shape.count()), X::shape[-1]>(
      static_cast<const Real*>(p[1]), static_cast<const std::int32_t*>(p[2]), static_cast<Real*>(p[0]), threads);
}
template <class Real, class X, class L>
void compute(accuracy_op, signature<Real, X, L>, void* const* p, int threads) {
  kernel::accuracy<Real, static_cast<int>(L::shape.count()), X::shape[-1]>(
      static_cast<const Real*>(p[1]), static_cast<const std::int32_t*>(p[2]), static_cast<Real*>(p[0]), threads);
}

template <double P, bool Forward, class Real, class X, class Key>
void compute(dropout_op<P, Forward>, signature<Real, X, Key>, void* const* p, int threads) {
  kernel::dropout<Real, X::shape.count(), P>(static_cast<const Real*>(p[1]), *static_cast<const random_stream*>(p[2]),
                                             static_cast<Real*>(p[0]), threads);
}

/// One product for each index of the leading axes.
template <bool TransposeA, bool TransposeB, class Real, class A, class B>
void compute(matmul_op<TransposeA, TransposeB>, signature<Real, A, B>, void* const* p, int threads) {
  using op = matmul_op<TransposeA, TransposeB>;
  constexpr product one = op::one(A::shape, B::shape);
  constexpr shape y = op::result(A::shape, B::shape);
  constexpr auto leading = [](shape s) {
    s.rank -= 2;
    return s;
  };
  constexpr int batch_rank = op::more_rows(A::shape, B::shape) ? 0 : y.rank - 2;
  constexpr axis_set repeat_a = stretched_axes(leading(A::shape), leading(y));
  constexpr axis_set repeat_b = stretched_axes(leading(B::shape), leading(y));
  constexpr std::int64_t size_y = std::int64_t{one.m} * one.n;
  constexpr std::int64_t products = y.count() / size_y;
  using gemm = kernel::gemm<Real, one>;
  const auto multiply = [=](std::int64_t i, Real* scratch, int own_threads) {
    std::int64_t index_a = 0, index_b = 0, stride_a = 1, stride_b = 1, rest = i;
    for (int axis = batch_rank - 1; axis >= 0; --axis) {
      const std::int64_t here = rest % y.extent[axis];
      rest /= y.extent[axis];
      if ((repeat_a >> axis & 1U) == 0) {
        index_a += here * stride_a;
        stride_a *= y.extent[axis];
      }
      if ((repeat_b >> axis & 1U) == 0) {
        index_b += here * stride_b;
        stride_b *= y.extent[axis];
      }
    }
    gemm::run(static_cast<const Real*>(p[1]) + index_a * one.m * one.k,
              static_cast<const Real*>(p[2]) + index_b * one.n * one.k, static_cast<Real*>(p[0]) + i * size_y, scratch,
              own_threads);
  };
  Real* const scratch = gemm::scratch > 0 ? static_cast<Real*>(p[3]) : nullptr;
  if constexpr (products == 1) {
    multiply(0, scratch, threads);
  } else {
    const int parts = std::min(op::template scratch<sizeof(Real), A::shape, B::shape>.parts, threads);
    kernel::in_parts(parts, [=](int part) {
      const range own = share(products, 1, part, parts);
      for (std::int64_t i = own.begin; i < own.end; ++i) multiply(i, scratch + part * gemm::scratch, 1);
    });
  }
}

}  // namespace cairn
