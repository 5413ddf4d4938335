// The largest and the smallest element over axes, and their positions.
#pragma once

#include "cairn/op/reduce.hpp"

namespace cairn::lang {

enum class extremum : bool { largest, smallest };

/// Computes the extremum over a set of axes. If Keep is true, the axes remain with extent 1. If Keep is false, the axes
/// vanish. If several elements equal the extremum, each gets the same share of the gradient, as in maximum, torch.amax
/// and jnp.max. If an element is NaN, the result is NaN.
template <extremum Which, detail::axis_set Axes, bool Keep>
struct extremum_op : op {
  static constexpr fixed_string name = Which == extremum::largest ? "max" : "min";
  using rule = misuse::axes_exist;
  // The extremum is one of the numbers of x, so it is stored in the type of x. The gradient rule looks for elements
  // that equal the extremum. A rounded extremum would equal no element of x.
  static constexpr reading reads(int, const auto&...) {
    return {.numbers = reading::as_stored, .decides_precision = true};
  }
  static constexpr shape result(const shape& x) { return Axes >> x.rank == 0 ? reduced(x, Axes, Keep) : no_shape; }
  static constexpr bool keeps_rows(int, const shape& x) { return x.rank > 0 && Axes % 2 == 0; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto y, auto x) {
    using with_reduced_axes = reshape_op<reduced(decltype(x)::shape, Axes, true)>;
    const auto attains = make<equal_op>(x, make<with_reduced_axes>(y));
    return gradients(attains * (make<with_reduced_axes>(g) / make<sum_op<Axes, true>>(attains)));
  }
};

/// Computes the position of the first extremum along an axis, as an index below the extent of the axis. NaN counts as
/// the extremum.
template <extremum Which, int Axis, bool Keep>
struct position_op : op {
  static constexpr fixed_string name = Which == extremum::largest ? "argmax" : "argmin";
  using rule = misuse::axes_exist;
  using asked = fact::axes<Axis>;
  static constexpr bool piecewise_constant = true;
  static constexpr tensor_type result(const shape& x) {
    if (Axis >= x.rank || Axis < -x.rank) return no_shape;
    return {reduced(x, axis_bit(x, Axis), Keep), index_below(x[Axis])};
  }
  static constexpr bool keeps_rows(int, const shape& x) { return axis_bit(x, Axis) % 2 == 0; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
};

template <detail::axis_set Axes, bool Keep>
using max_op = extremum_op<extremum::largest, Axes, Keep>;
template <detail::axis_set Axes, bool Keep>
using min_op = extremum_op<extremum::smallest, Axes, Keep>;

template <template <detail::axis_set, bool> class Op, int... Axes>
using extremum_form = reduction_form<Op, misuse::one_argument_reduced, Axes...>;
template <extremum Which, int... Axes>
struct position_form : unfit_form<position_op<Which, 0, false>::name> {};
template <extremum Which, int Axis>
struct position_form<Which, Axis> : reducing_form<position_op<Which, Axis, false>::name> {
  static constexpr auto body(an_expression auto x, auto... keep) {
    constexpr bool keeps = sizeof...(keep) == 1;
    return make<position_op<Which, Axis, keeps>>(x);
  }
};

/// Computes the largest element over the given axes, or over all axes if none is given: `max<-1>(x)`,
/// `max<-1>(x, keepdim)`. Equal elements share the gradient.
template <int... Axes, an_operand X, class... Keep>
constexpr applied<extremum_form<max_op, Axes...>, X, Keep...> max(X, Keep...) {
  return {};
}
/// Computes the smallest element over the given axes, or over all axes if none is given. Equal elements share the
/// gradient.
template <int... Axes, an_operand X, class... Keep>
constexpr applied<extremum_form<min_op, Axes...>, X, Keep...> min(X, Keep...) {
  return {};
}

/// Computes the position of the largest element along an axis: `argmax<-1>(logits)`. The result consists of indices. If
/// several elements are the largest, the position is that of the first.
template <int... Axis, an_operand X, class... Keep>
constexpr applied<position_form<extremum::largest, Axis...>, X, Keep...> argmax(X, Keep...) {
  return {};
}
/// Computes the position of the smallest element along an axis. If several elements are the smallest, the position is
/// that of the first.
template <int... Axis, an_operand X, class... Keep>
constexpr applied<position_form<extremum::smallest, Axis...>, X, Keep...> argmin(X, Keep...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::argmax, lang::argmin, lang::max, lang::min;
}  // namespace cairn
