// Finds the value that a body uses although the value is neither its own nor its argument. The value is needed for a
// message only, so only models with this mistake are searched.
#pragma once

#include "cairn/lang/leaf.hpp"
#include "cairn/lang/policy.hpp"

namespace cairn::lang {

/// An expression E that the body Owner uses.
template <class Owner, class E>
struct seen_from {};

/// The expressions that E is made of, as a std::tuple of seen_from. `Owner` is the body that uses E. Every kind of
/// expression that is made of others specializes this template.
template <class Owner, class E>
struct subexpressions_of {
  using type = std::tuple<>;
};
template <class Owner, class Op, class... A>
struct subexpressions_of<Owner, expr<Op, A...>> {
  using type = std::tuple<seen_from<Owner, A>...>;
};
template <class Owner, int I, class E>
struct subexpressions_of<Owner, pick<I, E>> {
  using type = std::tuple<seen_from<Owner, E>>;
};
template <class Owner, class Opaque>
struct subexpressions_of<Owner, renamed<Opaque>> : subexpressions_of<Owner, revealed<Opaque>> {};
template <class Owner, fixed_string Name, class X>
struct subexpressions_of<Owner, tagged<Name, X>> {
  using type = std::tuple<seen_from<Owner, X>>;
};

/// Returns the first expression for which Wanted is true, or void. Searches the given expressions and all that they are
/// made of, in depth.
template <class Wanted, class... Seen>
constexpr auto first_match_in(std::tuple<Seen...>);
template <class Wanted, class Owner, class E>
constexpr auto first_match_of(seen_from<Owner, E>) {
  if constexpr (Wanted::template is<Owner, E>) return std::type_identity<E>{};
  else return first_match_in<Wanted>(typename subexpressions_of<Owner, E>::type{});
}
template <class Wanted>
constexpr auto first_match() {
  return std::type_identity<void>{};
}
template <class Wanted, class First, class... Rest>
constexpr auto first_match() {
  using found = decltype(first_match_of<Wanted>(First{}));
  if constexpr (std::is_void_v<typename found::type>) return first_match<Wanted, Rest...>();
  else return found{};
}
template <class Wanted, class... Seen>
constexpr auto first_match_in(std::tuple<Seen...>) {
  return first_match<Wanted, Seen...>();
}

struct stage_scope;  // the scope of the inputs of the stages of a chain
/// Is true for a value that the body Owner must not use: a value computed from an input outside of all bodies, or an
/// argument of another body.
struct is_forbidden_value {
  template <class Scope, class... Known>
  static constexpr bool none_of = !(std::same_as<Scope, Known> || ...);
  template <class Owner, class E>
  static constexpr bool is =
      captured<Owner, E> || none_of<typename E::owner, top_scope, mixed_scopes, stage_scope, Owner>;
};
/// The fact that names an input in a message. For anything that is no input there is no fact.
template <class E>
struct input_fact {
  using type = std::tuple<>;
};
template <fixed_string Name, int... Extents>
struct input_fact<input_leaf<Name, Extents...>> {
  using type = std::tuple<about<fact::input, Name>>;
};
template <fixed_string Name, int Bound, int... Extents>
struct input_fact<indices_leaf<Name, Bound, Extents...>> {
  using type = std::tuple<about<fact::input, Name>>;
};
struct is_input_leaf {
  template <class, class E>
  static constexpr bool is = !std::same_as<typename input_fact<E>::type, std::tuple<>>;
};

/// The fact that shows a value in a message: the operation that computes the value if its type tells the operation,
/// otherwise the tensor of the value.
template <class E>
struct operation_fact {
  using type = std::tuple<fact::given<tensor_fact<E>>>;
};
template <class Op, class... A>
struct operation_fact<expr<Op, A...>> {
  using type = std::tuple<fact::operation<Op::name, tensor_fact<A>...>>;
};
template <class Opaque>
struct operation_fact<renamed<Opaque>> : operation_fact<revealed<Opaque>> {};
template <class Owner, class... Facts>
struct capture;
template <class Owner, class... A, class... B>
struct capture<Owner, std::tuple<A...>, std::tuple<B...>> {
  using type = mistake<misuse::captured_value, Owner, A..., B...>;
};
/// Returns the mistake of a body `Inner` that uses a value which it must not use. E are the values that the body
/// returns. The message shows the forbidden value and the input from which it is computed, if they are found.
template <class Inner, class Owner, class... E>
constexpr auto capture_among(std::type_identity<std::tuple<E...>>) {
  using value = typename decltype(first_match<is_forbidden_value, seen_from<Inner, E>...>())::type;
  if constexpr (std::is_void_v<value>) {
    return mistake<misuse::captured_value, Owner>{};
  } else {
    using input = typename decltype(first_match<is_input_leaf, seen_from<top_scope, value>>())::type;
    return typename capture<Owner, typename operation_fact<value>::type, typename input_fact<input>::type>::type{};
  }
}

}  // namespace cairn::lang
