// Convolutions of images {N, H, W, C} with filters {results, channels of a group, rows, columns}: which pixels meet
// which taps, and how the work is cut into tiles and blocks. This file is not in kernel/, because the plan counts
// workspace without knowing any kernel.
#pragma once

#include "cairn/base/shape.hpp"
#include "cairn/cost/blocking.hpp"
#include "cairn/cost/window.hpp"

namespace cairn::costs {

/// Describes how a filter moves over images. Lengths are in pixels.
struct motion {
  nn::extents stride = 1, padding = 0, dilation = 1;
  int groups = 1;
  nn::extents more = 0;  ///< pixels of padding after the image, in addition to `padding`; negative: fewer pixels

  friend constexpr bool operator==(const motion&, const motion&) = default;
  /// Returns how a filter of `taps` taps moves along an axis.
  constexpr window_axis along(int axis, int taps) const {
    return {taps, stride[axis], padding[axis], dilation[axis], more[axis]};
  }
};

/// A pass that makes the pixels of the images `output` from the images `input`. Each pixel that is made is a sum over
/// the taps of a filter and over the channels of the pixels that are read. The forward pass makes a convolution's
/// result from its argument. If `back` is true, the pass makes the argument's gradient from the result's gradient.
struct correlation {
  motion moves;
  shape input, filter, output;
  bool back = false;

  /// Return the channels of one group: of a pixel that is read, and of a pixel that is made.
  constexpr int inputs() const { return input[3] / moves.groups; }
  constexpr int results() const { return output[3] / moves.groups; }
  constexpr int taps() const { return filter[2] * filter[3]; }
  /// Returns true if every channel has a filter of its own. The pass is then a sum over taps, without a matrix product.
  constexpr bool depthwise() const { return moves.groups == input[3] && moves.groups == output[3]; }
  /// Returns the number of sweeps over the pixels that are made. In a backward pass, pixels that are a stride apart
  /// meet the same taps. There is one sweep for each set of pixels that meet the same taps.
  constexpr int sweeps() const { return back ? moves.stride[0] * moves.stride[1] : 1; }
  /// Returns the work by which the number of threads is chosen. A number that is moved counts as 40 operations.
  constexpr std::int64_t work() const { return flops() + 40 * (input.count() + output.count()); }
  constexpr std::int64_t flops() const { return 2 * (back ? input : output).count() * filter[1] * taps(); }
  /// Returns true if the forward pass reads a copy of the images, with zeros around them.
  constexpr bool copied() const;
};

/// Returns into how many sections the rows of a depthwise convolution's result are cut for the gradient of its filter.
/// Each section is summed by itself, and the sums are then added in order.
constexpr int sections_of(const correlation& of) {
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{of.output[0]} * of.output[1], 16));
}

/// The pixels of one sweep along one axis, with the taps that they meet.
struct sweep_axis {
  int first = 0, apart = 1, count = 0;        ///< of the pixels that are made: the first, their distance, their number
  int step = 1;                               ///< distance between the pixels that are read for neighbours among them
  int taps = 0, first_tap = 0, tap_step = 1;  ///< the number of taps, the first, and the step between them
  /// The first and the last pixel that the taps read for made pixel number 0.
  int least = 0, most = 0;

  /// Returns how many pixels are read for `pixels` neighbouring pixels that are made.
  constexpr int pixels_read(int pixels) const { return step * (pixels - 1) + most - least + 1; }
};
/// Returns the pixels of a sweep along one axis. In a backward pass, the sweep makes the pixels phase, phase + stride,
/// phase + 2 * stride, and so on.
constexpr sweep_axis axis_of_sweep(const correlation& of, int axis, int phase) {
  const int stride = of.moves.stride[axis], padding = of.moves.padding[axis], dilation = of.moves.dilation[axis];
  const int taps = of.filter[2 + axis], extent = of.output[1 + axis];
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
/// Returns which tap of the filter is tap number `i` of a sweep along one axis. Taps are numbered in the order of the
/// pixels that they read.
constexpr int tap_of(const correlation& of, const sweep_axis& along, int i) {
  return of.back ? along.first_tap + i * along.tap_step : i;
}
/// Returns the pixel that tap number `i` reads for made pixel number 0.
constexpr int place_of_tap(const correlation& of, int axis, const sweep_axis& along, int i) {
  const int phase = along.first, r = tap_of(of, along, i);
  const int stride = of.moves.stride[axis], padding = of.moves.padding[axis], dilation = of.moves.dilation[axis];
  return of.back ? (phase + padding - r * dilation) / stride : r * dilation - padding;
}

/// The columns of a product, cut into panels that are as wide as the product's tiles. The panels of one group follow
/// the panels of the group before. A block of several panels is made at a time, so that packed operands and sums take
/// little memory. No block has more columns than the first, because the narrow panels at the ends of groups are spread
/// over all blocks.
struct column_panels {
  int groups = 0, results = 0, width = 0;  ///< groups; results of a group; columns of a panel
  int block = 1;                           ///< panels of a block

  constexpr int of_group() const { return width == 0 ? 0 : (results + width - 1) / width; }
  constexpr int count() const { return groups * of_group(); }
  struct columns {
    int group, first, result, count;  ///< `first`, `result`: the first column among its group's and all results
  };
  constexpr columns operator[](std::int64_t panel) const {
    const int number = static_cast<int>(panel), group = number / of_group(), first = number % of_group() * width;
    return {group, first, group * results + first, std::min(width, results - first)};
  }
  /// Returns the columns of some panels, as a range of the columns of all groups.
  constexpr range results_of(range panels) const {
    const columns last = (*this)[panels.end - 1];
    return {(*this)[panels.begin].result, last.result + last.count};
  }
  constexpr range block_from(std::int64_t panel) const {
    return {panel, std::min<std::int64_t>(panel + block, count())};
  }
  /// Returns the number of columns of the first block, which is the widest.
  constexpr int widest() const {
    const range here = results_of(block_from(0));
    return static_cast<int>(here.end - here.begin);
  }
  /// Chooses blocks of at most `most` bytes, but of at least one panel.
  constexpr void cut(std::int64_t panel_bytes, std::int64_t most) {
    block = even_blocks(count(), static_cast<int>(std::max<std::int64_t>(most / panel_bytes, 1)), 1);
  }
};

/// Describes how a sweep is cut: into tiles of pixels of one row, into blocks of depth, and into bands of rows. The
/// pixels that a band reads are copied at a time, with zeros around them, if the sweep needs a copy.
struct sweep_cut {
  sweep_axis vertical, horizontal;
  bool copied = false;  ///< the filter reaches over the edges, or tiles read numbers in another form or order
  int inputs = 0, pixel_numbers = 0;     ///< numbers of a pixel that is read: of one group, and of all groups
  int run_taps = 1;                      ///< taps of a run; the pixels of a run's taps are side by side in memory
  int runs = 0, length = 0;              ///< number of runs, and numbers of a run
  int block_runs = 1, block_length = 0;  ///< runs of a block, and numbers of each run in a block
  int tile_rows = 0, tile_columns = 0;
  int columns = 0;  ///< results of a group, rounded up to whole registers
  column_panels panels;
  int band_rows = 0;              ///< rows of a band, counted in rows that are made
  std::int64_t band_numbers = 0;  ///< numbers of the copy of a band

  /// Returns the pixels of a row that is read, in the copy or in the images.
  constexpr int row_pixels(const correlation& of) const {
    return copied ? horizontal.pixels_read(horizontal.count) : of.input[2];
  }
  /// Returns the columns of the packed panel that begins at `column` of its group. A packed filter is one panel after
  /// another. A panel holds the columns of a tile, in the order in which tiles read them.
  constexpr int panel_columns(int column) const { return std::min(tile_columns, columns - column); }
  constexpr std::int64_t panel_rows() const { return std::int64_t{runs} * length; }
  /// Returns where a panel begins in the packed filter. For the number after the last panel, returns the filter's end.
  constexpr std::int64_t panel_at(std::int64_t panel) const {
    const column_panels::columns here = panels[panel];
    return (std::int64_t{here.group} * columns + here.first) * panel_rows();
  }
  /// Returns the most numbers that the packed panels of a block have.
  constexpr std::int64_t block_numbers() const {
    return panels.count() == 0 ? 0 : panel_at(std::min(panels.block, panels.count()));
  }
  /// Returns the row of a panel that holds number `at` of run `run`. Rows are in the order of blocks of block_length.
  constexpr std::int64_t row_of(int run, int at) const {
    const int block = at / block_length * block_length;
    return std::int64_t{block} * runs + run * std::min(block_length, length - block) + at - block;
  }
};
/// Returns the bytes of a sum of numbers of `bytes` bytes.
constexpr int sum_bytes(int bytes) { return bytes * sums_in(bytes); }
/// For the gradient of a filter: the most rows of the result in a block, and the most pixels of these rows. The
/// products of a block's pixels are added one after another.
inline constexpr int most_block_rows = 384;
inline constexpr int most_block_pixels = 512;
/// The most bytes of a filter that is packed at a time, and of the sums of its gradient. A larger filter is packed in
/// several blocks of panels. If there are also several bands of pixels, each thread copies the bands again for each
/// block. A number that is copied is then used in about 500 products.
inline constexpr std::int64_t most_packed_bytes = 2 * 1024 * 1024, most_summed_bytes = 1024 * 1024;
/// Returns the columns of a tile. A tile of few rows has more columns if the processor has enough registers, so that
/// equally many sums are computed at a time.
constexpr int tile_columns_of(const correlation& of, int tile_rows, int bytes) {
  const int width = register_bytes / sum_bytes(bytes), most = register_bytes == 64 && tile_rows <= 6 ? 4 : 2;
  return std::min((of.results() + width - 1) / width, most) * width;
}
/// Returns the depth of blocks. The part of a panel that tiles read fits in the first-level cache. For bf16 the depth
/// is `of_halves` on every processor, so that sums have the same bits on all processors.
constexpr int depth_of(int tile_columns, int bytes, int of_halves) {
  return bytes == 2 ? of_halves : 48 * 1024 / bytes / tile_columns;
}

/// Describes how tiles read numbers. Only bf16 is read in a special form:
/// - Forward and backward passes read pairs of channels. If a group has an odd number of channels, a copy has a zero
///   after the last channel. If the processor does not multiply pairs, a copy consists of floats.
/// - The gradient of a filter sums over pixels. It reads a copy that consists of pairs of pixels, or of floats.
struct tile_reading {
  bool fills = false;   ///< groups are filled up to an even number of channels
  bool copies = false;  ///< tiles always read a copy
  bool wide = false;    ///< a copy takes 4 bytes for each number of bf16
};
constexpr tile_reading reading_of(const correlation& of, int bytes) {
  if (bytes != 2 || of.depthwise()) return {};
  return {true, !multiplies_bf16 || of.inputs() % 2 != 0, !multiplies_bf16};
}
constexpr tile_reading reading_of_filter(const correlation& of, int bytes) {
  const bool halves = bytes == 2 && !of.depthwise();
  return {false, halves, halves};
}

/// Cuts sweep number `sweep`. Numbers of the images have `bytes` bytes, and tiles read them as `by` says.
constexpr sweep_cut cut_of(const correlation& of, int sweep, int bytes, const tile_reading& by) {
  sweep_cut cut;
  cut.vertical = axis_of_sweep(of, 0, sweep / of.moves.stride[1]);
  cut.horizontal = axis_of_sweep(of, 1, sweep % of.moves.stride[1]);
  if (cut.vertical.count == 0 || cut.horizontal.count == 0) return {};  // no pixel of the image has this phase
  const auto outside = [](const sweep_axis& a, int extent) {
    return a.least < 0 || a.step * (a.count - 1) + a.most >= extent;
  };
  cut.copied = by.copies || outside(cut.vertical, of.input[1]) || outside(cut.horizontal, of.input[2]);
  const int multiple = by.fills ? 2 : 1;
  cut.inputs = (of.inputs() + multiple - 1) / multiple * multiple;
  cut.pixel_numbers = cut.inputs * of.moves.groups;
  const bool side_by_side =
      of.moves.groups == 1 && !of.depthwise() && cut.horizontal.most - cut.horizontal.least == cut.horizontal.taps - 1;
  cut.run_taps = side_by_side ? cut.horizontal.taps : 1;
  cut.runs = cut.vertical.taps * cut.horizontal.taps / cut.run_taps;
  cut.length = cut.run_taps * cut.inputs;

  cut.tile_rows = even_blocks(cut.horizontal.count, most_tile_rows, 1);
  cut.tile_columns = tile_columns_of(of, cut.tile_rows, bytes);
  const int width = register_bytes / sum_bytes(bytes);
  cut.columns = (of.results() + width - 1) / width * width;
  if (cut.runs > 0 && !of.depthwise()) {
    cut.panels = {of.moves.groups, of.results(), cut.tile_columns};
    cut.panels.cut(cut.panel_rows() * cut.tile_columns * (by.wide ? sum_bytes(bytes) : bytes), most_packed_bytes);
  }
  // Sums of bf16 are floats, and they are best rounded to bf16 as soon as a tile is complete. The depth is so large
  // that nearly all filters are one block.
  const int depth = depth_of(cut.tile_columns, bytes, 4608);
  // A phase that no tap meets has no runs. Its blocks get a length of 1, so that the code does not divide by zero.
  cut.block_length = even_blocks(std::max(cut.length, 1), depth, multiple);
  cut.block_runs = even_blocks(std::max(cut.runs, 1), std::max(depth / cut.block_length, 1), 1);

  // If images are small, a band has rows of several images. Each image has edges of its own in the copy.
  const std::int64_t row = std::int64_t{cut.row_pixels(of)} * cut.pixel_numbers, most = 1536 * 1024 / sum_bytes(bytes);
  const std::int64_t all = std::int64_t{of.output[0]} * cut.vertical.count;
  const int span = cut.vertical.pixels_read(1);
  const std::int64_t rows = std::clamp<std::int64_t>(most / (row * cut.vertical.step), 1, all);
  const std::int64_t bands = (all + rows - 1) / rows;
  cut.band_rows = static_cast<int>((all + bands - 1) / bands);
  if (cut.copied) {
    const std::int64_t images =
        std::min<std::int64_t>((cut.band_rows - 1 + cut.vertical.count - 1) / cut.vertical.count + 1, of.output[0]);
    cut.band_numbers =
        row * (std::int64_t{cut.vertical.step} * cut.band_rows + images * std::max(span - cut.vertical.step, 0));
  }
  return cut;
}
constexpr sweep_cut cut_of(const correlation& of, int sweep, int bytes) {
  return cut_of(of, sweep, bytes, reading_of(of, bytes));
}
constexpr bool correlation::copied() const { return cut_of(*this, 0, 1).copied; }
/// Returns the memory of a band's copy, in whole cache lines, counted in numbers of `bytes` bytes. A wide copy
/// is made in place of the plain copy, so only one of them takes memory.
constexpr std::int64_t band_copy_numbers(const sweep_cut& cut, int bytes, const tile_reading& by) {
  const int line = 64 / bytes;
  return (cut.band_numbers + line - 1) / line * line * (by.wide ? sums_in(bytes) : 1);
}
/// Returns the workspace of a correlation: a band for each thread, and a block of the packed filter. If the convolution
/// is depthwise, the packed filter is the whole filter as {taps, channels}.
constexpr workspace correlation_workspace(const correlation& of, int bytes) {
  workspace out{0, parts_of(of.work(), std::int64_t{of.output[0]} * of.output[1])};
  const tile_reading by = reading_of(of, bytes);
  for (int sweep = 0; sweep < of.sweeps(); ++sweep) {
    const sweep_cut cut = cut_of(of, sweep, bytes);
    out.each = std::max(out.each, band_copy_numbers(cut, bytes, by));
    out.all = std::max(out.all, cut.block_numbers() * (by.wide ? sums_in(bytes) : 1));
  }
  if (of.depthwise()) out.all = of.filter.count() * sums_in(bytes);
  out.block = out.all;
  return out;
}

/// Describes how the gradient of a filter is cut. It is a matrix product whose inner axis is the pixels of the result.
/// Its rows are the taps and channels of runs, and its columns are the gradients of the results. The sums have the
/// shape {taps, channels, results}. They are transposed to the filter's layout block by block.
struct filter_cut {
  sweep_cut pixels;  ///< the cut of the forward pass, which reads the same pixels
  int tile_rows = 0, tile_columns = 0;
  column_panels panels;
  int block_rows = 1, block_pixels = 0;  ///< of the result: rows of a block, and pixels of each row in a block
  bool in_pairs = false;  ///< pairs of pixels are multiplied; the processor can, and a row has an even number of them
  std::int64_t packed_numbers = 0;  ///< numbers of the results' gradients that a panel's tiles read at a time
  int sums_row_numbers = 0;         ///< distance between rows of sums: the columns of a block of panels
  bool sectioned = false;           ///< the blocks of pixels do not fit into one section

  /// Returns the number of tiles of rows, which are divided among the threads.
  constexpr std::int64_t units() const {
    return std::int64_t{pixels.runs} * ((pixels.length + tile_rows - 1) / tile_rows);
  }
  /// Returns the first row of sums of a unit. A unit is a tile of rows. For the number after the last unit, returns the
  /// number of rows.
  constexpr std::int64_t row_of(std::int64_t unit) const {
    const std::int64_t of_run = units() / pixels.runs;
    return unit / of_run * pixels.length + unit % of_run * tile_rows;
  }
  constexpr std::int64_t sums() const { return pixels.panel_rows() * sums_row_numbers; }
};
/// Cuts the gradient of a filter. Numbers of the images have `bytes` bytes.
constexpr filter_cut cut_of_filter(const correlation& of, int bytes) {
  filter_cut cut;
  cut.pixels = cut_of(of, 0, bytes, reading_of_filter(of, bytes));
  cut.in_pairs = bytes == 2 && multiplies_bf16 && of.output[2] % 2 == 0;
  cut.tile_rows = even_blocks(cut.pixels.length, most_tile_rows, 1);
  cut.tile_columns = tile_columns_of(of, cut.tile_rows, bytes);
  const int depth = std::min(depth_of(cut.tile_columns, bytes, most_block_pixels), most_block_pixels);
  cut.block_pixels = even_blocks(of.output[2], depth, bytes == 2 ? 2 : 1);
  cut.block_rows = even_blocks(cut.pixels.band_rows, std::clamp(depth / cut.block_pixels, 1, most_block_rows), 1);
  cut.packed_numbers = std::int64_t{cut.block_rows} * std::min(cut.block_pixels, of.output[2]) * cut.tile_columns;
  cut.panels = {of.moves.groups, of.results(), cut.tile_columns};
  cut.panels.cut(cut.pixels.panel_rows() * cut.tile_columns * sum_bytes(bytes), most_summed_bytes);
  cut.sums_row_numbers = cut.panels.widest();
  const auto times = [](std::int64_t extent, int length) { return (extent + length - 1) / length; };
  const std::int64_t bands = times(std::int64_t{of.output[0]} * of.output[1], cut.pixels.band_rows);
  cut.sectioned =
      bands * times(cut.pixels.band_rows, cut.block_rows) * times(of.output[2], cut.block_pixels) > section_blocks;
  return cut;
}
/// Returns the workspace for the gradient of a filter. Each thread has a band and a packed panel of gradients, and all
/// threads share the sums. If the blocks of pixels are summed in sections, each number of the filter has two sums. In a
/// depthwise convolution, each number has two sums for each section of rows, and there is no packed panel.
constexpr workspace filter_gradient_workspace(const correlation& of, int bytes) {
  const filter_cut cut = cut_of_filter(of, bytes);
  const std::int64_t band = band_copy_numbers(cut.pixels, bytes, reading_of_filter(of, bytes));
  if (of.depthwise()) {
    const std::int64_t sums = 2 * sections_of(of) * of.filter.count() * sums_in(bytes);
    return {band, parts_of(of.work(), sections_of(of)), sums, sums};
  }
  const std::int64_t sums = (cut.sectioned ? 2 : 1) * cut.sums() * sums_in(bytes), line = 64 / bytes;
  const std::int64_t panel = cut.packed_numbers * (cut.in_pairs ? 1 : sums_in(bytes));
  return {band + (panel + line - 1) / line * line, parts_of(of.work(), cut.units()), sums, sums};
}

}  // namespace cairn::costs
