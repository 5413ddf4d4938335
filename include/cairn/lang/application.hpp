// An operation that is applied to arguments, as an expression: its tensors, its results, and its text in messages.
#pragma once

#include "cairn/lang/form.hpp"
#include "cairn/lang/operation.hpp"

namespace cairn::lang {

/// Is true if E is a constant. A constant takes the type of the other arguments of an operation.
template <class E>
inline constexpr bool is_constant = false;
template <class E>
inline constexpr bool is_constant<quiet<E>> = is_constant<E>;
/// Is true if E is a state. Training steps update states, and calls of a predictor update caches. A frozen parameter is
/// the same kind of leaf and counts as a state.
template <class E>
inline constexpr bool is_updatable = false;
/// Is true if E is a cache: a state of a predictor. Calls of the predictor update a cache, training steps do not.
template <class E>
inline constexpr bool is_cache = false;

/// The facts about one argument that decide whether an operation accepts the argument.
struct argument_facts {
  element_type element;
  bool is_constant, is_updatable;
};
template <class... A>
inline constexpr argument_facts facts_of[]{{A::element, is_constant<A>, is_updatable<A>}...};

/// The type of the arguments that are real numbers. Constants do not count.
struct common_type {
  dtype type = dtype::real;  ///< the type of the first of these arguments
  bool agree = true;         ///< all of these arguments have this type
};
constexpr common_type find_common_type(const argument_facts* arguments, std::size_t count) {
  common_type common;
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    const dtype type = arguments[i].element.type;
    if (kind_of(type) != kind::real || arguments[i].is_constant) continue;
    common.agree &= !any || common.type == type;
    if (!any) common.type = type;
    any = true;
  }
  return common;
}
template <class... A>
inline constexpr dtype common_type_of = find_common_type(facts_of<A...>, sizeof...(A)).type;

/// Returns the tensor of argument E. A constant has the type `common`, which is the type of the other arguments.
template <class E>
constexpr tensor_type argument_tensor(dtype common) {
  return {E::shape, is_constant<E> ? element_type{common} : E::element};
}

/// Turns what `Op::result` returns into an array of tensors, one for each result. A bare shape gets the type `common`.
constexpr std::array<tensor_type, 1> as_list(const shape& s, dtype common) { return {tensor_type(s, {common})}; }
constexpr std::array<tensor_type, 1> as_list(const tensor_type& t, dtype) { return {t}; }
template <std::size_t N>
constexpr auto as_list(const std::array<shape, N>& shapes, dtype common) {
  std::array<tensor_type, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = {shapes[i], {common}};
  return out;
}
template <std::size_t N>
constexpr auto as_list(const std::array<tensor_type, N>& tensors, dtype) {
  return tensors;
}
/// Op is an operation that can be given this number of arguments: `Op::result` accepts their tensors.
template <class Op, class... A>
concept an_operation_on =
    std::derived_from<Op, op> && requires { as_list(Op::result(argument_tensor<A>(dtype{})...), dtype{}); };
/// The tensors of all results of Op on arguments A. Each A needs only a shape and an element.
template <class Op, class... A>
inline constexpr auto results_of =
    as_list(Op::result(argument_tensor<A>(common_type_of<A...>)...), common_type_of<A...>);
/// The number of results of Op. Only the type of `Op::result` is used and not its value, because the value does not
/// exist if an argument is a mistake.
template <class Op, class... A>
inline constexpr std::size_t result_count =
    std::tuple_size_v<decltype(as_list(Op::result(argument_tensor<A>(dtype{})...), dtype{}))>;
/// Result number I as a type with a shape and an element.
template <class Op, int I, class... A>
struct result_tensor {
  static constexpr cairn::shape shape = results_of<Op, A...>[I];
  static constexpr element_type element = results_of<Op, A...>[I].element;
};

/// An operation applied to expressions. As an expression, its value is the first result.
template <class Op, class... A>
struct expr : expression {
  using owner = owner_of<A...>;
  static constexpr const auto& results = results_of<Op, A...>;
  static constexpr cairn::shape shape = results[0];
  static constexpr element_type element = results[0].element;
  static constexpr expression_traits traits = with_computation(
      merged_traits({A::traits...}, Op::detaches, (captured<owner, A> || ...)), !Op::view && !Op::mapped);
};

/// Result number I of an expression that has several results.
template <int I, class E>
struct pick : expression {
  using owner = typename E::owner;
  static constexpr cairn::shape shape = E::results[I];
  static constexpr element_type element = E::results[I].element;
  static constexpr expression_traits traits = E::traits;
};

/// Returns the text of an operation with its arguments, for example "add(x, fc1)". If the text is so long that clang
/// would cut it, returns the name of the operation alone.
template <class Op, class First, class... Rest>
constexpr auto application_text() {
  constexpr auto arguments = (known_as<First> + ... + (fixed_string{", "} + known_as<Rest>));
  constexpr auto whole = Op::name + fixed_string{"("} + arguments + fixed_string{")"};
  if constexpr (sizeof(whole.text) <= most_shown + 1) return whole;
  else return Op::name;
}
template <class Op, class... A>
inline constexpr auto known_as<expr<Op, A...>> = Op::name;
/// The result of an operation that only moves elements (one that counts zero flops) is called by the name of its
/// argument.
template <class Op, class X>
  requires requires { requires Op::flops(X::shape) == 0; }
inline constexpr auto known_as<expr<Op, X>> = known_as<X>;
template <int I, class E>
inline constexpr auto known_as<pick<I, E>> = known_as<E>;

/// The expression with the most axes; the first one, if several have the most.
template <class E, class... A>
struct with_most_axes {
  using type = E;
};
template <class E, class First, class... Rest>
struct with_most_axes<E, First, Rest...>
    : with_most_axes<std::conditional_t<(First::shape.rank > E::shape.rank), First, E>, Rest...> {};
template <int I, class E>
struct axes_origin<pick<I, E>> : axes_origin<E> {};
template <class Op, class... A>
struct axes_origin<expr<Op, A...>> : axes_origin<typename with_most_axes<A...>::type> {
  static constexpr bool is_leaf = false;
};
template <class Op, class... A>
  requires(expr<Op, A...>::shape.rank > with_most_axes<A...>::type::shape.rank)
struct axes_origin<expr<Op, A...>> {
  static constexpr bool is_leaf = false;
  using type = fact::axes_come_from<application_text<Op, A...>()>;
};

}  // namespace cairn::lang
