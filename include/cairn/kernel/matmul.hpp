// Matrix products, one for each index of the leading axes.
#pragma once

#include "cairn/expr/matmul.hpp"
#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/run.hpp"

namespace cairn {

namespace kernel {
/// The leading axes of products, which broadcast: along which axes of the result each side repeats.
struct batch {
  shape leading;  ///< of the result
  axis_set repeated_a, repeated_b;
  std::int64_t products;
  workspace scratch;
};

/// Operands: C, A, B, scratch where there is any.
template <class Plan>
void multiply(const Plan& plan, const batch& all, void* const* p, const launch& how) {
  using in = typename Plan::in;
  const auto at = [p](int i) { return static_cast<in*>(p[i]); };
  auto* const to = static_cast<typename Plan::sum*>(p[0]);
  in* const scratch = all.scratch.numbers(1) > 0 ? at(3) : nullptr;
  const std::int64_t apart_a = how.apart(0), apart_b = how.apart(1);
  if (all.products == 1)
    return multiplication(plan, at(1), at(2), to, how.reader, apart_a, apart_b).run(scratch, how.threads);
  const product& of = plan.of;
  const std::int64_t step_a = apart_a == 0 ? std::int64_t{of.m} * of.k : apart_a * (of.transpose_a ? of.k : of.m);
  const std::int64_t step_b = apart_b == 0 ? std::int64_t{of.k} * of.n : apart_b * (of.transpose_b ? of.n : of.k);
  const int parts = std::min(all.scratch.parts, how.threads);
  in_parts(parts, [=, &plan, &all, &of](int part) {
    const range own = share(all.products, 1, part, parts);
    for (std::int64_t i = own.begin; i < own.end; ++i) {
      std::int64_t index_a = 0, index_b = 0, stride_a = 1, stride_b = 1, rest = i;
      for (int axis = all.leading.rank; axis-- > 0;) {
        const std::int64_t extent = all.leading.extent[axis], here = rest % extent;
        rest /= extent;
        if ((all.repeated_a >> axis & 1U) == 0) {
          index_a += here * stride_a;
          stride_a *= extent;
        }
        if ((all.repeated_b >> axis & 1U) == 0) {
          index_b += here * stride_b;
          stride_b *= extent;
        }
      }
      const multiplication one(plan, at(1) + index_a * step_a, at(2) + index_b * step_b, to + i * of.m * of.n,
                               nullptr, apart_a, apart_b);
      one.run(scratch + part * plan.cut.scratch.numbers(1));
    }
  });
}

template <class Op, shape A, shape B, int Bytes>
inline constexpr batch batch_of = [] {
  constexpr auto leading = [](shape s) {
    s.rank -= 2;
    return s;
  };
  constexpr shape y = leading(Op::result(A, B));
  return batch{Op::more_rows(A, B) ? shape{} : y, stretched_axes(leading(A), y), stretched_axes(leading(B), y),
               Op::products(A, B), Op::scratch(Bytes, A, B)};
}();
}  // namespace kernel

template <bool TransposeA, bool TransposeB, class Real, class A, class B>
void compute(matmul_op<TransposeA, TransposeB>, signature<Real, A, B>, void* const* p, const kernel::launch& how) {
  using self = matmul_op<TransposeA, TransposeB>;
  constexpr product one = self::one(A::shape, B::shape);
  constexpr const kernel::batch& all = kernel::batch_of<self, A::shape, B::shape, sizeof(Real)>;
  if (how.arguments.rows_apart == nullptr) kernel::multiply(kernel::plan_of<Real, one>, all, p, how);
  else kernel::multiply(kernel::shared_plan_of<Real, one>, all, p, how);
}

}  // namespace cairn
