// A layer applied several times, each time with parameters of its own.
#pragma once

#include "cairn/expr/block.hpp"

namespace cairn {

/// N applications of one layer, one node of the type; iteration i prefixes its parameters with `Name.i.`
template <int N, fixed_string Name, class L, class X>
struct repeated : expression {
  using owner = typename X::owner;
  static constexpr cairn::shape shape = X::shape;
  static constexpr element_type element = X::element;
  using body = call<stage_mark, L, detail::stage_input<X::traits.level, tensor_of<X>>>;
  static constexpr expression_traits traits = [] {
    expression_traits f = detail::in_a_row(merged({X::traits}), body::traits);
    f.order += (N - 1) * body::traits.order;
    return f;
  }();
};

namespace detail {
template <class Owner, int N, fixed_string Name, class L, class X>
struct parts_of<Owner, repeated<N, Name, L, X>> {
  using type = std::tuple<seen_from<Owner, X>, seen_from<Owner, typename repeated<N, Name, L, X>::body>>;
};
template <int N, fixed_string Name, class L, class X>
inline constexpr auto known_as<repeated<N, Name, L, X>> = Name;
template <int N, fixed_string Name, class L, class X>
struct rank_from<repeated<N, Name, L, X>> : rank_from<X> {};
template <int N, fixed_string Name, class Body>
struct repeat_layer : layer_base {
  static constexpr fixed_string name = Name;
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
          called<block_mark<Name + fixed_string{".0"}>, layer_at<0>, stage_input<X::traits.level, tensor_of<X>>>;
      if constexpr (!an_expression<once>) return one_by_one(x);
      else if constexpr (wrong<once>) return pass_on<typename X::owner>(once{});
      else if constexpr (once::shape == X::shape && once::element == X::element)
        return repeated<N, Name, layer_at<0>, X>{};
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
        return chain<opaque<
            chain_of<block_layer<Name + fixed_string{"."} + digits<Begin + I>, opaque<layer_at<Begin + I>>>...>>>{};
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
