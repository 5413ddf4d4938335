// Convolutions without a matrix of patches: a tile of results stays in registers while a loop runs over the channels of
// one tap of the filter after another (batch-reduce: E. Georganas et al., Anatomy of high-performance deep learning
// convolutions on SIMD architectures, 2018). Tiles are those of matrix products, of the pixels of one row of an image;
// where the filter reaches over the edges, a band of rows is copied with zeros around them.
#pragma once

#include "cairn/expr/convolution.hpp"
#include "cairn/kernel/filter_gradient.hpp"
#include "cairn/kernel/run.hpp"

namespace cairn {

namespace kernel {

/// A sweep with its tables.
template <class Real>
struct sweep_plan {
  sweep_cut cut;
  tile_codes<Real> codes;
  const std::int64_t* runs;  ///< where each run of taps begins
  const int* taps;           ///< which they are in the filter
};
template <class Real>
struct correlation_plan {
  correlation of;
  const sweep_plan<Real>* sweeps;
  workspace scratch;
};

/// Images to images.
template <class Real>
class correlating {
  const correlation_plan<Real>& plan;
  const image_source<Real>& read;
  const Real* filter;
  Real* made;
  const tile_reader* reader;

 public:
  correlating(const correlation_plan<Real>& of_plan, const image_source<Real>& from, const Real* by, Real* to,
              const tile_reader* given_to)
      : plan(of_plan), read(from), filter(by), made(to), reader(given_to) {}

  [[gnu::noinline]] void run(Real* scratch, int threads) const {
    const int parts = std::min(plan.scratch.parts, threads);
    in_parts(parts, [this, scratch, parts](int part) {
      for (int i = 0; i < plan.of.sweeps(); ++i) {
        const sweep_plan<Real>& sweep = plan.sweeps[i];
        const range own = share(std::int64_t{plan.of.made[0]} * sweep.cut.down.count, 1, part, parts);
        for (std::int64_t at = own.begin; at < own.end; at += sweep.cut.band)
          band(sweep, {at, std::min(at + sweep.cut.band, own.end)}, scratch + part * plan.scratch.each);
      }
    });
  }

 private:
  void band(const sweep_plan<Real>& sweep, range rows, Real* copy) const {
    const sweep_cut& cut = sweep.cut;
    const image_rows<Real> from{read,       plan.of.read[1], plan.of.read[2], plan.of.read[3],
                                cut.copied, cut.down,        cut.along};
    if (cut.runs == 0) return clear(sweep, rows, from);
    from.copy_all(rows, copy);
    if (plan.of.depthwise()) {
      return from.for_each(rows, copy, [&](std::int64_t image, int row, const Real* a) {
        each_channel(sweep, a, target(cut, image, row, false, reader), tile_row(cut, image, row));
      });
    }
    Real* const panel = copy + (cut.band_numbers + line - 1) / line * line;
    const int results = plan.of.results(), inputs = plan.of.inputs();
    for (int group = 0; group < plan.of.moves.groups; ++group) {
      for (int p = 0; p < cut.length; p += cut.block_length) {
        const int length = std::min(cut.block_length, cut.length - p);
        for (int run = 0; run < cut.runs; run += cut.block_runs) {
          const int runs = std::min(cut.block_runs, cut.runs - run);
          const bool first = p == 0 && run == 0, last = p + length == cut.length && run + runs == cut.runs;
          const std::int64_t pixel = std::int64_t{cut.along.step} * plan.of.read[3];
          const tile_source source{pixel, pixel * cut.tile_rows, cut.tile_columns, length, runs, sweep.runs + run};
          for (int j = 0; j < results; j += cut.tile_columns) {
            const int columns = std::min(cut.tile_columns, results - j);
            pack(sweep, group, run, runs, p, length, j, columns, panel);
            from.for_each(rows, copy, [&](std::int64_t image, int row, const Real* a) {
              const tile_target<Real> to = target(cut, image, row, !first, last ? reader : nullptr);
              sweep.codes.run(a + group * inputs + p, panel, source, to, tile_row(cut, image, row), group * results + j,
                              columns, columns < cut.tile_columns, cut.along.count);
            });
          }
        }
      }
    }
  }

  /// A row of pixels that are made, each channel with its own filter: eight pixels of a register of channels at a time.
  void each_channel(const sweep_plan<Real>& sweep, const Real* from, const tile_target<Real>& to, int row) const {
    using vec = lanes<Real>;
    constexpr int width = vec::width, most = 8;
    const int channels = plan.of.read[3], pixels = sweep.cut.along.count;
    const std::int64_t apart = std::int64_t{sweep.cut.along.step} * channels;
    for (int c = 0; c < channels; c += width) {
      const int columns = std::min(width, channels - c);
      for (int k = 0; k < pixels; k += most) {
        const int count = std::min(most, pixels - k);
        alignas(64) Real tile[most * width] = {};
        vec sum[most];
        for (vec& s : sum) s = vec::fill(0);
        for (int t = 0; t < sweep.cut.runs; ++t) {
          const vec w = load_row(filter + std::int64_t{sweep.taps[t]} * channels, c, channels);
          const Real* at = from + sweep.runs[t] + k * apart;
          for (int i = 0; i < count; ++i, at += apart) sum[i] = fused(load_row(at, c, channels), w, sum[i]);
        }
        for (int i = 0; i < count; ++i) sum[i].store(tile + i * width);
        to.take(tile, width, row + k, c, count, columns);
      }
    }
  }

  static constexpr int line = 64 / static_cast<int>(sizeof(Real));
  /// Rows of the result are its pixels; where only some are made, those of one row of an image.
  int tile_row(const sweep_cut& cut, std::int64_t image, int row) const {
    return cut.along.apart > 1
               ? 0
               : static_cast<int>((image * plan.of.made[1] + cut.down.first + row * cut.down.apart) * plan.of.made[2]);
  }
  tile_target<Real> target(const sweep_cut& cut, std::int64_t image, int row, bool add,
                           const tile_reader* given_to) const {
    const shape& to = plan.of.made;
    Real* at = made;
    if (cut.along.apart > 1) {
      const std::int64_t line_of_image = image * to[1] + cut.down.first + row * cut.down.apart;
      at += (line_of_image * to[2] + cut.along.first) * to[3];
    }
    return {at, std::int64_t{cut.along.apart} * to[3], add, false, given_to};
  }
  /// Pixels that no tap reaches.
  void clear(const sweep_plan<Real>& sweep, range rows, const image_rows<Real>& from) const {
    const sweep_cut& cut = sweep.cut;
    from.for_each(rows, made, [&](std::int64_t image, int row, const Real*) {
      const tile_target<Real> to = target(cut, image, row, false, nullptr);
      for (int k = 0; k < cut.along.count; ++k)
        std::fill_n(to.at(tile_row(cut, image, row) + k, 0), plan.of.made[3], Real{});
    });
  }

  /// Numbers [p, p + length) of some runs of taps, as {runs, length, tile_columns}: columns from j on.
  void pack(const sweep_plan<Real>& sweep, int group, int run, int runs, int p, int length, int j, int columns,
            Real* to) const {
    const correlation& of = plan.of;
    const sweep_cut& cut = sweep.cut;
    const int inputs = of.inputs(), results = of.results();
    for (int i = run; i < run + runs; ++i) {
      for (int at = p; at < p + length;) {
        const int tap = i * cut.run_taps + at / inputs, input = at % inputs;
        const int some = std::min(inputs - input, p + length - at);
        const std::int64_t in_filter = sweep.taps[tap];
        if (of.back) {
          pack_columns_transposed(filter + (in_filter * of.filter[2] + j) * of.filter[3] + group * inputs + input,
                                  of.filter[3], columns, some, cut.tile_columns, to);
        } else {
          pack_columns(filter + (in_filter * of.filter[2] + input) * of.filter[3] + group * results + j, of.filter[3],
                       columns, some, cut.tile_columns, to);
        }
        to += std::int64_t{some} * cut.tile_columns;
        at += some;
      }
    }
  }
};

template <class Real, correlation Of, int Sweep>
inline constexpr auto tap_table = [] {
  constexpr sweep_cut cut = cut_of(Of, Sweep, sizeof(Real));
  std::array<int, static_cast<std::size_t>(cut.down.taps * cut.along.taps) + 1> at{};
  std::size_t tap = 0;
  for (int down = 0; down < cut.down.taps; ++down)
    for (int along = 0; along < cut.along.taps; ++along)
      at[tap++] = tap_of(Of, cut.down, down) * Of.filter[1] + tap_of(Of, cut.along, along);
  return at;
}();
template <class Real, correlation Of, int Sweep>
constexpr sweep_plan<Real> sweep_plan_of() {
  constexpr sweep_cut cut = cut_of(Of, Sweep, sizeof(Real));
  sweep_plan<Real> plan{cut, {}, run_table<Real, Of, Sweep>.data(), tap_table<Real, Of, Sweep>.data()};
  if constexpr (!Of.depthwise())
    plan.codes = codes_of<Real, cut.tile_rows, std::max(cut.along.count, 1), cut.tile_columns, Of.results(), true>();
  return plan;
}
template <class Real, correlation Of>
inline constexpr auto sweep_plans = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array{sweep_plan_of<Real, Of, I>()...};
}(std::make_integer_sequence<int, Of.sweeps()>{});
template <class Real, correlation Of>
inline constexpr correlation_plan<Real> correlation_plan_of{Of, sweep_plans<Real, Of>.data(),
                                                            scratch_of(Of, sizeof(Real))};
}  // namespace kernel

template <motion Moves, class Real, class X, class W>
void compute(convolution_op<Moves>, signature<Real, X, W>, void* const* p, const kernel::launch& how) {
  static constexpr int channels[]{X::shape[3]};
  constexpr auto& plan = kernel::correlation_plan_of<Real, convolution_op<Moves>::of(X::shape, W::shape)>;
  const kernel::image_source<Real> images{p + 1, how.pieces_or(channels)};
  void* const* const rest = p + 1 + images.channels.size();
  kernel::correlating<Real>(plan, images, static_cast<const Real*>(rest[0]), static_cast<Real*>(p[0]), how.reader)
      .run(static_cast<Real*>(rest[1]), how.threads);
}
template <motion Moves, int Rows, int Columns, class Real, class G, class W>
void compute(convolution_back_op<Moves, Rows, Columns>, signature<Real, G, W>, void* const* p,
             const kernel::launch& how) {
  static constexpr int channels[]{G::shape[3]};
  using self = convolution_back_op<Moves, Rows, Columns>;
  constexpr auto& plan = kernel::correlation_plan_of<Real, self::of(G::shape, W::shape)>;
  const kernel::image_source<Real> gradients{p + 1, channels};
  kernel::correlating<Real>(plan, gradients, static_cast<const Real*>(p[2]), static_cast<Real*>(p[0]), how.reader)
      .run(static_cast<Real*>(p[3]), how.threads);
}
template <motion Moves, int Rows, int Columns, class Real, class X, class G>
void compute(filter_gradient_op<Moves, Rows, Columns>, signature<Real, X, G>, void* const* p,
             const kernel::launch& how) {
  static constexpr int channels[]{X::shape[3]};
  using self = filter_gradient_op<Moves, Rows, Columns>;
  constexpr auto& plan = kernel::filter_plan_of<Real, self::of(X::shape, G::shape)>;
  const kernel::image_source<Real> images{p + 1, how.pieces_or(channels)};
  void* const* const rest = p + 1 + images.channels.size();
  kernel::filter_gradient<Real>(plan, images, static_cast<const Real*>(rest[0]), static_cast<Real*>(p[0]))
      .run(static_cast<Real*>(rest[1]), how.threads);
}

}  // namespace cairn
