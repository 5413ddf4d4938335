// Elementwise operations: each element of a result is computed from one element of each argument. Arguments broadcast
// as in NumPy. Chains of elementwise operations run as one fused loop.
#pragma once

#include "cairn/lang/leaf.hpp"

#include <numbers>

namespace cairn::lang {

struct add_op : elementwise_op {
  static constexpr fixed_string name = "add";
  static constexpr auto vjp(auto g, auto, auto, auto) { return gradients(g, g); }
};
struct sub_op : elementwise_op {
  static constexpr fixed_string name = "sub";
  static constexpr auto vjp(auto g, auto, auto, auto) { return gradients(g, -g); }
};
struct mul_op : elementwise_op {
  static constexpr fixed_string name = "mul";
  static constexpr auto vjp(auto g, auto, auto a, auto b) { return gradients(g * b, g * a); }
};
struct div_op : elementwise_op {
  static constexpr fixed_string name = "div";
  static constexpr auto vjp(auto g, auto y, auto, auto b) { return gradients(g / b, -(g * y) / b); }
};
struct neg_op : elementwise_op {
  static constexpr fixed_string name = "neg";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(-g); }
};

// The operators also accept a plain number next to an expression, so that `x + 0.5` is reported as a mistake with its
// own message. Constants are written 0.5_c or constant<0.5>.
template <class A, class B>
  requires some_operands<A, B>
constexpr made<add_op, A, B> operator+(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr made<sub_op, A, B> operator-(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr made<mul_op, A, B> operator*(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr made<div_op, A, B> operator/(A, B) {
  return {};
}
template <an_operand A>
constexpr made<neg_op, A> operator-(A) {
  return {};
}
template <double Value>
constexpr auto operator-(constant_leaf<Value>) {
  return constant<-Value>;
}

struct exp_op : elementwise_op {
  static constexpr fixed_string name = "exp";
  static constexpr auto vjp(auto g, auto y, auto) { return gradients(g * y); }
};
struct log_op : elementwise_op {
  static constexpr fixed_string name = "log";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g / x); }
};
/// Computes log(1 + x). Small x lose no digits.
struct log1p_op : elementwise_op {
  static constexpr fixed_string name = "log1p";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g / (1_c + x)); }
};
struct sin_op : elementwise_op {
  static constexpr fixed_string name = "sin";
  static constexpr auto vjp(auto g, auto, auto x);
};
struct cos_op : elementwise_op {
  static constexpr fixed_string name = "cos";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(-g * make<sin_op>(x)); }
};
constexpr auto sin_op::vjp(auto g, auto, auto x) { return gradients(g * make<cos_op>(x)); }
struct sqrt_op : elementwise_op {
  static constexpr fixed_string name = "sqrt";
  static constexpr auto vjp(auto g, auto y, auto) { return gradients(g * 0.5_c / y); }
};
struct square_op : elementwise_op {
  static constexpr fixed_string name = "square";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * 2_c * x); }
};
struct tanh_op;
/// Computes the derivative of tanh from the argument x. The derivative could also be computed from the result y as
/// `1 - y^2`, but this is 0 wherever y is rounded to 1. A result in bf16 is rounded to 1 from about x = 3.5 on.
struct tanh_slope_op : elementwise_op {
  static constexpr fixed_string name = "tanh_slope";
  static constexpr auto vjp(auto g, auto y, auto x) { return gradients(-(g * 2_c * y * make<tanh_op>(x))); }
};
struct tanh_op : elementwise_op {
  static constexpr fixed_string name = "tanh";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<tanh_slope_op>(x)); }
};
/// Computes the derivative of the sigmoid from the argument, for the same reason as tanh_slope_op.
struct sigmoid_slope_op : elementwise_op {
  static constexpr fixed_string name = "sigmoid_slope";
  static constexpr auto vjp(auto g, auto y, auto x) { return gradients(-(g * y * make<tanh_op>(0.5_c * x))); }
};
struct sigmoid_op : elementwise_op {
  static constexpr fixed_string name = "sigmoid";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<sigmoid_slope_op>(x)); }
};
struct maximum_op;
struct minimum_op;
/// Limits x to the numbers from -Most to Most. In a derivative that is 0 from there on, a factor of 0 is multiplied by
/// x or by a power of x. Without the limit, infinity times 0 would be NaN.
template <double Most>
constexpr auto limited(auto x) {
  return make<maximum_op>(make<minimum_op>(x, constant<Most>), constant<-Most>);
}
/// Computes the derivative of silu at x: y + x y (1 - y), where y is the sigmoid of x.
struct silu_slope_op : elementwise_op {
  static constexpr fixed_string name = "silu_slope";
  static constexpr auto vjp(auto g, auto, auto x) {
    return gradients(g * make<sigmoid_slope_op>(x) * (2_c - limited<1000.0>(x) * make<tanh_op>(0.5_c * x)));
  }
};
struct silu_op : elementwise_op {
  static constexpr fixed_string name = "silu";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<silu_slope_op>(x)); }
};

/// Computes log(1 + exp(x)).
struct softplus_op : elementwise_op {
  static constexpr fixed_string name = "softplus";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<sigmoid_op>(x)); }
};

/// Computes -1, 0 or 1. This is the slope of abs.
struct sign_op : elementwise_op {
  static constexpr fixed_string name = "sign";
  static constexpr bool piecewise_constant = true;
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};
struct abs_op : elementwise_op {
  static constexpr fixed_string name = "abs";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<sign_op>(x)); }
};

/// Computes the derivative of the error function: 2 / sqrt(pi) exp(-x^2).
struct erf_slope_op : elementwise_op {
  static constexpr fixed_string name = "erf_slope";
  static constexpr auto vjp(auto g, auto y, auto x) { return gradients(-(g * 2_c * limited<30.0>(x) * y)); }
};
struct erf_op : elementwise_op {
  static constexpr fixed_string name = "erf";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<erf_slope_op>(x)); }
};

/// Base of operations that round to a whole number.
struct rounding_op : elementwise_op {
  static constexpr bool piecewise_constant = true;
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};
struct floor_op : rounding_op {
  static constexpr fixed_string name = "floor";
};
struct ceil_op : rounding_op {
  static constexpr fixed_string name = "ceil";
};
struct round_op : rounding_op {
  static constexpr fixed_string name = "round";
};

/// Computes 1 where x > 0, else 0. This is the slope of relu. The gradient rule of relu applies this operation to the
/// result of relu, which is positive exactly where the argument of relu is positive.
struct step_op : elementwise_op {
  static constexpr fixed_string name = "step";
  static constexpr bool piecewise_constant = true;
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};
struct relu_op : elementwise_op {
  static constexpr fixed_string name = "relu";
  static constexpr auto vjp(auto g, auto y, auto) { return gradients(g * make<step_op>(y)); }
};

/// Computes the derivative of gelu at x: Phi(x) + x phi(x), where Phi is the distribution function of the normal
/// distribution and phi is its density.
struct gelu_slope_op : elementwise_op {
  static constexpr fixed_string name = "gelu_slope";
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr auto density_at_zero = constant<0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2>;
    const auto squared = make<square_op>(limited<40.0>(x));
    return gradients(g * density_at_zero * make<exp_op>(squared * constant<-0.5>) * (2_c - squared));
  }
};
/// Computes x Phi(x) exactly, without the tanh approximation, as PyTorch does by default (Hendrycks and Gimpel, 2016).
struct gelu_op : elementwise_op {
  static constexpr fixed_string name = "gelu";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<gelu_slope_op>(x)); }
};

/// Computes the share that the first argument gets of a maximum's gradient: 1 where the first argument is larger, 0.5
/// where both arguments are equal, else 0.
struct share_op : elementwise_op {
  static constexpr fixed_string name = "share";
  static constexpr bool piecewise_constant = true;
  static constexpr auto vjp(auto, auto, auto, auto) { return gradients(no_gradient{}, no_gradient{}); }
};
struct maximum_op : elementwise_op {
  static constexpr fixed_string name = "maximum";
  static constexpr auto vjp(auto g, auto, auto a, auto b) {
    return gradients(g * make<share_op>(a, b), g * make<share_op>(b, a));
  }
};
struct minimum_op : elementwise_op {
  static constexpr fixed_string name = "minimum";
  static constexpr auto vjp(auto g, auto, auto a, auto b) {
    return gradients(g * make<share_op>(b, a), g * make<share_op>(a, b));
  }
};

/// Computes 1 where both arguments are equal, else 0.
struct equal_op : elementwise_op {
  static constexpr fixed_string name = "equal";
  static constexpr bool piecewise_constant = true;
  static constexpr auto vjp(auto, auto, auto, auto) { return gradients(no_gradient{}, no_gradient{}); }
};

/// Repeats the argument along broadcast axes until it has the shape To. If the argument already has the shape To, the
/// result is a copy.
template <shape To>
struct expand_op : elementwise_op {
  static constexpr fixed_string name = "expand";
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& x) {
    return {broadcast(x, To) == To ? To : no_shape, x.element};
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
};

template <an_operand X>
constexpr made<exp_op, X> exp(X) {
  return {};
}
function_name exp(function_name);
template <an_operand X>
constexpr made<log_op, X> log(X) {
  return {};
}
function_name log(function_name);
/// Computes log(1 + x). Small x lose no digits.
template <an_operand X>
constexpr made<log1p_op, X> log1p(X) {
  return {};
}
function_name log1p(function_name);
template <an_operand X>
constexpr made<sin_op, X> sin(X) {
  return {};
}
function_name sin(function_name);
template <an_operand X>
constexpr made<cos_op, X> cos(X) {
  return {};
}
function_name cos(function_name);
/// Computes the absolute value. The slope of abs at 0 is 0, as in PyTorch.
template <an_operand X>
constexpr made<abs_op, X> abs(X) {
  return {};
}
function_name abs(function_name);
/// Computes -1, 0 or 1 as torch.sign does, except that NaN stays NaN. The gradient of sign is 0.
template <an_operand X>
constexpr made<sign_op, X> sign(X) {
  return {};
}
function_name sign(function_name);
/// Computes the error function, as torch.erf does: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
template <an_operand X>
constexpr made<erf_op, X> erf(X) {
  return {};
}
function_name erf(function_name);
/// Computes the largest whole number that is at most x, as torch.floor does. The gradient of floor is 0.
template <an_operand X>
constexpr made<floor_op, X> floor(X) {
  return {};
}
function_name floor(function_name);
/// Computes the smallest whole number that is at least x, as torch.ceil does. The gradient of ceil is 0.
template <an_operand X>
constexpr made<ceil_op, X> ceil(X) {
  return {};
}
function_name ceil(function_name);
/// Computes the whole number that is nearest to x, and the even one of two equally near numbers, as torch.round does.
/// The gradient of round is 0.
template <an_operand X>
constexpr made<round_op, X> round(X) {
  return {};
}
function_name round(function_name);
template <an_operand X>
constexpr made<sqrt_op, X> sqrt(X) {
  return {};
}
function_name sqrt(function_name);
template <an_operand X>
constexpr made<square_op, X> square(X) {
  return {};
}
function_name square(function_name);
template <an_operand X>
constexpr made<tanh_op, X> tanh(X) {
  return {};
}
function_name tanh(function_name);
template <an_operand X>
constexpr made<sigmoid_op, X> sigmoid(X) {
  return {};
}
function_name sigmoid(function_name);
template <an_operand X>
constexpr made<relu_op, X> relu(X) {
  return {};
}
function_name relu(function_name);
template <an_operand X>
constexpr made<gelu_op, X> gelu(X) {
  return {};
}
function_name gelu(function_name);
/// Computes log(1 + exp(x)), as F.softplus does. Large x do not overflow.
template <an_operand X>
constexpr made<softplus_op, X> softplus(X) {
  return {};
}
function_name softplus(function_name);
/// Computes the larger of two elements. Where the elements are equal, each gets half of the gradient. Where one of them
/// is NaN, the result is NaN.
template <class A, class B>
  requires some_operands<A, B>
constexpr made<maximum_op, A, B> maximum(A, B) {
  return {};
}
/// Computes the smaller of two elements. Where the elements are equal, each gets half of the gradient. Where one of
/// them is NaN, the result is NaN.
template <class A, class B>
  requires some_operands<A, B>
constexpr made<minimum_op, A, B> minimum(A, B) {
  return {};
}

struct rsqrt_form : form_of_one<"rsqrt"> {
  static constexpr auto body(an_expression auto x) { return 1_c / lang::sqrt(x); }
};

/// Computes 1 / sqrt(x).
template <an_operand X>
constexpr applied<rsqrt_form, X> rsqrt(X) {
  return {};
}
function_name rsqrt(function_name);
/// Computes x sigmoid(x), as F.silu does (Elfwing et al., 2017).
template <an_operand X>
constexpr made<silu_op, X> silu(X) {
  return {};
}
function_name silu(function_name);

template <double Exponent, class X>
constexpr auto power_of(X x);

/// Raises x to a constant power. If the power is not a whole number, the result is NaN where x is negative.
template <double Exponent>
struct pow_op : elementwise_op {
  static constexpr fixed_string name = "pow";
  static constexpr auto vjp(auto g, auto, auto x) {
    return gradients(g * constant<Exponent> * power_of<Exponent - 1>(x));
  }
};

template <double Exponent, class X>
constexpr auto power_of(X x) {
  if constexpr (Exponent == 0.5) return lang::sqrt(x);
  else if constexpr (Exponent == 1) return x;
  else if constexpr (Exponent == 2) return lang::square(x);
  else return make<pow_op<Exponent>>(x);
}
template <class... A>
inline constexpr bool is_power = false;
template <class X, double E>
  requires(E >= -64 && E <= 64 && E != 0)
inline constexpr bool is_power<X, constant_leaf<E>> = true;
struct power_form {
  static constexpr fixed_string name = "pow";
  using reported = misuse::exponent_of_power;
  template <class... A>
  static constexpr bool fits = is_power<A...>;
  template <an_expression X, double E>
  static constexpr auto body(X x, quiet<constant_leaf<E>>) {
    return power_of<E>(x);
  }
};

/// Raises each element to a constant power: `pow(x, 3_c)`. If the power is not a whole number, negative elements give
/// NaN, as in PyTorch.
/// Rejects: a power that is not a constant, that is 0, or that is outside of [-64, 64].
template <an_operand X, class E>
constexpr applied<power_form, X, E> pow(X, E) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::abs, lang::ceil, lang::cos, lang::erf, lang::exp, lang::floor, lang::gelu, lang::log, lang::log1p,
    lang::maximum, lang::minimum, lang::pow, lang::relu, lang::round, lang::rsqrt, lang::sigmoid, lang::sign,
    lang::silu, lang::sin, lang::softplus, lang::sqrt, lang::square, lang::tanh;
}  // namespace cairn
