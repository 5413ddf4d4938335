// This kernel computes matrix products, one for each index of the leading axes.
#pragma once

#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/op/matmul.hpp"

namespace cairn::kernels {
/// The leading axes of products, which broadcast. `repeated_a` and `repeated_b` are the axes of the result along which
/// A and B repeat.
struct batch {
  shape leading;  ///< the leading axes of the result
  cairn::detail::axis_set repeated_a, repeated_b;
  std::int64_t products;
  workspace scratch;
};

/// Rounds tiles of C to bf16 and stores them.
struct rounded_product {
  bf16* to;
  int columns;

  static void store(const void* table, void* const*, const void* tile, int stride, int row, int column, int height,
                    int width) {
    const rounded_product c = *static_cast<const rounded_product*>(table);
    for (int i = 0; i < height; ++i) {
      const float* const from = static_cast<const float*>(tile) + std::int64_t{i} * stride;
      bf16* const line = c.to + std::int64_t{row + i} * c.columns + column;
      for (int j = 0; j < width; j += lanes<float>::width) store_row(load_row(from, j, width), line, j, width);
    }
  }
  static void fetch(const void*, void* const*, int, int, int, int) {}
  tile_reader reader() const { return {&store, &fetch, this, nullptr}; }
};

/// Multiplies matrices. The operands are C, A, B, and the workspace if there is any. If there are several products, the
/// numbers of C have the type Made.
template <class Made, class Plan>
void multiply(const Plan& plan, const batch& all, void* const* p, const launch& how) {
  using in = typename Plan::in;
  const auto at = [p](int i) { return static_cast<in*>(p[i]); };
  in* const scratch = all.scratch.numbers(1) > 0 ? at(3) : nullptr;
  const std::int64_t apart_a = how.apart(0), apart_b = how.apart(1);
  if (all.products == 1)
    return multiplication(plan, at(1), at(2), static_cast<typename Plan::sum*>(p[0]), how.reader, apart_a, apart_b)
        .run(scratch, how.threads);
  const costs::product& of = plan.of;
  const std::int64_t step_a = apart_a == 0 ? std::int64_t{of.m} * of.k : apart_a * (of.transpose_a ? of.k : of.m);
  const std::int64_t step_b = apart_b == 0 ? std::int64_t{of.k} * of.n : apart_b * (of.transpose_b ? of.n : of.k);
  const int parts = std::min(all.scratch.parts, how.threads);
  in_parts(parts, [=, &plan, &all, &of, to = static_cast<Made*>(p[0])](int part) {
    const costs::range own = costs::share(all.products, 1, part, parts);
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
      const auto multiplied = [&](typename Plan::sum* c, const tile_reader* reader) {
        multiplication(plan, at(1) + index_a * step_a, at(2) + index_b * step_b, c, reader, apart_a, apart_b)
            .run(scratch + part * plan.cut.needed_workspace.numbers(1));
      };
      Made* const c = to + i * of.m * of.n;
      if constexpr (std::is_same_v<Made, bf16>) {
        const rounded_product rounded{c, of.n};
        const tile_reader reader = rounded.reader();
        multiplied(nullptr, &reader);
      } else {
        multiplied(c, nullptr);
      }
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
  return batch{Op::folds_leading_axes(A, B) ? shape{} : y, cairn::detail::stretched_axes(leading(A), y),
               detail::stretched_axes(leading(B), y), Op::products(A, B), Op::scratch(Bytes, A, B)};
}();
}  // namespace cairn::kernels

namespace cairn::lang {

template <bool TransposeA, bool TransposeB, class Real, class A, class B>
void compute(matmul_op<TransposeA, TransposeB>, signature<Real, A, B>, void* const* p, const kernels::launch& how) {
  using self = matmul_op<TransposeA, TransposeB>;
  constexpr costs::product one = self::one(A::shape, B::shape);
  using in = kernels::taken_of<Real, A>;
  using made = kernels::made_of<Real>;
  constexpr const kernels::batch& all = kernels::batch_of<self, A::shape, B::shape, sizeof(in)>;
  if (how.row_strides == nullptr) kernels::multiply<made>(kernels::plan_of<in, one>, all, p, how);
  else kernels::multiply<made>(kernels::shared_plan_of<in, one>, all, p, how);
}

}  // namespace cairn::lang
