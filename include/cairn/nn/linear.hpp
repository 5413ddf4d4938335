// Fully connected layers.
#pragma once

#include "cairn/expr/block.hpp"
#include "cairn/expr/matmul.hpp"

namespace cairn::nn {

template <fixed_string Name, int Out, bool Bias>
struct linear_layer : layer_base {
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using owner = typename X::owner;
    using what = fact::operation<"linear", tensor_fact<X>>;
    if constexpr (wrong<X>) {
      return x;
    } else if constexpr (kind_of(X::element.type) != kind::real) {
      return surfaced<poison<kind_mismatch, owner, fact::in<Name>, what, fact::takes<float>>>{};
    } else if constexpr (X::shape.rank < 2) {
      return surfaced<poison<rule::at_least_two_axes, owner, fact::in<Name>, what>>{};
    } else if constexpr (Out < 1) {
      return surfaced<poison<rule::positive_extents, owner, fact::in<Name>, what, fact::extents<Out>>>{};
    } else {
      constexpr int in = X::shape[-1];
      constexpr initial start = fan_in(in);
      const auto y = matmul(x, transpose(param_from<Name + fixed_string{".weight"}, start, Out, in>));
      if constexpr (Bias) return y + param_from<Name + fixed_string{".bias"}, start, Out>;
      else return y;
    }
  }
};

/// x Wᵀ + b with `Name.weight` {Out, in} and `Name.bias` {Out}; x is {..., rows, in}. PyTorch's initialization: both
/// uniform with bound 1 / sqrt(in).
template <fixed_string Name, int Out>
inline constexpr linear_layer<Name, Out, true> linear{};

/// Without bias.
template <fixed_string Name, int Out>
inline constexpr linear_layer<Name, Out, false> linear_without_bias{};

}  // namespace cairn::nn
