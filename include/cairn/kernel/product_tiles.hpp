// These functions compute the tiles of products in registers. The types describe what a column of tiles reads and where
// the tiles are stored.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/tiles.hpp"

namespace cairn::kernels {

inline constexpr std::int64_t at_start = 0;

/// The numbers that a column of tiles reads. At each of `offset_count` offsets of A, the column reads `steps` steps of
/// depth. A product has one offset. A convolution has one offset for each run of taps. The gradient of a filter has one
/// offset for each row of pixels. A is read in one of two ways:
/// - The rows of A are `apart` numbers apart, and the numbers of a row are contiguous along the depth.
/// - The rows of A are neighbours, and steps of depth are `apart` numbers apart.
///
/// The next tile of the column begins `below` numbers further on in A. Steps of B are `step_b` numbers apart.
struct tile_source {
  std::int64_t apart, below, step_b;
  int steps;
  int offset_count = 1;
  const std::int64_t* offsets = &at_start;
};

struct no_setting {};
/// The setting of a thread while it multiplies numbers of type In that tiles read as `Read`. If bf16 numbers are read
/// as floats, denormal numbers are treated as zeros, because the instruction for pairs of bf16 treats them as zeros,
/// too.
template <class In, class Read>
using setting_for =
    std::conditional_t<std::is_same_v<In, bf16> && !std::is_same_v<Read, bf16>, denormals_as_zeros, no_setting>;

/// The destination of tiles. Tiles are stored in C, whose rows are `apart` numbers apart, or added to C if `add` is
/// true. If there is a reader, the complete tiles are passed to the reader instead of C. If `far` is true, the memory
/// of C or of the reader is fetched before a tile is computed, because this memory is not in a near cache. The memory
/// belongs to the tile that lies `ahead` columns to the right. Only
/// products treat denormal numbers as zeros; the mode that `zeros` points to is suspended while a tile is taken.
template <class Sum>
struct tile_target {
  Sum* c;
  std::int64_t apart;
  bool add, far;
  const tile_reader* reader;
  const denormals_as_zeros* zeros = nullptr;
  int ahead = 0;

  Sum* at(int row, int column) const { return c + row * apart + column; }
  [[gnu::noinline]] void fetch_tile(int row, int column, int rows, int columns) const {
    if (reader != nullptr) reader->fetch(row, column, rows, columns);
    if (reader != nullptr && !add) return;  // then C is neither read nor written
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; j += 64 / static_cast<int>(sizeof(Sum))) fetch(at(row + i, column + j));
  }
  /// Takes a tile that cannot be stored in C directly from registers: a tile for a reader, a tile whose columns do not
  /// fill its registers, or a tile that is added to C while denormal numbers are treated as zeros.
  void finish_tile(Sum* tile, int stride, int row, int column, int rows, int columns) const {
    constexpr int width = lanes<Sum>::width;
    const denormals_as_zeros::suspended here_they_are_not(zeros);
    for (int i = 0; i < rows && (add || reader == nullptr); ++i) {
      Sum *const here = tile + i * stride, *const there = at(row + i, column);
      for (int j = 0; j < columns; j += width) {
        lanes<Sum> sum = lanes<Sum>::load(here + j);
        if (add) sum = load_row(there, j, columns) + sum;
        if (reader == nullptr) store_row(sum, there, j, columns);
        else sum.store(here + j);
      }
    }
    if (reader != nullptr) reader->run(tile, stride, row, column, rows, columns);
  }
};

/// Computes a column of tiles: `height` rows and `columns` columns of C from (row, column) on. A tile has `Rows` rows
/// and at most `Registers` registers of columns. A tile stays in registers over all steps and is added to C last.
/// `RowsApart` is true if A is read in the first of the two ways that tile_source lists. Numbers of A are converted to
/// the type of the sums when they are read, and numbers of B when they are packed; or both are read as pairs.
template <class In, class Sum, int Rows, int Registers, bool RowsApart>
[[gnu::always_inline]] inline void tiles_in_registers(const In* a, const typename factor<In, Sum>::number* b,
                                                      const tile_source& from, const tile_target<Sum>& to, int row,
                                                      int column, int columns, int height) {
  using vec = lanes<Sum>;
  using read = factor<In, Sum>;
  constexpr int width = vec::width, in_step = read::in_step;
  constexpr int reached = RowsApart ? 3 : Rows, pointers = (Rows + reached - 1) / reached;  // rows by one pointer
  const bool direct = to.reader == nullptr && columns == Registers * width && (to.zeros == nullptr || !to.add);
  for (const int bottom = row + height; row < bottom; row += Rows, a += from.below) {
    if (to.far) to.fetch_tile(row, column + to.ahead, Rows, columns);
    vec sum[Rows][Registers];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Registers; ++j) sum[i][j] = vec::fill(0);
    const auto* step = b;
    for (int t = 0; t < from.offset_count; ++t) {
      const In* at[pointers];
#pragma GCC unroll 4
      for (int q = 0; q < pointers; ++q) at[q] = a + from.offsets[t] + (RowsApart ? q * reached * from.apart : 0);
      for (int p = 0; p < from.steps; ++p) {
        typename read::vector row_b[Registers];
#pragma GCC unroll 4
        for (int j = 0; j < Registers; ++j) {
          row_b[j] = read::load(step + j * width * in_step);
          barrier(row_b[j]);  // without the barrier, g++ would load the register again for each row
        }
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
          const auto x = read::fill(at[i / reached] + (RowsApart ? i % reached * from.apart : i * in_step));
#pragma GCC unroll 4
          for (int j = 0; j < Registers; ++j) sum[i][j] = fused(x, row_b[j], sum[i][j]);
        }
#pragma GCC unroll 4
        for (int q = 0; q < pointers; ++q) at[q] += RowsApart ? in_step : from.apart;
        step += from.step_b;
      }
    }
    alignas(64) Sum tile[Rows * Registers * width];
    Sum* const out = direct ? to.at(row, column) : tile;
    const std::int64_t apart = direct ? to.apart : Registers * width;
    if (direct && to.add) {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < Registers; ++j) sum[i][j] = vec::load(out + i * apart + j * width) + sum[i][j];
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Registers; ++j) sum[i][j].store(out + i * apart + j * width);
    if (!direct) to.finish_tile(tile, Registers * width, row, column, Rows, columns);
  }
}
template <class In, class Sum, int Rows, int Registers, bool RowsApart>
void column_of_tiles(const In* a, const typename factor<In, Sum>::number* b, const tile_source& from,
                     const tile_target<Sum>& to, int row, int column, int columns, int height) {
  tiles_in_registers<In, Sum, Rows, Registers, RowsApart>(a, b, from, to, row, column, columns, height);
}

/// The types and functions of a product. `in` is the type of the numbers that are read, `packed` is their type in
/// panels, and `sum` is the type of their sums. `setting` is the setting of a thread while it multiplies. `column`
/// computes a column of tiles by code that products share; `tiles` computes it by code that is inlined.
template <class In>
struct product_numbers {
  using in = In;
  using sum = sum_of<In>;
  using packed = typename factor<In, sum>::number;
  static constexpr int in_step = factor<packed, sum>::in_step;
  using setting = setting_for<In, packed>;

  template <int Rows, int Registers, bool RowsApart>
  static constexpr auto column = &column_of_tiles<packed, sum, Rows, Registers, RowsApart>;
  template <int Rows, int Registers, bool RowsApart>
  [[gnu::always_inline]] static void tiles(const auto&... arguments) {
    tiles_in_registers<packed, sum, Rows, Registers, RowsApart>(arguments...);
  }
};

}  // namespace cairn::kernels
