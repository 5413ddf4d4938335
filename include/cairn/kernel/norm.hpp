// Moments of rows, and the sums that gradients of normalizations of rows are made of: each row is read once, and what
// is made of it by a loop follows while it lies in the first-level cache.
#pragma once

#include "cairn/expr/norm.hpp"
#include "cairn/kernel/elementwise.hpp"
#include "cairn/kernel/reduce.hpp"

namespace cairn {

namespace kernel {

/// mean, scale {rows} of `in` {rows, columns}: scale is 1 / sqrt(variance + eps), or, if not Centered, 1 / sqrt(mean
/// square + eps). What lies off a first mean corrects it.
template <bool Centered, class Sum, class In>
[[gnu::noinline]] void row_moments(const In* in, std::int64_t rows, std::int64_t columns, Sum eps, Sum* mean,
                                   Sum* scale, const launch& how) {
  using vec = lanes<Sum>;
  const Sum share_of = 1 / static_cast<Sum>(columns);
  const auto of_row = [=](std::int64_t row) {
    const In* const from = in + row * columns;
    Sum origin = 0;
    if constexpr (Centered)
      origin = share_of * fold_row<adding, Sum>(columns, [=](auto i) { return load_row_as<Sum>(from, i, columns); });
    const several<Sum, 2> sums = fold_row<adding, Sum>(columns, [=](std::int64_t i) {
      vec off = load_row_as<Sum>(from, i, columns);
      if constexpr (Centered) {
        off = off - vec::fill(origin);
        if (i + vec::width > columns) off = masked(off, static_cast<int>(std::max<std::int64_t>(columns - i, 0)));
      }
      return several<vec, 2>{{off, off * off}};
    });
    const Sum off = Centered ? share_of * sums.of[0] : 0, square = share_of * sums.of[1] - off * off;
    if (mean != nullptr) mean[row] = origin + off;
    if (scale != nullptr) scale[row] = 1 / std::sqrt(std::max(square, Sum{}) + eps);
  };
  shares{40 * rows * columns, rows}(how.threads, [=, &how](range own) {
    how.in_rows(own, columns * static_cast<int>(sizeof(In)), [=](range some) {
      for (auto row = some.begin; row < some.end; ++row) of_row(row);
    });
  });
}

/// The gradients of y = (x - mean) scale weight + bias that are sums, from g {rows, columns}; null where nobody reads
/// one. Where there are neither mean nor bias, `mean` is null.
template <class Sum, class In = Sum>
struct norm_sums {
  std::int64_t rows, columns;
  int sections;
  const In *g, *x;
  const Sum *mean, *scale, *weight;
  Sum *of_mean, *of_scale, *of_weight, *of_bias;
  Sum* scratch;  ///< {sections, 2, columns}

  using vec = lanes<Sum>;

  [[gnu::noinline]] void run(const launch& how) const {
    const bool of_columns = of_weight != nullptr || of_bias != nullptr;
    shares{80 * rows * columns, sections}(how.threads, [=, this, &how](range own) {
      for (auto s = own.begin; s < own.end; ++s) {
        Sum* const sums = scratch + 2 * s * columns;
        if (of_columns) std::fill(sums, sums + 2 * columns, Sum{0});
        how.in_rows(share(rows, 1, static_cast<int>(s), sections), columns * static_cast<int>(sizeof(In)),
                    [=, this](range some) { add(some, of_columns ? sums : nullptr); });
      }
    });
    if (!of_columns) return;
    for (const bool bias : {false, true}) {
      Sum* const to = bias ? of_bias : of_weight;
      for (std::int64_t j = 0; to != nullptr && j < columns; j += vec::width) {
        vec sum = vec::fill(0);
        for (int s = 0; s < sections; ++s) sum = sum + load_row(scratch + (2 * s + bias) * columns, j, columns);
        store_row(sum, to, j, columns);
      }
    }
  }

 private:
  vec off(std::int64_t row, std::int64_t j) const {
    const vec here = load_row_as<Sum>(x + row * columns, j, columns);
    return mean == nullptr ? here : here - vec::fill(mean[row]);
  }
  /// The sums of each row, and, of a few rows at a time, what they add to those of the columns.
  void add(range some, Sum* sums) const {
    const std::int64_t few = std::max<std::int64_t>(4 * 1024 / (columns * static_cast<int>(sizeof(In))), 1);
    for (auto begin = some.begin; begin < some.end; begin += few) {
      const range now{begin, std::min(begin + few, some.end)};
      for (auto row = now.begin; row < now.end; ++row) add_row(row);
      for (std::int64_t j = 0; sums != nullptr && j < columns; j += vec::width) {
        vec of_w = load_row(sums, j, columns), of_b = load_row(sums + columns, j, columns);
        for (auto row = now.begin; row < now.end; ++row) {
          const vec here = load_row_as<Sum>(g + row * columns, j, columns);
          of_w = fused(here, off(row, j) * vec::fill(scale[row]), of_w);
          of_b = of_b + here;
        }
        store_row(of_w, sums, j, columns);
        store_row(of_b, sums + columns, j, columns);
      }
    }
  }
  void add_row(std::int64_t row) const {
    const several<Sum, 2> both = fold_row<adding, Sum>(columns, [this, row](std::int64_t j) {
      const vec slope = load_row_as<Sum>(g + row * columns, j, columns) * load_row(weight, j, columns);
      return several<vec, 2>{{slope, slope * off(row, j)}};
    });
    if (of_mean != nullptr) of_mean[row] = -scale[row] * both.of[0];
    if (of_scale != nullptr) of_scale[row] = both.of[1];
  }
};

/// What an operation says that is added below a root, or what it is where it says nothing.
template <class Real, double... Eps>
inline constexpr Real eps_of = std::numeric_limits<Real>::epsilon();
template <class Real, double Eps>
inline constexpr Real eps_of<Real, Eps> = static_cast<Real>(Eps);

}  // namespace kernel

template <double Eps, class Real, class X>
void compute(row_moments_op<Eps>, signature<Real, X>, void* const* p, const kernel::launch& how) {
  using sum = kernel::sum_of<Real>;
  kernel::row_moments<true>(static_cast<const Real*>(p[2]), X::shape.count() / X::shape[-1], X::shape[-1],
                            kernel::eps_of<sum, Eps>, static_cast<sum*>(p[0]), static_cast<sum*>(p[1]), how);
}
template <double... Eps, class Real, class X>
void compute(row_scale_op<Eps...>, signature<Real, X>, void* const* p, const kernel::launch& how) {
  using sum = kernel::sum_of<Real>;
  kernel::row_moments<false, sum>(static_cast<const Real*>(p[1]), X::shape.count() / X::shape[-1], X::shape[-1],
                                  kernel::eps_of<sum, Eps...>, nullptr, static_cast<sum*>(p[0]), how);
}

template <class Real, class G, class... More>
void compute(normalized_sums_op op, signature<Real, G, More...>, void* const* p, const kernel::launch& how) {
  using sum = kernel::sum_of<Real>;
  const auto in = [p](int i) { return static_cast<const Real*>(p[i]); };
  const auto at = [p](int i) { return static_cast<sum*>(p[i]); };
  kernel::norm_sums<sum, Real>{op.rows(G::shape), G::shape[-1], op.sections(G::shape), in(4), in(5), at(6), at(7),
                               at(8), at(0), at(1), at(2), at(3), at(9)}
      .run(how);
}
template <class Real, class G, class... More>
void compute(scaled_sums_op op, signature<Real, G, More...>, void* const* p, const kernel::launch& how) {
  using sum = kernel::sum_of<Real>;
  const auto in = [p](int i) { return static_cast<const Real*>(p[i]); };
  const auto at = [p](int i) { return static_cast<sum*>(p[i]); };
  kernel::norm_sums<sum, Real>{op.rows(G::shape), G::shape[-1], op.sections(G::shape), in(2), in(3), nullptr, at(4),
                               at(5), nullptr, at(0), at(1), nullptr, at(6)}
      .run(how);
}

template <class V>
[[gnu::always_inline]] inline V lanewise(normalized_op, V x, V mean, V scale, V weight, V bias) {
  using kernel::fused;
  return fused((x - mean) * scale, weight, bias);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(scaled_op, V x, V scale, V weight) {
  return x * scale * weight;
}

}  // namespace cairn
