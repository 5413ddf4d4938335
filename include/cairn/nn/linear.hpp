// Fully connected layers.
#pragma once

#include "cairn/expr/matmul.hpp"
#include "cairn/expr/shared.hpp"
#include "cairn/nn/features.hpp"

namespace cairn::nn {

template <fixed_string Name, int Out, bool Bias>
struct linear_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"linear", Name>(x));
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else if constexpr (Out < 1) {
      return surfaced<poison<rule::positive_extents, typename X::owner, fact::in<Name>,
                             fact::operation<"linear", tensor_fact<X>>, fact::extents<Out>>>{};
    } else {
      constexpr int in = X::shape[-1];
      constexpr initial start = fan_in(in);
      const auto weight = param_from<Name + fixed_string{".weight"}, start, Out, in>;
      const auto y = matmul(x, transpose(weight));
      if constexpr (!Bias) return cairn::detail::result_of_layer<Name>(weight, y);
      else
        return cairn::detail::result_of_layer<Name>(weight, y + param_from<Name + fixed_string{".bias"}, start, Out>);
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
