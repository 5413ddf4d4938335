// Converts filters between PyTorch's layout {results, channels of a group, rows, columns} and the layouts in which
// kernels read filters and sum their gradients. In the kernels' layouts, each result or each channel is a column.
#pragma once

#include "cairn/cost/convolution.hpp"
#include "cairn/kernel/halves.hpp"

namespace cairn::kernels {

/// Loads numbers of a filter. If the images are bf16 and the filter has more bits, rounds the numbers to bf16.
template <class In, class Sum, class Stored>
[[gnu::always_inline]] inline lanes<Sum> load_filter(const Stored* from, int count) {
  const lanes<Sum> x = load_row_as<Sum>(from, 0, count);
  if constexpr (std::is_same_v<In, bf16> && !std::is_same_v<Stored, bf16>) return halves::floats(halves::of(x));
  else return x;
}
/// Transposes a square: to[k][i] = from[i * apart + k] for i < count and k < length. `count` and `length` are at most
/// the width of a register. The other numbers of `to` become zeros.
template <class In, class Sum, class Stored>
[[gnu::always_inline]] inline void read_transposed(const Stored* from, std::int64_t apart, int count, int length,
                                                   Sum (*to)[lanes<Sum>::width]) {
  using vec = lanes<Sum>;
  vec square[vec::width];
#pragma GCC unroll 16
  for (int i = 0; i < vec::width; ++i)
    square[i] = i < count ? load_filter<In, Sum>(from + i * apart, length) : vec::fill(0);
  vec::transpose(square);
#pragma GCC unroll 16
  for (int i = 0; i < vec::width; ++i) square[i].store(to[i]);
}

/// Packs the filter of a sweep over images of type In for tiles, in the panels that `cut` describes. If the images are
/// bf16, two rows of a panel are a step of pairs. `taps` holds, for each tap of the sweep, the tap's number in the
/// filter. In the forward pass, `taps` holds all taps in order.
template <class In, class Sum, class Packed = Sum, class Stored = In>
class filter_packing {
  static constexpr int width = lanes<Sum>::width;
  const costs::correlation& of;
  const costs::sweep_cut& cut;
  const int* taps;
  const Stored* filter;
  const int inputs = of.inputs(), all = of.taps();
  const std::int64_t apart = std::int64_t{of.filter[1]} * all;  ///< distance between the filter's results

  /// A tap of the sweep for one of the channels that are read. The tap is given by its run and its number in the run.
  struct panel_position {
    int run = 0, in_run = 0, input = 0;

    void next_tap(const costs::sweep_cut& cut) {
      if (++in_run < cut.run_taps) return;
      in_run = 0;
      ++run;
    }
  };
  /// Writes a register of numbers to a row of a panel, from column c on. The first row of a pair must be written before
  /// the second row. There may be no second row.
  void put(const Sum* numbers, Packed* panel, int columns, const panel_position& at, int c) const {
    const std::int64_t row = cut.row_of(at.run, at.in_run * cut.inputs + at.input);
    if constexpr (std::is_same_v<In, bf16>) {
      half_pairs::store_numbers(lanes<Sum>::load(numbers), row % 2 != 0,
                                panel + row / 2 * 2 * columns + c * factor<Packed, Sum>::in_step, columns);
    } else {
      std::copy_n(numbers, width, panel + row * columns + c);
    }
  }

 public:
  filter_packing(const costs::correlation& of_all, const costs::sweep_cut& of_sweep, const int* in_filter,
                 const Stored* from)
      : of(of_all), cut(of_sweep), taps(in_filter), filter(from) {}

  /// Packs the panels `own` of a block. `first` is the first panel of the block, and `to` is the address of this panel.
  [[gnu::noinline]] void run(costs::range own, std::int64_t first, Packed* to) const {
    for (auto i = own.begin; i < own.end; ++i) {
      const costs::column_panels::columns here = cut.panels[i];
      Packed* const panel = to + cut.panel_at(i) - cut.panel_at(first);
      if (of.back) pack_back(filter + here.group * inputs * apart + std::int64_t{here.first} * all, here.first, panel);
      else pack(filter + here.result * apart, here.first, panel);
    }
  }

 private:
  /// Packs a panel in which a column is a result of the filter. Each column has all channels and taps of its result.
  void pack(const Stored* from, int j, Packed* panel) const {
    const int columns = cut.panel_columns(j), left = of.results() - j;
    Sum transposed[width][width];
    panel_position at;
    for (int k = 0; k < inputs * all; k += width) {
      const int some = std::min(width, inputs * all - k);
      const panel_position first = at;
      for (int c = 0; c < columns; c += width) {
        read_transposed<In>(from + c * apart + k, apart, left - c, some, transposed);
        at = first;
        for (int i = 0; i < some; ++i) {
          put(transposed[i], panel, columns, at, c);
          at.next_tap(cut);
          if (at.run == cut.runs) at = {.input = at.input + 1};
        }
      }
    }
  }
  /// Loads one tap of `count` channels, and fills the register up with zeros.
  void pick(const Stored* from, int count, Sum* to) const {
    if (all == 1) return load_filter<In, Sum>(from, count).store(to);  // channels are side by side
    for (int i = 0; i < width; ++i) to[i] = i < count ? static_cast<Sum>(static_cast<In>(from[i * all])) : Sum{};
  }
  /// Packs a panel in which a column is a channel of the filter. Each column has all taps of its channel. If there are
  /// several sweeps, a sweep has only some of the taps, and `pick` loads each of them.
  void pack_back(const Stored* from, int j, Packed* panel) const {
    const int columns = cut.panel_columns(j), left = of.results() - j;
    Sum transposed[width][width];
    for (int input = 0; input < inputs; ++input, from += apart) {
      for (int c = 0; c < columns; c += width) {
        const int some = std::min(width, left - c);
        for (int k = 0; k < all; k += width) {
          if (of.sweeps() == 1)
            read_transposed<In>(from + c * all + k, all, some, std::min(width, all - k), transposed);
          panel_position at{.input = input};
          for (const int* tap = taps; at.run < cut.runs; ++tap, at.next_tap(cut)) {
            if (*tap < k || *tap >= k + width) continue;
            if (of.sweeps() > 1) pick(from + c * all + *tap, some, transposed[*tap - k]);
            put(transposed[*tap - k], panel, columns, at, c);
          }
        }
      }
    }
  }
};

/// Packs a depthwise filter, in which each channel has its own filter, as {taps, channels}.
template <class In, class Sum, class Stored>
void pack_filters_of_channels(const Stored* filter, int channels, int taps, Sum* to) {
  constexpr int width = lanes<Sum>::width;
  Sum transposed[width][width];
  for (int c = 0; c < channels; c += width) {
    for (int k = 0; k < taps; k += width) {
      const int some = std::min(width, taps - k);
      read_transposed<In>(filter + std::int64_t{c} * taps + k, taps, channels - c, some, transposed);
      for (int i = 0; i < some; ++i)
        store_row(lanes<Sum>::load(transposed[i]), to + std::int64_t{k + i} * channels, c, channels);
    }
  }
}

/// Transposes sums {taps, channels of a group, results} to PyTorch's layout. Rows of the sums are `apart` numbers
/// apart. Writes `count` results from result number `first` on. `count` is at most the width of a register.
template <class Sum>
[[gnu::noinline]] void unpack_filter(const Sum* from, std::int64_t apart, const shape& filter, int first, int count,
                                     Sum* to) {
  constexpr int width = lanes<Sum>::width;
  const int inputs = filter[1], taps = filter[2] * filter[3], length = inputs * taps;
  to += std::int64_t{first} * length;
  for (int k = 0, tap = 0, input = 0; k < length; k += width) {
    Sum lines[width][width], transposed[width][width];
    const int left = std::min(width, length - k);
    for (int i = 0; i < left; ++i) {
      load_row(from + (std::int64_t{tap} * inputs + input) * apart, 0, count).store(lines[i]);
      if (++tap == taps) tap = 0, ++input;
    }
    read_transposed<Sum>(&lines[0][0], width, left, width, transposed);
    for (int i = 0; i < count; ++i)
      store_row(lanes<Sum>::load(transposed[i]), to + std::int64_t{i} * length, k, length);
  }
}

}  // namespace cairn::kernels
