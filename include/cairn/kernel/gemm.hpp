// Matrix products of static shapes.
//
// C is made in tiles of `tile_rows` rows and up to two registers of columns, which stay in registers while a loop
// runs over the depth (k). The tiles of one column of tiles share a panel of B, packed so that the loop reads
// it in order from the first-level cache. A is read in place, or packed likewise where it is stored
// transposed and a step of depth would jump a row. (K. Goto and R. van de Geijn, Anatomy of high-performance
// matrix multiplication, 2008.)
#pragma once

#include "cairn/core/product.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

namespace cairn::kernel {

/// What is done with each tile of a product once it is complete, in place of storing it in C: run(operands, tile, ...)
/// with the tile's numbers, of which rows lie `stride` apart, the row and the column of C where it begins, and its
/// extents; fetch(operands, ...) before, while there is still much to multiply, where C is far away.
template <class Real>
struct tile_reader {
  void (*run)(void* const* operands, const Real* tile, int stride, int row, int column, int height,
              int width) = nullptr;
  void* const* operands = nullptr;
  void (*fetch)(void* const* operands, int row, int column, int height, int width) = nullptr;
};

/// `run` computes C = op(A) op(B), or C += op(A) op(B) if Accumulate. `scratch` numbers of working space,
/// aligned to 64 bytes, are the caller's to lend. Each number of C is summed in an order that only P and the
/// processor decide.
template <class Real, product P, bool Accumulate = false>
class gemm {
  using vec = lanes<Real>;
  using cut = blocking<P, static_cast<int>(sizeof(Real))>;
  static constexpr int width = cut::width, tile_rows = cut::tile_rows, tile_columns = cut::tile_columns;
  static constexpr int depth = cut::depth, rows = cut::rows;
  static constexpr bool pack_a = cut::pack_a, pack_b = cut::pack_b;
  static constexpr int step_b = pack_b ? tile_columns : P.n;  // from one step of depth to the next
  static_assert(width == vec::width);

 public:
  /// Working space of one thread.
  static constexpr std::int64_t scratch = cut::scratch.numbers(1);

  /// `scratch` has room for that many threads. Where a reader gets the tiles, C holds sums until they are complete, if
  /// k is greater than the depth.
  static void run(const Real* a, const Real* b, Real* c, Real* scratch, int threads = 1,
                  const tile_reader<Real>& reader = {}) {
    const int parts = std::min(cut::parts, threads);
    in_parts(parts, [=, &reader](int part) {
      const range own = share(cut::extent, cut::unit, part, parts);
      const int begin = static_cast<int>(own.begin), end = static_cast<int>(own.end);
      Real* const panel = scratch + part * cut::scratch.each;
      if constexpr (cut::by_rows) {
        Real* const blocks = scratch + parts * cut::scratch.each;
        block(a, b, c, reader, panel, blocks + std::min(begin, part * rows) * std::int64_t{depth}, begin, end, 0, P.n);
      } else {
        block(a, b, c, reader, panel, panel + cut::panel, 0, P.m, begin, end);
      }
    });
  }

 private:
  /// Where tiles go: they are stored in C or added to it, or read as they are.
  struct destination {
    Real* c;
    bool add;
    decltype(tile_reader<Real>::run) read;
    void* const* operands;
    decltype(tile_reader<Real>::fetch) fetch;
  };

  /// Rows [top, bottom) and columns [left, right) of C.
  static void block(const Real* a, const Real* b, Real* c, const tile_reader<Real>& reader, Real* panel, Real* packed,
                    int top, int bottom, int left, int right) {
    for (int i = top; i < bottom; i += rows) {
      const int count = std::min(rows, bottom - i);
      for (int p = 0; p < P.k; p += depth) {
        const int steps = std::min(depth, P.k - p);
        const destination to{c, Accumulate || p > 0, p + steps == P.k ? reader.run : nullptr, reader.operands,
                             reader.fetch};
        const Real* block_a = a + (P.transpose_a ? std::int64_t{p} * P.m + i : std::int64_t{i} * P.k + p);
        if constexpr (pack_a) block_a = packed_a(block_a, count, steps, packed);
        int j = left;
        for (; j + tile_columns <= right; j += tile_columns)
          column_of_tiles<tile_columns>(block_a, b, to, panel, p, i, j, count, steps);
        if constexpr (P.n % tile_columns != 0)
          if (j < right) column_of_tiles<P.n % tile_columns>(block_a, b, to, panel, p, i, j, count, steps);
      }
    }
  }

  template <int Columns>
  static void column_of_tiles(const Real* a, const Real* b, const destination& to, Real* scratch, int p, int top, int j,
                              int count, int steps) {
    const Real* panel = b + (P.transpose_b ? std::int64_t{j} * P.k + p : std::int64_t{p} * P.n + j);
    if constexpr (pack_b) panel = packed_b<Columns>(panel, steps, scratch);
    const std::int64_t row_a = !pack_a ? P.transpose_a ? 1 : P.k : P.transpose_a ? steps : depth;
    int i = 0;
    for (; i + tile_rows <= count; i += tile_rows)
      tile<tile_rows, Columns>(a + i * row_a, panel, to, top + i, j, steps);
    if constexpr (P.m % tile_rows != 0)
      if (i < count) tile<P.m % tile_rows, Columns>(a + i * row_a, panel, to, top + i, j, steps);
  }

  /// {Rows, Columns} of C: in registers over all steps. Of a C that is far away it is fetched meanwhile, and added last.
  template <int Rows, int Columns>
  static void tile(const Real* a, const Real* b, const destination& to, int row, int column, int steps) {
    Real* const c = to.c + std::int64_t{row} * P.n + column;
    constexpr int registers = (Columns + width - 1) / width;
    alignas(64) Real complete[Rows * tile_columns];
    constexpr int row_a = P.transpose_a ? 1 : pack_a ? depth : P.k;
    constexpr int step_a = !P.transpose_a ? 1 : pack_a ? Rows : P.m;
    vec sum[Rows][registers];
    if (cut::far_c && to.read != nullptr) to.fetch(to.operands, row, column, Rows, Columns);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < registers; ++j) {
        if constexpr (cut::far_c) fetch(c + std::int64_t{i} * P.n + j * width);
        sum[i][j] = to.add && !cut::far_c ? load_row<Columns>(c + std::int64_t{i} * P.n, j * width) : vec::fill(0);
      }
    for (int p = 0; p < steps; ++p, a += step_a, b += step_b) {
      vec row_b[registers];
#pragma GCC unroll 2
      for (int j = 0; j < registers; ++j)
        row_b[j] = pack_b ? vec::load(b + j * width) : load_row<Columns>(b, j * width);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const vec x = vec::fill(a[std::int64_t{i} * row_a]);
#pragma GCC unroll 2
        for (int j = 0; j < registers; ++j) sum[i][j] = fused(x, row_b[j], sum[i][j]);
      }
    }
    Real* const out = to.read == nullptr ? c : complete;
    const std::int64_t stride = to.read == nullptr ? P.n : tile_columns;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < registers; ++j) {
        if (to.add && cut::far_c) sum[i][j] = load_row<Columns>(c + std::int64_t{i} * P.n, j * width) + sum[i][j];
        store_row<Columns>(sum[i][j], out + i * stride, j * width);
      }
    if (to.read != nullptr) to.read(to.operands, complete, tile_columns, row, column, Rows, Columns);
  }

  /// Columns of op(B) as {steps, tile_columns}, filled up with zeros.
  template <int Columns>
  static const Real* packed_b(const Real* b, int steps, Real* to) {
    if constexpr (P.transpose_b) {
      for (int p = 0; p < steps; p += width) {
        const int filled = std::min(width, steps - p);
        for (int j = 0; j < Columns; j += width) {
          vec square[width];
#pragma GCC unroll 16
          for (int i = 0; i < width; ++i) {
            const Real* from = b + std::int64_t{j + i} * P.k + p;
            if (j + i >= Columns) square[i] = vec::fill(0);
            else square[i] = filled == width ? vec::load(from) : vec::load(from, filled);
          }
          vec::transpose(square);
#pragma GCC unroll 16
          for (int i = 0; i < filled; ++i) square[i].store(to + std::int64_t{p + i} * tile_columns + j);
        }
      }
    } else {
      for (int p = 0; p < steps; ++p)
        for (int j = 0; j < Columns; j += width)
          load_row<Columns>(b + std::int64_t{p} * P.n, j).store(to + std::int64_t{p} * tile_columns + j);
    }
    return to;
  }

  /// Rows of op(A): of A as they are; of a transposed A `tile_rows` at a time, as {steps, tile_rows}.
  static const Real* packed_a(const Real* a, int count, int steps, Real* to) {
    if constexpr (P.transpose_a) {
      constexpr int some = 8;  // rows of A at a time, so that few lines are written by turns
      for (int p = 0; p < steps; p += some) {
        const int end = std::min(p + some, steps);
        int i = 0;
        for (; i + tile_rows <= count; i += tile_rows)
          pack_rows<tile_rows>(a + i, p, end, to + std::int64_t{i} * steps);
        if constexpr (P.m % tile_rows != 0)
          if (i < count) pack_rows<P.m % tile_rows>(a + i, p, end, to + std::int64_t{i} * steps);
      }
    } else {
      for (int i = 0; i < count; ++i) std::copy_n(a + std::int64_t{i} * P.k, steps, to + std::int64_t{i} * depth);
    }
    return to;
  }
  template <int Rows>
  static void pack_rows(const Real* a, int p, int end, Real* to) {
    for (; p < end; ++p) std::copy_n(a + std::int64_t{p} * P.m, Rows, to + std::int64_t{p} * Rows);
  }
};

/// A product whose tiles a loop reads. Operands: those of the loop, A, B, and scratch where the product asks for it.
template <class Real, product P, class Loop>
void multiply_into(void* const* p, int threads) {
  using multiplication = gemm<Real, P>;
  void* const* const own = p + Loop::operands;
  multiplication::run(static_cast<const Real*>(own[0]), static_cast<const Real*>(own[1]), static_cast<Real*>(p[0]),
                      multiplication::scratch > 0 ? static_cast<Real*>(own[2]) : nullptr, threads,
                      {&Loop::run_tile, p, &Loop::fetch_tile});
}

}  // namespace cairn::kernel
