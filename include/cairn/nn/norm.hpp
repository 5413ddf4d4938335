// Normalizations that treat each example by itself.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/lang/view.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/moments.hpp"
#include "cairn/op/norm.hpp"

#include <limits>

namespace cairn::nn {

/// Options of a norm.
struct norm_options {
  double eps = 1e-5;   ///< is added to the variance
  bool affine = true;  ///< false: the norm has no weight and no bias
  friend constexpr bool operator==(const norm_options&, const norm_options&) = default;
};
/// Options of an RMS norm.
struct rms_norm_options {
  /// Stands for the machine epsilon of the type in which the kernel computes, as eps=None in PyTorch.
  static constexpr double machine_epsilon = -std::numeric_limits<double>::infinity();
  double eps = machine_epsilon;  ///< is added to the mean square
  bool affine = true;            ///< false: the norm has no weight
  friend constexpr bool operator==(const rms_norm_options&, const rms_norm_options&) = default;
};
/// Options of an instance norm.
struct instance_norm_options {
  double eps = 1e-5;    ///< is added to the variance
  bool affine = false;  ///< true: the norm has a weight and a bias
  friend constexpr bool operator==(const instance_norm_options&, const instance_norm_options&) = default;
};

namespace detail {
/// A whole number in the place of an eps, as a setting that is refused.
template <auto Eps>
struct whole_eps {
  static constexpr std::array all{setting("eps", Eps, false, "a real number, not features")};
};
/// Returns the options of a norm that was given an eps, or options. Rejects a whole number as an eps. PyTorch's
/// norms are given the number of features in this place.
template <class Options, auto Given, fixed_string Name>
constexpr Options options_of() {
  if constexpr (std::same_as<std::remove_const_t<decltype(Given)>, Options>) {
    return Given;
  } else {
    using settings =
        std::conditional_t<std::is_integral_v<std::remove_const_t<decltype(Given)>>, whole_eps<Given>, norm_settings<>>;
    using problem = decltype(lang::problem_of_settings<settings, lang::top_scope, fact::in<Name>>());
    static_assert(lang::report_of<problem>{}.shown);
    return {.eps = Given};
  }
}

/// Weight of a norm: one number for each feature, which starts at 1.
template <fixed_string Name, int Features>
inline constexpr auto weight_of_norm = param_from<Name + fixed_string{".weight"}, initial::constant(1), Features>;
/// Returns `apply(weight, bias)`, the result of the norm Name. If Affine is false, the constants 1 and 0 take the
/// places of both parameters.
template <fixed_string Name, bool Affine, int Features>
constexpr auto result_of_norm(auto apply) {
  if constexpr (Affine) {
    const auto weight = weight_of_norm<Name, Features>;
    const auto bias = param_from<Name + fixed_string{".bias"}, initial{}, Features>;
    return lang::result_of_layer<Name>(weight, apply(weight, bias));
  } else {
    return apply(constant<1>, constant<0>);
  }
}

template <fixed_string Name, norm_options O>
struct layer_norm_layer : checked_layer<layer_norm_layer<Name, O>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) { return problem_of_features<"layer_norm", Name, norm_settings<O.eps>>(x); }
  static constexpr auto apply(auto x) {
    return result_of_norm<Name, O.affine, decltype(x)::shape[-1]>([x](auto weight, auto bias) {
      const auto [mean, scale] = make<lang::row_moments_op<O.eps>>(x);
      return make<lang::normalized_op<0>>(x, mean, scale, weight, bias);
    });
  }
};

/// Without Eps, eps is the machine epsilon.
template <fixed_string Name, bool Affine, double... Eps>
struct rms_norm_layer : checked_layer<rms_norm_layer<Name, Affine, Eps...>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) { return problem_of_features<"rms_norm", Name, norm_settings<Eps...>>(x); }
  static constexpr auto apply(auto x) {
    const auto scale = make<lang::row_scale_op<Eps...>>(x);
    if constexpr (Affine) {
      const auto weight = weight_of_norm<Name, decltype(x)::shape[-1]>;
      return lang::result_of_layer<Name>(weight, make<lang::scaled_op>(x, scale, weight));
    } else {
      return make<lang::scaled_op>(x, scale, constant<1>);
    }
  }
};
/// Returns the layer with these options.
template <fixed_string Name, rms_norm_options O>
constexpr auto rms_norm_with() {
  if constexpr (O.eps == rms_norm_options::machine_epsilon) return rms_norm_layer<Name, O.affine>{};
  else return rms_norm_layer<Name, O.affine, O.eps>{};
}

/// Normalizes each of the groups of features of x {N, ..., features} over the pixels and the features of the group.
template <fixed_string Name, int Groups, norm_options O, class X>
constexpr auto normalized_groups(X x) {
  constexpr int features = X::shape[-1];
  return result_of_norm<Name, O.affine, features>([x](auto weight, auto bias) {
    const auto rows = reshape<X::shape[0], -1, features>(x);
    const auto [of_group, scale_of_group] = make<lang::group_moments_op<Groups, O.eps>>(rows);
    const auto mean = lang::for_features<features>(of_group);
    const auto scale = lang::for_features<features>(scale_of_group);
    return make<lang::reshape_op<X::shape>>(make<lang::normalized_op<Groups>>(rows, mean, scale, weight, bias));
  });
}
template <fixed_string Name, int Groups, norm_options O>
struct group_norm_layer : checked_layer<group_norm_layer<Name, Groups, O>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) {
    return problem_of_features<"group_norm", Name, norm_settings<O.eps>>(x, []<class X>(X) {
      constexpr bool divides = Groups > 0 && X::shape[-1] % std::max(Groups, 1) == 0;
      if constexpr (divides && X::shape.count() / X::shape[0] > Groups) return lang::sound{};
      else
        return lang::poison<std::conditional_t<divides, misuse::numbers_in_group, misuse::groups_divide>,
                            typename X::owner, fact::in<Name>,
                            fact::operation<fixed_string{"group_norm"}, lang::tensor_fact<X>>, fact::groups<Groups>>{};
    });
  }
  static constexpr auto apply(auto x) { return normalized_groups<Name, Groups, O>(x); }
};

template <fixed_string Name, instance_norm_options O>
struct instance_norm_layer : checked_layer<instance_norm_layer<Name, O>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) {
    return problem_of_features<"instance_norm", Name, norm_settings<O.eps>>(x, []<class X>(X) {
      if constexpr (X::shape.count() / X::shape[-1] > X::shape[0]) return lang::sound{};
      else
        return lang::poison<misuse::pixels_of_instances, typename X::owner, fact::in<Name>,
                            fact::operation<fixed_string{"instance_norm"}, lang::tensor_fact<X>>>{};
    });
  }
  static constexpr auto apply(auto x) {
    return normalized_groups<Name, decltype(x)::shape[-1], norm_options{O.eps, O.affine}>(x);
  }
};
}  // namespace detail

/// Normalizes each row along the last axis, as nn.LayerNorm of one extent does (Ba et al., 2016). It computes
/// `(x - mean) / sqrt(variance + eps)`, multiplies by `Name.weight` {features} and adds `Name.bias`:
/// `nn::layer_norm<"norm", 1e-6>`. With `nn::layer_norm<"norm", nn::norm_options{.affine = false}>` there are no
/// parameters, as with elementwise_affine=False in PyTorch. Rejects: fewer than two axes; a negative eps, or a
/// whole number.
template <fixed_string Name, auto Eps = norm_options{}>
inline constexpr detail::layer_norm_layer<Name, detail::options_of<norm_options, Eps, Name>()> layer_norm{};
/// Normalizes each row along the last axis, as nn.RMSNorm of one extent does (Zhang and Sennrich, 2019). It computes
/// `x / sqrt(mean square + eps)` and multiplies by `Name.weight` {features}: `nn::rms_norm<"norm", 1e-6>`. Without an
/// eps, eps is the machine epsilon of the type in which the kernel computes, as in PyTorch if eps is None. With
/// `nn::rms_norm<"norm", nn::rms_norm_options{.affine = false}>` there is no weight, as with elementwise_affine=False
/// in PyTorch. Rejects: fewer than two axes; a negative eps, or a whole number.
template <fixed_string Name, auto Eps = rms_norm_options{}>
inline constexpr auto rms_norm = detail::rms_norm_with<Name, detail::options_of<rms_norm_options, Eps, Name>()>();
/// Normalizes each group of channels of each example {N, ..., channels} over its pixels and channels (Wu and He, 2018).
/// This is nn.GroupNorm, except that the channels are last. The parameters are `Name.weight` {channels} and
/// `Name.bias`. The last argument is an eps or options, as in layer_norm. Rejects: fewer than two axes; groups that do
/// not divide the channels; groups of a single number; a negative eps, or a whole number.
template <fixed_string Name, int Groups, auto Eps = norm_options{}>
inline constexpr detail::group_norm_layer<Name, Groups, detail::options_of<norm_options, Eps, Name>()> group_norm{};
/// Normalizes each channel of each example {N, ..., channels} over its pixels (Ulyanov et al., 2016). This is
/// nn.InstanceNorm2d, or nn.InstanceNorm1d for {N, L, channels}, except that the channels are last. As in PyTorch,
/// there are no parameters by default. With `nn::instance_norm<"norm", nn::instance_norm_options{.affine = true}>` the
/// parameters are `Name.weight` {channels} and `Name.bias`. Rejects: examples of one pixel; a negative eps.
template <fixed_string Name, instance_norm_options O = instance_norm_options{}>
inline constexpr detail::instance_norm_layer<Name, O> instance_norm{};

}  // namespace cairn::nn
