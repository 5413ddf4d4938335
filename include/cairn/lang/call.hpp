// Applies the body of a function to placeholders. `block`, `ckpt` and each stage of a chain are calls of this kind.
#pragma once

#include "cairn/lang/callable.hpp"
#include "cairn/lang/captured.hpp"

#include <algorithm>
#include <bit>

namespace cairn::lang {

// A mark says what a call means for names and for the passes: whether it is a segment, how many times its body runs,
// and which mistake its policies contain (`void`: none).
struct stage_mark {
  static constexpr bool segment = false;
  /// The number of runs of the body. The first run takes the arguments, and each later run takes the results of the run
  /// before.
  static constexpr int times = 1;
  using problem = void;
};
template <fixed_string Name>
struct block_mark : stage_mark {
  static constexpr fixed_string function = "block";
  static constexpr fixed_string name = Name;
};
struct shared_mark : stage_mark {};
template <int N, fixed_string Name>
struct repeat_mark : stage_mark {
  static constexpr fixed_string name = Name;
  static constexpr int times = N;
};
template <fixed_string Name, class... Policy>
struct segment_mark {
  static constexpr fixed_string function = "ckpt";
  static constexpr fixed_string name = Name;
  static constexpr bool segment = true;
  static constexpr int times = 1;
  using problem = typename wrong_policies<Policy...>::type;
};
/// Segment number `Part` of the `Parts` segments that `ckpt_sequential` cuts a chain into. All have the same policies.
template <fixed_string Name, int Part, int Parts, class... Policy>
struct chain_mark : segment_mark<Name, Policy...> {};

/// The type T that a function returned, as a fact. A class is not spelled out, because its name may be as long as the
/// model.
template <class T>
using returned_fact = fact::returned<std::conditional_t<std::is_class_v<T>, fact::object, T>>;

/// F applied to one placeholder for each of Tensors.
template <class F, int Level, class Indices, class... Tensors>
struct application_of;
template <class F, int Level, std::size_t... I, class... Tensors>
struct application_of<F, Level, std::index_sequence<I...>, Tensors...> {
  using applied = call_check<F, argument<Level, static_cast<int>(I), Tensors, F>...>;
  static constexpr bool has_body_error = applied::has_body_error;
  static constexpr bool invocable = applied::invocable;
  template <class G = F>
  using result = decltype(std::declval<const G&>()(argument<Level, static_cast<int>(I), Tensors, F>{}...));
};

template <class T>
inline constexpr bool is_tuple = false;
template <an_expression... E>
inline constexpr bool is_tuple<std::tuple<E...>> = true;
template <an_expression A, an_expression B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// The body of a call is an expression, or a tuple or pair of expressions.
template <class T>
concept a_body = an_expression<T> || is_tuple<T>;

template <class>
struct as_tuple;
template <an_expression E>
struct as_tuple<E> {
  using type = std::tuple<E>;
};
template <class... E>
struct as_tuple<std::tuple<E...>> {
  using type = std::tuple<E...>;
};
template <class A, class B>
struct as_tuple<std::pair<A, B>> {
  using type = std::tuple<A, B>;
};

/// The facts that a call uses about the values that its body returns: their tensors and their merged traits.
template <class Owner, class Bodies>
struct body_facts;
template <class Owner, class... E>
struct body_facts<Owner, std::tuple<E...>> {
  static constexpr std::array<tensor_type, sizeof...(E)> results{tensor_type{E::shape, E::element}...};
  static constexpr expression_traits traits = merged_traits({E::traits...}, false, (captured<Owner, E> || ...));
};
/// Returns the traits of a call. `t` are the traits of its arguments, `inside` are the traits of its body, and `times`
/// is how often the body runs.
constexpr expression_traits traits_of_call(expression_traits t, const expression_traits& inside, int times) {
  t.height = 1 + std::max(t.height, inside.height);
  t.order += times * inside.order;
  inherit_properties(t, inside);
  t.has_model_parts = true;
  return with_computation(t);
}

/// F applied to arguments. The body of the call is what F returns for placeholders: an expression or a tuple of
/// expressions. The body has a scope of its own.
template <class Mark, class F, an_expression... A>
struct call : expression {
  using owner = owner_of<A...>;
  static constexpr int level = merged_traits({A::traits...}).level + 1;
  using applied = application_of<F, level, std::index_sequence_for<A...>, tensor_of<A>...>;
  using bodies = typename as_tuple<typename applied::template result<>>::type;
  using inner_owner = scope<level, F>;

  using values = body_facts<inner_owner, bodies>;
  static constexpr const auto& results = values::results;
  static constexpr const expression_traits& inside = values::traits;
  static constexpr cairn::shape shape = results[0];
  static constexpr element_type element = results[0].element;
  static constexpr expression_traits traits =
      traits_of_call(merged_traits({A::traits...}, false, (captured<owner, A> || ...)), inside, Mark::times);
};

template <class Mark, class F, class... A>
inline constexpr auto known_as<call<Mark, F, A...>> = known_as<F>;
template <class Mark, class F, class... A>
  requires requires { Mark::name; }
inline constexpr auto known_as<call<Mark, F, A...>> = Mark::name;

/// The expression from which the number of axes of a call comes: the first value of the body, if the call has more axes
/// than its arguments.
template <class Call, class Highest>
using with_as_many_axes = std::conditional_t<(Call::shape.rank > Highest::shape.rank),
                                             std::tuple_element_t<0, typename Call::bodies>, Highest>;
template <class Mark, class F, class... A>
struct axes_origin<call<Mark, F, A...>>
    : axes_origin<with_as_many_axes<call<Mark, F, A...>, typename with_most_axes<A...>::type>> {
  static constexpr bool is_leaf = false;
};

template <class Owner, class Mark, class F, class... A>
struct subexpressions_of<Owner, call<Mark, F, A...>> {
  using made = call<Mark, F, A...>;
  template <class Bodies>
  struct bodies_seen;
  template <class... E>
  struct bodies_seen<std::tuple<E...>> {
    using type = std::tuple<seen_from<Owner, A>..., seen_from<typename made::inner_owner, E>...>;
  };
  using type = typename bodies_seen<typename made::bodies>::type;
};

/// How a mistake gathers names on its way out of a call: a call with a name puts the name in front of the path.
template <class Mark>
struct path_of_mark;
template <fixed_string Name>
struct path_of_mark<block_mark<Name>> {
  template <class P, class Owner>
  using type = typename outward<P, Owner, Name>::type;
};
template <fixed_string Name, class... Policy>
struct path_of_mark<segment_mark<Name, Policy...>> : path_of_mark<block_mark<Name>> {};
template <fixed_string Name, int Part, int Parts, class... Policy>
struct path_of_mark<chain_mark<Name, Part, Parts, Policy...>> : path_of_mark<block_mark<Name>> {};
template <>
struct path_of_mark<stage_mark> {
  template <class P, class Owner>
  using type = typename outward<P, Owner>::type;
};
template <>
struct path_of_mark<shared_mark> : path_of_mark<stage_mark> {};
template <int N, fixed_string Name>
struct path_of_mark<repeat_mark<N, Name>> : path_of_mark<block_mark<Name + fixed_string{".0"}>> {};

/// Returns the mistake of a body as it is seen from outside the call: it belongs to the body `Owner` around the call,
/// and its path begins with the name of the call.
template <class Mark, class Owner, class P>
constexpr auto leave_call(P p) {
  if constexpr (is_poison<P>) return typename path_of_mark<Mark>::template type<P, Owner>{};
  else return p;
}

/// Returns a new mistake in a call with this mark.
template <class Mark, class Misuse, class Owner, class... Facts>
constexpr auto mistake_in() {
  return leave_call<Mark, Owner>(mistake<Misuse, Owner, Facts...>{});
}

/// Returns true if all values of a body belong to the body `Inner` or to the top level, and to no other body.
template <class Inner, class... E>
constexpr bool uses_own_values_only(std::type_identity<std::tuple<E...>>) {
  return ((std::same_as<typename E::owner, top_scope> || std::same_as<typename E::owner, Inner>) && ...);
}
/// Returns the first mistake among the values of a body, or void.
template <class... E>
constexpr auto first_mistake_in(std::type_identity<std::tuple<E...>>) {
  if constexpr ((wrong<E> || ...)) return first_wrong(E{}...);
}

template <class Call, std::size_t... I>
constexpr auto picks(std::index_sequence<I...>) {
  return std::tuple{under_short_name<pick<static_cast<int>(I), Call>>{}...};
}

/// Returns the mistake that F returned something that is no expression. If F returned a tuple, the message shows the
/// first element that is no expression.
template <class Mark, class Owner, class F, class T>
constexpr auto no_body(std::type_identity<T>) {
  return mistake_in<Mark, misuse::not_a_layer, Owner, fact::given<F>, returned_fact<T>>();
}
template <class Mark, class Owner, class F, class First, class... E>
constexpr auto no_body(std::type_identity<std::tuple<First, E...>>) {
  constexpr std::array is_one{an_expression<First>, an_expression<E>...};
  constexpr auto at = std::ranges::find(is_one, false) - is_one.begin();
  using element = std::tuple_element_t<static_cast<std::size_t>(at), std::tuple<First, E...>>;
  return mistake_in<Mark, misuse::no_expression_in_tuple, Owner, fact::given<F>, fact::element<at>,
                    returned_fact<element>>();
}
template <class Mark, class Owner, class F, class A, class B>
constexpr auto no_body(std::type_identity<std::pair<A, B>>) {
  return no_body<Mark, Owner, F>(std::type_identity<std::tuple<A, B>>{});
}

/// The number of results of a body.
template <class Body>
inline constexpr std::size_t body_size = 1;
template <class... E>
inline constexpr std::size_t body_size<std::tuple<E...>> = sizeof...(E);
template <class A, class B>
inline constexpr std::size_t body_size<std::pair<A, B>> = 2;

/// Returns the mistake in a call of F with the given mark, or `sound`.
template <class Mark, class F, an_expression... A>
constexpr auto problem_of_call(A... args) {
  using owner = owner_of<A...>;
  constexpr int level = merged_traits({A::traits...}).level + 1;
  using applied = application_of<F, level, std::index_sequence_for<A...>, tensor_of<A>...>;
  if constexpr ((wrong<A> || ...)) {
    return pass_on<owner>(args...);
  } else if constexpr (!std::is_void_v<typename Mark::problem>) {
    return leave_call<Mark, owner>(typename Mark::problem{});
  } else if constexpr (std::same_as<owner, mixed_scopes>) {
    return mistake_in<Mark, misuse::captured_value, owner>();
  } else if constexpr (applied::has_body_error) {
    return rejected{};
  } else if constexpr (!applied::invocable) {
    return mistake_in<Mark, misuse::not_callable, owner, fact::given<F>, fact::arguments<tensor_fact<A>...>>();
  } else if constexpr (!std::is_empty_v<F>) {
    return mistake_in<Mark, misuse::captures_values, owner, fact::given<F>>();
  } else if constexpr (!a_body<typename applied::template result<>>) {
    return no_body<Mark, owner, F>(std::type_identity<typename applied::template result<>>{});
  } else {
    // The functions are called with a qualified name, because argument-dependent lookup would complete the tuple.
    using bodies = std::type_identity<typename as_tuple<typename applied::template result<>>::type>;
    using problem = decltype(lang::first_mistake_in(bodies{}));
    using made = call<Mark, F, A...>;
    if constexpr (!std::is_void_v<problem>) {
      return leave_call<Mark, owner>(problem{});
    } else if constexpr (!lang::uses_own_values_only<typename made::inner_owner>(bodies{}) ||
                         (Mark::segment && made::inside.recomputes_outside_value)) {
      return leave_call<Mark, owner>(capture_among<typename made::inner_owner, owner>(bodies{}));
    } else if constexpr (Mark::segment && made::inside.detached) {
      return mistake_in<Mark, misuse::detached_in_segment, owner>();
    } else if constexpr (made::traits.height > max_height) {
      return mistake_in<Mark, misuse::expression_too_large, owner, fact::height<made::traits.height>>();
    } else if constexpr (constexpr int unused = std::countr_one(made::inside.arguments_read);
                         Mark::segment && unused < static_cast<int>(sizeof...(A))) {
      return mistake_in<Mark, misuse::unused_argument, owner, fact::argument<unused>,
                        fact::arguments<tensor_fact<A>...>>();
    } else {
      return sound{};
    }
  }
}

template <class>
using rejected_for = rejected;
/// Returns the type that F returns for arguments like A, or void if F cannot be called with them. If an argument is a
/// mistake, only the number of results is used. If another mistake is known, F is not looked at.
template <class Mark, class F, an_expression... A>
constexpr auto body_for() {
  constexpr int level = merged_traits({A::traits...}).level + 1;
  using applied = application_of<F, level, std::index_sequence_for<A...>, tensor_of<A>...>;
  if constexpr ((wrong<A> || ...)) {
    if constexpr (std::is_empty_v<F> && std::is_invocable_v<const F&, rejected_for<A>...>)
      return std::type_identity<std::invoke_result_t<const F&, rejected_for<A>...>>{};
    else return std::type_identity<void>{};
  } else if constexpr (!std::is_void_v<typename Mark::problem> || std::same_as<owner_of<A...>, mixed_scopes>) {
    return std::type_identity<void>{};
  } else if constexpr (!applied::has_body_error && applied::invocable) {
    return std::type_identity<typename applied::template result<>>{};
  } else {
    return std::type_identity<void>{};
  }
}

/// The form of F applied to arguments as a call with the given mark. If the body has several results, a mistake takes
/// the place of all of them.
template <class Mark, class F>
struct call_form : free_form<"", misuse::not_callable> {
  template <an_expression... A>
  static constexpr auto of(A... args) {
    using problem = decltype(problem_of_call<Mark, F>(args...));
    using body = typename decltype(body_for<Mark, F, A...>())::type;
    if constexpr (!std::same_as<problem, sound>) return in_place_of_results<body_size<body>>(problem{});
    else if constexpr (is_tuple<body>) return picks<call<Mark, F, A...>>(std::make_index_sequence<body_size<body>>{});
    else return under_short_name<call<Mark, F, A...>>{};
  }
};

/// The type of F applied to arguments as a call with the given mark: an expression, or a tuple of expressions. A
/// mistake is reported.
template <class Mark, class F, class... A>
using called = applied<call_form<Mark, F>, A...>;

}  // namespace cairn::lang
