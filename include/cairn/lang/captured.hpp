// Which value a body uses that is neither its own nor its argument: for messages, so only mistaken models are searched.
#pragma once

#include "cairn/lang/leaf.hpp"
#include "cairn/lang/policy.hpp"

namespace cairn::detail {

/// An expression seen from the body Owner.
template <class Owner, class E>
struct seen_from {};

/// What E is made of, seen from Owner: a std::tuple of seen_from. Expressions that have parts specialize it.
template <class Owner, class E>
struct parts_of {
  using type = std::tuple<>;
};
template <class Owner, class Op, class... A>
struct parts_of<Owner, expr<Op, A...>> {
  using type = std::tuple<seen_from<Owner, A>...>;
};
template <class Owner, int I, class E>
struct parts_of<Owner, pick<I, E>> {
  using type = std::tuple<seen_from<Owner, E>>;
};
template <class Owner, class Opaque>
struct parts_of<Owner, renamed<Opaque>> : parts_of<Owner, revealed<Opaque>> {};
template <class Owner, fixed_string Name, class X>
struct parts_of<Owner, tagged<Name, X>> {
  using type = std::tuple<seen_from<Owner, X>>;
};

/// The first of these that Wanted is true of, or void.
template <class Wanted, class... Seen>
constexpr auto first_part(std::tuple<Seen...>);
template <class Wanted, class Owner, class E>
constexpr auto first_seen(seen_from<Owner, E>) {
  if constexpr (Wanted::template is<Owner, E>) return std::type_identity<E>{};
  else return first_part<Wanted>(typename parts_of<Owner, E>::type{});
}
template <class Wanted>
constexpr auto first_of() {
  return std::type_identity<void>{};
}
template <class Wanted, class First, class... Rest>
constexpr auto first_of() {
  using found = decltype(first_seen<Wanted>(First{}));
  if constexpr (std::is_void_v<typename found::type>) return first_of<Wanted, Rest...>();
  else return found{};
}
template <class Wanted, class... Seen>
constexpr auto first_part(std::tuple<Seen...>) {
  return first_of<Wanted, Seen...>();
}

struct stage_scope;  // of the stages of a chain
struct what_is_captured {
  template <class Scope, class... Known>
  static constexpr bool none_of = !(std::same_as<Scope, Known> || ...);
  template <class Owner, class E>
  static constexpr bool is =
      captured<Owner, E> || none_of<typename E::owner, top_scope, mixed_scopes, stage_scope, Owner>;
};
/// What a message says of an input: its name; nothing of what is none.
template <class E>
struct input_shown {
  using type = std::tuple<>;
};
template <fixed_string Name, int... Extents>
struct input_shown<input_leaf<Name, Extents...>> {
  using type = std::tuple<about<fact::input, Name>>;
};
template <fixed_string Name, int Bound, int... Extents>
struct input_shown<indices_leaf<Name, Bound, Extents...>> {
  using type = std::tuple<about<fact::input, Name>>;
};
struct what_is_an_input {
  template <class, class E>
  static constexpr bool is = !std::same_as<typename input_shown<E>::type, std::tuple<>>;
};

/// What a message says of a value: the operation that makes it, where its type tells, else its tensor.
template <class E>
struct operation_shown {
  using type = std::tuple<fact::given<tensor_fact<E>>>;
};
template <class Op, class... A>
struct operation_shown<expr<Op, A...>> {
  using type = std::tuple<fact::operation<Op::name, tensor_fact<A>...>>;
};
template <class Opaque>
struct operation_shown<renamed<Opaque>> : operation_shown<revealed<Opaque>> {};
template <class Owner, class... Facts>
struct capture;
template <class Owner, class... A, class... B>
struct capture<Owner, std::tuple<A...>, std::tuple<B...>> {
  using type = mistake<captured_value, Owner, A..., B...>;
};
/// The mistake of a body Inner that has the values E and uses one that it may not, which the message shows.
template <class Inner, class Owner, class... E>
constexpr auto capture_among(std::type_identity<std::tuple<E...>>) {
  using value = typename decltype(first_of<what_is_captured, seen_from<Inner, E>...>())::type;
  if constexpr (std::is_void_v<value>) {
    return mistake<captured_value, Owner>{};
  } else {
    using input = typename decltype(first_of<what_is_an_input, seen_from<top_scope, value>>())::type;
    return typename capture<Owner, typename operation_shown<value>::type, typename input_shown<input>::type>::type{};
  }
}

}  // namespace cairn::detail
