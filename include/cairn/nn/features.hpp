// The conditions that layers check for an argument {..., rows, features}.
#pragma once

#include "cairn/lang/mistake.hpp"

#include <array>

namespace cairn::nn::detail {

template <double... Eps>
struct norm_settings {
  static constexpr std::array<setting, sizeof...(Eps)> all{setting::not_negative("eps", Eps)...};
};
/// Returns what is wrong with an argument of the layer Name of the kind Kind, or with the layer's settings. Returns
/// sound if nothing is wrong.
template <fixed_string Kind, fixed_string Name, class Settings = norm_settings<>, class X>
constexpr auto problem_of_features(X x) {
  using owner = typename X::owner;
  using what = fact::operation<Kind, lang::tensor_fact<X>>;
  if constexpr (lang::wrong<X>) {
    return x;
  } else if constexpr (kind_of(X::element.type) != kind::real) {
    return lang::poison<misuse::kind_mismatch, owner, fact::in<Name>, what, fact::takes<float>>{};
  } else if constexpr (2 > X::shape.rank) {
    return lang::poison<misuse::at_least_two_axes, owner, fact::in<Name>, what>{};
  } else {
    return lang::problem_of_settings<Settings, owner, fact::in<Name>>();
  }
}

}  // namespace cairn::nn::detail
