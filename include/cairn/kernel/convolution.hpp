// Convolutions without a matrix of patches: a tile of results stays in registers while a loop runs over the channels of
// one tap of the filter after another (batch-reduce: E. Georganas et al., Anatomy of high-performance deep learning
// convolutions on SIMD architectures, 2018). Tiles are those of matrix products, of the pixels of one row of an image;
// where the filter reaches over the edges, a band of rows is copied with zeros around them.
#pragma once

#include "cairn/expr/convolution.hpp"
#include "cairn/kernel/gemm.hpp"
#include "cairn/kernel/run.hpp"

namespace cairn {

namespace kernel {

/// The code of a sweep's tiles, as in shared_plan: of whole tiles and of the last pixels of a row, of whole ones and of
/// the last columns.
template <class Real>
struct tile_codes {
  using pointer = void (*)(const Real*, const Real*, const tile_source&, const tile_target<Real>&, int, int, int, int);
  pointer of[2][2];
  int rows;

  /// Tiles of `height` rows from (row, column) on, of which the last has fewer rows.
  void run(const Real* a, const Real* b, const tile_source& from, const tile_target<Real>& to, int row, int column,
           int columns, bool last_columns, int height) const {
    const int whole = height - height % rows;
    const std::int64_t row_a = from.below / rows;
    if (whole > 0) of[0][last_columns](a, b, from, to, row, column, columns, whole);
    if (whole < height)
      of[1][last_columns](a + whole * row_a, b, from, to, row + whole, column, columns, height - whole);
  }
};
/// Of `Height` rows in tiles of `Rows`, and `Columns` columns.
template <class Real, int Rows, int Height, int TileColumns, int Columns, bool RowsApart>
constexpr tile_codes<Real> codes_of() {
  constexpr int width = lanes<Real>::width, registers = TileColumns / width, rest = Columns % TileColumns;
  constexpr int last = rest == 0 ? registers : (rest + width - 1) / width,
                left = Height % Rows == 0 ? Rows : Height % Rows;
  return {{{&column_of_tiles<Real, Rows, registers, RowsApart>, &column_of_tiles<Real, Rows, last, RowsApart>},
           {&column_of_tiles<Real, left, registers, RowsApart>, &column_of_tiles<Real, left, last, RowsApart>}},
          Rows};
}

/// Images as a sweep reads them: where they are, or a copy of some rows with zeros around them.
template <class Real>
struct image_rows {
  const Real* images;
  int height, width, channels;
  bool copied;
  const sweep_axis &down, &along;

  std::int64_t row_pixels() const { return copied ? along.reach(along.count) : width; }
  /// The pixel at the first tap of the first pixel that is made in row `row` of image `image`, in place.
  const Real* in_place(std::int64_t image, int row) const {
    return images + ((image * height + down.step * row + down.least) * width + along.least) * std::int64_t{channels};
  }
  /// Copies what rows [begin, end) of an image read.
  void copy(std::int64_t image, int begin, int end, Real* to) const {
    const std::int64_t pixels = row_pixels();
    const int first = std::max(along.least, 0),
              last = static_cast<int>(std::min<std::int64_t>(width, along.least + pixels));
    for (int y = down.step * begin + down.least; y <= down.step * (end - 1) + down.most; ++y) {
      Real* const row_end = to + pixels * channels;
      if (y < 0 || y >= height || first >= last) {
        std::fill(to, row_end, Real{});
      } else {
        Real* const inside = to + (first - along.least) * std::int64_t{channels};
        const Real* const row = images + (image * height + y) * width * channels;
        std::fill(to, inside, Real{});
        std::fill(std::copy(row + first * std::int64_t{channels}, row + last * std::int64_t{channels}, inside), row_end,
                  Real{});
      }
      to = row_end;
    }
  }
  /// Calls visit(image, row, where it reads) for rows [own) of all images, counted through; copies them to `scratch`.
  template <class Visit>
  void for_each(range own, Real* scratch, Visit visit) const {
    for (std::int64_t at = own.begin; at < own.end;) {
      const std::int64_t image = at / down.count;
      const int begin = static_cast<int>(at % down.count);
      const int end = static_cast<int>(std::min<std::int64_t>(down.count, begin + own.end - at));
      const Real* from = copied ? scratch : in_place(image, begin);
      const std::int64_t apart = row_pixels() * down.step * channels;
      if (copied) scratch += row_pixels() * channels * down.reach(end - begin);
      for (int row = begin; row < end; ++row, from += apart) visit(image, row, from);
      at += end - begin;
    }
  }
  void copy_all(range own, Real* scratch) const {
    for (std::int64_t at = own.begin; copied && at < own.end;) {
      const int begin = static_cast<int>(at % down.count);
      const int end = static_cast<int>(std::min<std::int64_t>(down.count, begin + own.end - at));
      copy(at / down.count, begin, end, scratch);
      scratch += row_pixels() * channels * down.reach(end - begin);
      at += end - begin;
    }
  }
};

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
  const Real *read, *filter;
  Real* made;
  const tile_reader* reader;

 public:
  correlating(const correlation_plan<Real>& of_plan, const Real* from, const Real* by, Real* to,
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

/// Images and the gradients of their convolution to the gradient of its filter.
template <class Real>
struct filter_plan {
  correlation of;
  filter_cut cut;
  tile_codes<Real> codes;
  const std::int64_t* runs;
  workspace scratch;
};
template <class Real>
class filter_gradient {
  const filter_plan<Real>& plan;
  const Real *read, *gradient;
  Real* made;

 public:
  filter_gradient(const filter_plan<Real>& of_plan, const Real* from, const Real* by, Real* to)
      : plan(of_plan), read(from), gradient(by), made(to) {}

  [[gnu::noinline]] void run(Real* scratch, int threads) const {
    const int parts = std::min(plan.scratch.parts, threads);
    if (plan.of.depthwise()) return each_channel(scratch, parts);
    in_parts(parts, [this, scratch, parts](int part) {
      const std::int64_t all = std::int64_t{plan.of.made[0]} * plan.of.made[1];
      const range own = share(plan.cut.units(), 1, part, parts);
      for (std::int64_t at = 0; at < all; at += plan.cut.pixels.band)
        band({at, std::min(at + plan.cut.pixels.band, all)}, own, scratch + part * plan.scratch.each);
    });
  }

 private:
  static constexpr int line = 64 / static_cast<int>(sizeof(Real));

  image_rows<Real> images() const {
    const sweep_cut& cut = plan.cut.pixels;
    return {read, plan.of.read[1], plan.of.read[2], plan.of.read[3], cut.copied, cut.down, cut.along};
  }

  /// Of filters of one channel each: sums of sections of rows, added up in order.
  void each_channel(Real* scratch, int parts) const {
    const std::int64_t all = std::int64_t{plan.of.made[0]} * plan.of.made[1], size = plan.of.filter.count();
    const int sections = sections_of(plan.of);
    Real* const sums = scratch + parts * plan.scratch.each;
    in_parts(parts, [=, this](int part) {
      Real* const copy = scratch + part * plan.scratch.each;
      const range own = share(sections, 1, part, parts);
      for (auto section = own.begin; section < own.end; ++section) {
        const range rows = share(all, 1, static_cast<int>(section), sections);
        Real* const to = sums + section * size;
        std::fill_n(to, size, Real{});
        for (auto at = rows.begin; at < rows.end; at += plan.cut.pixels.band)
          add_each_channel({at, std::min(at + plan.cut.pixels.band, rows.end)}, copy, to);
      }
    });
    for (std::int64_t i = 0; i < size; ++i) {
      Real sum = 0;
      for (int section = 0; section < sections; ++section) sum += sums[section * size + i];
      made[i] = sum;
    }
  }
  /// Four taps of a register of channels at a time.
  void add_each_channel(range rows, Real* copy, Real* to) const {
    using vec = lanes<Real>;
    constexpr int width = vec::width, most = 4;
    const sweep_cut& cut = plan.cut.pixels;
    const image_rows<Real> from = images();
    const int channels = plan.of.read[3];
    const std::int64_t apart = std::int64_t{cut.along.step} * channels;
    from.copy_all(rows, copy);
    from.for_each(rows, copy, [&](std::int64_t image, int row, const Real* a) {
      const Real* const g = gradient + (image * plan.of.made[1] + row) * plan.of.made[2] * channels;
      for (int c = 0; c < channels; c += width) {
        for (int t = 0; t < cut.runs; t += most) {
          const int taps = std::min(most, cut.runs - t);
          vec sum[most];
          for (int i = 0; i < taps; ++i) sum[i] = load_row(to + std::int64_t{t + i} * channels, c, channels);
          for (int k = 0; k < plan.of.made[2]; ++k) {
            const vec by = load_row(g + std::int64_t{k} * channels, c, channels);
            for (int i = 0; i < taps; ++i)
              sum[i] = fused(load_row(a + plan.runs[t + i] + k * apart, c, channels), by, sum[i]);
          }
          for (int i = 0; i < taps; ++i) store_row(sum[i], to + std::int64_t{t + i} * channels, c, channels);
        }
      }
    });
  }

  void band(range rows, range units, Real* copy) const {
    const sweep_cut& cut = plan.cut.pixels;
    const image_rows<Real> from = images();
    Real* const panel = copy + (cut.band_numbers + line - 1) / line * line;
    from.copy_all(rows, copy);
    const Real* const pixels = cut.copied ? copy : read;
    std::int64_t at[most_block_rows];
    int known = 0;
    std::int64_t first = rows.begin;
    const auto flush = [&] {
      for (int pixel = 0; pixel < plan.of.made[2]; pixel += plan.cut.block_pixels) {
        const int some = std::min(plan.cut.block_pixels, plan.of.made[2] - pixel);
        block(pixels, first, known, at, pixel, some, units, panel);
      }
      first += known;
      known = 0;
    };
    from.for_each(rows, copy, [&](std::int64_t, int, const Real* row) {
      at[known++] = row - pixels;
      if (known == plan.cut.block_rows) flush();
    });
    if (known > 0) flush();
  }
  /// Adds what some pixels of some rows give.
  void block(const Real* from, std::int64_t first, int rows, const std::int64_t* at, int pixel, int pixels, range units,
             Real* panel) const {
    const correlation& of = plan.of;
    const sweep_cut& cut = plan.cut.pixels;
    const int results = of.results(), inputs = of.inputs(), tile_rows = plan.cut.tile_rows,
              tile_columns = plan.cut.tile_columns;
    const std::int64_t tiles = (cut.length + tile_rows - 1) / tile_rows;
    const tile_source source{std::int64_t{cut.along.step} * of.read[3], tile_rows, tile_columns, pixels, rows, at};
    const tile_target<Real> to{made, of.filter[3], first > 0 || pixel > 0, false, nullptr};
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
          const Real* const a = from + plan.runs[run] + pixel * source.apart + group * inputs + begin;
          const int row = static_cast<int>(run) * cut.length + begin;
          plan.codes.run(a, panel, source, to, row, group * results + j, columns, last_columns, height);
          unit += end - tile;
        }
      }
    }
  }
};

template <class Real, correlation Of, int Sweep>
inline constexpr auto run_table = [] {
  constexpr sweep_cut cut = cut_of(Of, Sweep, sizeof(Real));
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
template <class Real, correlation Of>
inline constexpr filter_plan<Real> filter_plan_of = [] {
  constexpr filter_cut cut = cut_of_filter(Of, sizeof(Real));
  filter_plan<Real> plan{Of, cut, {}, run_table<Real, Of, 0>.data(), scratch_of_filter(Of, sizeof(Real))};
  if constexpr (!Of.depthwise())
    plan.codes = codes_of<Real, cut.tile_rows, cut.pixels.length, cut.tile_columns, Of.results(), false>();
  return plan;
}();

}  // namespace kernel

template <motion Moves, class Real, class X, class W>
void compute(convolution_op<Moves>, signature<Real, X, W>, void* const* p, const kernel::launch& how) {
  const auto at = [p](int i) { return static_cast<Real*>(p[i]); };
  constexpr auto& plan = kernel::correlation_plan_of<Real, convolution_op<Moves>::of(X::shape, W::shape)>;
  kernel::correlating<Real>(plan, at(1), at(2), at(0), how.reader).run(at(3), how.threads);
}
template <motion Moves, int Rows, int Columns, class Real, class G, class W>
void compute(convolution_back_op<Moves, Rows, Columns>, signature<Real, G, W>, void* const* p,
             const kernel::launch& how) {
  const auto at = [p](int i) { return static_cast<Real*>(p[i]); };
  using self = convolution_back_op<Moves, Rows, Columns>;
  constexpr auto& plan = kernel::correlation_plan_of<Real, self::of(G::shape, W::shape)>;
  kernel::correlating<Real>(plan, at(1), at(2), at(0), how.reader).run(at(3), how.threads);
}
template <motion Moves, int Rows, int Columns, class Real, class X, class G>
void compute(filter_gradient_op<Moves, Rows, Columns>, signature<Real, X, G>, void* const* p,
             const kernel::launch& how) {
  const auto at = [p](int i) { return static_cast<Real*>(p[i]); };
  using self = filter_gradient_op<Moves, Rows, Columns>;
  constexpr auto& plan = kernel::filter_plan_of<Real, self::of(X::shape, G::shape)>;
  kernel::filter_gradient<Real>(plan, at(1), at(2), at(0)).run(at(3), how.threads);
}

}  // namespace cairn
