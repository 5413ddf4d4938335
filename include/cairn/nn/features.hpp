// The base of layers that check their argument, and the conditions that they check for {..., rows, features}.
#pragma once

#include "cairn/lang/leaf.hpp"
#include "cairn/lang/mistake.hpp"

#include <array>

namespace cairn::nn::detail {

template <double... Eps>
struct norm_settings {
  static constexpr std::array<setting, sizeof...(Eps)> all{setting::not_negative("eps", Eps)...};
};
/// The conditions of a layer that has no conditions of its own.
struct no_conditions {
  constexpr lang::sound operator()(auto) const { return {}; }
};
/// Returns what is wrong with an argument of the layer Name of the kind Kind, or with the layer's settings. If nothing
/// is wrong, returns what `more` says of the argument.
template <fixed_string Kind, fixed_string Name, class Settings = norm_settings<>, class X, class More = no_conditions>
constexpr auto problem_of_features(X x, More more = {}) {
  using owner = typename X::owner;
  using what = fact::operation<Kind, lang::tensor_fact<X>>;
  if constexpr (lang::wrong<X>) {
    return x;
  } else if constexpr (kind_of(X::element.type) != kind::real) {
    return lang::poison<misuse::kind_mismatch, owner, fact::in<Name>, what, fact::takes<float>>{};
  } else if constexpr (2 > X::shape.rank) {
    return lang::poison<misuse::at_least_two_axes, owner, fact::in<Name>, what>{};
  } else {
    using of_settings = decltype(lang::problem_of_settings<Settings, owner, fact::in<Name>>());
    if constexpr (std::same_as<of_settings, lang::sound>) return more(x);
    else return of_settings{};
  }
}

/// Returns how the weight of a layer starts. A layer is told how its weight and its bias start, or only how its weight
/// starts, or nothing. Without being told, both start as in PyTorch.
constexpr initial start_of_weight(const initial& in_torch, const initial& weight = initial::unspecified(),
                                  const initial& = initial::unspecified()) {
  return weight.or_else(in_torch);
}
/// Returns how the bias of a layer starts. If the layer is told only how its weight starts, the bias starts as zeros.
constexpr initial start_of_bias(const initial& in_torch, const initial& weight = initial::unspecified(),
                                const initial& bias = initial::unspecified()) {
  return bias.or_else(weight == initial::unspecified() ? in_torch : initial::zeros());
}

/// Base of a layer of one argument. `Layer` declares two static functions:
/// - problem(x) returns what is wrong with the argument or with the layer's settings, or sound.
/// - apply(x) returns the value of the layer. It is called only if nothing is wrong.
template <class Layer>
struct checked_layer : lang::layer_base {
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(Layer::problem(x));
    if constexpr (std::same_as<problem, lang::sound>) return Layer::apply(x);
    else return lang::surfaced<problem>{};
  }
};

}  // namespace cairn::nn::detail
