// Convolutions without a matrix of patches: a tile of results stays in registers while a loop runs over the channels of
// one tap of the filter after another (batch-reduce: E. Georganas et al., Anatomy of high-performance deep learning
// convolutions on SIMD architectures, 2018). Tiles are those of matrix products, of the pixels of one row of an image;
// where the filter reaches over the edges, a band of rows is copied with zeros around them.
#pragma once

#include "cairn/expr/convolution.hpp"
#include "cairn/kernel/filter_gradient.hpp"
#include "cairn/kernel/filters.hpp"
#include "cairn/kernel/run.hpp"

namespace cairn {

namespace kernel {

/// A sweep with its tables. `In` are the numbers that are read, `Sum` those that are added up and made: they may have
/// more bits. `Tile` are those that tiles read: In, or floats in a copy in place of bf16 whose pairs the processor does
/// not multiply, the second of each pair first.
template <class Tile, class Sum>
struct sweep_plan {
  sweep_cut cut;
  tile_codes<Tile, Sum> codes;
  const std::int64_t* runs;  ///< where each run of taps begins
  const int* taps;           ///< which they are in the filter
};
template <class Tile, class Sum>
struct correlation_plan {
  correlation of;
  const sweep_plan<Tile, Sum>* sweeps;
  workspace scratch;
};

/// Images to images.
template <class In, class Tile, class Sum>
class correlating {
  using number = lent<In, Sum>;
  using packed = typename factor<Tile, Sum>::number;
  using sweeping = sweep_plan<Tile, Sum>;
  static constexpr int in_step = factor<Tile, Sum>::in_step;
  static constexpr bool widens = !std::is_same_v<In, Tile>;
  const correlation_plan<Tile, Sum>& plan;
  const image_source<In>& read;
  const In* filter;
  Sum* made;
  const tile_reader* reader;

 public:
  correlating(const correlation_plan<Tile, Sum>& of_plan, const image_source<In>& from, const In* by, Sum* to,
              const tile_reader* given_to)
      : plan(of_plan), read(from), filter(by), made(to), reader(given_to) {}

  [[gnu::noinline]] void run(number* scratch, int threads) const {
    const int parts = std::min(plan.scratch.parts, threads);
    number* const filters = scratch + parts * plan.scratch.each;
    pack(filters, parts);
    in_parts(parts, [this, scratch, filters, parts](int part) {
      packed* panels = lent_as<packed>(filters);
      for (int i = 0; i < plan.of.sweeps(); ++i) {
        const sweeping& sweep = plan.sweeps[i];
        const range own = share(std::int64_t{plan.of.made[0]} * sweep.cut.down.count, 1, part, parts);
        for (std::int64_t at = own.begin; at < own.end; at += sweep.cut.band)
          band(sweep, {at, std::min(at + sweep.cut.band, own.end)}, panels, scratch + part * plan.scratch.each);
        if (!plan.of.depthwise()) panels += sweep.cut.panel_at(plan.of.moves.groups, 0);
      }
    });
  }

 private:
  /// Once for all bands and threads.
  void pack(number* to, int parts) const {
    if (plan.of.depthwise()) return pack_filters_of_channels(filter, plan.of.read[3], plan.of.taps(), lent_as<Sum>(to));
    in_parts(parts, [this, to, parts](int part) {
      packed* panels = lent_as<packed>(to);
      for (int i = 0; i < plan.of.sweeps(); ++i) {
        const sweeping& sweep = plan.sweeps[i];
        const range own = share(plan.of.moves.groups * sweep.cut.panels(), 1, part, parts);
        filter_packing<In, Sum, packed>(plan.of, sweep.cut, sweep.taps, filter).run(own, panels);
        panels += sweep.cut.panel_at(plan.of.moves.groups, 0);
      }
    });
  }

  void band(const sweeping& sweep, range rows, packed* panels, number* scratch) const {
    [[maybe_unused]] const as_pairs_are<In, Tile> as_instructions{};
    const sweep_cut& cut = sweep.cut;
    In* const copy = copy_in<In>(scratch, cut, widens);
    const image_rows<In> from{read, plan.of, cut};
    if (cut.runs == 0) return clear(sweep, rows, from, copy);
    const In* const end = from.copy_all(rows, copy);
    if (plan.of.depthwise()) {
      const Sum* const filters = lent_as<Sum>(panels);
      return from.for_each(rows, copy, [&](std::int64_t image, int row, const In* a) {
        each_channel(sweep, a, filters, target(cut, image, row, false, reader), tile_row(cut, image, row));
      });
    }
    const Tile* const tiles = as_tiles(copy, end, lent_as<Tile>(scratch));
    const int results = plan.of.results();
    for (int group = 0; group < plan.of.moves.groups; ++group) {
      for (int p = 0; p < cut.length; p += cut.block_length) {
        const int length = std::min(cut.block_length, cut.length - p);
        for (int run = 0; run < cut.runs; run += cut.block_runs) {
          const int runs = std::min(cut.block_runs, cut.runs - run);
          const bool first = p == 0 && run == 0, last = p + length == cut.length && run + runs == cut.runs;
          const std::int64_t pixel = std::int64_t{cut.along.step} * cut.pixel;
          for (int j = 0; j < results; j += cut.tile_columns) {
            const int columns = std::min(cut.tile_columns, results - j);
            const int apart = cut.panel_columns(j);
            const packed* const panel = panels + cut.panel_at(group, j) + cut.row_of(run, p) * apart;
            const tile_source source{pixel, pixel * cut.tile_rows, in_step * apart, length / in_step,
                                     runs,  sweep.runs + run};
            from.for_each(rows, copy, [&](std::int64_t image, int row, const In* a) {
              const tile_target<Sum> to = target(cut, image, row, !first, last ? reader : nullptr);
              const Tile* in_tiles;
              if constexpr (widens) in_tiles = tiles + (a - copy);
              else in_tiles = a;
              sweep.codes.run(in_tiles + group * cut.inputs + p, panel, source, to, tile_row(cut, image, row),
                              group * results + j, columns, columns < cut.tile_columns, cut.along.count);
            });
          }
        }
      }
    }
  }

  /// A copy as tiles read it.
  static const Tile* as_tiles(const In* pixels, [[maybe_unused]] const In* end, [[maybe_unused]] Tile* to) {
    if constexpr (widens) {
      for (Tile* at = to; pixels < end; pixels += halves::width, at += halves::width)
        halves::floats(halves::exchanged(halves::load(pixels, end - pixels))).store(at);
      return to;
    } else {
      return pixels;
    }
  }
  /// A row of pixels that are made, each channel with its own filter: eight pixels of a register of channels at a time.
  void each_channel(const sweeping& sweep, const In* from, const Sum* filters, const tile_target<Sum>& to,
                    int row) const {
    using vec = lanes<Sum>;
    constexpr int width = vec::width, most = 8;
    const int channels = plan.of.read[3], pixels = sweep.cut.along.count;
    const std::int64_t apart = std::int64_t{sweep.cut.along.step} * channels;
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
        to.take(tile, width, row + k, c, count, columns);
      }
    }
  }

  /// Rows of the result are its pixels; where only some are made, those of one row of an image.
  int tile_row(const sweep_cut& cut, std::int64_t image, int row) const {
    return cut.along.apart > 1
               ? 0
               : static_cast<int>((image * plan.of.made[1] + cut.down.first + row * cut.down.apart) * plan.of.made[2]);
  }
  tile_target<Sum> target(const sweep_cut& cut, std::int64_t image, int row, bool add,
                          const tile_reader* given_to) const {
    const shape& to = plan.of.made;
    Sum* at = made;
    if (cut.along.apart > 1) {
      const std::int64_t line_of_image = image * to[1] + cut.down.first + row * cut.down.apart;
      at += (line_of_image * to[2] + cut.along.first) * to[3];
    }
    return {at, std::int64_t{cut.along.apart} * to[3], add, false, given_to};
  }
  /// Pixels that no tap reaches.
  void clear(const sweeping& sweep, range rows, const image_rows<In>& from, In* copy) const {
    const sweep_cut& cut = sweep.cut;
    from.for_each(rows, copy, [&](std::int64_t image, int row, const In*) {
      const tile_target<Sum> to = target(cut, image, row, false, nullptr);
      for (int k = 0; k < cut.along.count; ++k)
        std::fill_n(to.at(tile_row(cut, image, row) + k, 0), plan.of.made[3], Sum{});
    });
  }
};

template <correlation Of, sweep_cut Cut>
inline constexpr auto tap_table = [] {
  std::array<int, static_cast<std::size_t>(Cut.down.taps * Cut.along.taps) + 1> at{};
  std::size_t tap = 0;
  for (int down = 0; down < Cut.down.taps; ++down)
    for (int along = 0; along < Cut.along.taps; ++along)
      at[tap++] = tap_of(Of, Cut.down, down) * Of.filter[3] + tap_of(Of, Cut.along, along);
  return at;
}();
template <class In, class Sum, correlation Of>
using tile_of = std::conditional_t<Of.depthwise() || !std::is_same_v<In, bf16>, In, typename factor<In, Sum>::number>;
template <class In, class Sum, correlation Of, int Sweep>
constexpr auto sweep_plan_of() {
  using tile = tile_of<In, Sum, Of>;
  constexpr sweep_cut cut = cut_of(Of, Sweep, sizeof(lent<In, Sum>));
  sweep_plan<tile, Sum> plan{cut, {}, run_table<Of, cut>.data(), tap_table<Of, cut>.data()};
  if constexpr (!Of.depthwise() && cut.runs > 0)
    plan.codes = codes_of<tile, Sum, cut.tile_rows, cut.along.count, cut.tile_columns, Of.results(), true>();
  return plan;
}
template <class In, class Sum, correlation Of>
inline constexpr auto sweep_plans = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array{sweep_plan_of<In, Sum, Of, I>()...};
}(std::make_integer_sequence<int, Of.sweeps()>{});
template <class In, class Sum, correlation Of>
inline constexpr correlation_plan<tile_of<In, Sum, Of>, Sum> correlation_plan_of{Of, sweep_plans<In, Sum, Of>.data(),
                                                                                 scratch_of(Of, sizeof(lent<In, Sum>))};

/// Operands: the images that are made, those that are read or their pieces, the filter, scratch.
template <class In, class Sum, correlation Of>
void correlate(void* const* p, const launch& how) {
  static constexpr int channels[]{Of.read[3]};
  const image_source<In> images{p + 1, how.pieces_or(channels)};
  void* const* const rest = p + 1 + images.channels.size();
  correlating<In, tile_of<In, Sum, Of>, Sum>(correlation_plan_of<In, Sum, Of>, images, static_cast<const In*>(rest[0]),
                                             static_cast<Sum*>(p[0]), how.reader)
      .run(static_cast<lent<In, Sum>*>(rest[1]), how.threads);
}
/// Operands: the gradient of the filter, the images or their pieces, the gradient of the result, scratch.
template <class In, class Sum, correlation Of>
void correlate_filter(void* const* p, const launch& how) {
  static constexpr int channels[]{Of.read[3]};
  const image_source<In> images{p + 1, how.pieces_or(channels)};
  void* const* const rest = p + 1 + images.channels.size();
  filter_gradient<In, tile_of_filter<In, Sum, Of>, Sum>(filter_plan_of<In, Sum, Of>, images,
                                                        static_cast<const In*>(rest[0]), static_cast<Sum*>(p[0]))
      .run(static_cast<lent<In, Sum>*>(rest[1]), how.threads);
}
}  // namespace kernel

template <motion Moves, class Real, class X, class W>
void compute(convolution_op<Moves>, signature<Real, X, W>, void* const* p, const kernel::launch& how) {
  kernel::correlate<Real, kernel::sum_of<Real>, convolution_op<Moves>::of(X::shape, W::shape)>(p, how);
}
template <motion Moves, int Rows, int Columns, class Real, class G, class W>
void compute(convolution_back_op<Moves, Rows, Columns>, signature<Real, G, W>, void* const* p,
             const kernel::launch& how) {
  kernel::correlate<Real, kernel::sum_of<Real>, convolution_back_op<Moves, Rows, Columns>::of(G::shape, W::shape)>(p,
                                                                                                                   how);
}
template <motion Moves, int Rows, int Columns, class Real, class X, class G>
void compute(filter_gradient_op<Moves, Rows, Columns>, signature<Real, X, G>, void* const* p,
             const kernel::launch& how) {
  kernel::correlate_filter<Real, kernel::sum_of<Real>,
                           filter_gradient_op<Moves, Rows, Columns>::of(X::shape, G::shape)>(p, how);
}

}  // namespace cairn
