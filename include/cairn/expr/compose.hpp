// How models are put together: `|`, layer, block and repeat.
#pragma once

#include "cairn/expr/call.hpp"

namespace cairn {

namespace detail {
template <class... L>
struct layer_list {};
/// Longer lists are nested: clang folds over at most 256 types.
inline constexpr std::size_t max_layers = 128;
}  // namespace detail

/// Layers one after another, in one flat list.
template <class Hiding>
struct sequence : layer_base {
  using layers = detail::hidden_in<Hiding>;
  template <an_expression X>
  constexpr typename detail::piping<X, sequence>::type operator()(X) const {
    return {};
  }
};

/// What the last stage of a chain says of the whole.
struct chain_facts {
  cairn::shape shape;
  kind element;
  cairn::facts rest;
};
/// An expression and the layers applied to it one after another; flat, so that long chains stay cheap.
template <chain_facts Facts, class X, class... L>
struct links : expression {
  using owner = typename X::owner;
  static constexpr cairn::shape shape = Facts.shape;
  static constexpr kind element = Facts.element;
  static constexpr cairn::facts facts = Facts.rest;
};

namespace detail {
template <class X>
struct as_chain {
  static constexpr facts before = made_of({X::facts});
  template <chain_facts Facts, class L>
  using append = links<Facts, X, L>;
};
template <chain_facts Before, class X, class... Ls>
  requires(sizeof...(Ls) < max_layers)
struct as_chain<links<Before, X, Ls...>> {
  static constexpr facts before = Before.rest;
  template <chain_facts Facts, class L>
  using append = links<Facts, X, Ls..., L>;
};
template <class Hiding>
struct as_chain<brief<Hiding>> : as_chain<hidden_in<Hiding>> {};

/// The input of a stage, as the previous stage leaves it: only its facts matter. It belongs to no body, so
/// that a mistake of the stage stays silent until the outermost `|`.
struct stage_scope {};
template <int Level, class Tensor>
struct stage_input : expression {
  using owner = stage_scope;
  static constexpr cairn::shape shape = Tensor::shape;
  static constexpr kind element = Tensor::element;
  static constexpr cairn::facts facts{.level = Level};
};

/// The facts of a chain to which a stage is added.
constexpr facts in_a_row(facts chain, const facts& stage) {
  chain.height = std::max(chain.height, stage.height);
  chain.order += stage.order;
  chain.detached |= stage.detached;
  chain.fed |= stage.fed;
  chain.captures |= stage.captures;
  return chain;
}

template <class X, class L>
constexpr auto append_stage(X) {
  using base = as_chain<X>;
  using input = stage_input<X::facts.level, tensor_of<X>>;
  using stage = called<stage_mark, L, input>;
  if constexpr (!an_expression<stage>) {
    return mistake<not_a_layer, stage_scope, fact::given<L>, fact::returned<std::tuple<>>>{};
  } else if constexpr (wrong<stage>) {
    return stage{};
  } else {
    return
        typename base::template append<chain_facts{stage::shape, stage::element, in_a_row(base::before, stage::facts)},
                                       L>{};
  }
}

template <class L>
struct flattened {
  using type = layer_list<L>;
};
template <class Hiding>
struct flattened<sequence<Hiding>> {
  using type = hidden_in<Hiding>;
};
template <class... A, class... B>
constexpr auto joined(layer_list<A...>, layer_list<B...>) {
  using one = sequence<hiding<layer_list<A...>>>;
  if constexpr (sizeof...(A) + sizeof...(B) > max_layers) return sequence<hiding<layer_list<one, B...>>>{};
  else return sequence<hiding<layer_list<A..., B...>>>{};
}

/// Carries the chain so far through a fold over the layers.
template <class X>
struct carry {
  template <class L>
  constexpr auto operator<<(std::type_identity<L>) const {
    if constexpr (wrong<X>) {
      return *this;
    } else {
      return carry<decltype(append_stage<X, L>(X{}))>{};
    }
  }
  using type = X;
};
template <class X, class... L>
constexpr auto append_all(X, layer_list<L...>) {
  return typename decltype((carry<X>{} << ... << std::type_identity<L>{}))::type{};
}

template <class X, class L>
constexpr auto piped_silently(X x) {
  if constexpr (wrong<X>) {
    return x;
  } else if constexpr (!std::is_empty_v<L>) {
    return mistake<not_a_layer, typename X::owner, fact::given<L>, fact::arguments<tensor_fact<X>>>{};
  } else {
    using applied = decltype(append_all(x, typename flattened<L>::type{}));
    if constexpr (wrong<applied>) return pass_on<typename X::owner>(applied{});
    else return in_brief<applied>{};
  }
}
template <class X, class L>
struct piping {};
template <an_expression X, class L>
struct piping<X, L> {
  using type = surfaced<decltype(piped_silently<X, L>(X{}))>;
};
template <an_expression A, an_expression B>
struct piping<A, B> {
  using type = misused<piped_into_expression, "|", A, B>;
};
}  // namespace detail

/// Applies a layer: `images | nn::linear<"fc1", 256> | nn::relu`. Binds weaker than + and *: `a + f(x)`, not
/// `a + x | f`.
template <an_expression X, class L>
constexpr typename detail::piping<X, L>::type operator|(X, L) {
  return {};
}
template <a_layer L, an_expression X>
constexpr misused<piped_into_expression, "|", L, X> operator|(L, X) {
  return {};
}

/// Puts one layer after another.
template <class A, class B>
  requires(!an_expression<A> && !an_expression<B> && (a_layer<A> || a_layer<B>))
constexpr auto operator|(A, B) {
  return detail::joined(typename detail::flattened<A>::type{}, typename detail::flattened<B>::type{});
}

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
template <fixed_string Name, class Hiding>
struct block_layer : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<block_mark<Name>, hidden_in<Hiding>, A...> operator()(A...) const {
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
constexpr detail::made_of_layer<"block", L, detail::block_layer<Name, detail::hiding<L>>> block(L) {
  return {};
}

template <class... A>
constexpr nameless<"block", A...> block(A...) {
  return {};
}

/// N applications of one layer, one node of the type; iteration i prefixes its parameters with `Name.i.`
template <int N, fixed_string Name, class L, class X>
struct repeated : expression {
  using owner = typename X::owner;
  static constexpr cairn::shape shape = X::shape;
  static constexpr kind element = X::element;
  using body = call<stage_mark, L, detail::stage_input<X::facts.level, tensor_of<X>>>;
  static constexpr cairn::facts facts = [] {
    cairn::facts f = detail::in_a_row(made_of({X::facts}), body::facts);
    f.order += (N - 1) * body::facts.order;
    return f;
  }();
};

namespace detail {
template <int N, fixed_string Name, class Body>
struct repeat_layer : layer_base {
  template <int I>
  using layer_at = std::remove_cvref_t<decltype(std::declval<const Body&>()(std::integral_constant<int, I>{}))>;

  template <an_expression X>
  constexpr auto operator()(X x) const {
    using first = applying<Body, std::integral_constant<int, 0>>;
    if constexpr (first::broken) {
      return rejected{};
    } else if constexpr (!first::invocable) {
      return surfaced<poison<no_function_of_index, typename X::owner, fact::in<Name>, fact::given<Body>>>{};
    } else if constexpr (wrong<layer_at<0>>) {
      return pass_on<typename X::owner>(layer_at<0>{});
    } else if constexpr (!std::is_class_v<layer_at<0>> || an_expression<layer_at<0>>) {
      return surfaced<poison<no_function_of_index, typename X::owner, fact::in<Name>, fact::returned<layer_at<0>>>>{};
    } else {
      return surfaced<decltype(apply(x))>{};
    }
  }

 private:
  template <int... I>
  static constexpr bool all_alike(std::integer_sequence<int, I...>) {
    for (const bool alike : {std::same_as<layer_at<0>, layer_at<I>>...}) {
      if (!alike) return false;
    }
    return true;
  }
  template <class X>
  static constexpr auto apply(X x) {
    if constexpr (wrong<X>) {
      return x;
    } else if constexpr (all_alike(std::make_integer_sequence<int, N>{})) {
      using once =
          called<block_mark<Name + fixed_string{".0"}>, layer_at<0>, stage_input<X::facts.level, tensor_of<X>>>;
      if constexpr (!an_expression<once>) return one_by_one(x);
      else if constexpr (wrong<once>) return pass_on<typename X::owner>(once{});
      else if constexpr (once::shape == X::shape) return repeated<N, Name, layer_at<0>, X>{};
      else return one_by_one(x);
    } else {
      return one_by_one(x);
    }
  }
  template <class X>
  static constexpr auto one_by_one(X x) {
    return piped_silently<X, decltype(layers<0, N>())>(x);
  }
  template <int Begin, int Count>
  static constexpr auto layers() {
    if constexpr (Count > static_cast<int>(max_layers)) {
      return layers<Begin, Count / 2>() | layers<Begin + Count / 2, Count - Count / 2>();
    } else {
      return []<int... I>(std::integer_sequence<int, I...>) {
        return sequence<hiding<
            layer_list<block_layer<Name + fixed_string{"."} + digits<Begin + I>, hiding<layer_at<Begin + I>>>...>>>{};
      }(std::make_integer_sequence<int, Count>{});
    }
  }
};
}  // namespace detail

namespace detail {
template <int N, fixed_string Name, class Body>
struct repeating {
  using type = mistaken_layer<no_iterations, fact::in<Name>, fact::iterations<N>>;
};
template <int N, fixed_string Name, class Body>
  requires(N > 0)
struct repeating<N, Name, Body> {
  using type = repeat_layer<N, Name, Body>;
};
}  // namespace detail

/// N layers one after another, body(i) the i-th, i a std::integral_constant; parameters get the prefix
/// `Name.i.` Where all bodies are one type and keep the shape, the whole is one node of the type, so depth
/// costs nothing.
template <int N, fixed_string Name, class Body>
constexpr typename detail::repeating<N, Name, Body>::type repeat(Body) {
  return {};
}

template <int N, class... A>
constexpr nameless<"repeat", A...> repeat(A...) {
  return {};
}
template <fixed_string Name, int... N, class... A>
constexpr nameless<"repeat", A...> repeat(A...) {
  return {};
}

}  // namespace cairn
