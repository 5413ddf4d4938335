// These types let a kernel and a fused loop share one plan step. Either the kernel passes its result to the fused loop
// tile by tile instead of storing the result, or the fused loop processes rows of an operand of the kernel.
#pragma once

#include "cairn/cost/parts.hpp"

namespace cairn::kernels {

/// The functions that a kernel calls for each tile of its first result. The result is seen as {rows, columns}.
/// - The kernel calls run(...) once the tile is complete. The arguments are the tile's numbers, the distance `stride`
///   between the tile's rows, the row and the column where the tile begins, and the tile's extents. Each row of the
///   tile has room for whole registers.
/// - The kernel calls fetch(...) earlier, while much of the tile is still to be computed, if the memory that the fused
///   loop accesses under the tile is probably not in a near cache.
struct tile_reader {
  using run_pointer = void (*)(const void* table, void* const* operands, const void* tile, int stride, int row,
                               int column, int height, int width);
  using fetch_pointer = void (*)(const void* table, void* const* operands, int row, int column, int height, int width);
  run_pointer run_tile;
  fetch_pointer fetch_tile;
  const void* table;
  void* const* operands;

  void run(const void* tile, int stride, int row, int column, int height, int width) const {
    run_tile(table, operands, tile, stride, row, column, height, width);
  }
  void fetch(int row, int column, int height, int width) const {
    fetch_tile(table, operands, row, column, height, width);
  }
};

/// The function by which a fused loop processes rows, seen as {rows, columns}, for a kernel. If `follows` is false, the
/// fused loop computes the rows that the kernel reads. Each row is computed once, by the thread that reads the row. If
/// `follows` is true, the fused loop follows the kernel through the rows.
struct row_maker {
  using make_pointer = void (*)(const void* table, void* const* operands, costs::range rows);
  make_pointer make_rows;
  const void* table;
  void* const* operands;
  bool follows = false;

  void make(costs::range rows) const { make_rows(table, operands, rows); }
};

}  // namespace cairn::kernels
