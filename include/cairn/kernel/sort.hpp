// Sorts the elements of columns along an axis.
#pragma once

#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/sort.hpp"

#include <algorithm>

namespace cairn::kernels {

/// Returns true if the element at position `a` of a column comes before the element at position `b`. Equal elements are
/// ordered by their positions, so there is only one sorted order.
template <bool Descending, class Real>
struct comes_before {
  const Real* column;
  std::int64_t stride;

  bool operator()(std::int32_t a, std::int32_t b) const {
    const Real x = column[a * stride], y = column[b * stride];
    if (x < y) return !Descending;
    if (y < x) return Descending;
    const bool x_is_number = x == x, y_is_number = y == y;
    return x_is_number == y_is_number ? a < b : x_is_number != Descending;
  }
};

/// Writes to values {outer, some, inner} the first `some` elements of each column of `in` {outer, extent, inner} in
/// sorted order, and to `positions` where these elements stand in the column. Either pointer may be null. Threads share
/// the columns. The workspace holds the positions of a column for each thread.
template <bool Descending, class Real>
[[gnu::noinline]] void sort_columns(const around_axis& a, const Real* in, int some, Real* values,
                                    std::int32_t* positions, Real* scratch, const workspace& given, int threads = 1) {
  const std::int64_t columns = a.outer * a.inner;
  const int parts = std::min(given.parts, threads);
  in_parts(parts, [=, &a, &given](int part) {
    auto* const first = reinterpret_cast<std::int32_t*>(scratch + part * given.each);
    const costs::range own = costs::share(columns, 1, part, parts);
    for (auto c = own.begin; c < own.end; ++c) {
      const std::int64_t outer = c / a.inner, j = c % a.inner;
      const Real* const column = in + outer * a.extent * a.inner + j;
      const comes_before<Descending, Real> order{column, a.inner};
      for (std::int32_t i = 0; i < a.extent; ++i) first[i] = i;
      if (some < a.extent) std::partial_sort(first, first + some, first + a.extent, order);
      else std::sort(first, first + a.extent, order);
      for (int i = 0; i < some; ++i) {
        const std::int64_t to = (outer * some + i) * a.inner + j;
        if (values != nullptr) values[to] = column[first[i] * a.inner];
        if (positions != nullptr) positions[to] = first[i];
      }
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Axis, int Count, bool Descending, class Real, class X>
void compute(sorted_op<Axis, Count, Descending>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  constexpr workspace scratch = sorted_op<Axis, Count, Descending>::scratch(sizeof(Real), X::shape);
  kernels::sort_columns<Descending>(kernels::around(X::shape, Axis), static_cast<const Real*>(p[2]), Count,
                                    static_cast<Real*>(p[0]), static_cast<std::int32_t*>(p[1]),
                                    static_cast<Real*>(p[3]), scratch, how.threads);
}

}  // namespace cairn::lang
