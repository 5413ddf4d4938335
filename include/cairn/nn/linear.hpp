// Fully connected layers.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/matmul.hpp"

namespace cairn::nn {

namespace detail {
template <fixed_string Name, std::int64_t Out, bool Bias, initial... Start>
struct linear_layer : checked_layer<linear_layer<Name, Out, Bias, Start...>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) {
    return problem_of_features<"linear", Name>(x, []<class X>(X) {
      if constexpr (cairn::detail::is_extent(Out)) return lang::sound{};
      else
        return lang::poison<misuse::positive_extents, typename X::owner, fact::in<Name>,
                            fact::operation<"linear", lang::tensor_fact<X>>, fact::extents<Out>>{};
    });
  }
  static constexpr bool has_weight = true;
  static constexpr auto apply(auto x) {
    const auto weight = weight_for(x);
    return lang::result_of_layer<Name>(weight, with_weight(x, weight));
  }
  /// Returns the parameter that is the weight of the layer for x.
  template <class X>
  static constexpr auto weight_for(X) {
    constexpr initial of_weight = start_of_weight(fan_in(X::shape[-1]), Start...);
    return param_from<Name + fixed_string{".weight"}, of_weight, Out, X::shape[-1]>;
  }
  /// Returns the value of the layer with the given weight.
  template <class X>
  static constexpr auto with_weight(X x, auto weight) {
    constexpr initial of_bias = start_of_bias(fan_in(X::shape[-1]), Start...);
    const auto y = matmul(x, transpose(weight));
    if constexpr (!Bias) return y;
    else return y + param_from<Name + fixed_string{".bias"}, of_bias, Out>;
  }
};

template <fixed_string Weight, std::int64_t Out>
struct tied_linear_layer : checked_layer<tied_linear_layer<Weight, Out>> {
  static constexpr fixed_string name = Weight;
  static constexpr auto problem(auto x) {
    return problem_of_features<"tied_linear", Weight>(x, []<class X>(X) {
      if constexpr (std::string_view(Weight).starts_with('/')) return lang::sound{};
      else
        return lang::mistake<misuse::weight_of_other_layer, typename X::owner, lang::about<fact::parameter, Weight>>{};
    });
  }
  template <class X>
  static constexpr auto apply(X x) {
    return matmul(x, transpose(param<Weight, Out, X::shape[-1]>));
  }
};
}  // namespace detail

/// Computes x W^T + b for x {..., rows, in}, with the parameters W = `Name.weight` {Out, in} and b = `Name.bias` {Out}.
///
/// Start says how W starts: `nn::linear<"q", 768, initial::normal(0.02)>`. The bias then starts as zeros, or as a
/// second `initial` says. Without Start, both parameters start as in PyTorch: uniform with bound `1 / sqrt(in)`.
///
/// Rejects: fewer than two axes; an Out below 1.
template <fixed_string Name, std::int64_t Out, initial... Start>
  requires(sizeof...(Start) <= 2)
inline constexpr detail::linear_layer<Name, Out, true, Start...> linear{};

/// Computes x W^T, without a bias.
template <fixed_string Name, std::int64_t Out, initial... Start>
  requires(sizeof...(Start) <= 1)
inline constexpr detail::linear_layer<Name, Out, false, Start...> linear_without_bias{};

/// Computes x W^T, where W {Out, features} is the parameter of another layer, for example of an embedding with Out
/// rows: `nn::tied_linear<"/wte.weight", 50000>`. Both layers share one parameter, and its gradient is the sum of both
/// gradients.
/// Rejects: a name that does not start with /, because the block around the layer would turn this name into another
/// parameter.
template <fixed_string Weight, std::int64_t Out>
inline constexpr detail::tied_linear_layer<Weight, Out> tied_linear{};

}  // namespace cairn::nn
