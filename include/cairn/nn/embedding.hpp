// Embeddings: tables of vectors, in which indices look up rows.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/op/gather.hpp"

#include <limits>

namespace cairn::nn {

/// Options of an embedding.
struct embedding_options {
  static constexpr int none = std::numeric_limits<int>::min();
  /// Row that gets no gradient and starts as zeros. A negative index counts from the last row.
  int padding_idx = none;
  initial start = initial::normal(1);
  friend constexpr bool operator==(const embedding_options&, const embedding_options&) = default;
};

namespace detail {
template <fixed_string Name, std::int64_t Features, embedding_options O>
struct embedding_layer : lang::layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression X>
  constexpr auto operator()(X x) const {
    using owner = typename X::owner;
    using what = fact::operation<fixed_string{"embedding"}, lang::tensor_fact<X>>;
    constexpr int rows = X::element.bound;
    if constexpr (lang::wrong<X>) return lang::surfaced<X>{};
    else if constexpr (kind_of(X::element.type) != kind::whole)
      return lang::surfaced<lang::poison<misuse::kind_mismatch, owner, fact::in<Name>, what, fact::takes<int>>>{};
    else if constexpr (!cairn::detail::is_extent(Features))
      return lang::surfaced<
          lang::poison<misuse::positive_extents, owner, fact::in<Name>, what, fact::extents<Features>>>{};
    else if constexpr (rows < 1)
      return lang::surfaced<lang::poison<misuse::padding_in_table, owner, fact::in<Name>, what, fact::bound<rows>>>{};
    else if constexpr (padded && (O.padding_idx < -rows || O.padding_idx >= rows))
      return lang::surfaced<lang::poison<misuse::padding_in_table, owner, fact::in<Name>, what, fact::bound<rows>,
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
    return lang::result_of_layer<Name>(weight, make<lang::gather_op<0, padding>>(weight, x));
  }
};
}  // namespace detail

/// Looks up the row of `Name.weight` {bound, Features} for each index, as nn.Embedding does. The result is
/// {..., Features}. The rows start normally distributed with a standard deviation of 1. Options change this:
/// `nn::embedding_options{.padding_idx = 0, .start = initial::normal(0.02)}`. Positions are embedded by
/// `arange<256> | nn::embedding<"wpe", 64>`.
/// Rejects: real numbers; indices without a bound; a padding index that is not a row; a number of Features below 1.
template <fixed_string Name, std::int64_t Features, embedding_options O = embedding_options{}>
inline constexpr detail::embedding_layer<Name, Features, O> embedding{};

}  // namespace cairn::nn
