// Tiles of products: what a column of them reads, where they go, and how they are made in registers.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/tiles.hpp"

namespace cairn::kernel {

inline constexpr std::int64_t at_start = 0;

/// What a column of tiles reads over `steps` of depth, at each of some places of A: a product has one, a convolution
/// one for each run of taps, the gradient of a filter one for each row of pixels. Of A either rows are `apart` and a
/// step is one number on, or rows are side by side and a step is `apart` on; the next tile begins `below`. Steps of B
/// are `step_b` apart.
struct tile_source {
  std::int64_t apart, below, step_b;
  int steps;
  int places = 1;
  const std::int64_t* place = &at_start;
};

struct no_setting {};
/// What a thread sets while it multiplies numbers of In that tiles read as `Read`: of bf16 as floats, denormal numbers
/// are zeros, as the instruction for pairs takes them.
template <class In, class Read>
using setting_for =
    std::conditional_t<std::is_same_v<In, bf16> && !std::is_same_v<Read, bf16>, denormals_as_zeros, no_setting>;

/// Where tiles go: into C, of which rows are `apart`, or added to it; or to a reader. A C that is far away, or what the
/// reader writes, is fetched while a tile is made. Only products take denormal numbers as zeros.
template <class Sum>
struct tile_target {
  Sum* c;
  std::int64_t apart;
  bool add, far;
  const tile_reader* reader;
  const denormals_as_zeros* zeros = nullptr;

  Sum* at(int row, int column) const { return c + row * apart + column; }
  [[gnu::noinline]] void fetch_tile(int row, int column, int rows, int columns) const {
    if (reader != nullptr) reader->fetch(row, column, rows, columns);
    if (reader != nullptr && !add) return;  // then C is neither read nor written
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; j += 64 / static_cast<int>(sizeof(Sum))) fetch(at(row + i, column + j));
  }
  /// Takes a tile that is to be read, or whose columns do not fill its registers.
  void take(Sum* tile, int stride, int row, int column, int rows, int columns) const {
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

/// A column of tiles, of `height` rows and `columns` columns of C from (row, column) on. Tiles have `Rows` rows and at
/// most `Registers` registers of columns: in registers over all steps, and added to C last. RowsApart: which of the two
/// ways A is read. A's numbers become those of sums as they are read, B's where they are packed; or both are pairs.
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
    if (to.far) to.fetch_tile(row, column, Rows, columns);
    vec sum[Rows][Registers];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Registers; ++j) sum[i][j] = vec::fill(0);
    const auto* step = b;
    for (int t = 0; t < from.places; ++t) {
      const In* at[pointers];
#pragma GCC unroll 4
      for (int q = 0; q < pointers; ++q) at[q] = a + from.place[t] + (RowsApart ? q * reached * from.apart : 0);
      for (int p = 0; p < from.steps; ++p) {
        typename read::vector row_b[Registers];
#pragma GCC unroll 4
        for (int j = 0; j < Registers; ++j) {
          row_b[j] = read::load(step + j * width * in_step);
          barrier(row_b[j]);  // g++ would load it again for each row
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
    if (!direct) to.take(tile, Registers * width, row, column, Rows, columns);
  }
}
template <class In, class Sum, int Rows, int Registers, bool RowsApart>
void column_of_tiles(const In* a, const typename factor<In, Sum>::number* b, const tile_source& from,
                     const tile_target<Sum>& to, int row, int column, int columns, int height) {
  tiles_in_registers<In, Sum, Rows, Registers, RowsApart>(a, b, from, to, row, column, columns, height);
}

/// The numbers of a product: those that are read, as they are packed, and their sums; what its instructions ask of a
/// thread while it multiplies; and how it makes a column of tiles: by code that is shared, or by its own.
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

}  // namespace cairn::kernel
