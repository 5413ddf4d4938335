// Layers applied one after another, each with parameters of its own.
#pragma once

#include "cairn/lang/block.hpp"

namespace cairn {

namespace detail {
/// Bodies applied one after another, as a part of something larger, which reports for it.
template <int N, fixed_string Name, class Body>
struct repetition {
  template <int I>
  using layer_at = std::remove_cvref_t<decltype(std::declval<const Body&>()(std::integral_constant<int, I>{}))>;

  /// What comes out of the last body, as many values as go into the first, or a mistake in their place.
  template <class... X>
  static constexpr auto of(std::tuple<X...> x) {
    using made = decltype(applied(x));
    if constexpr (wrong<made>) return spread<sizeof...(X)>(made{});
    else if constexpr (sizeof...(X) == 1) return std::tuple_element_t<0, made>{};
    else return made{};
  }

 private:
  template <class... X>
  static constexpr auto applied(std::tuple<X...> x) {
    using owner = owner_of<X...>;
    using first = applying<Body, std::integral_constant<int, 0>>;
    if constexpr ((wrong<X> || ...)) {
      return pass_on<owner>(X{}...);
    } else if constexpr (N < 1) {
      return poison<no_iterations, owner, fact::in<Name>, fact::iterations<N>>{};
    } else if constexpr (first::broken) {
      return rejected{};
    } else if constexpr (!first::invocable) {
      return poison<no_function_of_index, owner, fact::in<Name>, fact::given<Body>>{};
    } else if constexpr (wrong<layer_at<0>>) {
      return pass_on<owner>(layer_at<0>{});
    } else if constexpr (!std::is_class_v<layer_at<0>> || an_expression<layer_at<0>>) {
      return poison<no_function_of_index, owner, fact::in<Name>, fact::returned<layer_at<0>>>{};
    } else if constexpr (all_alike(std::make_integer_sequence<int, N>{})) {
      using made = decltype(applied_once<repeat_mark<N, Name>, 0>(x));
      if constexpr (wrong<made> || same_tensors(made{}, x)) return made{};
      else return one_by_one(x);
    } else {
      return one_by_one(x);
    }
  }

  template <int... I>
  static constexpr bool all_alike(std::integer_sequence<int, I...>) {
    for (const bool alike : {std::same_as<layer_at<0>, layer_at<I>>...}) {
      if (!alike) return false;
    }
    return true;
  }
  static constexpr bool same_tensors(auto, auto) { return false; }
  template <class... Y, class... X>
  static constexpr bool same_tensors(std::tuple<Y...>, std::tuple<X...>) {
    return (std::same_as<tensor_of<Y>, tensor_of<X>> && ...);
  }

  /// Body I as a call of that mark: as many values as it is given, or a mistake.
  template <class Mark, int I, class... X>
  static constexpr auto applied_once(std::tuple<X...>) {
    using made = typename as_tuple<decltype(called_silently<Mark, layer_at<I>>(X{}...))>::type;
    using first = std::tuple_element_t<0, made>;
    if constexpr (wrong<first>) return first{};
    else if constexpr (std::tuple_size_v<made> == sizeof...(X)) return made{};
    else
      return []<class... Y>(std::tuple<Y...>) {
        return mistake_in<Mark, as_many_values, owner_of<X...>, fact::arguments<tensor_fact<X>...>,
                          fact::results<tensor_fact<Y>...>>();
      }(made{});
  }

  template <class X>
  static constexpr auto one_by_one(std::tuple<X>) {
    using made = decltype(piped_silently<X, decltype(layers<0, N>())>(X{}));
    return typename as_tuple<made>::type{};
  }
  template <int Begin, int Count>
  static constexpr auto layers() {
    if constexpr (Count > static_cast<int>(max_layers)) {
      return layers<Begin, Count / 2>() | layers<Begin + Count / 2, Count - Count / 2>();
    } else {
      return []<int... I>(std::integer_sequence<int, I...>) {
        return chain<opaque<chain_of<block_layer<name_of<Begin + I>, opaque<layer_at<Begin + I>>>...>>>{};
      }(std::make_integer_sequence<int, Count>{});
    }
  }
  /// Half of them and the other half, so that compilers nest little.
  template <int Begin = 0, int Count = N, class... X>
  static constexpr auto one_by_one(std::tuple<X...> x) {
    if constexpr (Count == 1) {
      return applied_once<block_mark<name_of<Begin>>, Begin>(x);
    } else {
      using begun = decltype(one_by_one<Begin, Count / 2>(x));
      if constexpr (wrong<begun>) return begun{};
      else return one_by_one<Begin + Count / 2, Count - Count / 2>(begun{});
    }
  }
  template <int I>
  static constexpr auto name_of = Name + fixed_string{"."} + digits<I>;
};

template <int N, fixed_string Name, class Body, class... X>
using repeated = surfaced<decltype(repetition<N, Name, Body>::of(std::tuple<X...>{}))>;

template <int N, fixed_string Name, class Body>
struct repeat_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression... X>
    requires(sizeof...(X) > 0)
  constexpr repeated<N, Name, Body, X...> operator()(X...) const {
    return {};
  }
};

/// What a function of the index and values are repeated to.
template <int N, fixed_string Name, class Body, class... A>
struct repeating {
  using type = surfaced<decltype(spread<sizeof...(A)>(misused_silently<function_first, "repeat", Body, A...>()))>;
};
template <int N, fixed_string Name, class Body, an_expression... A>
  requires(!an_expression<Body>)
struct repeating<N, Name, Body, A...> {
  using type = repeated<N, Name, Body, A...>;
};
}  // namespace detail

/// N layers one after another, body(i) the i-th, i a std::integral_constant; parameters get the prefix
/// `Name.i.` Where all bodies are one type and keep the shapes, the whole is one node of the type, so depth
/// costs nothing.
template <int N, fixed_string Name, class Body>
constexpr detail::repeat_layer<N, Name, Body> repeat(Body) {
  return {};
}

/// The same applied to values, of which each layer returns as many: here cell(h, c) returns a std::tuple.
///
///   auto [h, c] = repeat<4, "layer">([](auto) { return cell; }, h0, c0);
template <int N, fixed_string Name, class Body, class First, class... More>
constexpr typename detail::repeating<N, Name, Body, First, More...>::type repeat(Body, First, More...) {
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
