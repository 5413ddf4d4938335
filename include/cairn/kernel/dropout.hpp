// Computes dropout. The random word of an element decides whether the element is dropped.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/random.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/dropout.hpp"

namespace cairn::kernels {

/// The work of an element, in operations: 200 for its random word, 10 for each of two other operations, and 40 each for
/// reading and writing the element.
inline constexpr std::int64_t dropping = 200 + 2 * 10 + 2 * 40;

/// Computes out = in / (1 - p) for `count` numbers. The result is 0 where an element's random word is less than p 2^32.
/// `in` and `out` may be equal. The words are the same for every type of numbers.
template <class In, class Made>
[[gnu::noinline]] void dropout(const In* in, const random_stream& stream, double p, Made* out, std::int64_t count,
                               int threads = 1) {
  using real = sum_of<In>;
  using vec = lanes<real>;
  static_assert(drawn_at_once % vec::width == 0);
  const auto least = static_cast<std::uint32_t>(p * 0x1p32);
  const std::int64_t first = stream.part * count;
  shares{dropping * count, count, drawn_at_once}(threads, [=, &stream](costs::range own) {
    const vec scale = vec::fill(static_cast<real>(1 / (1 - p)));
    alignas(64) std::uint32_t words[2 * drawn_at_once];
    for (std::int64_t i = own.begin; i < own.end; i += drawn_at_once) {
      const std::uint32_t* const drawn = draw_from(stream, first + i, words);
      for (int j = 0; j < drawn_at_once && i + j < count; j += vec::width)
        store_row(where_at_least(load_row_as<real>(in, i + j, count) * scale, drawn + j, least), out, i + j, count);
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <double P, bool Forward, class Real, class X, class Key>
void compute(dropout_op<P, Forward>, signature<Real, X, Key>, void* const* p, const kernels::launch& how) {
  static_assert(X::shape.count() <= std::int64_t{1} << 34, "dropout draws for at most 2^34 elements");
  kernels::dropout(static_cast<const kernels::taken_of<Real, X>*>(p[1]), *static_cast<const random_stream*>(p[2]), P,
                   static_cast<kernels::made_of<Real>*>(p[0]), X::shape.count(), how.threads);
}

}  // namespace cairn::lang
