// Normalizations of each example by itself.
#pragma once

#include "cairn/expr/reduce.hpp"
#include "cairn/expr/shared.hpp"
#include "cairn/expr/view.hpp"
#include "cairn/nn/features.hpp"

namespace cairn::nn {

namespace detail {
/// (x - mean) / sqrt(variance + 1e-5) over some axes, which both keep as 1.
template <int... Axes, class X>
constexpr auto normalized(X x) {
  const auto centered = x - mean<Axes...>(x, keepdim);
  return centered / sqrt(mean<Axes...>(square(centered), keepdim) + 1e-5_c);
}
/// Times `Name.weight` {features}, which starts as 1, plus `Name.bias`, which starts as 0.
template <fixed_string Name, class X>
constexpr auto scaled(X x) {
  constexpr int features = X::shape[-1];
  const auto weight = param_from<Name + fixed_string{".weight"}, initial::constant(1), features>;
  const auto bias = param_from<Name + fixed_string{".bias"}, initial{}, features>;
  return cairn::detail::result_of_layer<Name>(weight, x * weight + bias);
}
}  // namespace detail

template <fixed_string Name>
struct layer_norm_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"layer_norm", Name>(x));
    if constexpr (!std::same_as<problem, sound>) return surfaced<problem>{};
    else return detail::scaled<Name>(detail::normalized<-1>(x));
  }
};

template <fixed_string Name, int Groups>
struct group_norm_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"group_norm", Name>(x));
    constexpr int count = std::max(Groups, 1);
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else if constexpr (Groups < 1 || X::shape[-1] % count != 0) {
      return surfaced<poison<rule::groups_divide, typename X::owner, fact::in<Name>,
                             fact::operation<fixed_string{"group_norm"}, tensor_fact<X>>, fact::groups<Groups>>>{};
    } else {
      constexpr int features = X::shape[-1], pixels = static_cast<int>(X::shape.count() / X::shape[0] / features);
      const auto groups = reshape<X::shape[0], pixels, count, features / count>(x);
      using whole = cairn::reshape_op<X::shape>;
      return detail::scaled<Name>(make<whole>(detail::normalized<1, 3>(groups)));
    }
  }
};

/// Over the last axis, each row by itself, as nn.LayerNorm of one extent: (x - mean) / sqrt(variance + 1e-5) times
/// `Name.weight` {features}, plus `Name.bias` (Ba et al., 2016). Rejects: fewer than two axes.
template <fixed_string Name>
inline constexpr layer_norm_layer<Name> layer_norm{};
/// Over the pixels and the channels of each group, of each example {N, ..., channels} by itself, as nn.GroupNorm, which
/// has the channels second (Wu and He, 2018); with `Name.weight` {channels} and `Name.bias`. Rejects: fewer than two
/// axes, groups that do not divide the channels.
template <fixed_string Name, int Groups>
inline constexpr group_norm_layer<Name, Groups> group_norm{};

}  // namespace cairn::nn
