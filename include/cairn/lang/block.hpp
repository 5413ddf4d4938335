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
    } else if constexpr (!std::is_empty_v<F>) {
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
/// A layer that is the block Name. `Opaque` stands for the function of the block.
template <fixed_string Name, class Opaque>
struct block_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<block_mark<Name>, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};

/// F is a function without arguments. A function of any number of arguments is not one: it counts as a layer.
template <class F>
concept takes_nothing = requires { &F::operator(); } && std::is_invocable_v<const F&>;

/// The type that `block` and `ckpt` make of a function F and arguments A: a value, or a layer if there are no
/// arguments. Form has the `name` for messages, the template `call` for the value, and the template `layer`.
template <class Form, class F, class... A>
struct calling_as {
  using type = misused<misuse::function_first, Form::name, F, A...>;
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
  using type = misused<misuse::expression_for_layer, Form::name, E>;
};

template <fixed_string Name>
struct block_form {
  static constexpr fixed_string name = "block";
  template <class F, class... A>
  using call = called<block_mark<Name>, F, A...>;
  template <class F>
  using layer = block_layer<Name, opaque<F>>;
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
constexpr typename calling_as<block_form<Name>, F, A...>::type block(F, A...) {
  return {};
}

/// Makes a layer of f and gives its parameters the prefix `Name.`. If f takes no arguments, returns the value of f()
/// instead of a layer.
template <fixed_string Name, class F>
constexpr typename calling_as<block_form<Name>, F>::type block(F) {
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
