// What normalizations of rows are made of: the moments of each row, and what becomes of it by these.
#pragma once

#include "cairn/expr/reduce.hpp"

namespace cairn {

namespace detail {
/// What takes rows of {..., columns} and tells of each a number, {..., 1}.
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
}  // namespace detail

/// The mean of each row, and 1 / sqrt(variance + eps). Large means cost no digits.
template <double Eps>
struct row_moments_op : detail::of_rows {
  static constexpr fixed_string name = "row_moments";
  using rule = rule::axes_exist;
  static constexpr bool takes_rows(const shape&) { return true; }
  static constexpr std::array<shape, 2> result(const shape& x) { return {one_a_row(x), one_a_row(x)}; }
  static constexpr std::int64_t flops(const shape& x) { return 5 * x.count(); }
  static constexpr auto vjp(auto of_mean, auto of_scale, auto mean, auto scale, auto x) {
    return gradients((of_mean - (x - mean) * scale * scale * scale * of_scale) * detail::share_of_row<decltype(x)>);
  }
};
/// 1 / sqrt(mean square + eps) of each row; without Eps it is the epsilon of the numbers computed with.
template <double... Eps>
struct row_scale_op : detail::of_rows {
  static constexpr fixed_string name = "row_scale";
  using rule = rule::axes_exist;
  static constexpr bool takes_rows(const shape&) { return true; }
  static constexpr shape result(const shape& x) { return one_a_row(x); }
  static constexpr std::int64_t flops(const shape& x) { return 2 * x.count(); }
  static constexpr auto vjp(auto g, auto scale, auto x) {
    return gradients(x * scale * scale * scale * g * -detail::share_of_row<decltype(x)>);
  }
};

namespace detail {
/// Gradients of (x - mean) scale weight + bias that are sums: over each row, and over all rows in sections, the same
/// for any number of threads.
struct sums_of_norm : of_rows {
  static constexpr std::int64_t rows(const shape& x) { return x.count() / x[-1]; }
  static constexpr int sections(const shape& x) {
    return static_cast<int>(std::clamp<std::int64_t>(rows(x) / 128, 1, 64));
  }
  static constexpr bool takes_bf16(int i) { return i < 2; }
  static constexpr int exact = 1;
  static constexpr workspace scratch(int bytes, const shape& g, const auto&...) {
    return {2 * sections(g) * std::int64_t{g[-1]} * sums_in(bytes)};
  }
};
}  // namespace detail

/// Of g, x, mean, scale, weight: the gradients of mean, scale, weight and bias.
struct normalized_sums_op : detail::sums_of_norm {
  static constexpr fixed_string name = "normalized_sums";
  static constexpr std::array<shape, 4> result(const shape& g, const shape&, const shape&, const shape&, const shape&) {
    return {one_a_row(g), one_a_row(g), shape{g[-1]}, shape{g[-1]}};
  }
  static constexpr std::int64_t flops(const shape& g, const auto&...) { return 8 * g.count(); }
  static constexpr auto vjp(auto of_mean, auto of_scale, auto of_weight, auto of_bias, auto, auto, auto, auto, auto g,
                            auto x, auto mean, auto scale, auto weight) {
    const auto off = x - mean;
    const auto by_scale = g * (off * of_weight - weight * of_mean);
    const auto by_off = g * (weight * of_scale + scale * of_weight);
    const auto by_weight = off * of_scale - scale * of_mean;
    return gradients(by_weight * weight + off * scale * of_weight + of_bias, by_off, -by_off, by_scale, g * by_weight);
  }
};
/// Of g, x, scale, weight, where there is neither mean nor bias: the gradients of scale and weight.
struct scaled_sums_op : detail::sums_of_norm {
  static constexpr fixed_string name = "scaled_sums";
  static constexpr std::array<shape, 2> result(const shape& g, const shape&, const shape&, const shape&) {
    return {one_a_row(g), shape{g[-1]}};
  }
  static constexpr std::int64_t flops(const shape& g, const auto&...) { return 5 * g.count(); }
  static constexpr auto vjp(auto of_scale, auto of_weight, auto, auto, auto g, auto x, auto scale, auto weight) {
    return gradients(x * (weight * of_scale + scale * of_weight), g * (weight * of_scale + scale * of_weight),
                     g * x * of_weight, g * x * of_scale);
  }
};

/// (x - mean) scale weight + bias, of {..., columns}, {..., 1} twice and {columns} twice.
struct normalized_op : elementwise_op {
  static constexpr fixed_string name = "normalized";
  static constexpr auto vjp(auto g, auto, auto x, auto mean, auto scale, auto weight, auto) {
    const auto [of_mean, of_scale, of_weight, of_bias] = make<normalized_sums_op>(g, x, mean, scale, weight);
    return gradients(g * weight * scale, of_mean, of_scale, of_weight, of_bias);
  }
};
/// x scale weight.
struct scaled_op : elementwise_op {
  static constexpr fixed_string name = "scaled";
  static constexpr auto vjp(auto g, auto, auto x, auto scale, auto weight) {
    const auto [of_scale, of_weight] = make<scaled_sums_op>(g, x, scale, weight);
    return gradients(g * weight * scale, of_scale, of_weight);
  }
};

}  // namespace cairn
