// Activation functions that are written in the language.
#pragma once

#include "cairn/op/comparison.hpp"

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
/// Computes x * share, for a share that is 0 in float and in double from Least on downwards. There, x is replaced by
/// Least, because minus infinity times 0 is NaN.
template <double Least>
constexpr auto times_share(auto x, auto share) {
  return lang::maximum(x, constant<Least>) * share;
}
/// Limits x to the range from -Most to Most. The constants depend on a parameter of a template, so that programs
/// without gelu_tanh do not instantiate them.
template <double Most>
constexpr auto limited(auto x) {
  return clamp_form::body(x, constant<-Most>, constant<Most>);
}
struct gelu_tanh_form : form_of_one<"gelu_tanh"> {
  /// The tanh is written as a sigmoid: (1 + tanh(u)) / 2 = sigmoid(2 u). For negative u, the sum would lose digits.
  /// Beyond 22, the sigmoid is 0 or 1 in double. The limits keep the square of x, and thus the slope, finite.
  static constexpr auto body(an_expression auto x) {
    constexpr double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const auto near = limited<22.0>(x);
    const auto argument = near * (constant<2 * scale> + constant<2 * scale * 0.044715> * lang::square(near));
    return times_share<-22.0>(x, lang::sigmoid(argument));
  }
};
struct hardsigmoid_form : form_of_one<"hardsigmoid"> {
  static constexpr auto body(an_expression auto x) { return lang::clamp(x + 3_c, 0_c, 6_c) / 6_c; }
};
struct hardswish_form : form_of_one<"hardswish"> {
  static constexpr auto body(an_expression auto x) { return times_share<-3.0>(x, hardsigmoid_form::body(x)); }
};
struct mish_form : form_of_one<"mish"> {
  static constexpr auto body(an_expression auto x) { return times_share<-800.0>(x, lang::tanh(lang::softplus(x))); }
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
constexpr applied<gelu_tanh_form, X> gelu_tanh(X) {
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
constexpr applied<hardswish_form, X> hardswish(X) {
  return {};
}
function_name hardswish(function_name);
/// Computes x tanh(softplus(x)), as F.mish does (Misra, 2019).
template <an_operand X>
constexpr applied<mish_form, X> mish(X) {
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
