// The kernel of resampling. One thread makes each number, and adds its terms in their order along the axis.
#pragma once

#include "cairn/kernel/softmax.hpp"
#include "cairn/op/resample.hpp"

namespace cairn::kernels {

/// Computes {outer, made, inner} from `in` {outer, read, inner}. The weights of a sum are computed once for all numbers
/// of a row of `inner` numbers, unless the sum has more than `section_terms` terms.
template <lang::resampling R, bool Transposed, class In, class Made>
[[gnu::noinline]] void resample(std::int64_t outer, std::int64_t inner, const In* in, Made* out, int threads = 1) {
  using real = sum_of<In>;
  using vec = lanes<real>;
  constexpr std::int64_t read = Transposed ? R.to : R.from, made = Transposed ? R.from : R.to;
  constexpr std::int64_t work_of_term = 20;  // a term is loaded, and each result is stored
  shares{work_of_term * outer * inner * R.terms(), outer * made}(threads, [=](costs::range own) {
    for (auto row = own.begin; row < own.end; ++row) {
      const std::int64_t i = row % made;
      const costs::range terms = Transposed ? R.results(i) : R.sources(i);
      const auto weight_of = [&](std::int64_t k) {
        const std::int64_t other = terms.begin + k;
        return static_cast<real>(Transposed ? R.weight(other, i) : R.weight(i, other));
      };
      const std::int64_t count = terms.end - terms.begin;
      real weights[costs::section_terms];
      for (std::int64_t k = 0; k < std::min<std::int64_t>(count, costs::section_terms); ++k) weights[k] = weight_of(k);
      const In* const first = in + (row / made * read + terms.begin) * inner;
      for (std::int64_t c = 0; c < inner; c += vec::width) {
        const vec sum = sum_in_sections<vec>(count, [&](std::int64_t k) {
          const real weight = k < costs::section_terms ? weights[k] : weight_of(k);
          return load_row_as<real>(first + k * inner, c, inner) * vec::fill(weight);
        });
        store_row(sum, out + row * inner, c, inner);
      }
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <resampling R, int Axis, bool Transposed, class Real, class X>
void compute(resample_op<R, Axis, Transposed>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  constexpr auto product = [](int first, int end) {
    std::int64_t n = 1;
    for (int axis = first; axis < end; ++axis) n *= X::shape[axis];
    return n;
  };
  kernels::resample<R, Transposed>(product(0, Axis), product(Axis + 1, X::shape.rank),
                                   static_cast<const kernels::taken_of<Real, X>*>(p[1]),
                                   static_cast<kernels::made_of<Real>*>(p[0]), how.threads);
}

}  // namespace cairn::lang
