// Cuts matrix products into blocks. The blocks determine how much workspace a product needs. This file is not in
// kernel/, because the plan counts workspace without knowing any kernel.
#pragma once

#include "cairn/cost/parts.hpp"
#include "cairn/cost/target.hpp"

namespace cairn::costs {

/// A product C = op(A) op(B) of row-major matrices. C has the shape {m, n}. A has the shape {m, k}, or {k, m} if it is
/// transposed. B has the shape {k, n}, or {n, k} if it is transposed.
struct product {
  int m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;

  friend constexpr bool operator==(const product&, const product&) = default;
};

/// Returns the length of equal blocks that together cover `extent`. The length is about `most`, and it is rounded up to
/// a multiple of `multiple`, so it may exceed `most`.
constexpr int even_blocks(int extent, int most, int multiple) {
  const int blocks = (extent + most - 1) / most;
  const int length = (extent + blocks - 1) / blocks;
  return (length + multiple - 1) / multiple * multiple;
}

/// The most rows of a tile whose sums are in registers of one row each.
inline constexpr int most_tile_rows = register_bytes == 64 ? 12 : register_bytes == 32 ? 6 : 4;

/// Describes how a product is cut. Tiles of C stay in registers. Panels of B and blocks of A stay in caches.
struct blocking {
  int tile_rows = 0, tile_columns = 0;
  int depth = 0;  ///< numbers of a block along k
  int rows = 0;   ///< rows of a block of A
  /// The least rows and depth of a tile. Packed operands are filled up with zeros to multiples of them.
  int least_rows = 1, least_depth = 1;
  bool pack_a = false, pack_b = false;
  /// True if A is packed in strips of `tile_rows` rows. The numbers of a strip for one step along k are side by side.
  /// False if a packed A consists of rows.
  bool strips = false;
  bool c_exceeds_cache = false;     ///< C is larger than the nearer caches
  /// Columns from a tile to the tile whose memory is fetched while the tile is computed, if C exceeds the caches.
  int fetched_ahead = 0;
  bool threads_share_rows = false;  ///< true if each thread gets rows of C, false if each thread gets columns of C
  int parts = 1;
  std::int64_t panel_numbers = 0;  ///< packed numbers of a panel of B
  /// Numbers of the sums of C's open section, in whole cache lines. 0 if all blocks along k fit into one section.
  std::int64_t open_sums = 0;
  workspace needed_workspace;

  /// Returns the extent of C that is divided among the threads, and the unit of which each part is a multiple.
  constexpr int shared_extent(const product& p) const { return threads_share_rows ? p.m : p.n; }
  constexpr int shared_unit() const { return threads_share_rows ? tile_rows : tile_columns; }
  /// Return to how many rows of A, or steps along k, `n` of them are filled up when they are packed.
  constexpr int filled_rows(int n) const { return (n + least_rows - 1) / least_rows * least_rows; }
  constexpr int filled_depth(int n) const { return (n + least_depth - 1) / least_depth * least_depth; }
};

/// Chooses the blocks of a product of numbers of `bytes` bytes. Numbers of 2 bytes are bf16. They are packed in pairs,
/// or as floats if the processor does not multiply pairs. In both cases a packed step has 4 bytes for each column.
/// Sums of bf16 are floats, and they are best rounded to bf16 as soon as a tile is complete. Therefore all of k is one
/// block, unless a panel of that depth would be too large.
constexpr blocking blocking_of(product p, int bytes) {
  blocking cut;
  const bool halves = bytes == 2, tiles = halves && multiplies_tiles;
  const int in_step = halves && multiplies_bf16 ? 2 : 1;
  if (halves) cut.least_depth = 2;
  if (tiles) cut.least_rows = 16, cut.least_depth = 32;

  // Rows of A at distances of a multiple of 1024 bytes share few sets of the first-level cache. If there are several
  // blocks along k, their depth is therefore not a multiple of 1024 bytes.
  cut.depth = even_blocks(p.k, !halves ? 384 : p.k <= 4096 ? 4096 : 768, cut.least_depth);
  if (cut.depth < p.k && cut.depth * bytes % 1024 == 0) cut.depth += 64 / bytes;
  if ((p.k + cut.depth - 1) / cut.depth > section_blocks) cut.open_sums = (std::int64_t{p.m} * p.n + 15) / 16 * 16;
  const bool filled = cut.filled_depth(p.k) > p.k || cut.filled_rows(p.m) > p.m;
  if (halves) {
    p.m = cut.filled_rows(p.m);
    p.k = cut.filled_depth(p.k) / in_step;
    cut.depth /= in_step;
    bytes = 4;
  }
  const int width = register_bytes / bytes, line = 64 / bytes;
  const int most_rows = tiles ? 32 : most_tile_rows;
  cut.tile_rows = even_blocks(p.m, most_rows, cut.least_rows);
  cut.tile_columns = p.n > width ? 2 * width : width;

  cut.rows = even_blocks(p.m, std::max(768 * 1024 / bytes / cut.depth, 1), cut.tile_rows);

  // If the rows of A are far apart, they are copied, one directly after another. If A is transposed, it is copied in
  // strips.
  cut.pack_a = p.transpose_a ? std::int64_t{p.m} * p.k * bytes > 16 * 1024
                             : p.k * bytes > 1024 && p.n > 2 * cut.tile_columns && p.m >= 256;
  cut.pack_a |= halves && (p.transpose_a || filled || in_step == 1);
  cut.strips = cut.pack_a && (p.transpose_a || tiles);
  cut.pack_b = p.transpose_b || p.n % cut.tile_columns != 0 || halves ||
               (p.m > 4 * cut.tile_rows && p.n * bytes > 256 && p.n > cut.tile_columns);
  cut.c_exceeds_cache = std::int64_t{p.m} * p.n * bytes > 192 * 1024;

  cut.threads_share_rows = p.m >= p.n;
  const std::int64_t units = (cut.shared_extent(p) + cut.shared_unit() - 1) / cut.shared_unit();
  cut.parts = parts_of(std::int64_t{2} * p.m * p.n * p.k, units);

  // Each thread has a panel of B. If threads share the rows of C, each thread copies only its own rows of A. If threads
  // share the columns of C, each thread copies all rows of A.
  cut.panel_numbers = cut.pack_b ? std::int64_t{cut.depth} * cut.tile_columns : 0;
  const std::int64_t block = cut.pack_a ? std::int64_t{std::min(cut.rows, p.m)} * cut.depth : 0;
  if (cut.threads_share_rows)
    cut.needed_workspace = {cut.panel_numbers, cut.parts, block, cut.pack_a ? std::int64_t{p.m} * cut.depth : 0};
  else cut.needed_workspace = {cut.panel_numbers + (block + line - 1) / line * line, cut.parts};
  if (halves) {
    cut.depth *= in_step;
    cut.panel_numbers *= in_step;
    cut.needed_workspace = {2 * cut.needed_workspace.each, cut.needed_workspace.parts, 2 * cut.needed_workspace.block,
                            2 * cut.needed_workspace.all};
  }
  cut.needed_workspace.shared = (halves ? 2 : 1) * cut.open_sums;
  return cut;
}

}  // namespace cairn::costs
