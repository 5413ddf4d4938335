// What a kernel gets besides its operands: threads, the fused loop that shares its plan step, and how its arguments lie
// in memory.
#pragma once

#include "cairn/kernel/tiles.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace cairn::kernels {

/// What a kernel gets besides its operands.
struct launch {
  int threads = 1;  ///< how many threads the kernel may use
  /// Receives the first result tile by tile; in this case the kernel does not store the first result. The pointer is
  /// null if the kernel stores the first result. Only operations that declare `tiles` get a reader.
  const tile_reader* reader = nullptr;
  /// Computes rows of the first argument just before the kernel reads these rows, or follows the kernel and processes
  /// each row after the kernel. The pointer is null if no fused loop does either. Only operations that declare
  /// `rows_from_loop` or `one_for_each_row` get a maker.
  const row_maker* maker = nullptr;
  /// By argument: the distance of its rows in elements, or 0 if the argument is contiguous. Null if all are contiguous.
  /// Only the rows of arguments for which the operation declares `row_axes` can lie apart.
  const std::int64_t* row_strides = nullptr;
  /// The number of columns of each piece, for all arguments that may be concatenations, in order. Null if no argument
  /// is a concatenation that is read in pieces. Only operations that declare `in_pieces` get pieces. The pieces are
  /// operands in place of their argument.
  const int* pieces = nullptr;
  int piece_count = 0;

  /// Returns the distance between two rows of an argument, as `row_strides` tells it, or 0 if there is no such table.
  std::int64_t apart(int argument) const { return row_strides == nullptr ? 0 : row_strides[argument]; }
  /// Returns the columns of all pieces, or `whole` if no argument is a concatenation that is read in pieces.
  std::span<const int> pieces_or(std::span<const int> whole) const {
    if (pieces == nullptr) return whole;
    return {pieces, static_cast<std::size_t>(piece_count)};
  }
  /// Calls visit(some) for consecutive ranges that together are `own`, a range of rows of `row_bytes` bytes each. If
  /// there is a maker, the ranges have a few rows (about 4 KiB), so the rows are still in the first-level cache when
  /// they are read. A maker that does not follow computes the rows before each visit. A maker that follows reads the
  /// rows after each visit. Without a maker, there is one call for all of `own`.
  template <class Visit>
  void in_rows(costs::range own, std::int64_t row_bytes, Visit visit) const {
    if (maker == nullptr) return visit(own);
    const std::int64_t few = std::max<std::int64_t>(4 * 1024 / row_bytes, 1);
    for (costs::range some{own.begin, own.begin}; some.begin < own.end; some.begin = some.end) {
      some.end = std::min(some.begin + few, own.end);
      if (!maker->follows) maker->make(some);
      visit(some);
      if (maker->follows) maker->make(some);
    }
  }
};

}  // namespace cairn::kernels
