// How a kernel and a loop share a step: a result goes to the loop tile by tile, in place of being stored, or an
// argument comes from it row by row.
#pragma once

#include "cairn/cost/parts.hpp"

namespace cairn::kernel {

/// What a kernel does with each tile of its first result, seen as {rows, columns}, once it is complete: run(...) with
/// the tile's numbers, of which rows lie `stride` apart and each has room for whole registers, the row and the column
/// where it begins, and its extents. fetch(...) before, while there is still much to compute, where the result is far
/// away.
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

/// How a loop makes rows of what a kernel reads, seen as {rows, columns}: each once, by the thread that reads it. Or
/// how it follows the kernel through the rows.
struct row_maker {
  using make_pointer = void (*)(const void* table, void* const* operands, range rows);
  make_pointer make_rows;
  const void* table;
  void* const* operands;
  bool follows = false;

  void make(range rows) const { make_rows(table, operands, rows); }
};

}  // namespace cairn::kernel
