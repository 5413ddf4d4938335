// Matrix products.
//
// C is made in tiles of `tile_rows` rows and up to two registers of columns, which stay in registers while a loop
// runs over the depth (k). The tiles of one column of tiles share a panel of B, packed so that the loop reads
// it in order from the first-level cache. A is read in place, or packed likewise where it is stored
// transposed and a step of depth would jump a row. (K. Goto and R. van de Geijn, Anatomy of high-performance
// matrix multiplication, 2008.)
//
// Compiled once for all shapes are the loops around the tiles, and once for each number of rows and registers the tiles.
#pragma once

#include "cairn/core/blocking.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/kernel/tiles.hpp"

namespace cairn::kernel {

/// What a column of tiles reads over `steps` of depth. Of A either rows are `apart` and a step is one number on, or rows
/// are side by side and a step is `apart` on; the next tile begins `below`. Steps of B are `step_b` apart.
struct tile_source {
  std::int64_t apart, below, step_b;
  int steps;
};

/// Where tiles go: into C, of which rows are `apart`, or added to it; or to a reader.
template <class Real>
struct tile_target {
  Real* c;
  std::int64_t apart;
  bool add, far;
  const tile_reader* reader;
};

/// A column of tiles, of `height` rows and `columns` columns of C from (row, column) on.
template <class Real>
using tiles_of_column = void (*)(const Real* a, const Real* b, const tile_source& from, const tile_target<Real>& to,
                                 int row, int column, int columns, int height);

/// Tiles of `Rows` rows and at most `Registers` registers of columns: in registers over all steps. Of a C that is far
/// away it is fetched meanwhile, and added last. RowsApart: which of the two ways A is read.
template <class Real, int Rows, int Registers, bool RowsApart>
void column_of_tiles(const Real* a, const Real* b, const tile_source& from, const tile_target<Real>& to, int row,
                     int column, int columns, int height) {
  using vec = lanes<Real>;
  constexpr int width = vec::width;
  constexpr int reached = RowsApart ? 3 : Rows, pointers = (Rows + reached - 1) / reached;  // rows by one pointer
  const int last = columns - (Registers - 1) * width;
  const auto load = [last](const Real* at, int j) {
    return j + 1 < Registers || last == width ? vec::load(at + j * width) : vec::load(at + j * width, last);
  };
  for (const int bottom = row + height; row < bottom; row += Rows, a += from.below) {
    Real* const c = to.c + row * to.apart + column;
    vec sum[Rows][Registers];
    if (to.far) {
      if (to.reader != nullptr) to.reader->fetch(row, column, Rows, columns);
      for (int i = 0; i < Rows; ++i)
        for (int j = 0; j < Registers; ++j) fetch(c + i * to.apart + j * width);
    }
    const bool goes_on = to.add && !to.far;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < Registers; ++j) sum[i][j] = goes_on ? load(c + i * to.apart, j) : vec::fill(0);
    const Real* at[pointers];
    const Real* step = b;
#pragma GCC unroll 4
    for (int q = 0; q < pointers; ++q) at[q] = a + (RowsApart ? q * reached * from.apart : 0);
    for (int p = 0; p < from.steps; ++p) {
      vec row_b[Registers];
#pragma GCC unroll 2
      for (int j = 0; j < Registers; ++j) row_b[j] = vec::load(step + j * width);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const vec x = vec::fill(at[i / reached][RowsApart ? i % reached * from.apart : i]);
#pragma GCC unroll 2
        for (int j = 0; j < Registers; ++j) sum[i][j] = fused(x, row_b[j], sum[i][j]);
      }
#pragma GCC unroll 4
      for (int q = 0; q < pointers; ++q) at[q] += RowsApart ? 1 : from.apart;
      step += from.step_b;
    }
    if (to.add && to.far) {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
        for (int j = 0; j < Registers; ++j) sum[i][j] = load(c + i * to.apart, j) + sum[i][j];
    }
    const auto store = [&sum, last](Real* out, std::int64_t apart, bool full) {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
        for (int j = 0; j < Registers; ++j) {
          if (j + 1 < Registers || full) sum[i][j].store(out + i * apart + j * width);
          else sum[i][j].store(out + i * apart + j * width, last);
        }
    };
    if (to.reader == nullptr) {
      store(c, to.apart, last == width);
    } else {
      alignas(64) Real complete[Rows * Registers * width];
      store(complete, Registers * width, true);
      to.reader->run(complete, Registers * width, row, column, Rows, columns);
    }
  }
}

/// A product, how it is cut, and the code of its tiles: of whole ones and of the last rows, of whole ones and of the last
/// columns. So only tiles that occur are compiled.
template <class Real>
struct product_plan {
  product of;
  blocking cut;
  tiles_of_column<Real> tiles[2][2];
};
template <class Real, product P>
inline constexpr product_plan<Real> plan_of = [] {
  constexpr blocking cut = blocking_of(P, sizeof(Real));
  constexpr int width = lanes<Real>::width;
  constexpr auto registers = [](int columns) { return (columns + width - 1) / width; };
  constexpr int rows = std::min(P.m, cut.tile_rows), columns = std::min(P.n, cut.tile_columns);
  constexpr int last_rows = P.m % cut.tile_rows == 0 ? rows : P.m % cut.tile_rows;
  constexpr int last_columns = P.n % cut.tile_columns == 0 ? columns : P.n % cut.tile_columns;
  constexpr bool apart = !P.transpose_a;
  return product_plan<Real>{P,
                            cut,
                            {{&column_of_tiles<Real, rows, registers(columns), apart>,
                              &column_of_tiles<Real, rows, registers(last_columns), apart>},
                             {&column_of_tiles<Real, last_rows, registers(columns), apart>,
                              &column_of_tiles<Real, last_rows, registers(last_columns), apart>}}};
}();

/// One product: C = op(A) op(B). Rows of A and of B as they are stored lie `apart`. Where a reader gets the tiles, C holds
/// sums until they are complete, if k is greater than the depth. Each number of C is summed in an order that only the
/// shape and the processor decide.
template <class Real>
class multiplication {
  using vec = lanes<Real>;
  static constexpr int width = vec::width;
  const product& of;
  const blocking& cut;
  const product_plan<Real>& plan;
  const Real *a, *b;
  std::int64_t apart_a, apart_b;
  Real* c;
  const tile_reader* reader;

 public:
  multiplication(const product_plan<Real>& of_plan, const Real* of_a, const Real* of_b, Real* to,
                 const tile_reader* given_to = nullptr, std::int64_t rows_of_a_apart = 0,
                 std::int64_t rows_of_b_apart = 0)
      : of(of_plan.of), cut(of_plan.cut), plan(of_plan), a(of_a), b(of_b),
        apart_a(rows_of_a_apart != 0 ? rows_of_a_apart : of.transpose_a ? of.m : of.k),
        apart_b(rows_of_b_apart != 0 ? rows_of_b_apart : of.transpose_b ? of.k : of.n), c(to), reader(given_to) {}

  /// `scratch` numbers of working space, aligned to 64 bytes, are the caller's to lend: cut.scratch says how many.
  [[gnu::noinline]] void run(Real* scratch, int threads = 1) const {
    const int parts = std::min(cut.parts, threads);
    in_parts(parts, [this, scratch, parts](int part) {
      const range own = share(cut.extent(of), cut.unit(), part, parts);
      const int begin = static_cast<int>(own.begin), end = static_cast<int>(own.end);
      Real* const panel = scratch + part * cut.scratch.each;
      if (cut.by_rows) {
        Real* const blocks = scratch + parts * cut.scratch.each;
        block(panel, blocks + std::min(begin, part * cut.rows) * std::int64_t{cut.depth}, begin, end, 0, of.n);
      } else {
        block(panel, panel + cut.panel, 0, of.m, begin, end);
      }
    });
  }

 private:
  /// Rows [top, bottom) and columns [left, right) of C.
  [[gnu::noinline]] void block(Real* panel, Real* packed, int top, int bottom, int left, int right) const {
    const int tile_columns = cut.tile_columns, tile_rows = cut.tile_rows;
    for (int i = top; i < bottom; i += cut.rows) {
      const int count = std::min(cut.rows, bottom - i), whole = count / tile_rows * tile_rows;
      for (int p = 0; p < of.k; p += cut.depth) {
        const int steps = std::min(cut.depth, of.k - p);
        const tile_target<Real> to{c, of.n, p > 0, cut.far_c, p + steps == of.k ? reader : nullptr};
        const Real* block_a = a + (of.transpose_a ? p * apart_a + i : i * apart_a + p);
        if (cut.pack_a) block_a = pack_a(block_a, count, steps, packed);
        const bool columns_packed = of.transpose_a && cut.pack_a;
        const std::int64_t row_a = !of.transpose_a ? (cut.pack_a ? cut.depth : apart_a) : cut.pack_a ? steps : 1;
        tile_source from{!of.transpose_a ? row_a : apart_a, row_a * tile_rows, cut.pack_b ? tile_columns : apart_b, steps};
        tile_source rest = from;
        if (columns_packed) {
          from.apart = tile_rows;
          rest.apart = count - whole;
        }
        for (int j = left; j < right; j += tile_columns) {
          const int columns = std::min(tile_columns, right - j);
          const Real* block_b = b + (of.transpose_b ? j * apart_b + p : p * apart_b + j);
          if (cut.pack_b) block_b = pack_b(block_b, columns, steps, panel);
          const bool last = columns < tile_columns;
          if (whole > 0) plan.tiles[0][last](block_a, block_b, from, to, i, j, columns, whole);
          if (whole < count)
            plan.tiles[1][last](block_a + whole * row_a, block_b, rest, to, i + whole, j, columns, count - whole);
        }
      }
    }
  }

  /// Columns of op(B) as {steps, tile_columns}, filled up to whole registers with zeros.
  [[gnu::noinline]] const Real* pack_b(const Real* from, int columns, int steps, Real* to) const {
    if (of.transpose_b) {
      pack_b_transposed(from, columns, steps, to);
      return to;
    }
    const std::int64_t step = cut.tile_columns;
    Real* out = to;
    for (int p = 0; p < steps; ++p, from += apart_b, out += step) {
      int j = 0;
      for (; j + width <= columns; j += width) vec::load(from + j).store(out + j);
      if (j < columns) vec::load(from + j, columns - j).store(out + j);
    }
    return to;
  }
  void pack_b_transposed(const Real* from, int columns, int steps, Real* to) const {
    const std::int64_t step = cut.tile_columns;
    for (int p = 0; p < steps; p += width) {
      const int filled = std::min(width, steps - p);
      for (int j = 0; j < columns; j += width) {
        vec square[width];
        const Real* const at = from + j * apart_b + p;
        if (filled == width && j + width <= columns) {
#pragma GCC unroll 16
          for (int i = 0; i < width; ++i) square[i] = vec::load(at + i * apart_b);
        } else {
#pragma GCC unroll 16
          for (int i = 0; i < width; ++i)
            square[i] = j + i >= columns ? vec::fill(0) : filled == width ? vec::load(at + i * apart_b) : vec::load(at + i * apart_b, filled);
        }
        vec::transpose(square);
        Real* const out = to + p * step + j;
#pragma GCC unroll 16
        for (int i = 0; i < width; ++i)
          if (i < filled) square[i].store(out + i * step);
      }
    }
  }

  /// Rows of op(A): of A as they are; of a transposed A `tile_rows` at a time, as {steps, tile_rows}.
  [[gnu::noinline]] const Real* pack_a(const Real* from, int count, int steps, Real* to) const {
    if (of.transpose_a) {
      constexpr int some = 8;  // rows of A at a time, so that few lines are written by turns
      for (int p = 0; p < steps; p += some) {
        for (int i = 0; i < count; i += cut.tile_rows)
          pack_rows(from + i, p, std::min(p + some, steps), steps, to + std::int64_t{i} * steps,
                    std::min(cut.tile_rows, count - i));
      }
    } else {
      for (int i = 0; i < count; ++i) std::copy_n(from + i * apart_a, steps, to + std::int64_t{i} * cut.depth);
    }
    return to;
  }
  /// Steps [p, end) of so many rows. A register is stored whole where what comes after it is written later.
  [[gnu::always_inline]] void pack_rows(const Real* from, int p, int end, int steps, Real* to, int rows) const {
    const int whole = rows / width * width, safe = std::min(end, steps - (width + rows - 1) / rows);
    from += p * apart_a;
    to += std::int64_t{p} * rows;
    for (; p < end; ++p, from += apart_a, to += rows) {
      for (int i = 0; i < whole; i += width) vec::load(from + i).store(to + i);
      if (whole == rows) continue;
      const vec rest = vec::load(from + whole, rows - whole);
      if (p < safe) rest.store(to + whole);
      else rest.store(to + whole, rows - whole);
    }
  }
};

}  // namespace cairn::kernel
