// Normalizations of each example by itself.
#pragma once

#include "cairn/op/moments.hpp"
#include "cairn/op/norm.hpp"
#include "cairn/lang/shared.hpp"
#include "cairn/lang/view.hpp"
#include "cairn/nn/features.hpp"

namespace cairn::nn {

namespace detail {
/// Of a norm: a number for each feature.
template <fixed_string Name, class X>
inline constexpr auto weight_of_norm =
    param_from<Name + fixed_string{".weight"}, initial::constant(1), X::shape[-1]>;
template <fixed_string Name, class X>
inline constexpr auto bias_of_norm = param_from<Name + fixed_string{".bias"}, initial{}, X::shape[-1]>;
}  // namespace detail

template <fixed_string Name, double Eps>
struct layer_norm_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"layer_norm", Name, Eps>(x));
    if constexpr (!std::same_as<problem, sound>) return surfaced<problem>{};
    else return normalized(x);
  }

 private:
  static constexpr auto normalized(auto x) {
    const auto weight = detail::weight_of_norm<Name, decltype(x)>;
    const auto bias = detail::bias_of_norm<Name, decltype(x)>;
    const auto [mean, scale] = make<row_moments_op<Eps>>(x);
    return cairn::detail::result_of_layer<Name>(weight, make<normalized_op<0>>(x, mean, scale, weight, bias));
  }
};

template <fixed_string Name, double... Eps>
struct rms_norm_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"rms_norm", Name, Eps...>(x));
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else {
      const auto weight = detail::weight_of_norm<Name, X>;
      const auto scaled = make<scaled_op>(x, make<row_scale_op<Eps...>>(x), weight);
      return cairn::detail::result_of_layer<Name>(weight, scaled);
    }
  }
};

template <fixed_string Name, int Groups, double Eps>
struct group_norm_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"group_norm", Name, Eps>(x));
    constexpr int count = std::max(Groups, 1);
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else if constexpr (Groups < 1 || X::shape[-1] % count != 0) {
      return surfaced<poison<rule::groups_divide, typename X::owner, fact::in<Name>,
                             fact::operation<fixed_string{"group_norm"}, tensor_fact<X>>, fact::groups<Groups>>>{};
    } else {
      const auto rows = reshape<X::shape[0], -1, X::shape[-1]>(x);
      const auto weight = detail::weight_of_norm<Name, X>;
      const auto [of_group, scale_of_group] = make<group_moments_op<Groups, Eps>>(rows);
      const auto mean = cairn::detail::for_features<X::shape[-1]>(of_group);
      const auto scale = cairn::detail::for_features<X::shape[-1]>(scale_of_group);
      const auto y = make<normalized_op<Groups>>(rows, mean, scale, weight, detail::bias_of_norm<Name, X>);
      return cairn::detail::result_of_layer<Name>(weight, make<cairn::reshape_op<X::shape>>(y));
    }
  }
};

/// Over the last axis, each row by itself, as nn.LayerNorm of one extent: (x - mean) / sqrt(variance + eps) times
/// `Name.weight` {features}, plus `Name.bias` (Ba et al., 2016); `nn::layer_norm<"norm", 1e-6>`. Rejects: fewer than
/// two axes.
template <fixed_string Name, double Eps = 1e-5>
inline constexpr layer_norm_layer<Name, Eps> layer_norm{};
/// Over the last axis, as nn.RMSNorm of one extent: x / sqrt(mean square + eps) times `Name.weight` {features} (Zhang
/// and Sennrich, 2019). Where no eps is given, it is the epsilon of the numbers computed with, as where PyTorch's is
/// None; `nn::rms_norm<"norm", 1e-6>`. Rejects: fewer than two axes.
template <fixed_string Name, double... Eps>
  requires(sizeof...(Eps) < 2)
inline constexpr rms_norm_layer<Name, Eps...> rms_norm{};
/// Over the pixels and the channels of each group, of each example {N, ..., channels} by itself, as nn.GroupNorm, which
/// has the channels second (Wu and He, 2018); with `Name.weight` {channels} and `Name.bias`, and the same eps. Rejects:
/// fewer than two axes, groups that do not divide the channels.
template <fixed_string Name, int Groups, double Eps = 1e-5>
inline constexpr group_norm_layer<Name, Groups, Eps> group_norm{};

}  // namespace cairn::nn
