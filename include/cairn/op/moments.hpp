// Mean and variance of each feature over all rows, or of each group of features over the rows of each example.
#pragma once

#include "cairn/op/norm.hpp"

namespace cairn::lang {

/// Base of both operations. A variance is computed from the squares of distances to the mean of some rows, so large
/// means cost no digits. Finite numbers do not overflow, with one exception: a variance that is too large for its type
/// is infinite.
struct column_statistics : op {
  static constexpr reading reads(int, const auto&...) {
    return {.numbers = reading::as_stored, .decides_precision = true};
  }
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true}; }
  static constexpr std::int64_t flops(const shape& x) { return 4 * x.count(); }
  /// Returns the number of sections of rows. Each section is summed by itself. The sections are the same for any number
  /// of threads.
  static constexpr int sections_of(std::int64_t rows) {
    return static_cast<int>(std::clamp<std::int64_t>(rows / 128, 1, 64));
  }
  /// Returns the workspace in numbers. For each column the workspace holds two sums per section, the origin from which
  /// distances are measured, and a flag that is set when the result is final.
  static constexpr std::int64_t scratch_of(int bytes, std::int64_t rows, int columns) {
    return (2 * sections_of(rows) + 2) * std::int64_t{columns} * sums_in(bytes);
  }
};

/// Computes three results from x {..., features}, each with one number for each feature: half the mean,
/// `2 / sqrt(variance + eps)`, and the variance. The variance is the mean square of the distances from the mean.
template <double Eps>
struct moments_op : column_statistics {
  static constexpr fixed_string name = "moments";
  using rule = misuse::at_least_two_axes;
  static constexpr std::array<shape, 3> result(const shape& x) {
    const shape features = x.rank < 2 ? no_shape : shape{x[-1]};
    return {features, features, features};
  }
  static constexpr std::int64_t rows(const shape& x) { return x.count() / x[-1]; }
  static constexpr bool of_single_numbers(const shape& x) { return rows(x) == 1; }
  static constexpr workspace scratch(int bytes, const shape& x) { return {scratch_of(bytes, rows(x), x[-1])}; }
  static constexpr reading reads(int, const shape&) {
    return {.numbers = reading::as_stored, .decides_precision = true, .in_pieces = true};
  }
  static constexpr auto vjp(auto of_mean, auto of_scale, auto of_variance, auto mean, auto scale, auto, auto x) {
    constexpr auto share = constant<1 / static_cast<double>(rows(decltype(x)::shape))>;
    const auto distance_slope = of_variance * constant<8> - scale_slope_cubed(of_scale, scale);
    return gradients((of_mean + distance_slope * (x * 0.5_c - mean)) * (0.5_c * share));
  }
};

/// Repeats the number of each group for all features of the group: {N, groups, 1} -> {N, 1, features}.
template <int Features, class V>
constexpr auto for_features(V v) {
  constexpr shape each{V::shape[0], V::shape[1], Features / V::shape[1]}, together{V::shape[0], 1, Features};
  if constexpr (each == V::shape) return make<reshape_op<together>>(v);
  else return make<reshape_op<together>>(make<expand_op<each>>(v));
}

/// Computes two results from x {N, rows, features}, each {N, groups, 1}: half the mean of each group of features, and
/// `2 / sqrt(variance + eps)`.
template <int Groups, double Eps>
struct group_moments_op : column_statistics {
  static constexpr fixed_string name = "group_moments";
  using rule = misuse::at_least_two_axes;
  static constexpr std::array<shape, 2> result(const shape& x) {
    const shape groups = x.rank != 3 ? no_shape : shape{x[0], Groups, 1};
    return {groups, groups};
  }
  static constexpr bool keeps_rows(int, const shape&) { return true; }
  static constexpr std::int64_t work(const shape& x) { return 40 * x.count(); }
  static constexpr workspace scratch(int bytes, const shape& x) {
    return {scratch_of(bytes, x[1], x[2]), parts_of(work(x), x[0])};
  }
  static constexpr auto vjp(auto of_mean, auto of_scale, auto mean, auto scale, auto x) {
    constexpr shape from = decltype(x)::shape;
    constexpr auto share = constant<static_cast<double>(Groups) / (static_cast<double>(from[1]) * from[2])>;
    const auto distance_slope = for_features<from[2]>(scale_slope_cubed(of_scale, scale));
    const auto distance = x * 0.5_c - for_features<from[2]>(mean);
    return gradients((for_features<from[2]>(of_mean) - distance_slope * distance) * (0.5_c * share));
  }
};

}  // namespace cairn::lang
