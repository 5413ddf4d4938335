// Activation functions. gelu_tanh, hardswish and mish are operations: if they were formulas of other operations, the
// intermediate values would lie in memory from their recomputation to their gradient.
#pragma once

#include "cairn/op/comparison.hpp"

#include <array>
#include <numbers>

namespace cairn::lang {

/// Where x is positive, the exponential gets the argument 0 in place of x. Otherwise it could overflow, and the zero
/// gradient of the hidden branch times infinity is NaN. The identity exp(x) - 1 = tanh(x / 2) (exp(x) + 1) loses no
/// digits where x is near 0.
template <double Alpha>
struct elu_form : form_of_one<"elu"> {
  static constexpr std::array all{setting("alpha", Alpha, setting::is_finite(Alpha), "a finite number")};

  template <an_expression X>
  static constexpr auto body(X x) {
    using what = fact::operation<"elu">;
    using problem = decltype(problem_of_settings<elu_form, typename X::owner, fact::in<>, what>());
    if constexpr (wrong<X> || std::same_as<problem, sound>) {
      const auto is_positive = 0_c < x;
      const auto negative = lang::where(is_positive, 0_c, x);
      const auto curve = lang::tanh(negative * 0.5_c) * (lang::exp(negative) + 1_c);
      return lang::where(is_positive, x, curve * constant<Alpha>);
    } else {
      return problem{};
    }
  }
};
struct hardsigmoid_form : form_of_one<"hardsigmoid"> {
  static constexpr auto body(an_expression auto x) { return lang::clamp(x + 3_c, 0_c, 6_c) / 6_c; }
};

/// The constants A and B of gelu_tanh, which is x sigmoid(A x + B x^3). It is usually written as
/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, but this sum loses digits for negative x.
inline constexpr std::array gelu_tanh_constants{2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi,
                                                2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi * 0.044715};
/// Computes the derivative of gelu_tanh at x: y + x y (1 - y) u', where u = A x + B x^3 and y is the sigmoid of u.
struct gelu_tanh_slope_op : elementwise_op {
  static constexpr fixed_string name = "gelu_tanh_slope";
  /// A and B are parameters of the template, so that programs without gelu_tanh do not instantiate the constants.
  template <double A = gelu_tanh_constants[0], double B = gelu_tanh_constants[1]>
  static constexpr auto vjp(auto g, auto, auto x) {
    const auto near = limited<22.0>(x);
    const auto squared = lang::square(near);
    const auto u = near * (constant<A> + constant<B> * squared);
    const auto slope = constant<A> + constant<3 * B> * squared;
    const auto bend = constant<6 * B> * near - lang::square(slope) * make<tanh_op>(0.5_c * u);
    return gradients(g * make<sigmoid_slope_op>(u) * (2_c * slope + near * bend));
  }
};
struct gelu_tanh_op : elementwise_op {
  static constexpr fixed_string name = "gelu_tanh";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<gelu_tanh_slope_op>(x)); }
};
/// Computes the derivative of hardswish at x. It is 0 at -3 and 1 at 3, as in PyTorch.
struct hardswish_slope_op : elementwise_op {
  static constexpr fixed_string name = "hardswish_slope";
  static constexpr auto vjp(auto g, auto, auto x) {
    return gradients(lang::where(make<abs_op>(x) < 3_c, g / 3_c, 0_c));
  }
};
struct hardswish_op : elementwise_op {
  static constexpr fixed_string name = "hardswish";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<hardswish_slope_op>(x)); }
};
/// Computes the derivative of mish at x: y + x (1 - y^2) s, where y is tanh(softplus(x)) and s is the sigmoid of x.
struct mish_slope_op : elementwise_op {
  static constexpr fixed_string name = "mish_slope";
  static constexpr auto vjp(auto g, auto, auto x) {
    const auto curve = make<softplus_op>(x);
    const auto s = make<sigmoid_op>(x);
    const auto bend = make<sigmoid_slope_op>(x) - 2_c * make<tanh_op>(curve) * lang::square(s);
    return gradients(g * make<tanh_slope_op>(curve) * (2_c * s + limited<1000.0>(x) * bend));
  }
};
struct mish_op : elementwise_op {
  static constexpr fixed_string name = "mish";
  static constexpr auto vjp(auto g, auto, auto x) { return gradients(g * make<mish_slope_op>(x)); }
};
/// Where x is positive, the weight is multiplied by 0 in place of x. Otherwise the gradient of the weight would be zero
/// times x, which is NaN if x is infinite.
struct prelu_form : form_of_two<"prelu"> {
  using rule = misuse::weight_of_prelu;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  static constexpr bool fits_weight(const shape& x, std::int64_t count) {
    return x.rank > 0 && (count == 1 || count == x[-1]);
  }
  template <an_expression X, an_expression W>
  static constexpr auto body(X x, W weight) {
    if constexpr (!wrong<X> && !wrong<W> && (W::shape.rank != 1 || !fits_weight(X::shape, W::shape.count()))) {
      return wrong_shapes<prelu_form, owner_of<X, W>, X, W>(std::index_sequence_for<X, W>{});
    } else {
      const auto is_positive = 0_c < x;
      return lang::where(is_positive, x, lang::where(is_positive, 0_c, x) * weight);
    }
  }
};

/// Returns x where x is positive, else Alpha (exp(x) - 1), as F.elu does (Clevert et al., 2015): `elu<0.5>(x)`.
/// Rejects: an Alpha that is not finite.
template <auto Alpha = 1.0, an_operand X>
constexpr applied<elu_form<static_cast<double>(Alpha)>, X> elu(X) {
  return {};
}
function_name elu(function_name);
/// Computes gelu with the tanh approximation, as F.gelu(x, approximate="tanh") does.
template <an_operand X>
constexpr made<gelu_tanh_op, X> gelu_tanh(X) {
  return {};
}
function_name gelu_tanh(function_name);
/// Computes (x + 3) / 6, limited to the range from 0 to 1, as F.hardsigmoid does. The slope at -3 and 3 is 0.
template <an_operand X>
constexpr applied<hardsigmoid_form, X> hardsigmoid(X) {
  return {};
}
function_name hardsigmoid(function_name);
/// Computes x hardsigmoid(x), as F.hardswish does (Howard et al., 2019).
template <an_operand X>
constexpr made<hardswish_op, X> hardswish(X) {
  return {};
}
function_name hardswish(function_name);
/// Computes x tanh(softplus(x)), as F.mish does (Misra, 2019).
template <an_operand X>
constexpr made<mish_op, X> mish(X) {
  return {};
}
function_name mish(function_name);
/// Returns x {..., channels} where x is positive, else weight x, as F.prelu does (He et al., 2015). The weight is {1}
/// or {channels}. The channels are the last axis.
/// Rejects: a weight of another shape.
template <class X, class W>
  requires some_operands<X, W>
constexpr applied<prelu_form, X, W> prelu(X, W) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::elu, lang::gelu_tanh, lang::hardsigmoid, lang::hardswish, lang::mish, lang::prelu;
}  // namespace cairn
