// How long sums keep their digits. A number to which n terms are added one after another may lose n / 2 units in its
// last place. So terms are added one after another in short sections alone, and what rounding takes from the sum of
// sections is carried on to the next (W. Kahan, Further remarks on reducing truncation errors, 1965). A sum of any
// number of terms then has an error of at most about section / 2 units in the last place of the sum of their sizes.
#pragma once

#include "cairn/kernel/simd.hpp"

#include <algorithm>

namespace cairn::kernel {

/// The most terms that are added one after another.
inline constexpr std::int64_t section = 32;

/// Adds the sum of a section to a total. `surplus` is what rounding has added to the total so far. It stays 0 where the
/// total is infinite or NaN, so that the total is what IEEE 754 makes of it.
template <class V>
[[gnu::always_inline]] inline void join(V& total, V& surplus, const V& part) {
  const V more = part - surplus, next = total + more, excess = (next - total) - more;
  surplus = select(equal(excess - excess, V{}), excess, V{});
  total = next;
}

/// The sum of term(0) to term(n - 1).
template <class V>
[[gnu::always_inline]] inline V sum_in_sections(std::int64_t n, auto term) {
  V total{}, surplus{};
  for (std::int64_t i = 0; i < n;) {
    V part{};
    for (const std::int64_t end = std::min(n, i + section); i < end; ++i) part = part + term(i);
    join(total, surplus, part);
  }
  return total;
}

}  // namespace cairn::kernel
