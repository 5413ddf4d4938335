// Dropout as a layer.
#pragma once

#include "cairn/lang/block.hpp"
#include "cairn/op/dropout.hpp"

namespace cairn::nn {

namespace detail {
template <fixed_string Name, double P>
struct dropout_layer : lang::layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr made<lang::dropout_op<P, true>, X, lang::random_key_leaf<Name>> operator()(X) const {
    return {};
  }
};
}  // namespace detail

/// Drops elements with probability P in training (Srivastava et al., 2014): `nn::dropout<"d1", 0.1>`.
template <fixed_string Name, auto P = 0.5>
inline constexpr detail::dropout_layer<Name, static_cast<double>(P)> dropout{};

}  // namespace cairn::nn
