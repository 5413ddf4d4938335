// Functions as layers, and layers whose parameters get a prefix.
#pragma once

#include "cairn/expr/chain.hpp"

namespace cairn {

namespace detail {
template <class F>
struct wrapped : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr auto operator()(A... x) const {
    if constexpr (applying<F, A...>::broken) {
      return rejected{};
    } else if constexpr (std::is_empty_v<F> && applying<F, A...>::invocable) {
      return F{}(x...);
    } else {
      using owner = owner_of<A...>;
      return surfaced<mistake<not_a_layer, owner, fact::given<F>, fact::arguments<tensor_fact<A>...>>>{};
    }
  }
};
/// A function of the user's, by its own name.
template <class F>
struct displayed<fact::given<wrapped<F>>> {
  using type = fact::given<F>;
};
template <fixed_string Name, class Opaque>
struct block_layer : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<block_mark<Name>, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};
}  // namespace detail

/// Makes a function object without captures a layer that `|` takes on either side.
template <class F>
constexpr auto layer(F) {
  return detail::wrapped<F>{};
}

/// A layer whose parameters get the prefix `Name.`
template <fixed_string Name, class L>
constexpr detail::made_from_layer<"block", L, detail::block_layer<Name, detail::opaque<L>>> block(L) {
  return {};
}

template <class... A>
constexpr nameless<"block", A...> block(A...) {
  return {};
}

}  // namespace cairn
