// Computes running sums along an axis.
#pragma once

#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/sections.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/op/cumsum.hpp"

namespace cairn::kernels {

/// Calls store(i, sum of term(0) to term(i)) for each i below n. A sum of any number of terms has an error of about
/// section_terms / 2 units, as sum_in_sections has.
template <class V>
[[gnu::always_inline]] inline void running_sums(std::int64_t n, auto term, auto store) {
  V total{}, part{};
  for (std::int64_t i = 0; i < n;) {
    for (const std::int64_t end = std::min<std::int64_t>(n, i + costs::section_terms); i < end; ++i) {
      part = part + term(i);
      store(i, total + part);
    }
    join(total, part);
  }
}

/// Writes the running sums along the axis of `in` to `out`. in == out is allowed. Threads share the indices before the
/// axis. If there is only one, they share the columns.
template <bool FromEnd, class Real>
[[gnu::noinline]] void cumsum(const around_axis& a, const Real* in, Real* out, const launch& how = {}) {
  using V = lanes<Real>;
  const std::int64_t inner = a.inner, last = a.extent - 1;
  visit_axis<Real>(a, 40, how, [=, &a](std::int64_t at, costs::range columns) {
    const auto place = [=](std::int64_t i) { return at + (FromEnd ? last - i : i) * inner; };
    if (inner == 1) {
      running_sums<Real>(
          a.extent, [=](std::int64_t i) { return in[place(i)]; }, [=](std::int64_t i, Real x) { out[place(i)] = x; });
      return;
    }
    for (auto j = columns.begin; j < columns.end; j += V::width)
      running_sums<V>(
          a.extent, [=](std::int64_t i) { return load_row(in + place(i), j, columns.end); },
          [=](std::int64_t i, V x) { store_row(x, out + place(i), j, columns.end); });
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Axis, bool FromEnd, class Real, class X>
void compute(cumsum_op<Axis, FromEnd>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  kernels::cumsum<FromEnd>(kernels::around(X::shape, Axis), static_cast<const Real*>(p[1]), static_cast<Real*>(p[0]),
                           how);
}

}  // namespace cairn::lang
