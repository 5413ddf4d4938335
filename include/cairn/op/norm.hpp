// Parts of normalizations: the moments of each row, the normalized numbers, and the gradients of both.
//
// All normalizations compute (x - mean) scale weight + bias, where scale is 1 / sqrt(variance + eps). The operations
// take half the mean and twice the scale, and compute (x / 2 - mean / 2) (2 scale), which has the same bits. The
// reason is the range: x - mean may overflow where x does not, and the scale of the largest numbers is below the least
// normal number.
//
// Mean and scale are functions of x. The gradient that reaches x through them is a part of the gradient that
// `normalized` gives to x, so `normalized` gives none to mean and scale. A gradient of the scale by itself would be a
// sum of x - mean, and overflow. Second gradients go through the rules of the moments.
#pragma once

#include "cairn/op/reduce.hpp"

namespace cairn {

namespace detail {
/// An operation on rows {..., columns} whose results {..., 1} are one number a row.
struct of_rows : op {
  static constexpr bool sums(int) { return true; }
  static constexpr bool takes_bf16(int i) { return i == 0; }
  static constexpr int exact = 0;
  static constexpr bool gives_rows(const shape&, const auto&...) { return true; }
  static constexpr shape one_a_row(const shape& x) {
    return x.rank == 0 ? no_shape : reduced(x, axis_set{1} << (x.rank - 1), true);
  }
};
template <class X>
inline constexpr auto share_of_row = constant<1.0 / X::shape[-1]>;

/// The gradient of a scale times its third power, in an order in which large and small factors meet.
constexpr auto through_root(auto of_scale, auto scale) { return scale * (scale * (scale * of_scale)); }
}  // namespace detail

/// Half the mean of each row, and 2 / sqrt(variance + eps). Large means cost no digits, and no finite numbers overflow.
template <double Eps>
struct row_moments_op : detail::of_rows {
  static constexpr fixed_string name = "row_moments";
  using rule = rule::axes_exist;
  static constexpr bool takes_rows(const shape&) { return true; }
  static constexpr std::array<shape, 2> result(const shape& x) { return {one_a_row(x), one_a_row(x)}; }
  static constexpr std::int64_t flops(const shape& x) { return 5 * x.count(); }
  static constexpr auto vjp(auto of_mean, auto of_scale, auto mean, auto scale, auto x) {
    const auto of_off = (x * detail::half - mean) * detail::through_root(of_scale, scale);
    return gradients((of_mean - of_off) * detail::half * detail::share_of_row<decltype(x)>);
  }
};
/// 2 / sqrt(mean square + eps) of each row; without Eps it is the epsilon of the numbers computed with.
template <double... Eps>
struct row_scale_op : detail::of_rows {
  static constexpr fixed_string name = "row_scale";
  using rule = rule::axes_exist;
  static constexpr bool takes_rows(const shape&) { return true; }
  static constexpr shape result(const shape& x) { return one_a_row(x); }
  static constexpr std::int64_t flops(const shape& x) { return 2 * x.count(); }
  static constexpr auto vjp(auto g, auto scale, auto x) {
    return gradients(x * detail::through_root(g, scale) * constant<-0.25> * detail::share_of_row<decltype(x)>);
  }
};

namespace detail {
/// Sums of which the gradients of (x - mean) scale weight + bias are made: over each row, and over all rows in
/// sections, the same for any number of threads.
struct sums_of_norm : of_rows {
  static constexpr std::int64_t rows(const shape& x) { return x.count() / x[-1]; }
  static constexpr int sections(const shape& x) {
    return static_cast<int>(std::clamp<std::int64_t>(rows(x) / 128, 1, 64));
  }
  /// Multiply-adds count as 80, together with what they read.
  static constexpr std::int64_t work(const shape& x) { return 80 * x.count(); }
  static constexpr bool takes_bf16(int i) { return i < 2; }
  static constexpr int exact = 1;
  /// Two sums a column for each section, and two for each thread of the last few rows.
  static constexpr workspace scratch(int bytes, const shape& g, const auto&...) {
    const std::int64_t columns = std::int64_t{g[-1]} * sums_in(bytes), all = 2 * sections(g) * columns;
    return {.each = 2 * columns, .parts = cairn::parts_of(work(g), sections(g)), .block = all, .all = all};
  }
};
}  // namespace detail

/// From g, x, mean, scale, weight: the means over each row of g weight and of g weight times the normalized x, and the
/// gradients of weight and bias.
struct normalized_sums_op : detail::sums_of_norm {
  static constexpr fixed_string name = "normalized_sums";
  static constexpr std::array<shape, 4> result(const shape& g, const shape&, const shape&, const shape&, const shape&) {
    return {one_a_row(g), one_a_row(g), shape{g[-1]}, shape{g[-1]}};
  }
  static constexpr std::int64_t flops(const shape& g, const auto&...) { return 8 * g.count(); }
  static constexpr auto vjp(auto of_level, auto of_tilt, auto of_weight, auto of_bias, auto, auto, auto, auto, auto g,
                            auto x, auto mean, auto scale, auto weight) {
    const auto off = x * detail::half - mean;
    const auto in_row = (of_level + off * scale * of_tilt) * detail::share_of_row<decltype(x)>;
    const auto by_normal = g * (of_tilt * detail::share_of_row<decltype(x)> * weight + of_weight);
    return gradients(in_row * weight + off * scale * of_weight + of_bias, by_normal * scale * detail::half,
                     -(by_normal * scale), by_normal * off, g * in_row);
  }
};
/// From g, x, scale, weight, where there is neither mean nor bias: the mean over each row of g weight times the
/// normalized x, and the gradient of weight.
struct scaled_sums_op : detail::sums_of_norm {
  static constexpr fixed_string name = "scaled_sums";
  static constexpr std::array<shape, 2> result(const shape& g, const shape&, const shape&, const shape&) {
    return {one_a_row(g), shape{g[-1]}};
  }
  static constexpr std::int64_t flops(const shape& g, const auto&...) { return 5 * g.count(); }
  static constexpr auto vjp(auto of_tilt, auto of_weight, auto, auto, auto g, auto x, auto scale, auto weight) {
    const auto normal = x * detail::half * scale;
    const auto tilt = of_tilt * detail::share_of_row<decltype(x)>;
    const auto by_normal = tilt * weight + of_weight;
    return gradients(normal * by_normal, g * by_normal * scale * detail::half, g * by_normal * x * detail::half,
                     g * normal * tilt);
  }
};

/// The gradient of x from g, x, mean, scale, weight, and the means of g weight and of g weight times the normalized x
/// over the numbers that mean and scale are of: scale (g weight - level - tilt (x - mean) scale).
struct normalized_slope_op : elementwise_op {
  static constexpr fixed_string name = "normalized_slope";
  static constexpr auto vjp(auto h, auto y, auto g, auto x, auto mean, auto scale, auto weight, auto, auto tilt) {
    const auto normal = (x * detail::half - mean) * scale;
    const auto by_scale = h * (scale * detail::half);
    const auto by_off = by_scale * tilt * scale;
    return gradients(by_scale * weight, -by_off * detail::half, by_off, (h * y - by_scale * normal * tilt) / scale,
                     by_scale * g, -by_scale, -(by_scale * normal));
  }
};
/// g times the normalized x.
struct times_normalized_op : elementwise_op {
  static constexpr fixed_string name = "times_normalized";
  static constexpr auto vjp(auto h, auto, auto g, auto x, auto mean, auto scale) {
    const auto off = x * detail::half - mean;
    const auto by_off = h * g * scale;
    return gradients(h * (off * scale), by_off * detail::half, -by_off, h * g * off);
  }
};

namespace detail {
inline constexpr auto zero = constant<0>;

/// The sums of v over what `moments` repeats.
template <class Moments, class V>
constexpr auto summed_like(V v, Moments) {
  constexpr axis_set axes = stretched_axes(Moments::shape, V::shape);
  return make<reshape_op<Moments::shape>>(make<sum_op<axes, true>>(v));
}
/// The sums of v {..., features} over the features of a group, for each feature.
template <int Groups, class V>
constexpr auto summed_in_groups(V v) {
  if constexpr (Groups == V::shape[-1]) {
    return v;
  } else {
    constexpr shape apart{static_cast<int>(V::shape.count() / V::shape[-1]), Groups, V::shape[-1] / Groups};
    const auto of_group = make<sum_op<axis_set{4}, true>>(make<reshape_op<apart>>(v));
    return make<reshape_op<V::shape>>(make<expand_op<apart>>(of_group));
  }
}
}  // namespace detail

/// (x - mean) scale weight + bias, of x {..., features}, weight and bias {features}. Mean and scale are those of x:
/// {..., 1}, of each row, where Groups is 0; else of groups of features, but one for each feature, and equal along the
/// axes that they do not have.
template <int Groups>
struct normalized_op : elementwise_op {
  static constexpr fixed_string name = "normalized";
  static constexpr bool in_other_gradients(int argument) { return argument == 1 || argument == 2; }
  static constexpr auto vjp(auto g, auto, auto x, auto mean, auto scale, auto weight, auto) {
    if constexpr (Groups == 0) {
      const auto [level, tilt, of_weight, of_bias] = make<normalized_sums_op>(g, x, mean, scale, weight);
      return gradients(make<normalized_slope_op>(g, x, mean, scale, weight, level, tilt), no_gradient{}, no_gradient{},
                       of_weight, of_bias);
    } else {
      constexpr shape each = decltype(mean)::shape;
      constexpr std::int64_t groups = each.count() / each[-1] * Groups;
      constexpr auto share = constant<static_cast<double>(groups) / static_cast<double>(decltype(x)::shape.count())>;
      const auto of_bias = detail::summed_like(g, mean);
      const auto of_weight = detail::summed_like(make<times_normalized_op>(g, x, mean, scale), mean);
      const auto level = detail::summed_in_groups<Groups>(of_bias * weight) * share;
      const auto tilt = detail::summed_in_groups<Groups>(of_weight * weight) * share;
      return gradients(make<normalized_slope_op>(g, x, mean, scale, weight, level, tilt), no_gradient{}, no_gradient{},
                       of_weight, of_bias);
    }
  }
};
/// x scale weight, where twice the scale is that of each row of x.
struct scaled_op : elementwise_op {
  static constexpr fixed_string name = "scaled";
  static constexpr bool in_other_gradients(int argument) { return argument == 1; }
  static constexpr auto vjp(auto g, auto, auto x, auto scale, auto weight) {
    const auto [tilt, of_weight] = make<scaled_sums_op>(g, x, scale, weight);
    return gradients(make<normalized_slope_op>(g, x, detail::zero, scale, weight, detail::zero, tilt), no_gradient{},
                     of_weight);
  }
};

}  // namespace cairn
