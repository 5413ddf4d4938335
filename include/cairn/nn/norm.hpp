// Normalizations that treat each example by itself.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/lang/view.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/moments.hpp"
#include "cairn/op/norm.hpp"

namespace cairn::nn {

namespace detail {
/// Weight of a norm: one number for each feature, which starts at 1.
template <fixed_string Name, class X>
inline constexpr auto weight_of_norm = param_from<Name + fixed_string{".weight"}, initial::constant(1), X::shape[-1]>;
template <fixed_string Name, class X>
inline constexpr auto bias_of_norm = param_from<Name + fixed_string{".bias"}, initial{}, X::shape[-1]>;

template <fixed_string Name, double Eps>
struct layer_norm_layer : checked_layer<layer_norm_layer<Name, Eps>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) { return problem_of_features<"layer_norm", Name, norm_settings<Eps>>(x); }
  static constexpr auto apply(auto x) {
    const auto weight = detail::weight_of_norm<Name, decltype(x)>;
    const auto bias = detail::bias_of_norm<Name, decltype(x)>;
    const auto [mean, scale] = make<lang::row_moments_op<Eps>>(x);
    return lang::result_of_layer<Name>(weight, make<lang::normalized_op<0>>(x, mean, scale, weight, bias));
  }
};

template <fixed_string Name, double... Eps>
struct rms_norm_layer : checked_layer<rms_norm_layer<Name, Eps...>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) { return problem_of_features<"rms_norm", Name, norm_settings<Eps...>>(x); }
  static constexpr auto apply(auto x) {
    const auto weight = detail::weight_of_norm<Name, decltype(x)>;
    const auto scaled = make<lang::scaled_op>(x, make<lang::row_scale_op<Eps...>>(x), weight);
    return lang::result_of_layer<Name>(weight, scaled);
  }
};

template <fixed_string Name, int Groups, double Eps>
struct group_norm_layer : checked_layer<group_norm_layer<Name, Groups, Eps>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) {
    return problem_of_features<"group_norm", Name, norm_settings<Eps>>(x, []<class X>(X) {
      if constexpr (Groups > 0 && X::shape[-1] % std::max(Groups, 1) == 0) return lang::sound{};
      else
        return lang::poison<misuse::groups_divide, typename X::owner, fact::in<Name>,
                            fact::operation<fixed_string{"group_norm"}, lang::tensor_fact<X>>, fact::groups<Groups>>{};
    });
  }
  template <class X>
  static constexpr auto apply(X x) {
    const auto rows = reshape<X::shape[0], -1, X::shape[-1]>(x);
    const auto weight = detail::weight_of_norm<Name, X>;
    const auto [of_group, scale_of_group] = make<lang::group_moments_op<Groups, Eps>>(rows);
    const auto mean = lang::for_features<X::shape[-1]>(of_group);
    const auto scale = lang::for_features<X::shape[-1]>(scale_of_group);
    const auto y = make<lang::normalized_op<Groups>>(rows, mean, scale, weight, detail::bias_of_norm<Name, X>);
    return lang::result_of_layer<Name>(weight, make<lang::reshape_op<X::shape>>(y));
  }
};
}  // namespace detail

/// Normalizes each row along the last axis, as nn.LayerNorm of one extent does (Ba et al., 2016). It computes
/// `(x - mean) / sqrt(variance + eps)`, multiplies by `Name.weight` {features} and adds `Name.bias`:
/// `nn::layer_norm<"norm", 1e-6>`. Rejects: fewer than two axes.
template <fixed_string Name, double Eps = 1e-5>
inline constexpr detail::layer_norm_layer<Name, Eps> layer_norm{};
/// Normalizes each row along the last axis, as nn.RMSNorm of one extent does (Zhang and Sennrich, 2019). It computes
/// `x / sqrt(mean square + eps)` and multiplies by `Name.weight` {features}: `nn::rms_norm<"norm", 1e-6>`. Without Eps,
/// eps is the machine epsilon of the type in which the kernel computes, as in PyTorch if eps is None. Rejects: fewer
/// than two axes.
template <fixed_string Name, double... Eps>
  requires(sizeof...(Eps) < 2)
inline constexpr detail::rms_norm_layer<Name, Eps...> rms_norm{};
/// Normalizes each group of channels of each example {N, ..., channels} over its pixels and channels (Wu and He, 2018).
/// This is nn.GroupNorm, except that the channels are last. The parameters are `Name.weight` {channels} and
/// `Name.bias`. The default of Eps is that of layer_norm. Rejects: fewer than two axes; groups that do not divide the
/// channels.
template <fixed_string Name, int Groups, double Eps = 1e-5>
inline constexpr detail::group_norm_layer<Name, Groups, Eps> group_norm{};

}  // namespace cairn::nn
