// These kernels compute the mean and the variance of rows, and the sums from which the gradients of normalizations of
// rows are computed. A fused loop that shares the plan step processes each row while it is in the first-level cache.
#pragma once

#include "cairn/kernel/elementwise.hpp"
#include "cairn/kernel/moments.hpp"
#include "cairn/op/norm.hpp"

namespace cairn::kernels {

/// Computes the mean and the variance of a row that is multiplied by `unit`. The squares are those of differences from
/// a first mean, the origin; the sum of the differences corrects this mean. If rounding moved the origin too far from
/// the mean, the differences are taken again, from the corrected origin, in at most three passes. If Centered is false,
/// the origin is 0.
template <bool Centered, class Sum, class In>
moments_of<Sum> moments_of_row(const In* row, std::int64_t columns, Sum eps, Sum unit) {
  using vec = lanes<Sum>;
  const double share_of = 1 / static_cast<double>(columns);
  const vec units = vec::fill(unit);
  moments_of<Sum> found{eps, unit};
  if constexpr (!Centered) {
    const auto square = [=](std::int64_t i) {
      const vec x = load_row_as<Sum>(row, i, columns) * units;
      return x * x;
    };
    found.take(0, share_of * fold_row<adding, Sum>(columns, square));
  } else {
    const auto number = [=](std::int64_t i) { return load_row_as<Sum>(row, i, columns) * units; };
    found.origin = static_cast<Sum>(share_of * fold_row<adding, Sum>(columns, number));
    constexpr int most = 3;
    for (int tries = 1;; ++tries) {
      const vec back = vec::fill(-found.origin);
      const auto off_and_square = [=](std::int64_t i) {
        vec off = fused(load_row_as<Sum>(row, i, columns), units, back);
        if (i + vec::width > columns) off = masked(off, static_cast<int>(std::max<std::int64_t>(columns - i, 0)));
        return several<vec, 2>{{off, off * off}};
      };
      const several<Sum, 2> sums = fold_row<adding, Sum>(columns, off_and_square);
      found.take(share_of * sums.of[0], share_of * sums.of[1]);
      if (tries == most || !found.too_far()) break;
      found.origin = found.corrected_origin();
    }
  }
  return found;
}

/// Computes half the mean and twice the scale {rows} of `in` {rows, columns}. The scale is 1 / sqrt(variance + eps) if
/// Centered is true, and 1 / sqrt(mean square + eps) otherwise. If the squares of a row overflow, the row is read again
/// and multiplied by the unit `unit_of_huge`. A null result is not stored.
template <bool Centered, class Sum, class In>
[[gnu::noinline]] void row_moments(const In* in, std::int64_t rows, std::int64_t columns, Sum eps, Sum* half_mean,
                                   Sum* twice_scale, const launch& how) {
  shares{40 * rows * columns, rows}(how.threads, [=, &how](costs::range own) {
    how.in_rows(own, columns * static_cast<int>(sizeof(In)), [=](costs::range some) {
      for (auto row = some.begin; row < some.end; ++row) {
        const In* const from = in + row * columns;
        moments_of<Sum> found{eps, 0, 0, 0, std::numeric_limits<double>::infinity()};
        for (const Sum unit : {Sum{1}, unit_of_huge<Sum>}) {
          if (!found.finite()) found = moments_of_row<Centered>(from, columns, eps, unit);
        }
        if (half_mean != nullptr) half_mean[row] = found.half_mean();
        if (twice_scale != nullptr) twice_scale[row] = found.twice_scale();
      }
    });
  });
}

/// Computes the sums from which the gradients of y = (x - mean) scale weight + bias are computed. The inputs are the
/// cotangent g {rows, columns}, x, half the mean and twice the scale. The pointer of an unused result is null.
/// `mean_slope` {rows} is the mean over each row of g weight. `mean_slope_times_x` {rows} is the mean over each row of
/// g weight times the normalized x. If there are neither mean nor bias, `half_mean` is null.
template <class Sum, class In = Sum>
struct norm_sums {
  std::int64_t rows, columns, work;
  int sections;
  const In *g, *x;
  const Sum *half_mean, *twice_scale, *weight;
  Sum *mean_slope, *mean_slope_times_x, *of_weight, *of_bias;
  Sum* scratch;  ///< {sections, 2, columns}, and for each part {2, columns}

  using vec = lanes<Sum>;

  [[gnu::noinline]] void run(const launch& how) const {
    const int parts = std::min(parts_of(work, sections), how.threads);
    in_parts(parts, [this, parts, &how](int part) {
      const costs::range own = costs::share(sections, 1, part, parts);
      for (auto s = own.begin; s < own.end; ++s) {
        const costs::range of_section = costs::share(rows, 1, static_cast<int>(s), sections);
        column_sums sums{scratch + 2 * s * columns, scratch + 2 * (sections + part) * columns};
        if (of_columns()) clear(sums);
        how.in_rows(of_section, columns * static_cast<int>(sizeof(In)),
                    [this, &sums](costs::range some) { add(some, sums); });
        if (of_columns()) close(sums);
      }
    });
    if (!of_columns()) return;
    for (const bool bias : {false, true}) {
      Sum* const to = bias ? of_bias : of_weight;
      for (std::int64_t j = 0; to != nullptr && j < columns; j += vec::width) {
        const auto of_section = [=, this](std::int64_t s) {
          return load_row(scratch + (2 * s + bias) * columns, j, columns);
        };
        store_row(sum_in_sections<vec, 1>(sections, of_section), to, j, columns);
      }
    }
  }

 private:
  /// The number of rows whose terms are added one after another.
  static constexpr std::int64_t block = 64;
  /// Sums {2, columns} for weight and bias. `total` is the sum of the complete blocks of rows. `part` is the sum of the
  /// rows after the last complete block, plus the rounding error of `total`.
  struct column_sums {
    Sum *total, *part;
    std::int64_t rows = 0;  ///< the number of rows after the last complete block
  };

  bool of_columns() const { return of_weight != nullptr || of_bias != nullptr; }
  void clear(const column_sums& sums) const {
    std::fill_n(sums.total, 2 * columns, Sum{0});
    std::fill_n(sums.part, 2 * columns, Sum{0});
  }
  /// Adds the sum of a block to the sum of the blocks before.
  [[gnu::always_inline]] void fold(const column_sums& sums, vec part, std::int64_t j, std::int64_t end) const {
    vec total = load_row(sums.total, j, end);
    join(total, part);
    store_row(total, sums.total, j, end);
    store_row(part, sums.part, j, end);
  }
  void close(const column_sums& sums) const {
    for (std::int64_t j = 0; j < 2 * columns; j += vec::width)
      fold(sums, load_row(sums.part, j, 2 * columns), j, 2 * columns);
  }

  /// Returns one register of normalized numbers of a row, from number j on.
  vec normal(std::int64_t row, std::int64_t j) const {
    const vec back = vec::fill(half_mean == nullptr ? 0 : -half_mean[row]);
    return fused(load_row_as<Sum>(x + row * columns, j, columns), vec::fill(Sum{0.5}), back) *
           vec::fill(twice_scale[row]);
  }
  /// Computes the sums of each row of `some`, and adds the rows to the sums of the columns, a few rows at a time.
  void add(costs::range some, column_sums& sums) const {
    const std::int64_t few = std::max<std::int64_t>(4 * 1024 / (columns * static_cast<int>(sizeof(In))), 1);
    for (costs::range now{some.begin, some.begin}; now.begin < some.end; now.begin = now.end) {
      now.end = std::min({now.begin + few, now.begin + block - sums.rows, some.end});
      for (auto row = now.begin; row < now.end; ++row) add_row(row);
      if (of_columns()) add_columns(now, sums);
    }
  }
  [[gnu::noinline]] void add_columns(costs::range now, column_sums& sums) const {
    const bool full = sums.rows + now.end - now.begin == block;
    for (std::int64_t j = 0; j < columns; j += vec::width) {
      vec of_w = load_row(sums.part, j, columns), of_b = load_row(sums.part + columns, j, columns);
      for (auto row = now.begin; row < now.end; ++row) {
        const vec here = load_row_as<Sum>(g + row * columns, j, columns);
        of_w = fused(here, normal(row, j), of_w);
        of_b = of_b + here;
      }
      if (full) {
        fold(sums, of_w, j, columns);
        fold({sums.total + columns, sums.part + columns}, of_b, j, columns);
      } else {
        store_row(of_w, sums.part, j, columns);
        store_row(of_b, sums.part + columns, j, columns);
      }
    }
    sums.rows = full ? 0 : sums.rows + now.end - now.begin;
  }
  void add_row(std::int64_t row) const {
    const several<Sum, 2> both = fold_row<adding, Sum>(columns, [this, row](std::int64_t j) {
      const vec slope = load_row_as<Sum>(g + row * columns, j, columns) * load_row(weight, j, columns);
      vec tilted = slope * normal(row, j);  // normalized numbers after the row's end may be infinite
      if (j + vec::width > columns) tilted = masked(tilted, static_cast<int>(std::max<std::int64_t>(columns - j, 0)));
      return several<vec, 2>{{slope, tilted}};
    });
    const double share_of = 1 / static_cast<double>(columns);
    if (mean_slope != nullptr) mean_slope[row] = static_cast<Sum>(share_of * both.of[0]);
    if (mean_slope_times_x != nullptr) mean_slope_times_x[row] = static_cast<Sum>(share_of * both.of[1]);
  }
};

/// The number that an operation adds under a root. If the operation does not declare one, it is the epsilon of Real.
template <class Real, double... Eps>
inline constexpr Real eps_of = std::numeric_limits<Real>::epsilon();
template <class Real, double Eps>
inline constexpr Real eps_of<Real, Eps> = static_cast<Real>(Eps);

}  // namespace cairn::kernels

namespace cairn::lang {

template <double Eps, class Real, class X>
void compute(row_moments_op<Eps>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  kernels::row_moments<true>(static_cast<const Real*>(p[2]), X::shape.count() / X::shape[-1], X::shape[-1],
                             kernels::eps_of<sum, Eps>, static_cast<sum*>(p[0]), static_cast<sum*>(p[1]), how);
}
template <double... Eps, class Real, class X>
void compute(row_scale_op<Eps...>, signature<Real, X>, void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  kernels::row_moments<false, sum>(static_cast<const Real*>(p[1]), X::shape.count() / X::shape[-1], X::shape[-1],
                                   kernels::eps_of<sum, Eps...>, nullptr, static_cast<sum*>(p[0]), how);
}

template <class Real, class G, class... More>
void compute(normalized_sums_op op, signature<Real, G, More...>, void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  const auto in = [p](int i) { return static_cast<const Real*>(p[i]); };
  const auto at = [p](int i) { return static_cast<sum*>(p[i]); };
  kernels::norm_sums<sum, Real>{op.rows(G::shape),
                                G::shape[-1],
                                op.work(G::shape),
                                op.sections(G::shape),
                                in(4),
                                in(5),
                                at(6),
                                at(7),
                                at(8),
                                at(0),
                                at(1),
                                at(2),
                                at(3),
                                at(9)}
      .run(how);
}
template <class Real, class G, class... More>
void compute(scaled_sums_op op, signature<Real, G, More...>, void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  const auto in = [p](int i) { return static_cast<const Real*>(p[i]); };
  const auto at = [p](int i) { return static_cast<sum*>(p[i]); };
  kernels::norm_sums<sum, Real>{op.rows(G::shape),
                                G::shape[-1],
                                op.work(G::shape),
                                op.sections(G::shape),
                                in(2),
                                in(3),
                                nullptr,
                                at(4),
                                at(5),
                                nullptr,
                                at(0),
                                at(1),
                                nullptr,
                                at(6)}
      .run(how);
}

}  // namespace cairn::lang

namespace cairn::kernels {
/// Computes (x - mean) scale from half the mean and twice the scale.
template <class V>
[[gnu::always_inline]] inline V normal(V x, V half_mean, V twice_scale) {
  return fused(x, all<V>(0.5), -half_mean) * twice_scale;
}
}  // namespace cairn::kernels

namespace cairn::lang {

template <class Real, class X>
void compute(mean_over_shards_op, signature<Real, X>, void* const* p) {
  std::memcpy(p[0], p[1], X::shape.count() * sizeof(kernels::sum_of<Real>));
}

template <int Groups, bool OverShards, class V>
[[gnu::always_inline]] inline V lanewise(normalized_op<Groups, OverShards>, V x, V mean, V scale, V weight, V bias) {
  using kernels::fused;
  return fused(kernels::normal(x, mean, scale), weight, bias);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(scaled_op, V x, V scale, V weight) {
  return x * scale * (weight * kernels::all<V>(0.5));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(normalized_slope_op, V g, V x, V mean, V scale, V weight, V mean_slope,
                                         V mean_slope_times_x) {
  using kernels::fused;
  const V across = fused(kernels::normal(x, mean, scale), -mean_slope_times_x, -mean_slope);
  return fused(g, weight, across) * (scale * kernels::all<V>(0.5));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(times_normalized_op, V g, V x, V mean, V scale) {
  return g * kernels::normal(x, mean, scale);
}

}  // namespace cairn::lang
