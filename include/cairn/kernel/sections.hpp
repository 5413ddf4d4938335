// These functions keep long sums accurate. If n terms are added to a number one after another, the error of the sum may
// reach n / 2 units in its last place. Therefore terms are added one after another only in short sections. The sum of a
// section then joins the total. The rounding error of this addition becomes the first term of the next section (W.
// Kahan, Further remarks on reducing truncation errors, 1965). Thus a sum of any number of terms has an error of at
// most about section_terms / 2 units. The unit is that of the last place of the sum of the absolute values of the
// terms.
#pragma once

#include "cairn/cost/parts.hpp"
#include "cairn/kernel/simd.hpp"

namespace cairn::kernels {

/// Adds `part`, the sum of a section, to a total. Afterwards `part` is the rounding error of this addition; the next
/// section begins with it. If the total is infinite or NaN, `part` becomes 0, so that the total stays the value that
/// IEEE 754 defines.
template <class V>
[[gnu::always_inline]] inline void join(V& total, V& part) {
  const V next = total + part, rest = part - (next - total);
  part = select(equal(rest - rest, V{}), rest, V{});
  total = next;
}

/// Computes the sum of term(0) to term(n - 1), in sections of `Length` terms.
template <class V, std::int64_t Length = costs::section_terms>
[[gnu::always_inline]] inline V sum_in_sections(std::int64_t n, auto term) {
  V total{}, part{};
  for (std::int64_t i = 0; i < n;) {
    for (const std::int64_t end = std::min(n, i + Length); i < end; ++i) part = part + term(i);
    join(total, part);
  }
  return total;
}

}  // namespace cairn::kernels
