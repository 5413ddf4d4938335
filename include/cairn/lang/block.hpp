// Functions as layers, and functions whose parameters get a prefix.
#pragma once

#include "cairn/lang/chain.hpp"

namespace cairn {

namespace detail {
template <class F>
struct wrapped : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr auto operator()(A... x) const {
    if constexpr (applying<F, A...>::broken) {
      return rejected{};
    } else if constexpr (!applying<F, A...>::invocable) {
      return surfaced<mistake<not_callable, owner_of<A...>, fact::given<F>, fact::arguments<tensor_fact<A>...>>>{};
    } else if constexpr (!std::is_empty_v<F>) {
      return surfaced<mistake<captures_values, owner_of<A...>, fact::given<F>>>{};
    } else {
      return F{}(x...);
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
  static constexpr fixed_string name = Name;
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<block_mark<Name>, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};

/// A function of no arguments; one of any number is a layer.
template <class F>
concept takes_nothing = requires { &F::operator(); } && std::is_invocable_v<const F&>;

/// What block and ckpt make of a function and its arguments: their value, or a layer where there are none. Form has a
/// name, the call, and the layer.
template <class Form, class F, class... A>
struct calling_as {
  using type = misused<function_first, Form::name, F, A...>;
};
template <class Form, class F, an_expression... A>
  requires(!an_expression<F> && (sizeof...(A) > 0 || takes_nothing<F>))
struct calling_as<Form, F, A...> {
  using type = typename Form::template call<F, A...>;
};
template <class Form, class F>
  requires(!an_expression<F> && !takes_nothing<F>)
struct calling_as<Form, F> {
  using type = typename Form::template layer<F>;
};
template <class Form, an_expression E>
struct calling_as<Form, E> {
  using type = misused<expression_for_layer, Form::name, E>;
};

template <fixed_string Name>
struct block_form {
  static constexpr fixed_string name = "block";
  template <class F, class... A>
  using call = called<block_mark<Name>, F, A...>;
  template <class F>
  using layer = block_layer<Name, opaque<F>>;
};
}  // namespace detail

/// Makes a function object without captures a layer that `|` takes on either side.
template <class F>
constexpr auto layer(F) {
  return detail::wrapped<F>{};
}

/// f applied to arguments, its parameters with the prefix `Name.`: what ckpt is, without being a segment.
template <fixed_string Name, class F, class... A>
  requires(sizeof...(A) > 0)
constexpr typename detail::calling_as<detail::block_form<Name>, F, A...>::type block(F, A...) {
  return {};
}

/// A layer whose parameters get the prefix; or, where f takes no arguments, its value.
template <fixed_string Name, class F>
constexpr typename detail::calling_as<detail::block_form<Name>, F>::type block(F) {
  return {};
}

template <class... A>
constexpr nameless<"block", A...> block(A...) {
  return {};
}

}  // namespace cairn
