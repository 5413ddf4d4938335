// Reads real numbers as indices.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"
#include "cairn/kernel/gather.hpp"
#include "cairn/op/as_indices.hpp"

namespace cairn::kernels {

/// Throws std::out_of_range, because number `at` of an array is no index below `bound`.
template <class Real>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_index(std::int64_t at, Real number, int bound) {
  using cairn::detail::text_of;
  refuse(std::out_of_range(text_of({"cairn: as_indices: number ", text_of(at), " is ", std::to_string(number),
                                    ", expected a whole number from 0 to ", text_of(std::int64_t{bound} - 1)})));
}

/// Writes the numbers x as indices. Throws std::out_of_range if a number is not a whole number from 0 to bound - 1.
template <class Real>
[[gnu::noinline]] void as_indices(const Real* x, std::int64_t count, int bound, std::int32_t* out, int threads = 1) {
  shares{40 * count, count}(threads, [=](costs::range own) {
    for (auto i = own.begin; i < own.end; ++i) {
      if (!(x[i] >= 0 && x[i] < static_cast<Real>(bound))) refuse_index(i, x[i], bound);  // also for NaN
      out[i] = static_cast<std::int32_t>(x[i]);
      if (static_cast<Real>(out[i]) != x[i]) refuse_index(i, x[i], bound);
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Bound, class Real, class X>
void compute(as_indices_op<Bound>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  kernels::as_indices(static_cast<const Real*>(p[1]), X::shape.count(), Bound, static_cast<std::int32_t*>(p[0]),
                      how.threads);
}

}  // namespace cairn::lang
