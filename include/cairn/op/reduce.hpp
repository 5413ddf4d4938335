// Sums, means and variances over axes.
#pragma once

#include "cairn/lang/view.hpp"
#include "cairn/op/elementwise.hpp"

#include <limits>

namespace cairn::lang {

/// Sums over a set of axes. If Keep is true, the axes remain with extent 1. If Keep is false, the axes vanish. If no
/// axis remains, the result is a scalar with an empty shape.
template <detail::axis_set Axes, bool Keep>
struct sum_op : op {
  static constexpr fixed_string name = "sum";
  using rule = misuse::axes_exist;
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true, .summed = Axes}; }
  static constexpr shape result(const shape& x) { return Axes >> x.rank == 0 ? reduced(x, Axes, Keep) : no_shape; }
  static constexpr bool keeps_rows(int, const shape& x) { return x.rank > 0 && Axes % 2 == 0; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr shape from = decltype(x)::shape;
    return gradients(make<expand_op<from>>(make<reshape_op<reduced(from, Axes, true)>>(g)));
  }
};

/// Computes x minus an approximate mean. The mean needs no gradient: `var` subtracts the exact mean of the result
/// afterwards, which cancels any shift.
struct centered_op : sub_op {
  static constexpr fixed_string name = "off_origin";
  static constexpr bool in_other_gradients(int argument) { return argument == 1; }
  static constexpr auto vjp(auto g, auto, auto, auto) { return gradients(g, no_gradient{}); }
};

/// Option that keeps reduced axes with extent 1: `sum<-1>(x, keepdim)`.
struct keepdim_t {};
inline constexpr keepdim_t keepdim{};
/// Option that divides a variance by the count of numbers, not by the count minus 1: `var<-1>(x, biased)`.
struct biased_t {};
inline constexpr biased_t biased{};

/// Returns the bit of an axis. If the axis does not exist, returns a bit that is above all axes of any shape.
constexpr detail::axis_set axis_bit(const shape& s, int axis) {
  const int at = axis < 0 ? s.rank + axis : axis;
  return detail::axis_set{1} << (at >= 0 && at < s.rank ? at : 31);
}
/// Returns the set of the named axes, or the set of all axes if none is named. If an axis does not exist or is named
/// twice, returns a set with a bit above all axes.
template <shape S, int... Axes>
constexpr detail::axis_set axes_of() {
  if constexpr (sizeof...(Axes) == 0) {
    return (detail::axis_set{1} << S.rank) - 1;
  } else {
    detail::axis_set seen = 0;
    for (const int axis : {Axes...}) {
      const detail::axis_set bit = axis_bit(S, axis);
      seen |= (seen & bit) == 0 ? bit : axis_bit(S, S.rank);
    }
    return seen;
  }
}

/// Applies a reduction over axes as the user wrote them. Returns a mistake if an axis does not exist.
template <template <detail::axis_set, bool> class Op, bool Keep, int... Axes, class X>
constexpr auto reduced_over(X x) {
  constexpr detail::axis_set axes = axes_of<X::shape, Axes...>();
  if constexpr (wrong<X> || kind_of(X::element.type) != kind::real || axes >> X::shape.rank == 0) {
    return make<Op<axes, Keep>>(x);
  } else {
    using what = fact::operation<Op<axes, Keep>::name, tensor_fact<X>>;
    return mistake<misuse::axes_exist, typename X::owner, what, fact::axes<Axes...>>{};
  }
}

/// Base of forms that take one expression and reduce its axes. The reduced axes are kept if `keepdim` follows the
/// expression.
template <fixed_string Name, class Misuse = misuse::axes_as_arguments>
struct reducing_form {
  static constexpr fixed_string name = Name;
  using reported = Misuse;
  template <class, class... Keep>
  static constexpr bool fits = sizeof...(Keep) < 2 && (std::same_as<Keep, keepdim_t> && ...);
};
/// A form that reduces axes by Op.
template <template <detail::axis_set, bool> class Op, class Misuse, int... Axes>
struct reduction_form : reducing_form<Op<0, false>::name, Misuse> {
  static constexpr auto body(an_expression auto x, auto... keep) {
    constexpr bool keeps = sizeof...(keep) == 1;
    return reduced_over<Op, keeps, Axes...>(x);
  }
};
template <int... Axes>
using sum_form = reduction_form<sum_op, misuse::axes_as_arguments, Axes...>;
template <int... Axes>
struct mean_form : reducing_form<"mean"> {
  template <an_expression X>
  static constexpr auto body(X x, auto... keep) {
    const auto total = sum_form<Axes...>::body(x, keep...);
    return total * constant<static_cast<double>(total.shape.count()) / static_cast<double>(X::shape.count())>;
  }
};
template <int... Axes>
struct var_form : reducing_form<"var"> {
  template <class, class... Option>
  static constexpr bool fits = ((std::same_as<Option, keepdim_t> || std::same_as<Option, biased_t>) && ...);
  template <an_expression X, class... Option>
  static constexpr auto body(X x, Option...) {
    constexpr bool keeps = (std::same_as<Option, keepdim_t> || ...);
    const auto off_origin = make<centered_op>(x, mean_form<Axes...>::body(x, keepdim));
    const auto off_mean = off_origin - mean_form<Axes...>::body(off_origin, keepdim);
    const auto total = reduced_over<sum_op, keeps, Axes...>(lang::square(off_mean));
    constexpr std::int64_t results = decltype(total)::shape.count();
    constexpr std::int64_t freedom = X::shape.count() - ((std::same_as<Option, biased_t> || ...) ? 0 : results);
    constexpr double share = freedom == 0 ? std::numeric_limits<double>::quiet_NaN()
                                          : static_cast<double>(results) / static_cast<double>(freedom);
    return total * constant<share>;
  }
};

/// Sums over the given axes, or over all axes if none is given: `sum<-1>(x)`, `sum<-1>(x, keepdim)`. Negative axes
/// count from the last axis.
template <int... Axes, an_operand X, class... Keep>
constexpr applied<sum_form<Axes...>, X, Keep...> sum(X, Keep...) {
  return {};
}

/// Computes the mean over the given axes, or over all axes if none is given.
template <int... Axes, an_operand X, class... Keep>
constexpr applied<mean_form<Axes...>, X, Keep...> mean(X, Keep...) {
  return {};
}

/// Computes the variance over the given axes, or over all axes if none is given, as x.var does. The divisor is the
/// count of numbers minus 1, so the variance of a single number is NaN. With `biased` the divisor is the count. With
/// `keepdim` the axes are kept. Either option or both may follow x.
template <int... Axes, an_operand X, class... Option>
constexpr applied<var_form<Axes...>, X, Option...> var(X, Option...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::biased, lang::keepdim, lang::mean, lang::sum, lang::var;
}  // namespace cairn
