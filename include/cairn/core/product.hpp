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

/// How far along k a product of numbers of `bytes` goes at a time. Rows of A that lie a multiple of 1024 bytes apart
/// share few sets of the first-level cache, so it is no such multiple where there are several such steps.
constexpr int depth_of(const product& p, int bytes) {
  const int even = even_blocks(p.k, 384, 1);
  return even < p.k && even * bytes % 1024 == 0 ? even + 64 / bytes : even;
}

/// Blocks of a product whose numbers have `Bytes` bytes: tiles of C that stay in registers, panels of B and blocks of A
/// that stay in caches.
template <product P, int Bytes>
struct blocking {
  static constexpr int width = register_bytes / Bytes;
  static constexpr int tile_rows = even_blocks(P.m, register_bytes == 64 ? 12 : register_bytes == 32 ? 6 : 4, 1);
  static constexpr int tile_columns = P.n > width ? 2 * width : width;

  static constexpr int line = 64 / Bytes, depth = depth_of(P, Bytes);
  static constexpr int rows = even_blocks(P.m, 768 * 1024 / Bytes / depth, tile_rows);

  /// Rows of A that are far apart are copied side by side; columns (if transposed) as rows of a tile.
  static constexpr bool pack_a = P.transpose_a ? std::int64_t{P.m} * P.k * Bytes > 16 * 1024
                                               : P.k* Bytes > 1024 && P.n > 2 * tile_columns&& P.m >= 256;
  static constexpr bool pack_b =
      P.transpose_b || P.n % tile_columns != 0 || (P.m > 4 * tile_rows && P.n * Bytes > 256 && P.n > tile_columns);

  /// Whether C is larger than the nearer caches.
  static constexpr bool far_c = std::int64_t{P.m} * P.n * Bytes > 192 * 1024;

  /// Threads share the rows or the columns of C, whichever are more, by whole tiles.
  static constexpr bool by_rows = P.m >= P.n;
  static constexpr int unit = by_rows ? tile_rows : tile_columns, extent = by_rows ? P.m : P.n;
  static constexpr int parts = parts_of(std::int64_t{2} * P.m * P.n * P.k, (extent + unit - 1) / unit);

  /// A panel for each thread; of A, threads that share its rows copy their own, others all.
  static constexpr std::int64_t panel = pack_b ? std::int64_t{depth} * tile_columns : 0;
  static constexpr std::int64_t block = pack_a ? std::int64_t{std::min(rows, P.m)} * depth : 0;
  static constexpr workspace scratch = by_rows ? workspace{panel, parts, block, pack_a ? std::int64_t{P.m} * depth : 0}
                                               : workspace{panel + (block + line - 1) / line * line, parts};
};

}  // namespace cairn
