// Matrix products of static shapes: how they are cut into blocks, and so how much working space they need. Here, and
// not with the kernel, for the plan counts that space without knowing any kernel.
#pragma once

#include "cairn/core/parts.hpp"

namespace cairn {

/// Bytes of one SIMD register of the processor that is compiled for.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// C = op(A) op(B), row-major: C {m, n}; A {m, k}, or {k, m} if transposed; B {k, n}, or {n, k} if transposed.
struct product {
  int m, n, k;
  bool transpose_a = false, transpose_b = false;

  friend constexpr bool operator==(const product&, const product&) = default;
};

/// The least length, a multiple of `multiple`, of equal blocks that cover `extent` and are about `most` long.
constexpr int even_blocks(int extent, int most, int multiple) {
  const int blocks = (extent + most - 1) / most;
  const int length = (extent + blocks - 1) / blocks;
  return (length + multiple - 1) / multiple * multiple;
}

/// Blocks of a product whose numbers have `Bytes` bytes: tiles of C that stay in registers, panels of B and blocks of A
/// that stay in caches.
template <product P, int Bytes>
struct blocking {
  static constexpr int width = register_bytes / Bytes;
  static constexpr int tile_rows = even_blocks(P.m, register_bytes == 64 ? 12 : register_bytes == 32 ? 6 : 4, 1);
  static constexpr int tile_columns = P.n > width ? 2 * width : width;

  static constexpr int depth = even_blocks(P.k, 384, 1);
  static constexpr int rows = even_blocks(P.m, 384 * 1024 / Bytes / depth, tile_rows);

  /// Rows of A far apart share lines of the first-level cache, so they are copied side by side, with a line between that
  /// shifts each; columns (if transposed) are copied as rows of a tile.
  static constexpr int gap = 64 / Bytes;
  static constexpr bool pack_a = P.transpose_a ? std::int64_t{P.m} * P.k * Bytes > 16 * 1024
                                               : P.k* Bytes > 1024 && P.n > 2 * tile_columns&& P.m >= 256;
  static constexpr bool pack_b =
      P.transpose_b || P.n % tile_columns != 0 || (P.m > 4 * tile_rows && P.n * Bytes > 256 && P.n > tile_columns);
  static constexpr std::int64_t panel_size = pack_b ? std::int64_t{depth} * tile_columns : 0;

  /// Numbers of working space for one thread; whole lines.
  static constexpr std::int64_t scratch =
      panel_size +
      (pack_a ? (std::int64_t{std::min(rows, P.m)} * (depth + (P.transpose_a ? 0 : gap)) + gap - 1) / gap * gap : 0);

  /// Threads share the rows or the columns of C, whichever are more, by whole tiles.
  static constexpr bool by_rows = P.m >= P.n;
  static constexpr int unit = by_rows ? tile_rows : tile_columns, extent = by_rows ? P.m : P.n;
  static constexpr int parts = parts_of(std::int64_t{2} * P.m * P.n * P.k, (extent + unit - 1) / unit);
};

}  // namespace cairn
