// Convolutions of images {N, H, W, C} with filters {results, channels of a group, rows, columns}: which pixels meet
// which taps, and how that is cut. Here, and not with the kernel, for the plan counts working space without knowing any
// kernel.
#pragma once

#include "cairn/cost/blocking.hpp"
#include "cairn/base/shape.hpp"

namespace cairn {

/// How a filter moves over images: along their height, and along their width.
struct motion {
  int stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  int groups = 1;

  friend constexpr bool operator==(const motion&, const motion&) = default;
  /// The extent of the result along an axis; 0 where the filter does not fit.
  constexpr int result(int axis, int image, int filter) const {
    const int room = image + 2 * padding[axis] - dilation[axis] * (filter - 1) - 1;
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
};

/// A pass over the pixels of images, each the sum over taps of a filter and over the channels of other images: forward
/// from a convolution's argument to its result, or back from the gradient of the result to that of the argument.
struct correlation {
  motion moves;
  shape read, filter, made;
  bool back = false;

  /// Of a pixel that is read, and of one that is made, in one group.
  constexpr int inputs() const { return read[3] / moves.groups; }
  constexpr int results() const { return made[3] / moves.groups; }
  constexpr int taps() const { return filter[2] * filter[3]; }
  /// Whether every channel has a filter of its own: a sum over taps alone, and no product of matrices.
  constexpr bool depthwise() const { return moves.groups == read[3] && moves.groups == made[3]; }
  /// Back, pixels that are a stride apart meet the same taps: so many sweeps are made over the others.
  constexpr int sweeps() const { return back ? moves.stride[0] * moves.stride[1] : 1; }
  /// For threads: a number moved counts as 40 operations.
  constexpr std::int64_t work() const { return flops() + 40 * (read.count() + made.count()); }
  constexpr std::int64_t flops() const { return 2 * (back ? read : made).count() * filter[1] * taps(); }
  /// Whether a forward pass reads a copy of the images, with zeros around them.
  constexpr bool copied() const;
};

/// Sections of rows of a depthwise convolution's result, whose sums make the gradient of its filter one after another.
constexpr int sections_of(const correlation& of) {
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{of.made[0]} * of.made[1], 16));
}

/// The pixels of one sweep along one axis, with the taps that they meet.
struct sweep_axis {
  int first = 0, apart = 1, count = 0;  ///< of the pixels that are made
  int step = 1;                         ///< between those that are read
  int taps = 0, first_tap = 0, tap_step = 1;
  int least = 0, most = 0;  ///< where taps find their pixels

  /// Pixels that are read for some that are made.
  constexpr int reach(int pixels) const { return step * (pixels - 1) + most - least + 1; }
};
constexpr sweep_axis axis_of_sweep(const correlation& of, int axis, int phase) {
  const int stride = of.moves.stride[axis], padding = of.moves.padding[axis], dilation = of.moves.dilation[axis];
  const int taps = of.filter[2 + axis], extent = of.made[1 + axis];
  if (!of.back) {
    return {.count = extent, .step = stride, .taps = taps, .least = -padding, .most = dilation * (taps - 1) - padding};
  }
  sweep_axis out{.first = phase, .apart = stride, .count = phase < extent ? (extent - 1 - phase) / stride + 1 : 0};
  // Tap r is met where first + padding - r * dilation is a multiple of the stride.
  for (int r = taps; r-- > 0;) {
    const int at = phase + padding - r * dilation;
    if (at % stride != 0) continue;
    if (out.taps++ == 0) out.least = at / stride;
    else if (out.taps == 2) out.tap_step = r - out.first_tap;
    if (out.taps == 1) out.first_tap = r;
    out.most = at / stride;
  }
  return out;
}
/// Tap number `i` of a sweep along one axis, in the order in which it finds its pixels.
constexpr int tap_of(const correlation& of, const sweep_axis& along, int i) {
  return of.back ? along.first_tap + i * along.tap_step : i;
}
constexpr int place_of_tap(const correlation& of, int axis, const sweep_axis& along, int i) {
  const int phase = along.first, r = tap_of(of, along, i);
  const int stride = of.moves.stride[axis], padding = of.moves.padding[axis], dilation = of.moves.dilation[axis];
  return of.back ? (phase + padding - r * dilation) / stride : r * dilation - padding;
}

/// The columns of a product in panels as wide as its tiles, those of a group after those of another. Some are made at a
/// time, a block, so that what is packed or summed for them takes little room; no block is larger than the first, for
/// the narrow panels at the ends of groups are spread over all.
struct column_panels {
  int groups = 0, results = 0, width = 0;  ///< results of a group
  int block = 1;                           ///< panels at a time

  constexpr int of_group() const { return width == 0 ? 0 : (results + width - 1) / width; }
  constexpr int count() const { return groups * of_group(); }
  struct columns {
    int group, first, result, count;  ///< the first column among the results of its group, and of all
  };
  constexpr columns operator[](std::int64_t panel) const {
    const int number = static_cast<int>(panel), group = number / of_group(), first = number % of_group() * width;
    return {group, first, group * results + first, std::min(width, results - first)};
  }
  /// The columns of some panels, one after the other among those of all groups.
  constexpr range results_of(range panels) const {
    const columns last = (*this)[panels.end - 1];
    return {(*this)[panels.begin].result, last.result + last.count};
  }
  constexpr range block_from(std::int64_t panel) const {
    return {panel, std::min<std::int64_t>(panel + block, count())};
  }
  /// The columns of the first block.
  constexpr int widest() const {
    const range here = results_of(block_from(0));
    return static_cast<int>(here.end - here.begin);
  }
  /// Has at most so many bytes made at a time, or a panel.
  constexpr void cut(std::int64_t panel_bytes, std::int64_t most) {
    block = even_blocks(count(), static_cast<int>(std::max<std::int64_t>(most / panel_bytes, 1)), 1);
  }
};

/// How a sweep is cut: tiles of pixels of one row, blocks of depth, bands of rows of which pixels are copied, with
/// zeros around them.
struct sweep_cut {
  sweep_axis down, along;
  bool copied = false;        ///< the filter reaches over the edges, or pixels are read as they do not lie
  int inputs = 0, pixel = 0;  ///< numbers of a pixel that is read: of a group, and of all
  int run_taps = 1;           ///< of which the pixels lie side by side
  int runs = 0, length = 0;   ///< of these, and numbers of a run
  int block_runs = 1, block_length = 0;
  int tile_rows = 0, tile_columns = 0;
  int columns = 0;  ///< results of a group, in whole registers
  column_panels panels;
  int band = 0;  ///< rows that are made
  std::int64_t band_numbers = 0;

  /// Pixels of a row that is read, as it lies.
  constexpr int row_pixels(const correlation& of) const { return copied ? along.reach(along.count) : of.read[2]; }
  /// A packed filter is one panel after another, each of a tile's columns in the order in which tiles read them.
  constexpr int panel_columns(int column) const { return std::min(tile_columns, columns - column); }
  constexpr std::int64_t panel_rows() const { return std::int64_t{runs} * length; }
  /// Where a panel begins, or the last one ends.
  constexpr std::int64_t panel_at(std::int64_t panel) const {
    const column_panels::columns here = panels[panel];
    return (std::int64_t{here.group} * columns + here.first) * panel_rows();
  }
  /// The most numbers of the panels of a block.
  constexpr std::int64_t block_numbers() const {
    return panels.count() == 0 ? 0 : panel_at(std::min(panels.block, panels.count()));
  }
  /// The row of a panel where number `at` of run `run` is.
  constexpr std::int64_t row_of(int run, int at) const {
    const int block = at / block_length * block_length;
    return std::int64_t{block} * runs + run * std::min(block_length, length - block) + at - block;
  }
};
/// The bytes of a sum of numbers of so many.
constexpr int sum_bytes(int bytes) { return bytes * sums_in(bytes); }
inline constexpr int most_tile_rows = register_bytes == 64 ? 12 : register_bytes == 32 ? 6 : 4;
inline constexpr int most_block_rows = 384;  ///< of the result, in the gradient of a filter
inline constexpr int most_block_pixels = 512;  ///< in these rows, of which products are added one after another
/// Of a packed filter, and of the sums of its gradient. Where bands of pixels are several, they are copied again for
/// each block, by each thread: some 500 products for a number that is copied.
inline constexpr std::int64_t most_packed_bytes = 2 * 1024 * 1024, most_summed_bytes = 1024 * 1024;
/// Tiles of few rows have more columns where there are registers, so that as many sums are under way.
constexpr int tile_columns_of(const correlation& of, int tile_rows, int bytes) {
  const int width = register_bytes / sum_bytes(bytes), most = register_bytes == 64 && tile_rows <= 6 ? 4 : 2;
  return std::min((of.results() + width - 1) / width, most) * width;
}
/// Of blocks, so that what tiles read of a panel fits in the first-level cache; of bf16 `of_halves`, whatever the
/// processor, so that sums are the same for all.
constexpr int depth_of(int tile_columns, int bytes, int of_halves) {
  return bytes == 2 ? of_halves : 48 * 1024 / bytes / tile_columns;
}

/// How tiles read numbers of so many bytes. Forward and back, bf16 goes in pairs of channels: where these are odd in a
/// group, a copy has a zero beside the last; where the processor does not multiply pairs, it is of floats. The gradient
/// of a filter, of which the depth is pixels, reads a copy of pairs of pixels or of floats.
struct tile_reading {
  bool fills = false;   ///< groups up to an even number of channels
  bool copies = false;  ///< always
  bool wide = false;    ///< copies take 4 bytes a number of bf16
};
constexpr tile_reading reading_of(const correlation& of, int bytes) {
  if (bytes != 2 || of.depthwise()) return {};
  return {true, !multiplies_bf16 || of.inputs() % 2 != 0, !multiplies_bf16};
}
constexpr tile_reading reading_of_filter(const correlation& of, int bytes) {
  const bool halves = bytes == 2 && !of.depthwise();
  return {false, halves, halves};
}

constexpr sweep_cut cut_of(const correlation& of, int sweep, int bytes, const tile_reading& by) {
  sweep_cut cut;
  cut.down = axis_of_sweep(of, 0, sweep / of.moves.stride[1]);
  cut.along = axis_of_sweep(of, 1, sweep % of.moves.stride[1]);
  if (cut.down.count == 0 || cut.along.count == 0) return {};  // no pixel of the image has this phase
  const auto outside = [](const sweep_axis& a, int extent) {
    return a.least < 0 || a.step * (a.count - 1) + a.most >= extent;
  };
  cut.copied = by.copies || outside(cut.down, of.read[1]) || outside(cut.along, of.read[2]);
  const int multiple = by.fills ? 2 : 1;
  cut.inputs = (of.inputs() + multiple - 1) / multiple * multiple;
  cut.pixel = cut.inputs * of.moves.groups;
  const bool side_by_side =
      of.moves.groups == 1 && !of.depthwise() && cut.along.most - cut.along.least == cut.along.taps - 1;
  cut.run_taps = side_by_side ? cut.along.taps : 1;
  cut.runs = cut.down.taps * cut.along.taps / cut.run_taps;
  cut.length = cut.run_taps * cut.inputs;

  cut.tile_rows = even_blocks(cut.along.count, most_tile_rows, 1);
  cut.tile_columns = tile_columns_of(of, cut.tile_rows, bytes);
  const int width = register_bytes / sum_bytes(bytes);
  cut.columns = (of.results() + width - 1) / width * width;
  if (cut.runs > 0 && !of.depthwise()) {
    cut.panels = {of.moves.groups, of.results(), cut.tile_columns};
    cut.panels.cut(cut.panel_rows() * cut.tile_columns * (by.wide ? sum_bytes(bytes) : bytes), most_packed_bytes);
  }
  // Sums of bf16 are worth rounding at once, so nearly all filters are one block.
  const int depth = depth_of(cut.tile_columns, bytes, 4608);
  // Where no tap falls on this phase, there is nothing to add up.
  cut.block_length = even_blocks(std::max(cut.length, 1), depth, multiple);
  cut.block_runs = even_blocks(std::max(cut.runs, 1), std::max(depth / cut.block_length, 1), 1);

  // Rows that are made in a band are those of several images where these are small; each image has its own edges.
  const std::int64_t row = std::int64_t{cut.row_pixels(of)} * cut.pixel, most = 1536 * 1024 / sum_bytes(bytes);
  const std::int64_t all = std::int64_t{of.made[0]} * cut.down.count;
  const int span = cut.down.reach(1);
  const std::int64_t rows = std::clamp<std::int64_t>(most / (row * cut.down.step), 1, all);
  const std::int64_t bands = (all + rows - 1) / rows;
  cut.band = static_cast<int>((all + bands - 1) / bands);
  if (cut.copied) {
    const std::int64_t images =
        std::min<std::int64_t>((cut.band - 1 + cut.down.count - 1) / cut.down.count + 1, of.made[0]);
    cut.band_numbers = row * (std::int64_t{cut.down.step} * cut.band + images * std::max(span - cut.down.step, 0));
  }
  return cut;
}
constexpr sweep_cut cut_of(const correlation& of, int sweep, int bytes) {
  return cut_of(of, sweep, bytes, reading_of(of, bytes));
}
constexpr bool correlation::copied() const { return cut_of(*this, 0, 1).copied; }
/// How much room a band takes, of numbers of so many bytes: whole lines of the copy, in place of which come those that
/// are wide.
constexpr std::int64_t room_of_band(const sweep_cut& cut, int bytes, const tile_reading& by) {
  const int line = 64 / bytes;
  return (cut.band_numbers + line - 1) / line * line * (by.wide ? sums_in(bytes) : 1);
}
/// The working space of a correlation: a band for each thread, and a block of the packed filter; where every channel
/// has its own, all of it as {taps, channels}.
constexpr workspace scratch_of(const correlation& of, int bytes) {
  workspace out{0, parts_of(of.work(), std::int64_t{of.made[0]} * of.made[1])};
  const tile_reading by = reading_of(of, bytes);
  for (int sweep = 0; sweep < of.sweeps(); ++sweep) {
    const sweep_cut cut = cut_of(of, sweep, bytes);
    out.each = std::max(out.each, room_of_band(cut, bytes, by));
    out.all = std::max(out.all, cut.block_numbers() * (by.wide ? sums_in(bytes) : 1));
  }
  if (of.depthwise()) out.all = of.filter.count() * sums_in(bytes);
  out.block = out.all;
  return out;
}

/// The gradient of a filter, a product over the pixels of the result: of runs of taps and channels, as rows, with the
/// results' gradients, as columns, whose sums {taps, channels, results} are turned block by block.
struct filter_cut {
  sweep_cut pixels;  ///< those of the forward pass
  int tile_rows = 0, tile_columns = 0;
  column_panels panels;
  int block_rows = 1, block_pixels = 0;  ///< of the result: some rows, or a part of one
  bool in_pairs = false;                 ///< of pixels, where the processor multiplies such and a row has no odd one
  std::int64_t packed_numbers = 0;       ///< of the gradients that a panel's tiles read at a time
  int sums_apart = 0;                    ///< how far rows of sums lie apart: the columns of a block of panels
  bool sectioned = false;                ///< blocks of pixels are more than a section

  /// Tiles of rows, which threads share.
  constexpr std::int64_t units() const {
    return std::int64_t{pixels.runs} * ((pixels.length + tile_rows - 1) / tile_rows);
  }
  /// The first row of sums of a unit, or the end of the last one's.
  constexpr std::int64_t row_of(std::int64_t unit) const {
    const std::int64_t of_run = units() / pixels.runs;
    return unit / of_run * pixels.length + unit % of_run * tile_rows;
  }
  constexpr std::int64_t sums() const { return pixels.panel_rows() * sums_apart; }
};
constexpr filter_cut cut_of_filter(const correlation& of, int bytes) {
  filter_cut cut;
  cut.pixels = cut_of(of, 0, bytes, reading_of_filter(of, bytes));
  cut.in_pairs = bytes == 2 && multiplies_bf16 && of.made[2] % 2 == 0;
  cut.tile_rows = even_blocks(cut.pixels.length, most_tile_rows, 1);
  cut.tile_columns = tile_columns_of(of, cut.tile_rows, bytes);
  const int depth = std::min(depth_of(cut.tile_columns, bytes, most_block_pixels), most_block_pixels);
  cut.block_pixels = even_blocks(of.made[2], depth, bytes == 2 ? 2 : 1);
  cut.block_rows = even_blocks(cut.pixels.band, std::clamp(depth / cut.block_pixels, 1, most_block_rows), 1);
  cut.packed_numbers = std::int64_t{cut.block_rows} * std::min(cut.block_pixels, of.made[2]) * cut.tile_columns;
  cut.panels = {of.moves.groups, of.results(), cut.tile_columns};
  cut.panels.cut(cut.pixels.panel_rows() * cut.tile_columns * sum_bytes(bytes), most_summed_bytes);
  cut.sums_apart = cut.panels.widest();
  const auto times = [](std::int64_t extent, int length) { return (extent + length - 1) / length; };
  const std::int64_t bands = times(std::int64_t{of.made[0]} * of.made[1], cut.pixels.band);
  cut.sectioned = bands * times(cut.pixels.band, cut.block_rows) * times(of.made[2], cut.block_pixels) > section_blocks;
  return cut;
}
constexpr workspace scratch_of_filter(const correlation& of, int bytes) {
  const filter_cut cut = cut_of_filter(of, bytes);
  const std::int64_t band = room_of_band(cut.pixels, bytes, reading_of_filter(of, bytes));
  if (of.depthwise()) {
    const std::int64_t sums = 2 * sections_of(of) * of.filter.count() * sums_in(bytes);
    return {band, parts_of(of.work(), sections_of(of)), sums, sums};
  }
  const std::int64_t sums = (cut.sectioned ? 2 : 1) * cut.sums() * sums_in(bytes), line = 64 / bytes;
  const std::int64_t panel = cut.packed_numbers * (cut.in_pairs ? 1 : sums_in(bytes));
  return {band + (panel + line - 1) / line * line, parts_of(of.work(), cut.units()), sums, sums};
}

}  // namespace cairn
