// Fully connected layers.
#pragma once

#include "cairn/op/matmul.hpp"
#include "cairn/lang/shared.hpp"
#include "cairn/nn/features.hpp"

namespace cairn::nn {

template <fixed_string Name, std::int64_t Out, bool Bias>
struct linear_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"linear", Name>(x));
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else if constexpr (!cairn::detail::is_extent(Out)) {
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

template <fixed_string Weight, std::int64_t Out>
struct tied_linear_layer : layer_base {
  static constexpr fixed_string name = Weight;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"tied_linear", Weight>(x));
    if constexpr (!std::same_as<problem, sound>) {
      return surfaced<problem>{};
    } else if constexpr (!std::string_view(Weight).starts_with('/')) {
      return surfaced<mistake<weight_of_other_layer, typename X::owner, about<fact::parameter, Weight>>>{};
    } else {
      return matmul(x, transpose(param<Weight, Out, X::shape[-1]>));
    }
  }
};

/// x Wᵀ + b with `Name.weight` {Out, in} and `Name.bias` {Out}; x is {..., rows, in}. PyTorch's initialization: both
/// uniform with bound 1 / sqrt(in).
template <fixed_string Name, std::int64_t Out>
inline constexpr linear_layer<Name, Out, true> linear{};

/// Without bias.
template <fixed_string Name, std::int64_t Out>
inline constexpr linear_layer<Name, Out, false> linear_without_bias{};

/// x Wᵀ, where the weight {Out, features} is the parameter of another layer, such as an embedding of Out rows:
/// `nn::tied_linear<"/wte.weight", 50000>`. There is one parameter, and its gradient is the sum of both.
/// Rejects: a name that does not start with /, of which the block around would make another parameter.
template <fixed_string Weight, std::int64_t Out>
inline constexpr tied_linear_layer<Weight, Out> tied_linear{};

}  // namespace cairn::nn
