// Cuts work into parts for threads. The plan computes the bytes of workspaces from the number of parts, without knowing
// any kernel.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <cstdint>

namespace cairn::costs {

/// The least work, in floating-point operations of products, that is worth a thread of its own. It takes about 40
/// microseconds. To start and join threads takes about one microsecond, and to fetch data from another core's cache
/// takes some more.
inline constexpr std::int64_t least_work = 1 << 22;

/// The numbers [begin, end).
struct range {
  std::int64_t begin, end;
};
/// Returns part number `part` of [0, n), which is cut into `parts` parts at multiples of `unit`.
constexpr range share(std::int64_t n, std::int64_t unit, int part, int parts) {
  const std::int64_t units = (n + unit - 1) / unit;
  return {std::min(n, units * part / parts * unit), std::min(n, units * (part + 1) / parts * unit)};
}

/// The most terms of a sum that are added one after another. kernel/sections.hpp explains why.
inline constexpr int section_terms = 32;
/// The most blocks of a product's inner axis that are added one after another.
inline constexpr int section_blocks = 256;

}  // namespace cairn::costs

namespace cairn {

/// Returns into how many parts `work` is cut if there are enough threads; at most `most`, and at least 1.
constexpr int parts_of(std::int64_t work, std::int64_t most) {
  return static_cast<int>(std::clamp<std::int64_t>(work / costs::least_work, 1, most));
}

/// Workspace of a kernel, counted in numbers. If the kernel reads bf16, these are numbers of 2 bytes. Otherwise they
/// have the type in which the kernel computes.
struct workspace {
  std::int64_t each = 0;  ///< numbers for each part of the work
  int parts = 1;          ///< the most parts into which the work is cut
  /// A further block of `block` numbers for each part. No two parts need the same block, so all blocks together have at
  /// most `all` numbers. `shared` numbers are used by all parts together.
  std::int64_t block = 0, all = 0, shared = 0;

  /// Returns the numbers of workspace for this many threads.
  constexpr std::int64_t numbers(int threads) const {
    const int some = std::min(parts, threads);
    return some * each + std::min(some * block, all) + shared;
  }
};

/// Returns how many numbers of `bytes` bytes take as much memory as one sum of them. Numbers of 2 bytes are bf16, which
/// is summed as float, so the answer for them is 2. All other numbers are summed in their own type.
constexpr int sums_in(int bytes) { return bytes == 2 ? 2 : 1; }

}  // namespace cairn
