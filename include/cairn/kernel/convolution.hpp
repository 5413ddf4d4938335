// Computes convolutions without a matrix of patches. A tile of results stays in registers while a loop visits the taps
// of the filter one after another and sums over the channels of each tap (batch-reduce: E. Georganas et al., Anatomy of
// high-performance deep learning convolutions on SIMD architectures, 2018). The tiles are the tiles of matrix products.
// The rows of a tile are pixels of one row of an image. Where the filter reaches over the edges of the images, a band
// of rows is copied with zeros around them.
#pragma once

#include "cairn/kernel/filter_gradient.hpp"
#include "cairn/kernel/filters.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/op/convolution.hpp"

namespace cairn::kernels {

/// A sweep with its tables and the code of its tiles. A kernel reads images of type `In`. It adds and writes numbers of
/// type `Sum`, which may have more bits.
///
/// `Tile` is the type of the numbers that tiles read. It is `In`, with one exception: if the processor does not
/// multiply pairs of bf16, tiles read a copy of bf16 images as floats. The copy has the second number of each pair
/// first.
template <class Tile, class Sum>
struct sweep_plan {
  costs::sweep_cut cut;
  tile_codes<Tile, Sum> codes;
  const std::int64_t* runs;  ///< for each run of taps: its distance from the first tap, in numbers of the images
  const int* taps;           ///< for each tap of the sweep: its number in the filter
};
template <class Tile, class Sum>
struct correlation_plan {
  costs::correlation of;
  const sweep_plan<Tile, Sum>* sweeps;
  workspace scratch;
};

/// Computes images from images: a convolution, or the gradient of a convolution's images. The filter has numbers of
/// type `Stored`, which may have more bits than the numbers of the images.
template <class In, class Tile, class Sum, class Stored>
class correlation_kernel {
  using number = workspace_number<In, Sum>;
  using packed = typename factor<Tile, Sum>::number;
  using sweeping = sweep_plan<Tile, Sum>;
  static constexpr int in_step = factor<Tile, Sum>::in_step;
  static constexpr bool widens = !std::is_same_v<In, Tile>;
  const correlation_plan<Tile, Sum>& plan;
  const image_source<In>& read;
  const Stored* filter;
  Sum* made;
  const tile_reader* reader;

 public:
  correlation_kernel(const correlation_plan<Tile, Sum>& of_plan, const image_source<In>& from, const Stored* by,
                     Sum* to, const tile_reader* given_to)
      : plan(of_plan), read(from), filter(by), made(to), reader(given_to) {}

  [[gnu::noinline]] void run(number* scratch, int threads) const {
    const int parts = std::min(plan.scratch.parts, threads);
    number* const filters = scratch + parts * plan.scratch.each;
    if (plan.of.depthwise())
      pack_filters_of_channels<In>(filter, plan.of.input[3], plan.of.taps(), lent_as<Sum>(filters));
    for (int i = 0; i < plan.of.sweeps(); ++i) {
      const sweeping& sweep = plan.sweeps[i];
      const std::int64_t panels = sweep.cut.panels.count();
      std::int64_t at = 0;
      do {  // at least once, because pixels are written even if there are no panels
        const costs::range some = sweep.cut.panels.block_from(at);
        if (panels > 0) pack(sweep, some, filters, parts);
        in_parts(parts, [=, this, &sweep](int part) {
          const costs::range own =
              costs::share(std::int64_t{plan.of.output[0]} * sweep.cut.vertical.count, 1, part, parts);
          const bool copied = at > 0 && own.end - own.begin <= sweep.cut.band_rows;
          for (std::int64_t row = own.begin; row < own.end; row += sweep.cut.band_rows)
            band(sweep, {row, std::min(row + sweep.cut.band_rows, own.end)}, copied, some, filters,
                 scratch + part * plan.scratch.each);
        });
        at = some.end;
      } while (at < panels);
    }
  }

 private:
  /// Packs some panels of the filter for all bands. The threads share the panels.
  void pack(const sweeping& sweep, costs::range some, number* to, int parts) const {
    in_parts(parts, [=, this, &sweep](int part) {
      const costs::range own = costs::share(some.end - some.begin, 1, part, parts);
      filter_packing<In, Sum, packed, Stored>(plan.of, sweep.cut, sweep.taps, filter)
          .run({some.begin + own.begin, some.begin + own.end}, some.begin, lent_as<packed>(to));
    });
  }

  /// Computes a band of rows. If `copied`, the workspace already has the copy of these rows that tiles read.
  void band(const sweeping& sweep, costs::range rows, bool copied, costs::range panels, number* filters,
            number* scratch) const {
    const setting_for<In, Tile> as_instructions{};
    const costs::sweep_cut& cut = sweep.cut;
    In* const copy = copy_in<In>(scratch, cut, widens);
    const image_rows<In> from{read, plan.of, cut};
    if (cut.runs == 0) return clear(sweep, rows, from, copy);
    const In* const end = copied ? copy : from.copy_all(rows, copy);
    if (plan.of.depthwise()) {
      return from.for_each(rows, copy, [&](std::int64_t image, int row, const In* a) {
        const tile_target<Sum> to = target(cut, image, row, false, reader);
        each_channel(sweep, a, lent_as<Sum>(filters), to, tile_row(cut, image, row));
      });
    }
    [[maybe_unused]] Tile* const tiles = lent_as<Tile>(scratch);
    if constexpr (widens) copy_tiles(copy, end, tiles);
    const std::int64_t pixel = std::int64_t{cut.horizontal.step} * cut.pixel_numbers;
    for (int p = 0; p < cut.length; p += cut.block_length) {
      const int length = std::min(cut.block_length, cut.length - p);
      for (int run = 0; run < cut.runs; run += cut.block_runs) {
        const int runs = std::min(cut.block_runs, cut.runs - run);
        const bool first = p == 0 && run == 0, last = p + length == cut.length && run + runs == cut.runs;
        for (std::int64_t i = panels.begin; i < panels.end; ++i) {
          const costs::column_panels::columns here = cut.panels[i];
          const int apart = cut.panel_columns(here.first), of_group = here.group * cut.inputs;
          const std::int64_t before = cut.panel_at(i) - cut.panel_at(panels.begin);
          const packed* const panel = lent_as<packed>(filters) + before + cut.row_of(run, p) * apart;
          const tile_source source{pixel, pixel * cut.tile_rows, in_step * apart, length / in_step,
                                   runs,  sweep.runs + run};
          from.for_each(rows, copy, [&](std::int64_t image, int row, const In* a) {
            tile_target<Sum> to = target(cut, image, row, !first, last ? reader : nullptr);
            to.zeros = denormals_setting(as_instructions);
            const Tile* in_tiles;
            if constexpr (widens) in_tiles = tiles + (a - copy);
            else in_tiles = a;
            sweep.codes.run(in_tiles + of_group + p, panel, source, to, tile_row(cut, image, row), here.result,
                            here.count, here.count < cut.tile_columns, cut.horizontal.count);
          });
        }
      }
    }
  }

  /// Copies pixels of bf16 as floats, in the order in which tiles read them. If the floats are there already, `pixels`
  /// is `end`, and nothing is copied.
  static void copy_tiles(const In* pixels, const In* end, Tile* to) {
    for (; pixels < end; pixels += halves::width, to += halves::width)
      halves::floats(halves::exchanged(halves::load(pixels, end - pixels))).store(to);
  }
  /// Computes a row of pixels of a depthwise convolution, in which each channel has its own filter. Eight pixels are
  /// computed at a time, for as many channels as a register has numbers.
  void each_channel(const sweeping& sweep, const In* from, const Sum* filters, const tile_target<Sum>& to,
                    int row) const {
    using vec = lanes<Sum>;
    constexpr int width = vec::width, most = 8;
    const int channels = plan.of.input[3], pixels = sweep.cut.horizontal.count;
    const std::int64_t apart = std::int64_t{sweep.cut.horizontal.step} * channels;
    for (int c = 0; c < channels; c += width) {
      const int columns = std::min(width, channels - c);
      for (int k = 0; k < pixels; k += most) {
        const int count = std::min(most, pixels - k);
        alignas(64) Sum tile[most * width] = {};
        vec sum[most];
        for (vec& s : sum) s = vec::fill(0);
        for (int t = 0; t < sweep.cut.runs; ++t) {
          const vec w = load_row(filters + std::int64_t{sweep.taps[t]} * channels, c, channels);
          const In* at = from + sweep.runs[t] + k * apart;
          for (int i = 0; i < count; ++i, at += apart) sum[i] = fused(load_row_as<Sum>(at, c, channels), w, sum[i]);
        }
        for (int i = 0; i < count; ++i) sum[i].store(tile + i * width);
        to.finish_tile(tile, width, row + k, c, count, columns);
      }
    }
  }

  /// Returns the row of the result at which a row of an image begins. Rows of the result are its pixels. If the sweep
  /// makes only some pixels of a row, `target` begins at the first of them, and this function returns 0.
  int tile_row(const costs::sweep_cut& cut, std::int64_t image, int row) const {
    return cut.horizontal.apart > 1
               ? 0
               : static_cast<int>((image * plan.of.output[1] + cut.vertical.first + row * cut.vertical.apart) *
                                  plan.of.output[2]);
  }
  tile_target<Sum> target(const costs::sweep_cut& cut, std::int64_t image, int row, bool add,
                          const tile_reader* given_to) const {
    const shape& to = plan.of.output;
    Sum* at = made;
    if (cut.horizontal.apart > 1) {
      const std::int64_t line_of_image = image * to[1] + cut.vertical.first + row * cut.vertical.apart;
      at += (line_of_image * to[2] + cut.horizontal.first) * to[3];
    }
    return {at, std::int64_t{cut.horizontal.apart} * to[3], add, false, given_to};
  }
  /// Writes zeros to the pixels that no tap reaches.
  void clear(const sweeping& sweep, costs::range rows, const image_rows<In>& from, In* copy) const {
    const costs::sweep_cut& cut = sweep.cut;
    from.for_each(rows, copy, [&](std::int64_t image, int row, const In*) {
      const tile_target<Sum> to = target(cut, image, row, false, nullptr);
      for (int k = 0; k < cut.horizontal.count; ++k)
        std::fill_n(to.at(tile_row(cut, image, row) + k, 0), plan.of.output[3], Sum{});
    });
  }
};

/// For each tap of a sweep: its number in the filter.
template <costs::correlation Of, costs::sweep_cut Cut>
inline constexpr auto tap_table = [] {
  std::array<int, static_cast<std::size_t>(Cut.vertical.taps * Cut.horizontal.taps) + 1> at{};
  std::size_t tap = 0;
  for (int down = 0; down < Cut.vertical.taps; ++down)
    for (int along = 0; along < Cut.horizontal.taps; ++along)
      at[tap++] = costs::tap_of(Of, Cut.vertical, down) * Of.filter[3] + costs::tap_of(Of, Cut.horizontal, along);
  return at;
}();
template <class In, class Sum, costs::correlation Of>
using tile_of = std::conditional_t<Of.depthwise() || !std::is_same_v<In, bf16>, In, typename factor<In, Sum>::number>;
template <class In, class Sum, costs::correlation Of, int Sweep>
constexpr auto sweep_plan_of() {
  using tile = tile_of<In, Sum, Of>;
  constexpr costs::sweep_cut cut = costs::cut_of(Of, Sweep, sizeof(workspace_number<In, Sum>));
  sweep_plan<tile, Sum> plan{cut, {}, run_table<Of, cut>.data(), tap_table<Of, cut>.data()};
  if constexpr (!Of.depthwise() && cut.runs > 0)
    plan.codes = codes_of<tile, Sum, cut.tile_rows, cut.horizontal.count, cut.tile_columns, Of.results(), true>();
  return plan;
}
template <class In, class Sum, costs::correlation Of>
inline constexpr auto sweep_plans = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array{sweep_plan_of<In, Sum, Of, I>()...};
}(std::make_integer_sequence<int, Of.sweeps()>{});
template <class In, class Sum, costs::correlation Of>
inline constexpr correlation_plan<tile_of<In, Sum, Of>, Sum> correlation_plan_of{
    Of, sweep_plans<In, Sum, Of>.data(), costs::correlation_workspace(Of, sizeof(workspace_number<In, Sum>))};

/// Runs a convolution or the gradient of its images. The operands are the images that are computed, the images that are
/// read or their pieces, the filter, and the workspace.
template <class In, class Sum, class Stored, costs::correlation Of>
void correlate(void* const* p, const launch& how) {
  static constexpr int channels[]{Of.input[3]};
  const image_source<In> images{p + 1, how.pieces_or(channels)};
  void* const* const rest = p + 1 + images.channels.size();
  correlation_kernel<In, tile_of<In, Sum, Of>, Sum, Stored>(correlation_plan_of<In, Sum, Of>, images,
                                                            static_cast<const Stored*>(rest[0]),
                                                            static_cast<Sum*>(p[0]), how.reader)
      .run(static_cast<workspace_number<In, Sum>*>(rest[1]), how.threads);
}
/// Runs the gradient of a filter. The operands are this gradient, the images or their pieces, the gradient of the
/// convolution's result, and the workspace.
template <class In, class Sum, costs::correlation Of>
void correlate_filter(void* const* p, const launch& how) {
  static constexpr int channels[]{Of.input[3]};
  const image_source<In> images{p + 1, how.pieces_or(channels)};
  void* const* const rest = p + 1 + images.channels.size();
  filter_gradient<In, tile_of_filter<In, Sum, Of>, Sum>(filter_plan_of<In, Sum, Of>, images,
                                                        static_cast<const In*>(rest[0]), static_cast<Sum*>(p[0]))
      .run(static_cast<workspace_number<In, Sum>*>(rest[1]), how.threads);
}
}  // namespace cairn::kernels

namespace cairn::lang {

template <costs::motion Moves, class Real, class X, class W>
void compute(convolution_op<Moves>, signature<Real, X, W>, void* const* p, const kernels::launch& how) {
  kernels::correlate<Real, kernels::sum_of<Real>, kernels::taken_of<Real, W>,
                     convolution_op<Moves>::of(X::shape, W::shape)>(p, how);
}
template <costs::motion Moves, int Rows, int Columns, class Real, class G, class W>
void compute(convolution_back_op<Moves, Rows, Columns>, signature<Real, G, W>, void* const* p,
             const kernels::launch& how) {
  kernels::correlate<Real, kernels::sum_of<Real>, kernels::taken_of<Real, W>,
                     convolution_back_op<Moves, Rows, Columns>::of(G::shape, W::shape)>(p, how);
}
template <costs::motion Moves, int Rows, int Columns, class Real, class X, class G>
void compute(filter_gradient_op<Moves, Rows, Columns>, signature<Real, X, G>, void* const* p,
             const kernels::launch& how) {
  kernels::correlate_filter<Real, kernels::sum_of<Real>,
                            filter_gradient_op<Moves, Rows, Columns>::of(X::shape, G::shape)>(p, how);
}

}  // namespace cairn::lang
