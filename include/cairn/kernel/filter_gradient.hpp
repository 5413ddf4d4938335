// Computes the gradient of a convolution's filter by a matrix product that sums over the pixels of the result. The
// products of each block of pixels are added to tiles of sums, and the threads share the tiles. Therefore sums have the
// same bits for any number of threads.
#pragma once

#include "cairn/kernel/filters.hpp"
#include "cairn/kernel/image_rows.hpp"
#include "cairn/kernel/reduce.hpp"

namespace cairn::kernels {

/// Computes the gradient of a filter from the images and the gradient of the convolution's result. `In`, `Tile` and
/// `Sum` mean the same as in sweep_plan, except that tiles always read a copy of bf16 images.
///
/// The copy consists of pairs if the processor multiplies pairs and a row of the result has an even number of pixels. A
/// pair is made of two pixels that contribute to neighbouring results. The left pixel is the second number of the pair,
/// because the processor multiplies second numbers first. If the copy does not consist of pairs, it consists of floats.
/// In both cases, sums add the pixels in the same order.
template <class Tile, class Sum>
struct filter_plan {
  costs::correlation of;
  costs::filter_cut cut;
  tile_codes<Tile, Sum> codes;
  const std::int64_t* runs;
  workspace scratch;
};
template <class In, class Tile, class Sum>
class filter_gradient {
  using number = workspace_number<In, Sum>;
  using packed = typename factor<Tile, Sum>::number;
  static constexpr bool widens = std::is_same_v<In, bf16>;
  static constexpr int in_step = factor<Tile, Sum>::in_step;
  const filter_plan<Tile, Sum>& plan;
  const image_source<In>& read;
  const In* gradient;
  Sum* made;

 public:
  filter_gradient(const filter_plan<Tile, Sum>& of_plan, const image_source<In>& from, const In* by, Sum* to)
      : plan(of_plan), read(from), gradient(by), made(to) {}

  [[gnu::noinline]] void run(number* scratch, int threads) const {
    const int parts = std::min(plan.scratch.parts, threads);
    if (plan.of.depthwise()) return each_channel(scratch, parts);
    Sum* const sums = lent_as<Sum>(scratch + parts * plan.scratch.each);
    const std::int64_t rows = std::int64_t{plan.of.output[0]} * plan.of.output[1], panels = plan.cut.panels.count();
    const bool one_band = rows <= plan.cut.pixels.band_rows;
    for (std::int64_t at = 0; at < panels; at += plan.cut.panels.block) {
      const costs::range some = plan.cut.panels.block_from(at);
      in_parts(parts, [=, this](int part) {
        block_sums to(plan, costs::share(plan.cut.units(), 1, part, parts), some, sums);
        for (std::int64_t row = 0; row < rows; row += plan.cut.pixels.band_rows)
          band({row, std::min(row + plan.cut.pixels.band_rows, rows)}, one_band && at > 0, to,
               scratch + part * plan.scratch.each);
        to.end_section();
      });
      in_parts(parts, [=, this](int part) { unpack(sums, some, part, parts); });
    }
  }

 private:
  image_rows<In> images() const { return {read, plan.of, plan.cut.pixels}; }

  /// The sums to which a thread adds what blocks of pixels contribute to some units and panels. If the blocks do not
  /// fit into one section, the blocks of each section are summed in `open` before they join `total`.
  struct block_sums {
    const costs::filter_cut& cut;
    costs::range units, panels;
    Sum *total, *open;
    std::int64_t blocks = 0;

    block_sums(const filter_plan<Tile, Sum>& plan, costs::range of_units, costs::range of_panels, Sum* to)
        : cut(plan.cut), units(of_units), panels(of_panels), total(to), open(to) {
      if (!cut.sectioned) return;
      open += cut.sums();
      std::fill(total + begin(), total + end(), Sum{0});
    }
    void end_block() {
      if (++blocks % costs::section_blocks == 0) end_section();
    }
    void end_section() {
      if (cut.sectioned) join_columns<adding>(open + begin(), total + begin(), end() - begin());
    }

   private:
    std::int64_t begin() const { return cut.row_of(units.begin) * cut.sums_row_numbers; }
    std::int64_t end() const { return cut.row_of(units.end) * cut.sums_row_numbers; }
  };

  /// Computes the gradient of a depthwise filter, in which each channel has its own filter. The rows are summed in
  /// sections, and the sums of the sections are added in order.
  void each_channel(number* scratch, int parts) const {
    const std::int64_t all = std::int64_t{plan.of.output[0]} * plan.of.output[1], size = plan.of.filter.count();
    const int sections = costs::sections_of(plan.of);
    Sum* const sums = lent_as<Sum>(scratch + parts * plan.scratch.each);
    in_parts(parts, [=, this](int part) {
      In* const copy = copy_in<In>(scratch + part * plan.scratch.each, plan.cut.pixels, false);
      const costs::range own = costs::share(sections, 1, part, parts);
      for (auto section = own.begin; section < own.end; ++section) {
        const costs::range rows = costs::share(all, 1, static_cast<int>(section), sections);
        Sum* const to = sums + 2 * section * size;
        std::fill_n(to, 2 * size, Sum{});
        for (auto at = rows.begin; at < rows.end; at += plan.cut.pixels.band_rows)
          add_each_channel({at, std::min(at + plan.cut.pixels.band_rows, rows.end)}, copy, to, to + size);
      }
    });
    const int channels = plan.of.input[3], taps = plan.of.taps();
    for (int i = 0; i < size; ++i) {
      Sum sum = 0;
      for (int section = 0; section < sections; ++section) sum += sums[2 * section * size + i];
      made[i % channels * taps + i / channels] = sum;
    }
  }
  /// Adds what some rows contribute. Four taps are computed at a time, for as many channels as a register has numbers.
  /// The products of at most 4 * section_terms pixels of a row are added to `open`, which then joins the totals in
  /// `to`.
  void add_each_channel(costs::range rows, In* copy, Sum* to, Sum* open) const {
    using vec = lanes<Sum>;
    constexpr int width = vec::width, most = 4, pixels = 4 * costs::section_terms;
    const costs::sweep_cut& cut = plan.cut.pixels;
    const image_rows<In> from = images();
    const int channels = plan.of.input[3];
    const std::int64_t apart = std::int64_t{cut.horizontal.step} * channels;
    from.copy_all(rows, copy);
    from.for_each(rows, copy, [&](std::int64_t image, int row, const In* a) {
      const In* const g = gradient + (image * plan.of.output[1] + row) * plan.of.output[2] * channels;
      for (int c = 0; c < channels; c += width) {
        for (int t = 0; t < cut.runs; t += most) {
          const int taps = std::min(most, cut.runs - t);
          for (int begin = 0, end; begin < plan.of.output[2]; begin = end) {
            end = std::min(begin + pixels, plan.of.output[2]);
            vec sum[most];
            for (int i = 0; i < taps; ++i) sum[i] = load_row(open + std::int64_t{t + i} * channels, c, channels);
            for (int k = begin; k < end; ++k) {
              const vec by = load_row_as<Sum>(g + std::int64_t{k} * channels, c, channels);
              for (int i = 0; i < taps; ++i)
                sum[i] = fused(load_row_as<Sum>(a + plan.runs[t + i] + k * apart, c, channels), by, sum[i]);
            }
            for (int i = 0; i < taps; ++i) {
              const std::int64_t at = std::int64_t{t + i} * channels;
              vec total = load_row(to + at, c, channels);
              join(total, sum[i]);
              store_row(total, to + at, c, channels);
              store_row(sum[i], open + at, c, channels);
            }
          }
        }
      }
    });
  }

  /// Adds what a band of rows contributes. If `copied`, the workspace already has the copy of these rows that tiles
  /// read.
  void band(costs::range rows, bool copied, block_sums& sums, number* scratch) const {
    const setting_for<In, Tile> as_instructions{};
    const costs::sweep_cut& cut = plan.cut.pixels;
    const image_rows<In> from = images();
    In* const copy = copy_in<In>(scratch, cut, widens);
    packed* const panel = lent_as<packed>(scratch + costs::band_copy_numbers(cut, sizeof(number), {.wide = widens}));
    const In* const pixels = cut.copied ? copy : read.only();
    const Tile* tiles;
    if constexpr (widens) tiles = lent_as<Tile>(scratch);
    else tiles = pixels;
    if (!copied) {
      [[maybe_unused]] const In* const end = from.copy_all(rows, copy);
      if constexpr (widens) copy_tiles(pixels, end, lent_as<Tile>(scratch));
    }
    std::int64_t at[costs::most_block_rows];
    int known = 0;
    std::int64_t first = rows.begin;
    const auto flush = [&] {
      for (int pixel = 0; pixel < plan.of.output[2]; pixel += plan.cut.block_pixels) {
        const int some = std::min(plan.cut.block_pixels, plan.of.output[2] - pixel);
        block(tiles, first, known, at, pixel, some, panel, sums, denormals_setting(as_instructions));
        sums.end_block();
      }
      first += known;
      known = 0;
    };
    from.for_each(rows, copy, [&](std::int64_t, int, const In* row) {
      at[known++] = in_step * (row - pixels);
      if (known == plan.cut.block_rows) flush();
    });
    if (known > 0) flush();
  }
  /// Copies pixels of bf16 as tiles read them: as pairs of pixels, or as floats.
  void copy_tiles(const In* pixels, const In* end, Tile* to) const {
    if constexpr (in_step == 2) {
      const std::int64_t apart = std::int64_t{plan.cut.pixels.horizontal.step} * plan.of.input[3];
      for (; pixels < end; pixels += half_pairs::width, to += 2 * half_pairs::width) {
        const auto left = std::clamp<std::int64_t>(end - pixels - apart, 0, half_pairs::width);
        half_pairs::of_rows(pixels + apart, pixels, static_cast<int>(left)).store_step(to, 0, half_pairs::width);
      }
    } else {
      for (; pixels < end; pixels += halves::width, to += halves::width)
        load_row_as<Sum>(pixels, 0, end - pixels).store(to);
    }
  }
  /// Packs the gradients of some pixels in columns, as tiles read them. A column is a result.
  void pack(const In* from, int columns, int pixels, packed* to) const {
    const int apart = plan.of.output[3], tile_columns = plan.cut.tile_columns;
    if constexpr (in_step == 1) {
      pack_columns(from, apart, columns, pixels, tile_columns, to);
    } else {
      for (int p = 0; p < pixels; p += 2, from += 2 * apart, to += 2 * tile_columns)
        for (int j = 0; j < columns; j += half_pairs::width)
          half_pairs::of_rows(from + apart + j, from + j, columns - j).store_step(to + 2 * j, 0, half_pairs::width);
    }
  }
  /// Adds what some pixels of some rows contribute to the sums of a thread's units and of some panels.
  void block(const Tile* from, std::int64_t first, int rows, const std::int64_t* at, int pixel, int pixels,
             packed* panel, const block_sums& sums, const denormals_as_zeros* zeros) const {
    const costs::correlation& of = plan.of;
    const costs::range units = sums.units, panels = sums.panels;
    const costs::sweep_cut& cut = plan.cut.pixels;
    const int inputs = of.inputs(), tile_rows = plan.cut.tile_rows, tile_columns = plan.cut.tile_columns;
    const std::int64_t tiles = (cut.length + tile_rows - 1) / tile_rows,
                       apart = std::int64_t{cut.horizontal.step} * cut.pixel_numbers;
    const tile_source source{
        in_step * in_step * apart, in_step * tile_rows, in_step * tile_columns, pixels / in_step, rows, at};
    const tile_target<Sum> to{sums.open, plan.cut.sums_row_numbers, sums.blocks > 0, false, nullptr, zeros};
    const int begin_of_sums = plan.cut.panels[panels.begin].result;
    for (std::int64_t i = panels.begin; i < panels.end; ++i) {
      const costs::column_panels::columns here = plan.cut.panels[i];
      for (int row = 0; row < rows; ++row) {
        pack(gradient + ((first + row) * of.output[2] + pixel) * of.output[3] + here.result, here.count, pixels,
             panel + std::int64_t{row} * pixels * tile_columns);
      }
      for (std::int64_t unit = units.begin; unit < units.end;) {
        const std::int64_t run = unit / tiles, tile = unit % tiles;
        const std::int64_t end = std::min(tiles, tile + units.end - unit);
        const int begin = static_cast<int>(tile) * tile_rows;
        const int height = std::min(static_cast<int>(end) * tile_rows, cut.length) - begin;
        const Tile* const a = from + in_step * (plan.runs[run] + pixel * apart + here.group * inputs + begin);
        plan.codes.run(a, panel, source, to, static_cast<int>(run) * cut.length + begin, here.result - begin_of_sums,
                       here.count, here.count < tile_columns, height);
        unit += end - tile;
      }
    }
  }
  /// Transposes one part of the sums of some panels to the filter's layout. `part` is the number of the part.
  void unpack(const Sum* sums, costs::range panels, int part, int parts) const {
    constexpr int width = lanes<Sum>::width;
    const costs::range results = plan.cut.panels.results_of(panels);
    const costs::range own = costs::share(results.end - results.begin, width, part, parts);
    for (auto at = own.begin; at < own.end; at += width)
      unpack_filter(sums + at, plan.cut.sums_row_numbers, plan.of.filter, static_cast<int>(results.begin + at),
                    static_cast<int>(std::min<std::int64_t>(own.end - at, width)), made);
  }
};
template <class In, class Sum, costs::correlation Of>
inline constexpr costs::filter_cut filter_cut_of = costs::cut_of_filter(Of, sizeof(workspace_number<In, Sum>));
template <class In, class Sum, costs::correlation Of>
using tile_of_filter = std::conditional_t<std::is_same_v<In, bf16> && !filter_cut_of<In, Sum, Of>.in_pairs, Sum, In>;
template <class In, class Sum, costs::correlation Of>
inline constexpr auto filter_plan_of = [] {
  using tile = tile_of_filter<In, Sum, Of>;
  constexpr const costs::filter_cut& cut = filter_cut_of<In, Sum, Of>;
  filter_plan<tile, Sum> plan{Of,
                              cut,
                              {},
                              run_table<Of, cut.pixels>.data(),
                              costs::filter_gradient_workspace(Of, sizeof(workspace_number<In, Sum>))};
  if constexpr (!Of.depthwise())
    plan.codes = codes_of<tile, Sum, cut.tile_rows, cut.pixels.length, cut.tile_columns, Of.results(), false>();
  return plan;
}();

}  // namespace cairn::kernels
