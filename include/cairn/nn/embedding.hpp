// Tables of vectors: what indices look up, the same table as the weights of a head, and waves for positions.
#pragma once

#include "cairn/expr/gather.hpp"
#include "cairn/expr/matmul.hpp"
#include "cairn/expr/rotary.hpp"
#include "cairn/expr/shared.hpp"
#include "cairn/nn/features.hpp"

#include <limits>

namespace cairn::nn {

/// Of an embedding.
struct embedding_options {
  static constexpr int none = std::numeric_limits<int>::min();
  int padding_idx = none;  ///< a row that gets no gradient and starts as zeros; below 0 counted from the end
  initial start = initial::normal(1);
  friend constexpr bool operator==(const embedding_options&, const embedding_options&) = default;
};

template <fixed_string Name, int Features, embedding_options O>
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
    else if constexpr (rows < 1)
      return surfaced<poison<rule::padding_in_table, owner, fact::in<Name>, what, fact::bound<rows>>>{};
    else if constexpr (padded && (O.padding_idx < -rows || O.padding_idx >= rows))
      return surfaced<poison<rule::padding_in_table, owner, fact::in<Name>, what, fact::bound<rows>,
                             fact::padding<O.padding_idx>>>{};
    else return looked_up<rows>(x);
  }

 private:
  static constexpr bool padded = O.padding_idx != embedding_options::none;

  template <int Rows>
  static constexpr auto looked_up(auto x) {
    constexpr int padding = !padded ? -1 : O.padding_idx < 0 ? Rows + O.padding_idx : O.padding_idx;
    constexpr initial start = [] {
      initial rows = O.start;
      if (padded) rows.zero_row = padding;
      return rows;
    }();
    const auto weight = param_from<Name + fixed_string{".weight"}, start, Rows, Features>;
    return cairn::detail::result_of_layer<Name>(weight, make<gather_op<0, padding>>(weight, x));
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
/// deviation 1, or as `nn::embedding_options{.padding_idx = 0, .start = initial::normal(0.02)}` say. Positions are those
/// of `arange<256> | nn::embedding<"wpe", 64>`.
/// Rejects: real numbers; indices without a bound; a padding index that is no row.
template <fixed_string Name, int Features, embedding_options O = embedding_options{}>
inline constexpr embedding_layer<Name, Features, O> embedding{};

/// x {..., T, features} plus sine and cosine of t / 10000^(2 j / features), which are features 2 j and 2 j + 1, for
/// each position t (Vaswani et al., 2017). Rejects: fewer than two axes.
inline constexpr sinusoidal_positions_layer sinusoidal_positions{};

/// x Wᵀ, where the weight {Out, features} is the parameter of another layer, such as an embedding of Out rows:
/// `nn::tied_linear<"/wte.weight", 50000>`. There is one parameter, and its gradient is the sum of both.
template <fixed_string Weight, int Out>
inline constexpr tied_linear_layer<Weight, Out> tied_linear{};

}  // namespace cairn::nn
