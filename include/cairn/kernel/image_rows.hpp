// What convolutions and the gradients of their filters share: the code of tiles, the taps of a filter that lie side by
// side, and the rows of images that they read, where these lie or, where a filter reaches over the edges, in a copy
// with zeros around them. Only the copy may be made of several images, whose channels are joined.
#pragma once

#include "cairn/core/convolution.hpp"
#include "cairn/kernel/gemm.hpp"

#include <span>

namespace cairn::kernel {

/// The code of a sweep's tiles, as in shared_plan: of whole tiles and of the last pixels of a row, of whole ones and of
/// the last columns.
template <class In, class Sum>
struct tile_codes {
  using pointer = void (*)(const In*, const Sum*, const tile_source&, const tile_target<Sum>&, int, int, int, int);
  pointer of[2][2];
  int rows;

  /// Tiles of `height` rows from (row, column) on, of which the last has fewer rows.
  void run(const In* a, const Sum* b, const tile_source& from, const tile_target<Sum>& to, int row, int column,
           int columns, bool last_columns, int height) const {
    const int whole = height - height % rows;
    const std::int64_t row_a = from.below / rows;
    if (whole > 0) of[0][last_columns](a, b, from, to, row, column, columns, whole);
    if (whole < height)
      of[1][last_columns](a + whole * row_a, b, from, to, row + whole, column, columns, height - whole);
  }
};
/// Of `Height` rows in tiles of `Rows`, and `Columns` columns.
template <class In, class Sum, int Rows, int Height, int TileColumns, int Columns, bool RowsApart>
constexpr tile_codes<In, Sum> codes_of() {
  constexpr int width = lanes<Sum>::width, registers = TileColumns / width, rest = Columns % TileColumns;
  constexpr int last = rest == 0 ? registers : (rest + width - 1) / width,
                left = Height % Rows == 0 ? Rows : Height % Rows;
  return {{{&column_of_tiles<In, Sum, Rows, registers, RowsApart>, &column_of_tiles<In, Sum, Rows, last, RowsApart>},
           {&column_of_tiles<In, Sum, left, registers, RowsApart>, &column_of_tiles<In, Sum, left, last, RowsApart>}},
          Rows};
}

/// Images, or several whose channels theirs are, one after the other.
template <class In>
struct image_source {
  void* const* pieces;
  std::span<const int> channels;  ///< of each

  const In* only() const { return static_cast<const In*>(pieces[0]); }
  /// Copies `count` pixels from number `first` on.
  In* copy(std::int64_t first, std::int64_t count, In* to) const {
    if (channels.size() == 1) return std::copy_n(only() + first * channels[0], count * channels[0], to);
    for (std::int64_t pixel = first; pixel < first + count; ++pixel) {
      for (std::size_t i = 0; i < channels.size(); ++i)
        to = std::copy_n(static_cast<const In*>(pieces[i]) + pixel * channels[i], channels[i], to);
    }
    return to;
  }
};

/// Images as a sweep reads them: where they are, or a copy of some rows with zeros around them.
template <class In>
struct image_rows {
  image_source<In> images;
  int height, width, channels;
  bool copied;
  const sweep_axis &down, &along;

  std::int64_t row_pixels() const { return copied ? along.reach(along.count) : width; }
  /// The pixel at the first tap of the first pixel that is made in row `row` of image `image`, in place.
  const In* in_place(std::int64_t image, int row) const {
    return images.only() +
           ((image * height + down.step * row + down.least) * width + along.least) * std::int64_t{channels};
  }
  /// Copies what rows [begin, end) of an image read.
  void copy(std::int64_t image, int begin, int end, In* to) const {
    const std::int64_t pixels = row_pixels();
    const int first = std::max(along.least, 0),
              last = static_cast<int>(std::min<std::int64_t>(width, along.least + pixels));
    for (int y = down.step * begin + down.least; y <= down.step * (end - 1) + down.most; ++y) {
      In* const row_end = to + pixels * channels;
      if (y < 0 || y >= height || first >= last) {
        std::fill(to, row_end, In{});
      } else {
        In* const inside = to + (first - along.least) * std::int64_t{channels};
        std::fill(to, inside, In{});
        std::fill(images.copy((image * height + y) * width + first, last - first, inside), row_end, In{});
      }
      to = row_end;
    }
  }
  /// Calls visit(image, row, where it reads) for rows [own) of all images, counted through; copies them to `scratch`.
  template <class Visit>
  void for_each(range own, In* scratch, Visit visit) const {
    for (std::int64_t at = own.begin; at < own.end;) {
      const std::int64_t image = at / down.count;
      const int begin = static_cast<int>(at % down.count);
      const int end = static_cast<int>(std::min<std::int64_t>(down.count, begin + own.end - at));
      const In* from = copied ? scratch : in_place(image, begin);
      const std::int64_t apart = row_pixels() * down.step * channels;
      if (copied) scratch += row_pixels() * channels * down.reach(end - begin);
      for (int row = begin; row < end; ++row, from += apart) visit(image, row, from);
      at += end - begin;
    }
  }
  void copy_all(range own, In* scratch) const {
    for (std::int64_t at = own.begin; copied && at < own.end;) {
      const int begin = static_cast<int>(at % down.count);
      const int end = static_cast<int>(std::min<std::int64_t>(down.count, begin + own.end - at));
      copy(at / down.count, begin, end, scratch);
      scratch += row_pixels() * channels * down.reach(end - begin);
      at += end - begin;
    }
  }
};

/// Where copied rows lie: first in what a thread is lent, which has room for as many numbers of sums.
template <class In, class Sum>
In* copy_in(Sum* scratch) {
  static_assert(sizeof(In) <= sizeof(Sum));
  return reinterpret_cast<In*>(scratch);
}

/// Where each run of taps begins, from the first tap on.
template <class Sum, correlation Of, int Sweep>
inline constexpr auto run_table = [] {
  constexpr sweep_cut cut = cut_of(Of, Sweep, sizeof(Sum));
  std::array<std::int64_t, static_cast<std::size_t>(cut.runs) + 1> at{};
  std::size_t run = 0;
  for (int down = 0; down < cut.down.taps; ++down) {
    const std::int64_t row = place_of_tap(Of, 0, cut.down, down) - cut.down.least;
    for (int along = 0; along < cut.along.taps; along += cut.run_taps) {
      const std::int64_t column = place_of_tap(Of, 1, cut.along, along) - cut.along.least;
      at[run++] = (row * cut.row_pixels(Of) + column) * Of.read[3];
    }
  }
  return at;
}();

}  // namespace cairn::kernel
