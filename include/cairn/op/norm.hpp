// Operations of which normalizations consist: mean and scale of each row, the normalized numbers, and their gradients.
//
// All normalizations compute `(x - mean) scale weight + bias`, where scale is `1 / sqrt(variance + eps)`. The
// operations take half the mean and twice the scale, and compute `(x / 2 - mean / 2) (2 scale)`, which has the same
// bits. The reason is the range of numbers: x - mean may overflow where x does not, and the scale of the largest
// numbers is below the smallest normal number.
//
// Mean and scale are functions of x. One part of the gradient reaches x through mean and scale. The gradient that
// `normalized` gives to x includes this part, so `normalized` gives no gradient to mean and scale. A separate gradient
// of the scale would be a sum of x - mean, and this sum would overflow. Second derivatives use the gradient rules of
// the operations that compute mean and scale.
#pragma once

#include "cairn/op/reduce.hpp"

namespace cairn::lang {

/// Base of operations on rows {..., columns}. Each of their results is {..., 1} and has one number for each row.
struct row_operation : op {
  static constexpr reading reads(int i, const auto&... x) {
    return {.numbers = i == 0 ? reading::as_stored : reading::as_float,
            .decides_precision = i == 0,
            .rows_from_loop = i == 0 && sizeof...(x) == 1};
  }
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true, .one_for_each_row = true}; }
  static constexpr bool keeps_rows(int, const shape& x, const auto&...) { return x.rank > 1; }
  static constexpr shape one_number_per_row(const shape& x) {
    return x.rank == 0 ? no_shape : reduced(x, detail::axis_set{1} << (x.rank - 1), true);
  }
};
template <class X>
inline constexpr auto share_of_row = constant<1.0 / X::shape[-1]>;

/// Returns the gradient of a scale times the third power of the scale. The order of the factors makes large and small
/// numbers meet, so that intermediate products stay in range.
constexpr auto scale_slope_cubed(auto of_scale, auto scale) { return scale * (scale * (scale * of_scale)); }

/// Computes half the mean of each row, and `2 / sqrt(variance + eps)`. Large means cost no digits, and finite numbers
/// do not overflow.
template <double Eps>
struct row_moments_op : row_operation {
  static constexpr fixed_string name = "row_moments";
  using rule = misuse::axes_exist;
  static constexpr std::array<shape, 2> result(const shape& x) {
    return {one_number_per_row(x), one_number_per_row(x)};
  }
  static constexpr std::int64_t flops(const shape& x) { return 5 * x.count(); }
  static constexpr auto vjp(auto of_mean, auto of_scale, auto mean, auto scale, auto x) {
    const auto distance_slope = (x * 0.5_c - mean) * scale_slope_cubed(of_scale, scale);
    return gradients((of_mean - distance_slope) * 0.5_c * share_of_row<decltype(x)>);
  }
};
/// Computes `2 / sqrt(mean square + eps)` of each row. Without Eps, eps is the machine epsilon of the type in which the
/// kernel computes.
template <double... Eps>
struct row_scale_op : row_operation {
  static constexpr fixed_string name = "row_scale";
  using rule = misuse::axes_exist;
  static constexpr shape result(const shape& x) { return one_number_per_row(x); }
  static constexpr std::int64_t flops(const shape& x) { return 2 * x.count(); }
  static constexpr auto vjp(auto g, auto scale, auto x) {
    return gradients(x * scale_slope_cubed(g, scale) * constant<-0.25> * share_of_row<decltype(x)>);
  }
};

/// Base of operations that compute the sums in the gradients of `(x - mean) scale weight + bias`. Some sums run over
/// each row, other sums run over all rows. The sums over all rows are made in sections, which are the same for any
/// number of threads.
struct norm_sums_operation : row_operation {
  static constexpr std::int64_t rows(const shape& x) { return x.count() / x[-1]; }
  static constexpr int sections(const shape& x) {
    return static_cast<int>(std::clamp<std::int64_t>(rows(x) / 128, 1, 64));
  }
  /// Returns the work, from which the number of threads is chosen. The multiply-adds of one element count as 80
  /// operations, and this includes the reading of their operands.
  static constexpr std::int64_t work(const shape& x) { return 80 * x.count(); }
  static constexpr bool keeps_rows(int, const auto&...) { return false; }
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i < 2 ? reading::as_stored : reading::as_float, .decides_precision = i == 1};
  }
  /// Returns the workspace. It holds two sums per column for each section. For each thread it also holds two
  /// sums per column, of the last few rows.
  static constexpr workspace scratch(int bytes, const shape& g, const auto&...) {
    const std::int64_t columns = std::int64_t{g[-1]} * sums_in(bytes), all = 2 * sections(g) * columns;
    return {.each = 2 * columns, .parts = cairn::parts_of(work(g), sections(g)), .block = all, .all = all};
  }
};

/// Computes four results from g, x, mean, scale and weight:
/// - `mean_slope`: the mean over each row of g weight
/// - `mean_slope_times_x`: the mean over each row of g weight times the normalized x
/// - the gradient of weight
/// - the gradient of bias
struct normalized_sums_op : norm_sums_operation {
  static constexpr fixed_string name = "normalized_sums";
  static constexpr std::array<shape, 4> result(const shape& g, const shape&, const shape&, const shape&, const shape&) {
    return {one_number_per_row(g), one_number_per_row(g), shape{g[-1]}, shape{g[-1]}};
  }
  static constexpr std::int64_t flops(const shape& g, const auto&...) { return 8 * g.count(); }
  static constexpr auto vjp(auto of_mean_slope, auto of_mean_slope_times_x, auto of_weight, auto of_bias, auto, auto,
                            auto, auto, auto g, auto x, auto mean, auto scale, auto weight) {
    const auto distance = x * 0.5_c - mean;
    const auto in_row = (of_mean_slope + distance * scale * of_mean_slope_times_x) * share_of_row<decltype(x)>;
    const auto by_normal = g * (of_mean_slope_times_x * share_of_row<decltype(x)> * weight + of_weight);
    return gradients(in_row * weight + distance * scale * of_weight + of_bias, by_normal * scale * 0.5_c,
                     -(by_normal * scale), by_normal * distance, g * in_row);
  }
};
/// Computes two results from g, x, scale and weight, for normalizations that have neither mean nor bias. The first
/// result, `mean_slope_times_x`, is the mean over each row of g weight times the normalized x. The second result is the
/// gradient of weight.
struct scaled_sums_op : norm_sums_operation {
  static constexpr fixed_string name = "scaled_sums";
  static constexpr std::array<shape, 2> result(const shape& g, const shape&, const shape&, const shape&) {
    return {one_number_per_row(g), shape{g[-1]}};
  }
  static constexpr std::int64_t flops(const shape& g, const auto&...) { return 5 * g.count(); }
  static constexpr auto vjp(auto of_mean_slope_times_x, auto of_weight, auto, auto, auto g, auto x, auto scale,
                            auto weight) {
    const auto normal = x * 0.5_c * scale;
    const auto mean_slope_times_x = of_mean_slope_times_x * share_of_row<decltype(x)>;
    const auto by_normal = mean_slope_times_x * weight + of_weight;
    return gradients(normal * by_normal, g * by_normal * scale * 0.5_c, g * by_normal * x * 0.5_c,
                     g * normal * mean_slope_times_x);
  }
};

/// Computes the gradient of x: `scale (g weight - mean_slope - mean_slope_times_x (x - mean) scale)`. The arguments are
/// g, x, mean, scale, weight, mean_slope and mean_slope_times_x. `mean_slope` is the mean of g weight, and
/// `mean_slope_times_x` is the mean of g weight times the normalized x. Both are means over the same numbers as mean
/// and variance of x.
struct normalized_slope_op : elementwise_op {
  static constexpr fixed_string name = "normalized_slope";
  static constexpr auto vjp(auto h, auto y, auto g, auto x, auto mean, auto scale, auto weight, auto,
                            auto mean_slope_times_x) {
    const auto normal = (x * 0.5_c - mean) * scale;
    const auto by_scale = h * (scale * 0.5_c);
    const auto by_distance = by_scale * mean_slope_times_x * scale;
    return gradients(by_scale * weight, -by_distance * 0.5_c, by_distance,
                     (h * y - by_scale * normal * mean_slope_times_x) / scale, by_scale * g, -by_scale,
                     -(by_scale * normal));
  }
};
/// Computes g times the normalized x.
struct times_normalized_op : elementwise_op {
  static constexpr fixed_string name = "times_normalized";
  static constexpr auto vjp(auto h, auto, auto g, auto x, auto mean, auto scale) {
    const auto distance = x * 0.5_c - mean;
    const auto by_distance = h * g * scale;
    return gradients(h * (distance * scale), by_distance * 0.5_c, -by_distance, h * g * distance);
  }
};

/// Sums v over the axes along which `moments` is broadcast to the shape of v. The result has the shape of `moments`.
template <class Moments, class V>
constexpr auto summed_like(V v, Moments) {
  constexpr detail::axis_set axes = detail::stretched_axes(Moments::shape, V::shape);
  return make<reshape_op<Moments::shape>>(make<sum_op<axes, true>>(v));
}
/// Sums v {..., features} over the features of each group. The result has the shape of v: each feature holds the sum of
/// its group.
template <int Groups, class V>
constexpr auto summed_in_groups(V v) {
  if constexpr (Groups == V::shape[-1]) {
    return v;
  } else {
    constexpr shape apart{static_cast<int>(V::shape.count() / V::shape[-1]), Groups, V::shape[-1] / Groups};
    const auto of_group = make<sum_op<detail::axis_set{4}, true>>(make<reshape_op<apart>>(v));
    return make<reshape_op<V::shape>>(make<expand_op<apart>>(of_group));
  }
}

/// Returns the weight {features} or {} of a norm as {features}.
template <int Features, class W>
constexpr auto weight_of_each(W weight) {
  if constexpr (W::shape.rank > 0) return weight;
  else return make<expand_op<shape{Features}>>(weight);
}

/// The mean of x over all shards. In a program without shards it is x.
struct mean_over_shards_op : op {
  static constexpr fixed_string name = "mean_over_shards";
  using rule = misuse::equal_shapes;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true}; }
  static constexpr bool averages_over_shards = true;
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<mean_over_shards_op>(g)); }
};

/// Computes `(x - mean) scale weight + bias` for x {..., features}, weight {features} and bias {features}. Weight and
/// bias may also be single numbers, as in norms without parameters. The arguments `mean` and `scale` are half the mean
/// and twice the scale of x:
/// - If Groups is 0, each row has its own mean and scale, and the arguments are {..., 1}.
/// - Otherwise each group of features has its own mean and scale. The arguments still have one number for each feature.
///   Along the axes that the arguments lack or that have extent 1, all rows share these numbers.
///
/// If OverShards is true, the mean and the scale are those of the rows of all shards.
template <int Groups, bool OverShards = false>
struct normalized_op : elementwise_op {
  static constexpr fixed_string name = "normalized";
  static constexpr bool in_other_gradients(int argument) { return argument == 1 || argument == 2; }
  static constexpr auto vjp(auto g, auto, auto x, auto mean, auto scale, auto weight, auto) {
    if constexpr (Groups == 0) {
      const auto [mean_slope, mean_slope_times_x, of_weight, of_bias] =
          make<normalized_sums_op>(g, x, mean, scale, weight_of_each<decltype(x)::shape[-1]>(weight));
      return gradients(make<normalized_slope_op>(g, x, mean, scale, weight, mean_slope, mean_slope_times_x),
                       no_gradient{}, no_gradient{}, of_weight, of_bias);
    } else {
      constexpr shape each = decltype(mean)::shape;
      constexpr std::int64_t groups = each.count() / each[-1] * Groups;
      constexpr auto share = constant<static_cast<double>(groups) / static_cast<double>(decltype(x)::shape.count())>;
      const auto of_bias = summed_like(g, mean);
      const auto of_weight = summed_like(make<times_normalized_op>(g, x, mean, scale), mean);
      const auto mean_slope = over_rows(summed_in_groups<Groups>(of_bias * weight) * share);
      const auto mean_slope_times_x = over_rows(summed_in_groups<Groups>(of_weight * weight) * share);
      return gradients(make<normalized_slope_op>(g, x, mean, scale, weight, mean_slope, mean_slope_times_x),
                       no_gradient{}, no_gradient{}, of_weight, of_bias);
    }
  }

 private:
  static constexpr auto over_rows(auto mean) {
    if constexpr (OverShards) return make<mean_over_shards_op>(mean);
    else return mean;
  }
};
/// Computes x scale weight for x {..., features} and weight {features}. The weight may also be a single number, as in
/// norms without parameters. The argument `scale` holds twice the scale of each row of x.
struct scaled_op : elementwise_op {
  static constexpr fixed_string name = "scaled";
  static constexpr bool in_other_gradients(int argument) { return argument == 1; }
  static constexpr auto vjp(auto g, auto, auto x, auto scale, auto weight) {
    const auto [mean_slope_times_x, of_weight] =
        make<scaled_sums_op>(g, x, scale, weight_of_each<decltype(x)::shape[-1]>(weight));
    return gradients(make<normalized_slope_op>(g, x, 0_c, scale, weight, 0_c, mean_slope_times_x), no_gradient{},
                     of_weight);
  }
};

}  // namespace cairn::lang
