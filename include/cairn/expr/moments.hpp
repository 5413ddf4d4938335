// Mean and variance over all axes but the last, as normalizations of features take them.
#pragma once

#include "cairn/expr/reduce.hpp"

namespace cairn {

/// {..., features} -> the mean and the variance of each feature, both divided by the number of rows. Variances are sums
/// of squares of what lies off a mean of some rows, so that large means cost no digits.
struct moments_op : op {
  static constexpr fixed_string name = "moments";
  using rule = rule::at_least_two_axes;
  static constexpr bool sums(int) { return true; }
  static constexpr bool takes_bf16(int) { return true; }
  static constexpr int exact = 0;
  static constexpr std::array<shape, 2> result(const shape& x) {
    const shape features = x.rank < 2 ? no_shape : shape{x[-1]};
    return {features, features};
  }
  static constexpr std::int64_t rows(const shape& x) { return x.count() / x[-1]; }
  /// Rows are summed in sections, the same for any number of threads.
  static constexpr int sections(const shape& x) {
    return static_cast<int>(std::clamp<std::int64_t>(rows(x) / 128, 1, 64));
  }
  static constexpr workspace scratch(int bytes, const shape& x) {
    return {(2 * sections(x) + 1) * std::int64_t{x[-1]} * sums_in(bytes)};
  }
  static constexpr bool reads_pieces(int, const shape&) { return true; }
  static constexpr std::int64_t flops(const shape& x) { return 4 * x.count(); }
  static constexpr auto vjp(auto of_mean, auto of_variance, auto mean, auto, auto x) {
    constexpr auto share = constant<1 / static_cast<double>(rows(decltype(x)::shape))>;
    return gradients(of_mean * share + of_variance * (detail::two * share) * (x - mean));
  }
};

}  // namespace cairn
