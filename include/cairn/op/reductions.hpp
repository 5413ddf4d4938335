// Reductions that are written in the language: logsumexp, the norm of vectors and the standard deviation.
#pragma once

#include "cairn/op/comparison.hpp"
#include "cairn/op/extremum.hpp"

#include <limits>

namespace cairn::lang {

/// The origin m from which exponents are measured is the maximum, so no exponential overflows. If the maximum is
/// infinite, m is a large finite number, because infinity minus infinity is NaN. The exponentials of finite floats are
/// then 0. The result does not depend on m, so m needs no gradient: centered_op gives it none.
template <int... Axes>
struct logsumexp_form : reducing_form<"logsumexp", misuse::one_argument_reduced> {
  template <an_expression X>
  static constexpr auto body(X x, auto... keep) {
    constexpr auto infinity = constant<std::numeric_limits<double>::infinity()>;
    const auto largest = reduced_over<max_op, true, Axes...>(x);
    const auto origin = lang::where(lang::abs(largest) < infinity, largest, constant<3e38>);
    const auto total = reduced_over<sum_op, true, Axes...>(lang::exp(make<centered_op>(x, origin)));
    const auto result = make<centered_op>(lang::log(total), -origin);
    if constexpr (sizeof...(keep) == 1) return result;
    else return make<reshape_op<reduced(X::shape, axes_of<X::shape, Axes...>(), false)>>(result);
  }
};

/// Returns the square root of x, which is 0 or more. Where x is 0, the gradient is 0, as in the norms and the standard
/// deviations of PyTorch. The slope of sqrt is infinite there.
template <class X>
constexpr auto root_of_squares(X x) {
  const auto is_zero = x == 0_c;
  return lang::where(is_zero, 0_c, lang::sqrt(lang::where(is_zero, 1_c, x)));
}
template <int... Axes>
struct vector_norm_form : reducing_form<"vector_norm"> {
  static constexpr auto body(an_expression auto x, auto... keep) {
    return root_of_squares(sum_form<Axes...>::body(lang::square(x), keep...));
  }
};
template <int... Axes>
struct stddev_form : var_form<Axes...> {
  static constexpr fixed_string name = "stddev";
  static constexpr auto body(an_expression auto x, auto... option) {
    return root_of_squares(var_form<Axes...>::body(x, option...));
  }
};

/// Computes log(sum(exp(x))) over the given axes, or over all axes if none is given, as torch.logsumexp does:
/// `logsumexp<-1>(x)`, `logsumexp<-1>(x, keepdim)`. Large numbers do not overflow. Minus infinity everywhere gives
/// minus infinity.
template <int... Axes, an_operand X, class... Keep>
constexpr applied<logsumexp_form<Axes...>, X, Keep...> logsumexp(X, Keep...) {
  return {};
}

/// Computes the 2-norm over the given axes, or over all axes if none is given, as torch.linalg.vector_norm does:
/// `vector_norm<-1>(x)`. The gradient of a vector of zeros is 0. The numbers are squared. In floats the norm is
/// therefore infinite if a number is above 1.9e19, and 0 if all numbers are below 2e-23.
template <int... Axes, an_operand X, class... Keep>
constexpr applied<vector_norm_form<Axes...>, X, Keep...> vector_norm(X, Keep...) {
  return {};
}

/// Computes the standard deviation, which is the square root of `var` with the same axes and options. The gradient of
/// equal numbers is 0.
template <int... Axes, an_operand X, class... Option>
constexpr applied<stddev_form<Axes...>, X, Option...> stddev(X, Option...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::logsumexp, lang::stddev, lang::vector_norm;
}  // namespace cairn
