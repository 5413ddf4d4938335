// These functions pack the operands of products into panels: they copy numbers into the order in which tiles read them.
#pragma once

#include "cairn/kernel/halves.hpp"

#include <algorithm>

namespace cairn::kernels {

/// Packs steps [p, end) of a tile of rows of a transposed A as {steps, Rows}. A register is stored whole, beyond the
/// end of its step, if the numbers after the step are written later.
template <class Real, int Rows>
void pack_tile(const Real* from, std::int64_t apart, int p, int end, int steps, Real* to) {
  constexpr int width = lanes<Real>::width, whole = Rows / width * width;
  const int safe = std::min(end, steps - width / Rows - 1);
  from += p * apart;
  to += std::int64_t{p} * Rows;
  for (; p < end; ++p, from += apart, to += Rows) {
#pragma GCC unroll 4
    for (int i = 0; i < whole; i += width) lanes<Real>::load(from + i).store(to + i);
    if constexpr (whole < Rows) {
      const lanes<Real> rest = lanes<Real>::load(from + whole, Rows - whole);
      if (p < safe) rest.store(to + whole);
      else rest.store(to + whole, Rows - whole);
    }
  }
}

/// Packs columns of B, whose rows are `apart` numbers apart, as {steps, tile_columns}. The columns are filled up to
/// whole registers with zeros.
template <class In, class Sum>
void pack_columns(const In* from, std::int64_t apart, int columns, int steps, int tile_columns, Sum* to) {
  using vec = lanes<Sum>;
  constexpr int width = vec::width;
  const bool pair = columns == 2 * width;
  for (int p = 0; p < steps; ++p, from += apart, to += tile_columns) {
    if (pair) {
      const vec first = load_row_as<Sum>(from, 0, width), second = load_row_as<Sum>(from + width, 0, width);
      first.store(to);
      second.store(to + width);
    } else {
      for (int j = 0; j < columns; j += width) load_row_as<Sum>(from, j, columns).store(to + j);
    }
  }
}
/// Does the work of pack_columns for a transposed B, whose columns lie `apart`.
template <class In, class Sum>
[[gnu::noinline]] void pack_columns_transposed(const In* from, std::int64_t apart, int columns, int steps,
                                               int tile_columns, Sum* to) {
  using vec = lanes<Sum>;
  constexpr int width = vec::width;
  const std::int64_t step = tile_columns;
  for (int p = 0; p < steps; p += width) {
    const int filled = std::min(width, steps - p);
    for (int j = 0; j < columns; j += width) {
      const In* const at = from + j * apart + p;
      const bool whole = filled == width && j + width <= columns;
      Sum part[width][width];
      for (int i = 0; i < width && !whole; ++i)
        (j + i < columns ? load_row_as<Sum>(at + i * apart, 0, filled) : vec::fill(0)).store(part[i]);
      vec square[width];
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i)
        square[i] = whole ? load_row_as<Sum>(at + i * apart, 0, width) : vec::load(part[i]);
      vec::transpose(square);
      Sum* const out = to + p * step + j;
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i)
        if (i < filled) square[i].store(out + i * step);
    }
  }
}

/// Packs bf16 numbers, whose rows are `apart` numbers apart, as steps of a product: {steps, row}. The first `columns`
/// numbers of a step are from the operand, and the others are zeros. If the number of rows is odd, zeros replace the
/// missing second row of the last pair.
template <class Number>
[[gnu::noinline]] void pack_pairs(const bf16* from, std::int64_t apart, int columns, int rows, int row, Number* to) {
  constexpr int width = half_pairs::width;
  for (int p = 0; p < rows; p += 2, from += 2 * apart, to += 2 * std::int64_t{row}) {
    const bf16* const second = p + 1 < rows ? from + apart : nullptr;
    for (int j = 0; j < row; j += width) {
      const int left = std::max(columns - j, 0);
      half_pairs::of_rows(from + j, second == nullptr ? nullptr : second + j, left)
          .store_step(to + j * factor<bf16, float>::in_step, row, row - j);
    }
  }
}
/// Does the work of pack_pairs where the columns, not the rows, lie `apart`.
template <class Number>
[[gnu::noinline]] void pack_pairs_transposed(const bf16* from, std::int64_t apart, int columns, int rows, int row,
                                             Number* to) {
  constexpr int width = half_pairs::width;
  for (int p = 0; p < rows; p += 2 * width, to += 2 * std::int64_t{width} * row) {
    const int filled = std::min(width, (rows - p + 1) / 2);
    for (int j = 0; j < row; j += width) {
      half_pairs square[width];
      for (int i = 0; i < width; ++i)
        square[i] = half_pairs::load(from + (j + i) * apart + p, j + i < columns ? rows - p : 0);
      half_pairs::transpose(square);
      for (int i = 0; i < filled; ++i)
        square[i].store_step(to + 2 * std::int64_t{i} * row + j * factor<bf16, float>::in_step, row, row - j);
    }
  }
}
/// Packs the numbers of a row as steps of a product. If `count` is odd, the function adds a zero.
inline void pack_row(const bf16* from, int count, bf16* to) {
  std::copy_n(from, count, to);
  if (count % 2 != 0) to[count] = bf16{};
}
inline void pack_row(const bf16* from, int count, float* to) {
  for (int p = 0; p < count; p += 2) {
    to[p] = p + 1 < count ? static_cast<float>(from[p + 1]) : 0;
    to[p + 1] = static_cast<float>(from[p]);
  }
}

/// Packs one step of a strip for the tile registers of a processor, as {rows, numbers of a register}. The first `steps`
/// numbers of the first `count` rows are from the operand, and all others are zeros. Rows of the operand are `apart`
/// numbers apart.
inline void pack_step(const bf16* from, std::int64_t apart, int count, int steps, int rows, bf16* to) {
  for (int i = 0; i < rows; ++i)
    half_pairs::load(from + i * apart, i < count ? steps : 0).store(to + i * 2 * half_pairs::width);
}
/// Does the work of pack_step where the steps, not the rows, lie `apart`.
inline void pack_step_transposed(const bf16* from, std::int64_t apart, int count, int steps, int rows, bf16* to) {
  constexpr int width = half_pairs::width;
  for (int i = 0; i < rows; i += width) {
    const int left = std::max(count - i, 0);
    half_pairs square[width] = {};
    for (int p = 0; p < steps; p += 2) {
      const bf16* const first = from + p * apart + i;
      square[p / 2] = half_pairs::of_rows(first, p + 1 < steps ? first + apart : nullptr, left);
    }
    half_pairs::transpose(square);
    for (int r = 0; r < width; ++r) square[r].store(to + (i + r) * 2 * width);
  }
}

}  // namespace cairn::kernels
