// The gradient of a convolution's filter: a product over the pixels of the result, of which each block is added to
// tiles that threads share, so that sums have the same bits for any number of them.
#pragma once

#include "cairn/kernel/filters.hpp"
#include "cairn/kernel/image_rows.hpp"

namespace cairn::kernel {

/// Images and the gradients of their convolution to the gradient of its filter; In and Sum as in a sweep's plan.
template <class In, class Sum>
struct filter_plan {
  correlation of;
  filter_cut cut;
  tile_codes<In, Sum> codes;
  const std::int64_t* runs;
  workspace scratch;
};
template <class In, class Sum>
class filter_gradient {
  const filter_plan<In, Sum>& plan;
  const image_source<In>& read;
  const In* gradient;
  Sum* made;

 public:
  filter_gradient(const filter_plan<In, Sum>& of_plan, const image_source<In>& from, const In* by, Sum* to)
      : plan(of_plan), read(from), gradient(by), made(to) {}

  [[gnu::noinline]] void run(Sum* scratch, int threads) const {
    const int parts = std::min(plan.scratch.parts, threads);
    if (plan.of.depthwise()) return each_channel(scratch, parts);
    Sum* const sums = scratch + parts * plan.scratch.each;
    in_parts(parts, [this, scratch, sums, parts](int part) {
      const std::int64_t all = std::int64_t{plan.of.made[0]} * plan.of.made[1];
      const range own = share(plan.cut.units(), 1, part, parts);
      for (std::int64_t at = 0; at < all; at += plan.cut.pixels.band)
        band({at, std::min(at + plan.cut.pixels.band, all)}, own, sums, scratch + part * plan.scratch.each);
    });
    in_parts(parts, [this, sums, parts](int part) {
      unpack_filter(sums, plan.of.filter, share(plan.of.filter[0], lanes<Sum>::width, part, parts), made);
    });
  }

 private:
  static constexpr int line = 64 / static_cast<int>(sizeof(Sum));

  image_rows<In> images() const {
    const sweep_cut& cut = plan.cut.pixels;
    return {read, plan.of.read[1], plan.of.read[2], plan.of.read[3], cut.copied, cut.down, cut.along};
  }

  /// Of filters of one channel each: sums of sections of rows, added up in order.
  void each_channel(Sum* scratch, int parts) const {
    const std::int64_t all = std::int64_t{plan.of.made[0]} * plan.of.made[1], size = plan.of.filter.count();
    const int sections = sections_of(plan.of);
    Sum* const sums = scratch + parts * plan.scratch.each;
    in_parts(parts, [=, this](int part) {
      In* const copy = copy_in<In>(scratch + part * plan.scratch.each);
      const range own = share(sections, 1, part, parts);
      for (auto section = own.begin; section < own.end; ++section) {
        const range rows = share(all, 1, static_cast<int>(section), sections);
        Sum* const to = sums + section * size;
        std::fill_n(to, size, Sum{});
        for (auto at = rows.begin; at < rows.end; at += plan.cut.pixels.band)
          add_each_channel({at, std::min(at + plan.cut.pixels.band, rows.end)}, copy, to);
      }
    });
    const int channels = plan.of.read[3], taps = plan.of.taps();
    for (int i = 0; i < size; ++i) {
      Sum sum = 0;
      for (int section = 0; section < sections; ++section) sum += sums[section * size + i];
      made[i % channels * taps + i / channels] = sum;
    }
  }
  /// Four taps of a register of channels at a time.
  void add_each_channel(range rows, In* copy, Sum* to) const {
    using vec = lanes<Sum>;
    constexpr int width = vec::width, most = 4;
    const sweep_cut& cut = plan.cut.pixels;
    const image_rows<In> from = images();
    const int channels = plan.of.read[3];
    const std::int64_t apart = std::int64_t{cut.along.step} * channels;
    from.copy_all(rows, copy);
    from.for_each(rows, copy, [&](std::int64_t image, int row, const In* a) {
      const In* const g = gradient + (image * plan.of.made[1] + row) * plan.of.made[2] * channels;
      for (int c = 0; c < channels; c += width) {
        for (int t = 0; t < cut.runs; t += most) {
          const int taps = std::min(most, cut.runs - t);
          vec sum[most];
          for (int i = 0; i < taps; ++i) sum[i] = load_row(to + std::int64_t{t + i} * channels, c, channels);
          for (int k = 0; k < plan.of.made[2]; ++k) {
            const vec by = load_row_as<Sum>(g + std::int64_t{k} * channels, c, channels);
            for (int i = 0; i < taps; ++i)
              sum[i] = fused(load_row_as<Sum>(a + plan.runs[t + i] + k * apart, c, channels), by, sum[i]);
          }
          for (int i = 0; i < taps; ++i) store_row(sum[i], to + std::int64_t{t + i} * channels, c, channels);
        }
      }
    });
  }

  void band(range rows, range units, Sum* sums, Sum* scratch) const {
    const sweep_cut& cut = plan.cut.pixels;
    const image_rows<In> from = images();
    In* const copy = copy_in<In>(scratch);
    Sum* const panel = scratch + (cut.band_numbers + line - 1) / line * line;
    from.copy_all(rows, copy);
    const In* const pixels = cut.copied ? copy : read.only();
    std::int64_t at[most_block_rows];
    int known = 0;
    std::int64_t first = rows.begin;
    const auto flush = [&] {
      for (int pixel = 0; pixel < plan.of.made[2]; pixel += plan.cut.block_pixels) {
        const int some = std::min(plan.cut.block_pixels, plan.of.made[2] - pixel);
        block(pixels, first, known, at, pixel, some, units, panel, sums);
      }
      first += known;
      known = 0;
    };
    from.for_each(rows, copy, [&](std::int64_t, int, const In* row) {
      at[known++] = row - pixels;
      if (known == plan.cut.block_rows) flush();
    });
    if (known > 0) flush();
  }
  /// Adds what some pixels of some rows give.
  void block(const In* from, std::int64_t first, int rows, const std::int64_t* at, int pixel, int pixels, range units,
             Sum* panel, Sum* sums) const {
    const correlation& of = plan.of;
    const sweep_cut& cut = plan.cut.pixels;
    const int results = of.results(), inputs = of.inputs(), tile_rows = plan.cut.tile_rows,
              tile_columns = plan.cut.tile_columns;
    const std::int64_t tiles = (cut.length + tile_rows - 1) / tile_rows;
    const tile_source source{std::int64_t{cut.along.step} * of.read[3], tile_rows, tile_columns, pixels, rows, at};
    const tile_target<Sum> to{sums, of.filter[0], first > 0 || pixel > 0, false, nullptr};
    for (int group = 0; group < of.moves.groups; ++group) {
      for (int j = 0; j < results; j += tile_columns) {
        const int columns = std::min(tile_columns, results - j);
        const bool last_columns = columns < tile_columns;
        for (int i = 0; i < rows; ++i) {
          pack_columns(gradient + ((first + i) * of.made[2] + pixel) * of.made[3] + group * results + j, of.made[3],
                       columns, pixels, tile_columns, panel + std::int64_t{i} * pixels * tile_columns);
        }
        for (std::int64_t unit = units.begin; unit < units.end;) {
          const std::int64_t run = unit / tiles, tile = unit % tiles;
          const std::int64_t end = std::min(tiles, tile + units.end - unit);
          const int begin = static_cast<int>(tile) * tile_rows;
          const int height = std::min(static_cast<int>(end) * tile_rows, cut.length) - begin;
          const In* const a = from + plan.runs[run] + pixel * source.apart + group * inputs + begin;
          const int row = static_cast<int>(run) * cut.length + begin;
          plan.codes.run(a, panel, source, to, row, group * results + j, columns, last_columns, height);
          unit += end - tile;
        }
      }
    }
  }
};
template <class In, class Sum, correlation Of>
inline constexpr filter_plan<In, Sum> filter_plan_of = [] {
  constexpr filter_cut cut = cut_of_filter(Of, sizeof(Sum));
  filter_plan<In, Sum> plan{Of, cut, {}, run_table<Sum, Of, 0>.data(), scratch_of_filter(Of, sizeof(Sum))};
  if constexpr (!Of.depthwise())
    plan.codes = codes_of<In, Sum, cut.tile_rows, cut.pixels.length, cut.tile_columns, Of.results(), false>();
  return plan;
}();

}  // namespace cairn::kernel
