// Mean and variance of columns, in one pass over the rows.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/op/moments.hpp"

#include <limits>

namespace cairn::kernels {

/// A number so small that the squares of all numbers times this can be summed.
template <class Real>
inline constexpr Real unit_of_huge = static_cast<Real>(sizeof(Real) == 4 ? 0x1p-80 : 0x1p-640);

/// The moments of some numbers from sums of what lies off an origin, where all were multiplied by a unit first.
template <class Real>
struct moments_of {
  Real eps, unit, origin = 0;
  double off = 0, variance = 0;  ///< in units

  static constexpr double most = std::numeric_limits<Real>::max();

  void take(double mean_off, double mean_square) {
    off = mean_off;
    variance = mean_square - off * off;
    if (variance < 0) variance = 0;
  }
  /// Whether the origin is so far from the mean that the variance has lost digits to it, which eps does not hide.
  bool too_far() const { return off * off > 16 * (variance + double{eps} * unit * unit); }
  Real corrected_origin() const { return static_cast<Real>(origin + off); }
  bool finite() const { return variance <= most; }

  Real half_mean() const { return static_cast<Real>((origin + off) * (unit == 1 ? 0.5 : 0.5 / unit)); }
  /// In a unit numbers are so large that eps is nothing beside their variance, if there is one.
  Real twice_scale() const {
    const bool no_eps = unit != 1 && variance > 0;
    return static_cast<Real>(no_eps ? 2 * double{unit} / std::sqrt(variance) : 2 / std::sqrt(variance + eps));
  }
  Real whole_variance() const {
    const double all = variance / unit / unit;
    return all > most ? std::numeric_limits<Real>::infinity() : static_cast<Real>(all);
  }
};

/// The sums of what some rows, times a unit, have beyond `origin`, and of its squares, for `Registers` registers of
/// columns, in sections of rows.
template <int Registers, class In, class Real>
void sum_squares(const In* in, std::int64_t rows, std::int64_t stride, Real unit, const Real* origin, Real* sums,
                 Real* squares, int last) {
  using vec = lanes<Real>;
  const auto load = [last](const auto* at, int j) {
    return load_row_as<Real>(at, j * vec::width, j * vec::width + (j + 1 < Registers ? vec::width : last));
  };
  const vec units = vec::fill(unit);
  vec back[Registers], sum[Registers]{}, square[Registers]{}, part[Registers]{}, part_squares[Registers]{};
#pragma GCC unroll 4
  for (int j = 0; j < Registers; ++j) back[j] = -load(origin, j);
  for (std::int64_t begin = 0; begin < rows; begin += costs::section_terms) {
    for (std::int64_t row = begin; row < std::min(begin + costs::section_terms, rows); ++row, in += stride)
#pragma GCC unroll 4
      for (int j = 0; j < Registers; ++j) {
        const vec off = fused(load(in, j), units, back[j]);
        part[j] = part[j] + off;
        part_squares[j] = fused(off, off, part_squares[j]);
      }
#pragma GCC unroll 4
    for (int j = 0; j < Registers; ++j) {
      join(sum[j], part[j]);
      join(square[j], part_squares[j]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < Registers; ++j) {
    const int count = j + 1 < Registers ? vec::width : last;
    sum[j].store(sums + j * vec::width, count);
    square[j].store(squares + j * vec::width, count);
  }
}

/// Half the mean, 2 / sqrt(variance + eps) and the variance of each group of `together` columns of `in`
/// {rows, columns}; null where nobody reads them.
template <class In, class Real>
struct column_moments {
  const In* in;
  std::int64_t rows, columns;
  int together, sections;
  Real eps;
  Real *half_mean, *twice_scale, *variance;
  Real* scratch;  ///< {2 * sections + 2, columns}

  /// Threads share the sections of rows. Squares that overflow are summed again, of numbers in a unit.
  [[gnu::noinline]] void run(int threads) const {
    std::fill_n(known(), columns, Real{0});
    bool all_known = false;
    for (const Real unit : {Real{1}, unit_of_huge<Real>}) {
      if (!all_known) all_known = in_units(unit, threads);
    }
  }

 private:
  using vec = lanes<Real>;

  Real* origin() const { return scratch + 2 * sections * columns; }
  Real* known() const { return origin() + columns; }

  /// Whether the moments of all columns are finite now.
  bool in_units(Real unit, int threads) const {
    const std::int64_t some = std::min<std::int64_t>(rows, 16);
    std::fill_n(origin(), columns, Real{0});
    sum_rows({0, some}, rows / some, unit, scratch);
    for (std::int64_t j = 0; j < columns; ++j) origin()[j] = scratch[j] / static_cast<Real>(some);
    constexpr int most = 3;
    for (int tries = 1; sum_all(unit, threads), tries < most; ++tries) {
      if (!origins_move(unit)) break;
    }
    return finish(unit);
  }

  /// The sums of some rows, so many rows apart.
  void sum_rows(costs::range some, std::int64_t apart, Real unit, Real* sums) const {
    constexpr int width = vec::width;
    const std::int64_t stride = apart * columns;
    const In* const from = in + some.begin * stride;
    const auto columns_from = [=, this]<int Registers>(std::integral_constant<int, Registers>, std::int64_t j) {
      const std::int64_t last = std::min<std::int64_t>(columns - j - (Registers - 1) * width, width);
      sum_squares<Registers>(from + j, some.end - some.begin, stride, unit, origin() + j, sums + j, sums + columns + j,
                             static_cast<int>(last));
    };
    std::int64_t j = 0;
    for (; j + 3 * width < columns; j += 4 * width) columns_from(std::integral_constant<int, 4>{}, j);
    if (j + 2 * width < columns) columns_from(std::integral_constant<int, 3>{}, j);
    else if (j + width < columns) columns_from(std::integral_constant<int, 2>{}, j);
    else if (j < columns) columns_from(std::integral_constant<int, 1>{}, j);
  }
  /// The sums of all rows, in place of those of the first section.
  void sum_all(Real unit, int threads) const {
    shares{40 * rows * columns, sections}(threads, [=, this](costs::range own) {
      for (std::int64_t s = own.begin; s < own.end; ++s)
        sum_rows(costs::share(rows, 1, static_cast<int>(s), sections), 1, unit, scratch + 2 * s * columns);
    });
    for (std::int64_t j = 0; j < 2 * columns; j += vec::width) {
      const auto of_section = [=, this](std::int64_t s) { return load_row(scratch + 2 * s * columns, j, 2 * columns); };
      store_row(sum_in_sections<vec, 1>(sections, of_section), scratch, j, 2 * columns);
    }
  }

  moments_of<Real> of_column(std::int64_t j, Real unit) const {
    moments_of<Real> found{eps, unit, origin()[j]};
    const double share_of = 1 / static_cast<double>(rows);
    found.take(share_of * scratch[j], share_of * scratch[columns + j]);
    return found;
  }
  /// Corrects the origins that lie too far from the mean; whether there are such.
  bool origins_move(Real unit) const {
    bool any = false;
    for (std::int64_t j = 0; j < columns; ++j) {
      const moments_of<Real> found = of_column(j, unit);
      if (!found.too_far()) continue;
      origin()[j] = found.corrected_origin();
      any = true;
    }
    return any;
  }
  /// A group's mean is the mean of its columns' means. Its variance is the mean of their variances plus the variance of
  /// their means.
  moments_of<Real> of_group(std::int64_t begin, Real unit) const {
    if (together == 1) return of_column(begin, unit);
    moments_of<Real> all{eps, unit};
    const auto mean_of = [&](auto term) {
      double sum = 0;
      for (auto j = begin; j < begin + together; ++j) sum += term(of_column(j, unit));
      return sum / together;
    };
    all.off = mean_of([](const auto& column) { return column.origin + column.off; });
    all.variance = mean_of([mean = all.off](const auto& column) {
      const double off = column.origin + column.off - mean;
      return column.variance + off * off;
    });
    return all;
  }
  /// Writes the results of groups that are not known yet; whether all are.
  bool finish(Real unit) const {
    bool all = true;
    for (std::int64_t group = 0; group < columns / together; ++group) {
      if (known()[group] != 0) continue;
      const moments_of<Real> found = of_group(group * together, unit);
      if (half_mean != nullptr) half_mean[group] = found.half_mean();
      if (twice_scale != nullptr) twice_scale[group] = found.twice_scale();
      if (variance != nullptr) variance[group] = found.whole_variance();
      if (found.finite()) known()[group] = 1;
      else all = false;
    }
    return all;
  }
};

}  // namespace cairn::kernels

namespace cairn::lang {

/// Of what is joined, columns by piece.
template <double Eps, class Real, class X>
void compute(moments_op<Eps> op, signature<Real, X>, void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  static constexpr int whole[]{X::shape[-1]};
  const std::span<const int> pieces = how.pieces_or(whole);
  sum* to[3]{static_cast<sum*>(p[0]), static_cast<sum*>(p[1]), static_cast<sum*>(p[2])};
  sum* scratch = static_cast<sum*>(p[3 + pieces.size()]);
  constexpr std::int64_t rows = moments_op<Eps>::rows(X::shape);
  constexpr int sections = op.sections_of(rows);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    kernels::column_moments<Real, sum>{static_cast<const Real*>(p[3 + i]),
                                       rows,
                                       pieces[i],
                                       1,
                                       sections,
                                       static_cast<sum>(Eps),
                                       to[0],
                                       to[1],
                                       to[2],
                                       scratch}
        .run(how.threads);
    scratch += (2 * sections + 2) * std::int64_t{pieces[i]};  // planned for the columns of all
    for (sum*& result : to) {
      if (result != nullptr) result += pieces[i];
    }
  }
}

/// Threads share the examples, or the rows of the only one.
template <int Groups, double Eps, class Real, class X>
void compute(group_moments_op<Groups, Eps> op, signature<Real, X>, void* const* p, const kernels::launch& how) {
  using sum = kernels::sum_of<Real>;
  constexpr std::int64_t examples = X::shape[0], rows = X::shape[1], columns = X::shape[2];
  constexpr int sections = op.sections_of(rows);
  const int parts = std::min(parts_of(op.work(X::shape), examples), how.threads);
  kernels::in_parts(parts, [=](int part) {
    const costs::range own = costs::share(examples, 1, part, parts);
    const auto address = [p](int i, std::int64_t at) {
      return p[i] == nullptr ? nullptr : static_cast<sum*>(p[i]) + at;
    };
    for (auto i = own.begin; i < own.end; ++i) {
      kernels::column_moments<Real, sum>{static_cast<const Real*>(p[2]) + i * rows * columns,
                                         rows,
                                         columns,
                                         static_cast<int>(columns / Groups),
                                         sections,
                                         static_cast<sum>(Eps),
                                         address(0, i * Groups),
                                         address(1, i * Groups),
                                         nullptr,
                                         address(3, part * (2 * sections + 2) * columns)}
          .run(examples == 1 ? how.threads : 1);
    }
  });
}

}  // namespace cairn::lang
