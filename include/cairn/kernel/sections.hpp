// Long sums keep their digits by what is in this file. A number to which n terms are added one after another may lose
// n / 2 units in its last place. So terms are added one after another in short sections alone, and what a total cannot
// hold of the sum of a section goes into the next section (W. Kahan, Further remarks on reducing truncation errors,
// 1965). A sum of any number of terms then has an error of about section_terms / 2 units at most, in the last place of
// the sum of the sizes of the terms.
#pragma once

#include "cairn/cost/parts.hpp"
#include "cairn/kernel/simd.hpp"

namespace cairn::kernel {

/// Adds the sum of a section to a total. What rounding takes from that stays in `part`, with which the next section
/// begins. Where the total is infinite or NaN, 0 stays, so that the total is what IEEE 754 makes of it.
template <class V>
[[gnu::always_inline]] inline void join(V& total, V& part) {
  const V next = total + part, rest = part - (next - total);
  part = select(equal(rest - rest, V{}), rest, V{});
  total = next;
}

/// Computes the sum of term(0) to term(n - 1), in sections of `Length` terms.
template <class V, std::int64_t Length = section_terms>
[[gnu::always_inline]] inline V sum_in_sections(std::int64_t n, auto term) {
  V total{}, part{};
  for (std::int64_t i = 0; i < n;) {
    for (const std::int64_t end = std::min(n, i + Length); i < end; ++i) part = part + term(i);
    join(total, part);
  }
  return total;
}

}  // namespace cairn::kernel
