// Tables of vectors: what indices look up, the same table as the weights of a head, and waves for positions.
#pragma once

#include "cairn/expr/gather.hpp"
#include "cairn/expr/matmul.hpp"
#include "cairn/expr/rotary.hpp"
#include "cairn/expr/shared.hpp"
#include "cairn/nn/features.hpp"

namespace cairn::nn {

template <fixed_string Name, int Features, int... Padding>
struct embedding_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using owner = typename X::owner;
    using what = fact::operation<fixed_string{"embedding"}, tensor_fact<X>>;
    constexpr int rows = X::element.bound;
    if constexpr (wrong<X>) return surfaced<X>{};
    else if constexpr (kind_of(X::element.type) != kind::whole)
      return surfaced<poison<kind_mismatch, owner, fact::in<Name>, what, fact::takes<int>>>{};
    else if constexpr (Features < 1)
      return surfaced<poison<rule::positive_extents, owner, fact::in<Name>, what, fact::extents<Features>>>{};
    else if constexpr (rows < 1 || !((Padding >= -rows && Padding < rows) && ...))
      return surfaced<poison<rule::padding_in_table, owner, fact::in<Name>, what, fact::bound<rows>,
                             fact::padding<Padding>...>>{};
    else return looked_up<rows, (0 + ... + (Padding < 0 ? rows + Padding : Padding))>(x);
  }

 private:
  template <int Rows, int Row>
  static constexpr auto looked_up(auto x) {
    constexpr bool padded = sizeof...(Padding) > 0;
    constexpr initial start{.drawn = padded ? initial::law::normal_padded : initial::law::normal,
                            .fill = padded ? Row : 0,
                            .width = 1};
    const auto weight = param_from<Name + fixed_string{".weight"}, start, Rows, Features>;
    return cairn::detail::result_of_layer<Name>(weight, make<gather_op<0, padded ? Row : -1>>(weight, x));
  }
};

struct sinusoidal_positions_layer : layer_base {
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"sinusoidal_positions", "">(x));
    if constexpr (!std::same_as<problem, sound>) return surfaced<problem>{};
    else return x + make<waves_op<X::shape[-1], 10000.0, false>>(arange<X::shape[-2]>);
  }
};

template <fixed_string Weight, int Out>
struct tied_linear_layer : layer_base {
  static constexpr fixed_string name = Weight;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using problem = decltype(detail::problem_of_features<"tied_linear", Weight>(x));
    if constexpr (!std::same_as<problem, sound>) return surfaced<problem>{};
    else return matmul(x, transpose(param<Weight, Out, X::shape[-1]>));
  }
};

/// The row of `Name.weight` {bound, Features} for each index, as nn.Embedding: {..., Features}. Rows start normal, with
/// deviation 1. The row of a Padding index, which may count from the end, starts as zeros and gets no gradient. Positions are those of `arange<256> | nn::embedding<"wpe", 64>`.
/// Rejects: real numbers; indices without a bound; a padding index that is no row.
template <fixed_string Name, int Features, int... Padding>
  requires(sizeof...(Padding) < 2)
inline constexpr embedding_layer<Name, Features, Padding...> embedding{};

/// x {..., T, features} plus sine and cosine of t / 10000^(2 j / features), which are features 2 j and 2 j + 1, for
/// each position t (Vaswani et al., 2017). Rejects: fewer than two axes.
inline constexpr sinusoidal_positions_layer sinusoidal_positions{};

/// x Wᵀ, where the weight {Out, features} is the parameter of another layer, such as an embedding of Out rows:
/// `nn::tied_linear<"/wte.weight", 50000>`. There is one parameter, and its gradient is the sum of both.
template <fixed_string Weight, int Out>
inline constexpr tied_linear_layer<Weight, Out> tied_linear{};

}  // namespace cairn::nn
