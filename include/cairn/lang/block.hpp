// Makes layers of functions, and gives the parameters of a function a prefix.
#pragma once

#include "cairn/lang/chain.hpp"

namespace cairn::lang {

/// A function object of the user as a layer. Reports a mistake if F cannot be called or has captures.
template <class F>
struct wrapped : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr auto operator()(A... x) const {
    if constexpr (call_check<F, A...>::has_body_error) {
      return rejected{};
    } else if constexpr (!call_check<F, A...>::invocable) {
      return surfaced<
          mistake<misuse::not_callable, owner_of<A...>, fact::given<F>, fact::arguments<tensor_fact<A>...>>>{};
    } else if constexpr (!std::is_empty_v<F> || !requires { F{}; }) {
      return surfaced<mistake<misuse::captures_values, owner_of<A...>, fact::given<F>>>{};
    } else {
      return F{}(x...);
    }
  }
};
/// Messages show the type of the function that the user wrote, and not `wrapped`.
template <class F>
struct displayed<fact::given<wrapped<F>>> {
  using type = fact::given<F>;
};
/// A layer that is a call of a function with a mark.
template <class OpaqueMark, class Opaque>
struct call_layer : layer_base {
  using mark = revealed<OpaqueMark>;
  static constexpr auto name = mark::name;
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<mark, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};

/// F is a function without arguments. A function of any number of arguments is not one: it counts as a layer.
template <class F>
concept takes_nothing = requires { &F::operator(); } && std::is_invocable_v<const F&>;

/// The form of `block` and `ckpt`: makes a call of a function and arguments, or a layer of a function alone.
template <class Mark>
struct block_form : free_form<Mark::function, misuse::function_first> {
  template <class F, an_expression... A>
    requires(!an_expression<F>)
  static constexpr auto of(F, A... args) {
    if constexpr (sizeof...(A) > 0 || takes_nothing<F>) return call_form<Mark, F>::of(args...);
    else return call_layer<opaque<Mark>, opaque<F>>{};
  }
  template <an_expression E>
  static constexpr auto of(E) {
    return mistaken_call<misuse::expression_for_layer, Mark::function, E>();
  }
};

/// Makes a layer of a function object without captures. `|` takes the layer on either side.
template <class F>
constexpr auto layer(F) {
  return wrapped<F>{};
}

/// Applies f to arguments and gives its parameters the prefix `Name.`. A block is like `ckpt`, but it is no segment:
/// nothing in it is recomputed because of the block.
template <fixed_string Name, class F, class... A>
  requires(sizeof...(A) > 0)
constexpr applied<block_form<block_mark<Name>>, F, A...> block(F, A...) {
  return {};
}

/// Makes a layer of f and gives its parameters the prefix `Name.`. If f takes no arguments, returns the value of f()
/// instead of a layer.
template <fixed_string Name, class F>
constexpr applied<block_form<block_mark<Name>>, F> block(F) {
  return {};
}

/// Reports that the name is missing.
template <class... A>
constexpr nameless<"block", A...> block(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::block, lang::layer;
}  // namespace cairn
