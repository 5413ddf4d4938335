// What convolutions and the gradients of their filters share: the code of tiles, the taps of a filter that lie side by
// side, and the rows of images that they read, where these lie or, where a filter reaches over the edges, in a copy
// with zeros around them. Only the copy may be made of several images, whose channels are joined.
#pragma once

#include "cairn/cost/convolution.hpp"
#include "cairn/kernel/gemm.hpp"

#include <cstring>
#include <span>

namespace cairn::kernels {

/// The numbers in which plans count, and lend, working space for numbers In that are summed as Sum.
template <class In, class Sum>
using workspace_number = std::conditional_t<std::is_same_v<In, bf16>, In, Sum>;
/// Working space as numbers of another type.
template <class To, class From>
To* lent_as(From* scratch) {
  return static_cast<To*>(static_cast<void*>(scratch));
}

/// The code of a sweep's tiles, as in shared_plan: of whole tiles and of the last pixels of a row, of whole ones and of
/// the last columns.
template <class Tile, class Sum>
struct tile_codes {
  using packed = typename factor<Tile, Sum>::number;
  using pointer = void (*)(const Tile*, const packed*, const tile_source&, const tile_target<Sum>&, int, int, int, int);
  pointer of[2][2];
  int rows;

  /// Tiles of `height` rows from (row, column) on, of which the last has fewer rows.
  void run(const Tile* a, const packed* b, const tile_source& from, const tile_target<Sum>& to, int row, int column,
           int columns, bool last_columns, int height) const {
    const int whole = height - height % rows;
    const std::int64_t row_a = from.below / rows;
    if (whole > 0) of[0][last_columns](a, b, from, to, row, column, columns, whole);
    if (whole < height)
      of[1][last_columns](a + whole * row_a, b, from, to, row + whole, column, columns, height - whole);
  }
};
/// Of `Height` rows in tiles of `Rows`, and `Columns` columns.
template <class Tile, class Sum, int Rows, int Height, int TileColumns, int Columns, bool RowsApart>
constexpr tile_codes<Tile, Sum> codes_of() {
  constexpr int width = lanes<Sum>::width, registers = TileColumns / width, rest = Columns % TileColumns;
  constexpr int last = rest == 0 ? registers : (rest + width - 1) / width,
                left = Height % Rows == 0 ? Rows : Height % Rows;
  return {
      {{&column_of_tiles<Tile, Sum, Rows, registers, RowsApart>, &column_of_tiles<Tile, Sum, Rows, last, RowsApart>},
       {&column_of_tiles<Tile, Sum, left, registers, RowsApart>, &column_of_tiles<Tile, Sum, left, last, RowsApart>}},
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
  const image_source<In>& images;
  const costs::correlation& of;
  const costs::sweep_cut& cut;
  const int height = of.input[1], width = of.input[2];
  const std::int64_t row_pixels = cut.row_pixels(of);
  const costs::sweep_axis &down = cut.vertical, &along = cut.horizontal;

  /// The pixel at the first tap of the first pixel that is made in row `row` of image `image`, in place.
  const In* in_place(std::int64_t image, int row) const {
    return images.only() +
           ((image * height + down.step * row + down.least) * width + along.least) * std::int64_t{cut.pixel_numbers};
  }
  /// Copies pixels, each group of their channels with a zero behind it where the cut has one more.
  In* copy_pixels(std::int64_t first, int count, In* to) const {
    if (cut.pixel_numbers == of.input[3]) return images.copy(first, count, to);
    const int inputs = of.inputs();
    for (int i = 0; i < count; ++i, to += cut.pixel_numbers) {
      images.copy(first + i, 1, to);
      for (int group = of.moves.groups; group-- > 0;) {
        In* const there = to + group * cut.inputs;
        std::memmove(static_cast<void*>(there), to + group * inputs, static_cast<std::size_t>(inputs) * sizeof(In));
        there[inputs] = In{};
      }
    }
    return to;
  }
  /// Copies what rows [begin, end) of an image read.
  void copy(std::int64_t image, int begin, int end, In* to) const {
    const int first = std::max(along.least, 0),
              last = static_cast<int>(std::min<std::int64_t>(width, along.least + row_pixels));
    for (int y = down.step * begin + down.least; y <= down.step * (end - 1) + down.most; ++y) {
      In* const row_end = to + row_pixels * cut.pixel_numbers;
      if (y < 0 || y >= height || first >= last) {
        std::fill(to, row_end, In{});
      } else {
        In* const inside = to + (first - along.least) * std::int64_t{cut.pixel_numbers};
        std::fill(to, inside, In{});
        std::fill(copy_pixels((image * height + y) * width + first, last - first, inside), row_end, In{});
      }
      to = row_end;
    }
  }
  /// Calls visit(image, row, where it reads) for rows [own) of all images, counted through; copies them to `scratch`.
  template <class Visit>
  void for_each(costs::range own, In* scratch, Visit visit) const {
    for (std::int64_t at = own.begin; at < own.end;) {
      const std::int64_t image = at / down.count;
      const int begin = static_cast<int>(at % down.count);
      const int end = static_cast<int>(std::min<std::int64_t>(down.count, begin + own.end - at));
      const In* from = cut.copied ? scratch : in_place(image, begin);
      const std::int64_t apart = row_pixels * down.step * cut.pixel_numbers;
      if (cut.copied) scratch += row_pixels * cut.pixel_numbers * down.pixels_read(end - begin);
      for (int row = begin; row < end; ++row, from += apart) visit(image, row, from);
      at += end - begin;
    }
  }
  /// Returns the end of the copy.
  In* copy_all(costs::range own, In* scratch) const {
    for (std::int64_t at = own.begin; cut.copied && at < own.end;) {
      const int begin = static_cast<int>(at % down.count);
      const int end = static_cast<int>(std::min<std::int64_t>(down.count, begin + own.end - at));
      copy(at / down.count, begin, end, scratch);
      scratch += row_pixels * cut.pixel_numbers * down.pixels_read(end - begin);
      at += end - begin;
    }
    return scratch;
  }
};

/// Where rows are copied to in the room of a band: those of bf16 whose numbers are made wide in place are its second
/// half, so that each is read before what is made of it, or of those before, is written there.
template <class In, class Lent>
In* copy_in(Lent* band, const costs::sweep_cut& cut, bool wide) {
  return lent_as<In>(band) + (wide ? costs::band_copy_numbers(cut, sizeof(Lent), {}) : 0);
}

/// Where each run of taps begins, from the first tap on.
template <costs::correlation Of, costs::sweep_cut Cut>
inline constexpr auto run_table = [] {
  std::array<std::int64_t, static_cast<std::size_t>(Cut.runs) + 1> at{};
  std::size_t run = 0;
  for (int down = 0; down < Cut.vertical.taps; ++down) {
    const std::int64_t row = costs::place_of_tap(Of, 0, Cut.vertical, down) - Cut.vertical.least;
    for (int along = 0; along < Cut.horizontal.taps; along += Cut.run_taps) {
      const std::int64_t column = costs::place_of_tap(Of, 1, Cut.horizontal, along) - Cut.horizontal.least;
      at[run++] = (row * Cut.row_pixels(Of) + column) * Cut.pixel_numbers;
    }
  }
  return at;
}();

}  // namespace cairn::kernels
