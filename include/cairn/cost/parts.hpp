// How work is cut into parts for threads. The plan counts working space by it, without knowing any kernel.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <cstdint>

namespace cairn {

/// The least work, in floating-point operations of products, that is worth a thread of its own: about 40 microseconds,
/// for to start and join threads takes about one, and to fetch what lies in another core's cache some more.
inline constexpr std::int64_t least_work = 1 << 22;

/// Into how many parts some work is cut, where it has `most` and threads enough.
constexpr int parts_of(std::int64_t work, std::int64_t most) {
  return static_cast<int>(std::clamp<std::int64_t>(work / least_work, 1, most));
}

struct range {
  std::int64_t begin, end;
};
/// Part number `part` of [0, n), cut at multiples of `unit`.
constexpr range share(std::int64_t n, std::int64_t unit, int part, int parts) {
  const std::int64_t units = (n + unit - 1) / unit;
  return {std::min(n, units * part / parts * unit), std::min(n, units * (part + 1) / parts * unit)};
}

/// The most terms of a sum that are added one after another: kernel/sections.hpp.
inline constexpr int section_terms = 32;
/// The most blocks of a product's inner axis that are added one after another.
inline constexpr int section_blocks = 256;

/// Working space of a kernel, in numbers of the type in which it computes: `each` for every part of its work, a block
/// of `block` for every part out of `all`, of which no two need the same, and what all parts share.
struct workspace {
  std::int64_t each = 0;
  int parts = 1;
  std::int64_t block = 0, all = 0, shared = 0;

  /// For so many threads.
  constexpr std::int64_t numbers(int threads) const {
    const int some = std::min(parts, threads);
    return some * each + std::min(some * block, all) + shared;
  }
};

/// How many numbers of so many bytes have the place of a sum of such: floats are summed as floats, and so is bf16.
constexpr int sums_in(int bytes) { return bytes == 2 ? 2 : 1; }

}  // namespace cairn
