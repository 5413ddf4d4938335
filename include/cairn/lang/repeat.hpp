// Applies layers one after another, each with parameters of its own.
#pragma once

#include "cairn/lang/block.hpp"

namespace cairn::lang {

/// The form of `repeat`: applies N bodies one after another.
template <int N, fixed_string Name, class Body>
struct repeat_form : free_form<"repeat", misuse::function_first> {
  template <int I>
  using layer_at = std::remove_cvref_t<decltype(std::declval<const Body&>()(std::integral_constant<int, I>{}))>;

  /// Returns the values of the last body. There are as many values as the first body takes. Takes arguments of all
  /// types, so that a mistake can take the place of all values.
  template <class... X>
  static constexpr auto of(X... x) {
    using made = decltype(repeated(std::tuple<X...>{x...}));
    if constexpr (wrong<made>) return in_place_of_results<sizeof...(X)>(made{});
    else if constexpr (sizeof...(X) == 1) return std::tuple_element_t<0, made>{};
    else return made{};
  }

 private:
  template <class... X>
  static constexpr auto repeated(std::tuple<X...> x) {
    using owner = typename owner_among<showing<X>...>::type;
    using first = call_check<Body, std::integral_constant<int, 0>>;
    if constexpr (an_expression<Body> || !(an_expression<X> && ...)) {
      return mistaken_call<misuse::function_first, "repeat", Body, X...>();
    } else if constexpr ((wrong<X> || ...)) {
      return pass_on<owner>(X{}...);
    } else if constexpr (N < 1) {
      return poison<misuse::no_iterations, owner, fact::in<Name>, fact::iterations<N>>{};
    } else if constexpr (first::has_body_error) {
      return rejected{};
    } else if constexpr (!first::invocable) {
      return poison<misuse::no_function_of_index, owner, fact::in<Name>, fact::given<Body>>{};
    } else if constexpr (wrong<layer_at<0>>) {
      return pass_on<owner>(layer_at<0>{});
    } else if constexpr (!std::is_class_v<layer_at<0>> || an_expression<layer_at<0>>) {
      return poison<misuse::no_function_of_index, owner, fact::in<Name>, fact::returned<layer_at<0>>>{};
    } else if constexpr (all_alike(std::make_integer_sequence<int, N>{})) {
      using made = decltype(applied_once<repeat_mark<N, Name>, 0>(x));
      if constexpr (wrong<made> || same_tensors(made{}, x)) return made{};
      else return one_by_one(x);
    } else {
      return one_by_one(x);
    }
  }

  /// Returns true if all bodies have the same type.
  template <int... I>
  static constexpr bool all_alike(std::integer_sequence<int, I...>) {
    for (const bool alike : {std::same_as<layer_at<0>, layer_at<I>>...}) {
      if (!alike) return false;
    }
    return true;
  }
  /// Returns true if a body returns values with the tensors that it takes.
  static constexpr bool same_tensors(auto, auto) { return false; }
  template <class... Y, class... X>
  static constexpr bool same_tensors(std::tuple<Y...>, std::tuple<X...>) {
    return (std::same_as<tensor_of<Y>, tensor_of<X>> && ...);
  }

  /// Returns body I as a call with the given mark, or a mistake. The body must return as many values as it takes.
  template <class Mark, int I, class... X>
  static constexpr auto applied_once(std::tuple<X...>) {
    using made = typename as_tuple<decltype(call_form<Mark, layer_at<I>>::of(X{}...))>::type;
    using first = std::tuple_element_t<0, made>;
    if constexpr (wrong<first>) return first{};
    else if constexpr (std::tuple_size_v<made> == sizeof...(X)) return made{};
    else
      return []<class... Y>(std::tuple<Y...>) {
        return mistake_in<Mark, misuse::as_many_values, owner_of<X...>, fact::arguments<tensor_fact<X>...>,
                          fact::results<tensor_fact<Y>...>>();
      }(made{});
  }

  /// Applies different bodies to one value, as a chain.
  template <class X>
  static constexpr auto one_by_one(std::tuple<X>) {
    using made = decltype(pipe_form<decltype(layers<0, N>())>::of(X{}));
    return typename as_tuple<made>::type{};
  }
  template <int Begin, int Count>
  static constexpr auto layers() {
    if constexpr (Count > static_cast<int>(max_layers)) {
      return layers<Begin, Count / 2>() | layers<Begin + Count / 2, Count - Count / 2>();
    } else {
      return []<int... I>(std::integer_sequence<int, I...>) {
        return chain<
            opaque<chain_of<call_layer<opaque<block_mark<name_of<Begin + I>>>, opaque<layer_at<Begin + I>>>...>>>{};
      }(std::make_integer_sequence<int, Count>{});
    }
  }
  /// Applies different bodies to several values. The function calls itself for each half of the bodies, so that
  /// templates do not nest deeply.
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
  static constexpr auto name_of = Name + fixed_string{"."} + detail::digits<I>;
};

template <int N, fixed_string Name, class Body>
struct repeat_layer : layer_base {
  static constexpr fixed_string name = Name;
  template <an_expression... X>
    requires(sizeof...(X) > 0)
  constexpr applied<repeat_form<N, Name, Body>, X...> operator()(X...) const {
    return {};
  }
};

/// A layer that applies N layers one after another. Layer number i is body(i), where i is a std::integral_constant. Its
/// parameters get the prefix `Name.i.`. If all layers have the same type and keep the shapes of their arguments, the
/// repetition is one node in the type of the model, so that depth costs no compile time there.
template <int N, fixed_string Name, class Body>
constexpr repeat_layer<N, Name, Body> repeat(Body) {
  return {};
}

/// Applies N layers one after another to values. Each layer returns as many values as it takes. In the example,
/// cell(h, c) returns a std::tuple of two values:
///
///   auto [h, c] = repeat<4, "layer">([](auto) { return cell; }, h0, c0);
template <int N, fixed_string Name, class Body, class First, class... More>
constexpr applied<repeat_form<N, Name, Body>, First, More...> repeat(Body, First, More...) {
  return {};
}

/// Reports that the name is missing.
template <int N, class... A>
constexpr nameless<"repeat", A...> repeat(A...) {
  return {};
}
/// Reports a call with a name but without the number of layers in front of it.
template <fixed_string Name, int... N, class... A>
constexpr nameless<"repeat", A...> repeat(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::repeat;
}  // namespace cairn
