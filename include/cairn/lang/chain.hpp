// Applies layers one after another: `x | layer | layer`.
#pragma once

#include "cairn/lang/call.hpp"

namespace cairn::lang {

/// A list of layers.
template <class... L>
struct chain_of {};
/// The most layers of one list. Longer lists are nested, because clang folds over at most 256 types.
inline constexpr std::size_t max_layers = 128;

template <class L>
struct pipe_form;

/// A layer that applies the layers of one flat list, one after another.
template <class Opaque>
struct chain : layer_base {
  using layers = revealed<Opaque>;
  template <an_expression X>
  constexpr applied<pipe_form<chain>, X> operator()(X) const {
    return {};
  }
};

/// The tensor of the last stage of a chain, and the traits of the whole chain.
struct chain_traits {
  cairn::shape shape;
  element_type element;
  expression_traits traits;
};
/// Holds the constants of a chain in a base class. The name of the base depends only on the last stage, so the symbols
/// of the constants are shorter than the name of the chain.
template <chain_traits Last>
struct last_stage : expression {
  static constexpr cairn::shape shape = Last.shape;
  static constexpr element_type element = Last.element;
  static constexpr expression_traits traits = Last.traits;
};
/// Expression X and the layers that are applied to X one after another. The list of layers is flat, so long chains stay
/// cheap to compile.
template <chain_traits Last, class X, class Layers>
struct chained : last_stage<Last> {
  using owner = typename X::owner;
};

/// The stages of a chain, as a std::tuple: each layer of L, applied to the tensor that the stage before returns.
/// Together with the expression that the chain begins with, the stages are the parts of the chain.
template <int Level, class Tensor, class... L>
struct stages_of {
  using type = std::tuple<>;
};
template <class Owner, chain_traits Last, class X, class... L>
struct subexpressions_of<Owner, chained<Last, X, chain_of<L...>>> {
  template <class... Stage>
  static std::tuple<seen_from<Owner, X>, seen_from<Owner, Stage>...> seen(std::tuple<Stage...>);
  using type = decltype(seen(typename stages_of<X::traits.level, tensor_of<X>, L...>::type{}));
};

/// A message calls a chain, and the value of a chain, by the name of the last layer.
template <class... L>
inline constexpr auto known_as<chain_of<L...>> = known_as<std::tuple_element_t<sizeof...(L) - 1, std::tuple<L...>>>;
template <class Opaque>
inline constexpr auto known_as<chain<Opaque>> = known_as<revealed<Opaque>>;
template <chain_traits Last, class X, class Layers>
inline constexpr auto known_as<chained<Last, X, Layers>> = known_as<Layers>;
/// The scope of the inputs of stages. This scope is no body, so a mistake of a stage stays silent until the outermost
/// `|` reports it.
struct stage_scope {};
/// The input of a stage: it has the tensor that the previous stage returns, and stands for the value of that stage.
template <int Level, class Tensor>
struct stage_input : expression {
  using owner = stage_scope;
  static constexpr cairn::shape shape = Tensor::shape;
  static constexpr element_type element = Tensor::element;
  static constexpr expression_traits traits{.level = Level, .trained = true};
};

template <int Level, class Tensor, class First, class... Rest>
struct stages_of<Level, Tensor, First, Rest...> {
  using stage = call<stage_mark, First, stage_input<Level, Tensor>>;
  template <class... Stage>
  static std::tuple<stage, Stage...> before(std::tuple<Stage...>);
  using type = decltype(before(typename stages_of<Level, tensor_of<stage>, Rest...>::type{}));
};

/// The origin of the axes of a chain: the last stage that adds axes, or, if no stage does, the expression that the
/// chain begins with.
template <class X, class Stages>
struct last_with_axes;
template <class X>
struct last_with_axes<X, std::tuple<>> : axes_origin<X> {};
template <class X, class Mark, class F, class Input, class... Stage>
struct last_with_axes<X, std::tuple<call<Mark, F, Input>, Stage...>>
    : last_with_axes<
          std::conditional_t<(call<Mark, F, Input>::shape.rank > Input::shape.rank), call<Mark, F, Input>, X>,
          std::tuple<Stage...>> {};
template <chain_traits Last, class X, class... L>
struct axes_origin<chained<Last, X, chain_of<L...>>>
    : last_with_axes<X, typename stages_of<X::traits.level, tensor_of<X>, L...>::type> {
  static constexpr bool is_leaf = false;
};

/// Returns the traits of a chain after a stage is added.
constexpr expression_traits traits_of_chain(expression_traits chain, const expression_traits& stage) {
  chain.height = std::max(chain.height, stage.height);
  chain.order += stage.order;
  inherit_properties(chain, stage);
  return with_computation(chain);
}

/// The list of the layers of L: for a chain its own list, otherwise a list with only L.
template <class L>
struct flattened {
  using type = chain_of<L>;
};
template <class Opaque>
struct flattened<chain<Opaque>> {
  using type = revealed<Opaque>;
};
/// Joins two lists to one chain. If there are too many layers for one list, the first list becomes a nested chain.
template <class... A, class... B>
constexpr auto join_layers(chain_of<A...>, chain_of<B...>) {
  using begun = chain<opaque<chain_of<A...>>>;
  if constexpr (sizeof...(A) + sizeof...(B) > max_layers) return chain<opaque<chain_of<begun, B...>>>{};
  else return chain<opaque<chain_of<A..., B...>>>{};
}

/// Carries the tensor to which the next layer is applied, and the traits of the chain so far, through a fold over the
/// layers. A mistake ends the fold.
template <int Level, class Tensor>
struct stage_carry {
  expression_traits so_far;

  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    using stage = called<stage_mark, L, stage_input<Level, Tensor>>;
    if constexpr (!an_expression<stage>) {
      return mistake<misuse::not_a_layer, stage_scope, fact::given<L>, fact::returned<std::tuple<>>>{};
    } else if constexpr (wrong<stage>) {
      return stage{};
    } else {
      return stage_carry<Level, tensor_of<stage>>{traits_of_chain(so_far, stage::traits)};
    }
  }
};
template <class P, class L>
  requires wrong<P>
constexpr P operator<<(P mistaken, std::type_identity<L>) {
  return mistaken;
}

/// The expression that a chain begins with, the layers so far, and their traits. If X is itself a chain, a layer that
/// is piped to X is added to that chain.
template <class X>
struct chain_so_far {
  using first = X;
  using layers = chain_of<>;
  static constexpr expression_traits traits() { return merged_traits({X::traits}); }
};
template <chain_traits Last, class X, class... L>
  requires(sizeof...(L) < max_layers)
struct chain_so_far<chained<Last, X, chain_of<L...>>> {
  using first = X;
  using layers = chain_of<L...>;
  static constexpr expression_traits traits() { return Last.traits; }
};
template <class Opaque>
struct chain_so_far<renamed<Opaque>> : chain_so_far<revealed<Opaque>> {};

/// Applies layers to X, one after another. Returns the last stage_carry, or the first mistake.
template <class X, class... L>
constexpr auto apply_layers(chain_of<L...>) {
  return (stage_carry<X::traits.level, tensor_of<X>>{chain_so_far<X>::traits()} << ... << std::type_identity<L>{});
}
template <int Level, class Tensor>
constexpr chain_traits last_of(const stage_carry<Level, Tensor>& last) {
  return {Tensor::shape, Tensor::element, last.so_far};
}
template <class... A, class... B>
chain_of<A..., B...> operator+(chain_of<A...>, chain_of<B...>);

/// The form of `x | L`.
template <class L>
struct pipe_form : form_of_one<"|"> {
  template <an_expression X>
  static constexpr auto of(X x) {
    using owner = typename X::owner;
    if constexpr (an_expression<L>) {
      return mistaken_call<misuse::piped_into_expression, "|", X, L>();
    } else if constexpr (wrong<X>) {
      return x;
    } else if constexpr (requires { std::tuple_size<L>::value; }) {
      return mistake<misuse::several_layers, owner, fact::given<fact::object>>{};
    } else if constexpr (!std::is_class_v<L>) {
      return mistake<misuse::not_callable, owner, fact::given<L>, fact::arguments<tensor_fact<X>>>{};
    } else if constexpr (!std::is_empty_v<L>) {
      return mistake<misuse::captures_values, owner, fact::given<L>>{};
    } else {
      using layers = typename flattened<L>::type;
      using before = chain_so_far<X>;
      constexpr auto last = apply_layers<X>(layers{});
      if constexpr (an_expression<std::remove_const_t<decltype(last)>>) return pass_on<owner>(last);
      else
        return under_short_name<
            chained<last_of(last), typename before::first, decltype(typename before::layers{} + layers{})>>{};
    }
  }
};

/// Applies a layer: `images | nn::linear<"fc1", 256> | nn::relu`. The operator | binds weaker than + and *, so write
/// `a + f(x)` and not `a + x | f`.
template <an_expression X, class L>
constexpr applied<pipe_form<L>, X> operator|(X, L) {
  return {};
}
template <a_layer L, an_expression X>
constexpr misused<misuse::piped_into_expression, "|", L, X> operator|(L, X) {
  return {};
}

// The return types of the next overloads are deduced. A return type that is written out would be formed for every layer
// after |, also if another overload is chosen.
template <an_expression X>
constexpr auto operator|(X, function_name (&)(function_name)) {
  return misused<misuse::function_for_layer, "|", X>{};
}
template <a_layer L>
constexpr auto operator|(L, function_name (&)(function_name)) {
  return mistaken_layer<misuse::function_for_layer, fact::operation<"|", fact::layer>>{};
}

template <an_expression... X, class L>
constexpr auto operator|(std::tuple<X...>, L) {
  return misused<misuse::several_piped, "|", X...>{};
}
template <an_expression A, an_expression B, class L>
constexpr auto operator|(std::pair<A, B>, L) {
  return misused<misuse::several_piped, "|", A, B>{};
}

/// Makes one layer that applies A and then B.
template <class A, class B>
  requires(!an_expression<A> && !an_expression<B> && (a_layer<A> || a_layer<B>))
constexpr auto operator|(A, B) {
  return join_layers(typename flattened<A>::type{}, typename flattened<B>::type{});
}

}  // namespace cairn::lang
