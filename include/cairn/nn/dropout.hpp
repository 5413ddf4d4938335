// Dropout as a layer: of single elements, of whole examples and of whole channels.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/lang/state.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/dropout.hpp"
#include "cairn/op/elementwise.hpp"
#include "cairn/op/random_numbers.hpp"

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

/// A layer that drops parts of its argument {N, ..., channels}. There is one draw for each example, or for each channel
/// of each example if `OfChannels` is true. Axes without draws of their own have extent 1 in the array of draws, so all
/// their elements are kept or dropped together. The array of draws does not depend on the argument. The result is
/// marked with the key, so that a second layer of the same name is found.
template <fixed_string Kind, fixed_string Name, double P, bool OfChannels>
struct part_dropout_layer : checked_layer<part_dropout_layer<Kind, Name, P, OfChannels>> {
  static constexpr fixed_string name = Name;

  static constexpr auto problem(auto x) {
    return problem_of_features<Kind, Name>(x, []<class X>(X) {
      if constexpr (P >= 0 && P < 1) return lang::sound{};
      else
        return lang::poison<misuse::probability_below_one, typename X::owner, fact::in<Name>,
                            fact::operation<Kind, lang::tensor_fact<X>>, fact::probability<P>>{};
    });
  }
  template <class X>
  static constexpr auto apply(X x) {
    const auto dropped = drawn<X>(std::make_integer_sequence<int, X::shape.rank>{});
    const auto kept = x * (constant<1> - dropped) * constant<1 / (1 - P)>;
    return lang::in_training(lang::result_of_key(lang::random_key_leaf<Name>{}, kept), x);
  }

 private:
  template <class X, int... Axis>
  static constexpr auto drawn(std::integer_sequence<int, Axis...>) {
    constexpr int last = X::shape.rank - 1;
    return random_bernoulli<Name, P, (Axis == 0 || (OfChannels && Axis == last) ? X::shape.extent[Axis] : 1)...>;
  }
};
}  // namespace detail

/// Drops elements with probability P in training (Srivastava et al., 2014): `nn::dropout<"d1", 0.1>`.
template <fixed_string Name, auto P = 0.5>
inline constexpr detail::dropout_layer<Name, static_cast<double>(P)> dropout{};

/// Drops whole examples of {N, ..., features} with probability P and divides the remaining examples by 1 - P, as timm's
/// DropPath (stochastic depth, Huang et al., 2016): `nn::drop_path<"drop", 0.1>`. It stands at the end of the branch of
/// a residual connection, which it then skips. A predictor uses the argument unchanged. An infinite number in a dropped
/// example becomes NaN, as in timm.
/// Rejects: a probability outside of [0, 1); fewer than two axes; in a program, one full name for two different random
/// operations.
template <fixed_string Name, auto P = 0.1>
inline constexpr detail::part_dropout_layer<"drop_path", Name, static_cast<double>(P), false> drop_path{};

/// Drops whole channels of each example of {N, ..., channels} with probability P and divides the remaining channels by
/// 1 - P, as nn.Dropout2d: `nn::dropout2d<"drop", 0.1>`. A predictor uses the argument unchanged. An infinite number in
/// a dropped channel becomes NaN, as in PyTorch.
/// Rejects: what `nn::drop_path` rejects.
template <fixed_string Name, auto P = 0.5>
inline constexpr detail::part_dropout_layer<"dropout2d", Name, static_cast<double>(P), true> dropout2d{};

}  // namespace cairn::nn
