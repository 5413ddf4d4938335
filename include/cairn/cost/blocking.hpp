// How matrix products are cut into blocks, and so how much working space they need. Here, and not with the kernel, for
// the plan counts that space without knowing any kernel.
#pragma once

#include "cairn/cost/parts.hpp"
#include "cairn/cost/target.hpp"

namespace cairn {

/// C = op(A) op(B), row-major: C {m, n}; A {m, k}, or {k, m} if transposed; B {k, n}, or {n, k} if transposed.
struct product {
  int m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;

  friend constexpr bool operator==(const product&, const product&) = default;
};

/// The least length, a multiple of `multiple`, of equal blocks that cover `extent` and are about `most` long.
constexpr int even_blocks(int extent, int most, int multiple) {
  const int blocks = (extent + most - 1) / most;
  const int length = (extent + blocks - 1) / blocks;
  return (length + multiple - 1) / multiple * multiple;
}

/// Tiles of C that stay in registers, panels of B and blocks of A that stay in caches.
struct blocking {
  int tile_rows = 0, tile_columns = 0;
  int depth = 0;                        ///< along k, in numbers
  int rows = 0;                         ///< of a block of A
  int least_rows = 1, least_depth = 1;  ///< of a tile: what is packed is filled up to multiples with zeros
  bool pack_a = false, pack_b = false;
  bool strips = false;   ///< A is packed in strips of `tile_rows`, each step of them side by side; or else by rows
  bool far_c = false;    ///< C is larger than the nearer caches
  bool by_rows = false;  ///< threads share the rows of C, or else its columns
  int parts = 1;
  std::int64_t panel = 0;  ///< of B, in numbers as they are packed
  std::int64_t open = 0;   ///< sums of C's open section, in whole lines, where blocks along k are more than a section
  workspace scratch;

  /// What threads share, and of how many of these a part is a multiple.
  constexpr int extent(const product& p) const { return by_rows ? p.m : p.n; }
  constexpr int unit() const { return by_rows ? tile_rows : tile_columns; }
  /// So many rows of A, or steps along k, as they are packed.
  constexpr int filled_rows(int n) const { return (n + least_rows - 1) / least_rows * least_rows; }
  constexpr int filled_depth(int n) const { return (n + least_depth - 1) / least_depth * least_depth; }
};

/// The blocks of a product of numbers of so many bytes. Those of 2 are bf16, which are packed in pairs, or as floats
/// where the processor does not multiply them; either has 4 bytes a step. Their sums are floats,
/// which are worth rounding at once, so all of k is one block where a panel of that is not too large.
constexpr blocking blocking_of(product p, int bytes) {
  blocking cut;
  const bool halves = bytes == 2, tiles = halves && multiplies_tiles;
  const int in_step = halves && multiplies_bf16 ? 2 : 1;
  if (halves) cut.least_depth = 2;
  if (tiles) cut.least_rows = 16, cut.least_depth = 32;

  // Rows of A that lie a multiple of 1024 bytes apart share few sets of the first-level cache, so the depth is no such
  // multiple where there are several blocks of it.
  cut.depth = even_blocks(p.k, !halves ? 384 : p.k <= 4096 ? 4096 : 768, cut.least_depth);
  if (cut.depth < p.k && cut.depth * bytes % 1024 == 0) cut.depth += 64 / bytes;
  if ((p.k + cut.depth - 1) / cut.depth > section_blocks) cut.open = (std::int64_t{p.m} * p.n + 15) / 16 * 16;
  const bool filled = cut.filled_depth(p.k) > p.k || cut.filled_rows(p.m) > p.m;
  if (halves) {
    p.m = cut.filled_rows(p.m);
    p.k = cut.filled_depth(p.k) / in_step;
    cut.depth /= in_step;
    bytes = 4;
  }
  const int width = register_bytes / bytes, line = 64 / bytes;
  const int most_rows = tiles ? 32 : register_bytes == 64 ? 12 : register_bytes == 32 ? 6 : 4;
  cut.tile_rows = even_blocks(p.m, most_rows, cut.least_rows);
  cut.tile_columns = p.n > width ? 2 * width : width;

  cut.rows = even_blocks(p.m, std::max(768 * 1024 / bytes / cut.depth, 1), cut.tile_rows);

  // Rows of A that are far apart are copied side by side; columns (if transposed) as rows of a tile.
  cut.pack_a = p.transpose_a ? std::int64_t{p.m} * p.k * bytes > 16 * 1024
                             : p.k * bytes > 1024 && p.n > 2 * cut.tile_columns && p.m >= 256;
  cut.pack_a |= halves && (p.transpose_a || filled || in_step == 1);
  cut.strips = cut.pack_a && (p.transpose_a || tiles);
  cut.pack_b = p.transpose_b || p.n % cut.tile_columns != 0 || halves ||
               (p.m > 4 * cut.tile_rows && p.n * bytes > 256 && p.n > cut.tile_columns);
  cut.far_c = std::int64_t{p.m} * p.n * bytes > 192 * 1024;

  cut.by_rows = p.m >= p.n;
  const std::int64_t units = (cut.extent(p) + cut.unit() - 1) / cut.unit();
  cut.parts = parts_of(std::int64_t{2} * p.m * p.n * p.k, units);

  // A panel for each thread; of A, threads that share its rows copy their own, others all.
  cut.panel = cut.pack_b ? std::int64_t{cut.depth} * cut.tile_columns : 0;
  const std::int64_t block = cut.pack_a ? std::int64_t{std::min(cut.rows, p.m)} * cut.depth : 0;
  if (cut.by_rows) cut.scratch = {cut.panel, cut.parts, block, cut.pack_a ? std::int64_t{p.m} * cut.depth : 0};
  else cut.scratch = {cut.panel + (block + line - 1) / line * line, cut.parts};
  if (halves) {
    cut.depth *= in_step;
    cut.panel *= in_step;
    cut.scratch = {2 * cut.scratch.each, cut.scratch.parts, 2 * cut.scratch.block, 2 * cut.scratch.all};
  }
  cut.scratch.shared = (halves ? 2 : 1) * cut.open;
  return cut;
}

}  // namespace cairn
