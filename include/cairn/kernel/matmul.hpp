// Matrix products, one for each index of the leading axes.
#pragma once

#include "cairn/expr/matmul.hpp"
#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/run.hpp"

namespace cairn {

namespace kernel {
/// Products with leading axes, which broadcast: along which axes of the result each side repeats.
template <class Real>
struct batched_product {
  product_plan<Real> each;
  shape leading;  ///< of the result
  axis_set repeated_a, repeated_b;
  std::int64_t products;
  workspace scratch;
};

/// Operands: C, A, B, scratch where there is any.
template <class Real>
[[gnu::noinline]] void multiply(const batched_product<Real>& batch, void* const* p, const launch& how) {
  const product& of = batch.each.of;
  const auto at = [p](int i) { return static_cast<Real*>(p[i]); };
  Real* const scratch = batch.scratch.numbers(1) > 0 ? at(3) : nullptr;
  const std::int64_t apart_a = how.apart(0), apart_b = how.apart(1);
  if (batch.products == 1) {
    multiplication<Real>(batch.each, at(1), at(2), at(0), how.reader, apart_a, apart_b).run(scratch, how.threads);
    return;
  }
  const std::int64_t step_a = apart_a == 0 ? std::int64_t{of.m} * of.k : apart_a * (of.transpose_a ? of.k : of.m);
  const std::int64_t step_b = apart_b == 0 ? std::int64_t{of.k} * of.n : apart_b * (of.transpose_b ? of.n : of.k);
  const int parts = std::min(batch.scratch.parts, how.threads);
  in_parts(parts, [=, &batch](int part) {
    const range own = share(batch.products, 1, part, parts);
    for (std::int64_t i = own.begin; i < own.end; ++i) {
      std::int64_t index_a = 0, index_b = 0, stride_a = 1, stride_b = 1, rest = i;
      for (int axis = batch.leading.rank; axis-- > 0;) {
        const std::int64_t extent = batch.leading.extent[axis], here = rest % extent;
        rest /= extent;
        if ((batch.repeated_a >> axis & 1U) == 0) {
          index_a += here * stride_a;
          stride_a *= extent;
        }
        if ((batch.repeated_b >> axis & 1U) == 0) {
          index_b += here * stride_b;
          stride_b *= extent;
        }
      }
      multiplication<Real>(batch.each, at(1) + index_a * step_a, at(2) + index_b * step_b,
                           at(0) + i * of.m * of.n, nullptr, apart_a, apart_b)
          .run(scratch + part * batch.each.cut.scratch.numbers(1));
    }
  });
}

template <class Op, class Real, shape A, shape B>
inline constexpr batched_product<Real> batched = [] {
  constexpr auto leading = [](shape s) {
    s.rank -= 2;
    return s;
  };
  constexpr shape y = Op::result(A, B);
  constexpr shape outer = Op::more_rows(A, B) ? shape{} : leading(y);
  return batched_product<Real>{plan_of<Real, Op::one(A, B)>,
                               outer,
                               stretched_axes(leading(A), leading(y)),
                               stretched_axes(leading(B), leading(y)),
                               Op::products(A, B),
                               Op::scratch(sizeof(Real), A, B)};
}();
}  // namespace kernel

template <bool TransposeA, bool TransposeB, class Real, class A, class B>
void compute(matmul_op<TransposeA, TransposeB>, signature<Real, A, B>, void* const* p, const kernel::launch& how) {
  kernel::multiply(kernel::batched<matmul_op<TransposeA, TransposeB>, Real, A::shape, B::shape>, p, how);
}

}  // namespace cairn
