// Softmax and log-softmax along one axis.
#pragma once

#include "cairn/lang/convert.hpp"
#include "cairn/op/reduce.hpp"

namespace cairn::lang {

template <int Axis>
struct along_axis : op {
  using rule = misuse::axes_exist;
  using asked = fact::axes<Axis>;
  static constexpr reading reads(int i, const shape& x, const auto&...) {
    return {.numbers = reading::as_stored, .rows_from_loop = i == 0 && (Axis == -1 || Axis == x.rank - 1)};
  }
  static constexpr making makes(int, int, const auto&...) { return {.rounds = true, .overwrites = 0}; }
  static constexpr bool exists(const shape& x) { return Axis < x.rank && Axis >= -x.rank; }
  static constexpr shape result(const shape& x) { return exists(x) ? x : no_shape; }
  static constexpr bool keeps_rows(int, const shape& x, const auto&...) { return Axis != 0 && Axis != -x.rank; }
  /// Each element costs five operations: maximum, difference, exponential, sum and quotient.
  static constexpr std::int64_t flops(const shape& x) { return 5 * x.count(); }
};

/// The gradient of softmax, (g - sum(g y)) y, or of log_softmax, g - exp(y) sum(g), along an axis, from the gradient g
/// of its result y. Along the axis the gradients add up to 0. Where a share is near 1, its own gradient is computed as
/// minus the sum of the others, because 1 - share has no digits left.
template <int Axis, bool OfLog>
struct softmax_slope_op : along_axis<Axis> {
  static constexpr fixed_string name = "softmax_slope";
  static constexpr shape result(const shape& g, const shape& y) {
    return g == y ? along_axis<Axis>::result(g) : no_shape;
  }
  static constexpr std::int64_t flops(const shape& g, const shape&) { return 4 * g.count(); }
  static constexpr auto vjp(auto of_slope, auto, auto of_y, auto rounded) {
    const auto h = in_reals(of_slope);
    const auto g = in_reals(of_y);
    const auto y = in_reals(rounded);
    if constexpr (OfLog) {
      const auto across = h * exp(y);
      return gradients(h - sum<Axis>(across, keepdim), -across * sum<Axis>(g, keepdim));
    } else {
      const auto of_rows = h * sum<Axis>(g * y, keepdim) + g * sum<Axis>(h * y, keepdim);
      return gradients(make<softmax_slope_op>(h, y), h * g - of_rows);
    }
  }
};

template <int Axis>
struct softmax_op : along_axis<Axis> {
  static constexpr fixed_string name = "softmax";
  static constexpr auto vjp(auto g, auto y, auto) {
    return gradients(make<softmax_slope_op<Axis, false>>(in_reals(g), in_reals(y)));
  }
};
template <int Axis>
struct log_softmax_op : along_axis<Axis> {
  static constexpr fixed_string name = "log_softmax";
  static constexpr auto vjp(auto g, auto y, auto) {
    return gradients(make<softmax_slope_op<Axis, true>>(in_reals(g), in_reals(y)));
  }
};

/// The form of an operation along an axis, which takes one expression.
template <class Op>
using along_axis_form = form_applying<Op, form_of_one<Op::name>>;

/// Computes exp(x) / sum(exp(x)) along an axis, by default the last one.
template <int Axis = -1, an_operand X, class... Surplus>
constexpr applied<along_axis_form<softmax_op<Axis>>, X, Surplus...> softmax(X, Surplus...) {
  return {};
}
template <int First, int Second, int... More, an_operand X, class... Surplus>
constexpr applied<form_of<"softmax", std::size_t(-1), misuse::one_axis>, X, Surplus...> softmax(X, Surplus...) {
  return {};
}
function_name softmax(function_name);
/// Computes x - log(sum(exp(x))) along an axis, by default the last one.
template <int Axis = -1, an_operand X, class... Surplus>
constexpr applied<along_axis_form<log_softmax_op<Axis>>, X, Surplus...> log_softmax(X, Surplus...) {
  return {};
}
template <int First, int Second, int... More, an_operand X, class... Surplus>
constexpr applied<form_of<"log_softmax", std::size_t(-1), misuse::one_axis>, X, Surplus...> log_softmax(X, Surplus...) {
  return {};
}
function_name log_softmax(function_name);

}  // namespace cairn::lang

namespace cairn {
using lang::log_softmax, lang::softmax;
}  // namespace cairn
