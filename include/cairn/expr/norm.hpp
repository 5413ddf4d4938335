// Softmax along one axis.
#pragma once

#include "cairn/expr/reduce.hpp"

namespace cairn {

namespace detail {
template <int Axis>
struct along_axis : op {
  using rule = rule::axes_exist;
  using asked = fact::axes<Axis>;
  static constexpr bool in_place = true;
  static constexpr bool exists(const shape& x) { return Axis < x.rank && Axis >= -x.rank; }
  static constexpr shape result(const shape& x) { return exists(x) ? x : no_shape; }
  /// Maximum, difference, exponential, sum, quotient.
  static constexpr std::int64_t flops(const shape& x) { return 5 * x.count(); }
};
}  // namespace detail

template <int Axis>
struct softmax_op : detail::along_axis<Axis> {
  static constexpr fixed_string name = "softmax";
  static constexpr auto vjp(auto, auto y, auto g) { return gradients((g - sum<Axis>(g * y, keepdim)) * y); }
};
template <int Axis>
struct log_softmax_op : detail::along_axis<Axis> {
  static constexpr fixed_string name = "log_softmax";
  static constexpr auto vjp(auto, auto y, auto g) { return gradients(g - exp(y) * sum<Axis>(g, keepdim)); }
};

/// exp(x) / sum(exp(x)) along an axis (the last by default).
template <int Axis = -1, an_operand X>
constexpr made<softmax_op<Axis>, X> softmax(X) {
  return {};
}
template <int Axis = -1, an_operand X, class... Surplus>
  requires(sizeof...(Surplus) > 0)
constexpr misused<axes_as_arguments, "softmax", X, Surplus...> softmax(X, Surplus...) {
  return {};
}
/// x - log(sum(exp(x))) along an axis (the last by default).
template <int Axis = -1, an_operand X>
constexpr made<log_softmax_op<Axis>, X> log_softmax(X) {
  return {};
}
template <int Axis = -1, an_operand X, class... Surplus>
  requires(sizeof...(Surplus) > 0)
constexpr misused<axes_as_arguments, "log_softmax", X, Surplus...> log_softmax(X, Surplus...) {
  return {};
}

}  // namespace cairn
