// Applies operations to expressions. The result is an expression, or a mistake if the arguments do not fit.
#pragma once

#include "cairn/lang/mistake.hpp"
#include "cairn/lang/operation.hpp"

namespace cairn::lang {

/// Is true if E is a constant. A constant takes the type of the other arguments of an operation.
template <class E>
inline constexpr bool is_constant = false;
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
  using type = fact::axes_added_by<application_text<Op, A...>()>;
};

/// Is true if Op has a kernel that computes. The arguments of such an operation have no rounded types, except bf16 if
/// `accepts_as_bf16` is true: only fused loops convert the types of users, and few kernels know bf16.
template <class Op>
inline constexpr bool has_kernel = !Op::elementwise && !Op::view && !Op::mapped && Op::stands_for(true) < 0;

/// Is true if the kernel of Op accepts bf16 that the user asked for with `as<bf16>`. A kernel does not accept bf16 here
/// if its first or second result is a sum or a statistic, because sums and statistics are float32.
template <class Op>
inline constexpr bool accepts_as_bf16 = Op::takes_bf16(0) && !Op::sums(0) && !Op::sums(1);

/// The demands of an operation on its arguments, which do not depend on the arguments of one application.
struct demands {
  kind (*argument_kind)(int);
  next_state (*becomes)(int);
  // `rounded_types`: real numbers may have any rounded type, which is bf16 or a type of a user.
  // `accepts_bf16`: real numbers may be bf16.
  bool rounded_types, accepts_bf16;
};
/// Returns the type that argument number i must have. If the argument has this type already, the argument is sound.
///
/// The arguments that may be of any kind (`kind::any`) must all have the type of the first of them that is no constant.
/// A constant fits if that type is real.
constexpr dtype required_type(const argument_facts* arguments, int count, int i, const demands& wanted) {
  const dtype type = arguments[i].element.type;
  const kind wanted_kind = wanted.argument_kind(i);
  if (wanted_kind == kind::any) {
    for (int k = 0; k < count; ++k) {
      if (wanted.argument_kind(k) != kind::any || arguments[k].is_constant) continue;
      const dtype first = arguments[k].element.type;
      return arguments[i].is_constant && kind_of(first) == kind::real ? type : first;
    }
    return type;
  }
  const bool known = !is_rounded(type) || wanted.rounded_types || (type == dtype::bf16 && wanted.accepts_bf16);
  return wanted_kind == kind_of(type) && known ? type
         : wanted_kind == kind::whole          ? dtype::i32
         : wanted_kind == kind::key            ? dtype::key
                                               : dtype::real;
}

/// What is wrong with the arguments of an operation, and the index of the argument that is wrong.
struct verdict {
  enum : std::uint8_t { sound, kinds, types, states, shapes, index_bounds } fault = sound;
  int argument = 0;
};
/// Judges everything that does not depend on shapes: kinds, then types, then states.
constexpr verdict judge_arguments(const argument_facts* arguments, int count, const demands& wanted) {
  for (int i = 0; i < count; ++i) {
    if (required_type(arguments, count, i, wanted) != arguments[i].element.type) return {verdict::kinds, i};
  }
  if (!find_common_type(arguments, static_cast<std::size_t>(count)).agree) return {verdict::types};
  for (int i = 0; i < count; ++i) {
    const next_state next = wanted.becomes(i);
    if (!arguments[i].is_updatable && (next.result >= 0 || next.argument >= 0)) return {verdict::states, i};
  }
  return {};
}
template <class Op>
inline constexpr demands demands_of{&Op::argument_kind, &Op::becomes, !has_kernel<Op>, accepts_as_bf16<Op>};
/// Judges kinds, types and states, then shapes, then the bounds of indices.
template <class Op, class... A>
constexpr verdict judge_application() {
  constexpr auto& arguments = facts_of<A...>;
  constexpr verdict first = judge_arguments(arguments, sizeof...(A), demands_of<Op>);
  if constexpr (first.fault == verdict::sound) {
    for (const tensor_type& result : results_of<Op, A...>) {
      if (!result.valid()) return {verdict::shapes};
    }
    for (int i = 0; i < static_cast<int>(sizeof...(A)); ++i) {
      const int extent = Op::extent_indexed(i, tensor_type{A::shape, A::element}...),
                bound = arguments[i].element.bound;
      if (extent > 0 && (bound < 1 || bound > extent)) return {verdict::index_bounds, i};
    }
  }
  return first;
}
template <class Op, class... A>
inline constexpr verdict verdict_of = judge_application<Op, A...>();

template <class Op, class Owner, class... A, std::size_t... I>
constexpr auto wrong_kinds(std::index_sequence<I...>) {
  return mistake<
      misuse::kind_mismatch, Owner, fact::operation<Op::name, tensor_fact<A>...>,
      fact::takes<typename shown_element<required_type(facts_of<A...>, sizeof...(A), I, demands_of<Op>)>::type...>>{};
}

/// Argument number I with the shape that the user wrote.
template <class Op, class A, std::size_t I>
struct shown_argument {
  static constexpr cairn::shape shape = Op::shown(I, A::shape);
  static constexpr element_type element = A::element;
};
template <class Op, class Owner, int I, class... A>
constexpr auto index_out_of_bounds() {
  constexpr int bound = std::array{A::element.bound...}[I];
  return mistake<misuse::bound_above_extent, Owner, fact::operation<Op::name, tensor_fact<A>...>, fact::bound<bound>>{};
}

/// Returns a fact that a message shows in addition to the arguments that have wrong shapes, or an empty tuple. The fact
/// is what the operation asks for (`Op::asked`). Without `Op::asked`, if the arguments have different numbers of axes,
/// the fact names the leaf or the operation from which the additional axes come.
template <class Op, class... A>
constexpr auto reason_of_shapes() {
  using widest = typename with_most_axes<A...>::type;
  if constexpr (requires { typename Op::asked; }) return std::tuple<std::type_identity<typename Op::asked>>{};
  else if constexpr (!axes_origin<widest>::is_leaf && ((widest::shape.rank > A::shape.rank) || ...))
    return std::tuple<std::type_identity<typename axes_origin<widest>::type>>{};
  else return std::tuple<>{};
}
/// The misuse that is reported if the shapes of the arguments do not fit.
template <class Op>
struct shape_rule_of {
  using type = misuse::unsaid;
};
template <class Op>
  requires requires { typename Op::rule; }
struct shape_rule_of<Op> {
  using type = typename Op::rule;
};
template <class Op, class Owner, class... A, std::size_t... I>
constexpr auto wrong_shapes(std::index_sequence<I...>) {
  using what = fact::operation<application_text<Op, A...>(), tensor_fact<shown_argument<Op, A, I>>...>;
  return []<class... Reason>(std::tuple<std::type_identity<Reason>...>) {
    return mistake<typename shape_rule_of<Op>::type, Owner, what, Reason...>{};
  }(reason_of_shapes<Op, A...>());
}

template <class E, std::size_t... I>
constexpr auto tuple_of_results(std::index_sequence<I...>) {
  return std::tuple{shortened<pick<static_cast<int>(I), E>>{}...};
}

/// Returns mistake p in place of N results. For `auto [y, m] = ...` the result is a tuple of N values. The first value
/// is the mistake and reports it; the other values are silent.
template <std::size_t N, class P>
constexpr auto in_place_of_results(P p) {
  if constexpr (N == 1) {
    return p;
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<std::conditional_t<I == 0, P, rejected>...>{};
    }(std::make_index_sequence<N>{});
  }
}

template <class Op, class Owner, verdict Found, class... A>
constexpr auto mistake_found() {
  using what = fact::operation<Op::name, tensor_fact<A>...>;
  constexpr std::index_sequence_for<A...> each;
  if constexpr (Found.fault == verdict::kinds) return wrong_kinds<Op, Owner, A...>(each);
  else if constexpr (Found.fault == verdict::types) return mistake<misuse::different_types, Owner, what>{};
  else if constexpr (Found.fault == verdict::states) return mistake<misuse::no_state, Owner, what>{};
  else if constexpr (Found.fault == verdict::shapes) return wrong_shapes<Op, Owner, A...>(each);
  else return index_out_of_bounds<Op, Owner, Found.argument, A...>();
}
/// Returns Op(args...), or a mistake that is not reported here. The caller builds a larger expression and reports the
/// mistake of the whole.
template <class Op, class... A>
constexpr auto made_silently(A... args) {
  using owner = owner_of<A...>;
  if constexpr (!an_operation_on<Op, A...>) {
    if constexpr ((wrong<A> || ...)) return pass_on<owner>(args...);
    else return mistake<misuse::no_operation, owner, fact::operation<Op::name, tensor_fact<A>...>>{};
  } else if constexpr ((wrong<A> || ...)) {
    return in_place_of_results<result_count<Op, A...>>(pass_on<owner>(args...));
  } else if constexpr (std::same_as<owner, mixed_scopes>) {
    using what = fact::operation<Op::name, tensor_fact<A>...>;
    return in_place_of_results<result_count<Op, A...>>(mistake<misuse::captured_value, owner, what>{});
  } else if constexpr (verdict_of<Op, A...>.fault != verdict::sound) {
    return in_place_of_results<result_count<Op, A...>>(mistake_found<Op, owner, verdict_of<Op, A...>, A...>());
  } else if constexpr (expr<Op, A...>::traits.height > max_height) {
    using height = fact::height<expr<Op, A...>::traits.height>;
    return in_place_of_results<result_count<Op, A...>>(
        mistake<misuse::expression_too_large, owner, fact::operation<Op::name, tensor_fact<A>...>, height>{});
  } else if constexpr (results_of<Op, A...>.size() > 1) {
    return tuple_of_results<expr<Op, A...>>(std::make_index_sequence<results_of<Op, A...>.size()>{});
  } else {
    return shortened<expr<Op, A...>>{};
  }
}

/// Base of a form that takes `Count` expressions as arguments. All else that the form needs stands in <...>. If the
/// number of arguments is wrong, `Misuse` is reported.
template <fixed_string Name, std::size_t Count, class Misuse>
struct form_of {
  static constexpr fixed_string name = Name;
  using reported = Misuse;
  template <class... A>
  static constexpr bool fits = sizeof...(A) == Count;
};
template <fixed_string Name>
using form_of_one = form_of<Name, 1, misuse::axes_as_arguments>;
template <fixed_string Name>
using form_of_two = form_of<Name, 2, misuse::two_arguments>;
/// Base of a form for which the arguments in <...> are missing or wrong. No number of arguments fits.
template <fixed_string Name>
using unfit_form = form_of<Name, std::size_t(-1), misuse::axes_as_arguments>;
/// A form that applies the operation Op.
template <class Op>
struct operation_form {
  static constexpr fixed_string name = Op::name;
  template <class... A>
  static constexpr bool fits = true;
  template <an_expression... A>
  static constexpr auto of(A... args) {
    return made_silently<Op>(args...);
  }
};

/// The misuse that is reported if a form does not take the arguments A. If the number of arguments is right, one of
/// them is a layer or a plain number.
template <class Form, class... A>
struct misuse_of {
  using type = typename Form::reported;
};
template <class Form, class... A>
  requires(Form::template fits<A...>)
struct misuse_of<Form, A...> {
  using type = std::conditional_t<(a_layer<A> || ...), misuse::layer_for_expression, misuse::raw_number>;
};

/// The type that a form makes of its arguments. The primary template has no member `type`, because compilers form the
/// return type of a function before they look at its constraints, also if no argument is an operand.
template <class Form, class... A>
struct application {};
template <class Form, class... A>
  requires(an_operand<A> || ...)
struct application<Form, A...> {
  using silent = decltype(misused_silently<typename misuse_of<Form, A...>::type, Form::name, A...>());
  using type =
      typename std::conditional_t<(an_expression<A> || ...), surfacing<silent>, surfacing_at_once<silent>>::type;
};
template <class Form, an_expression First, class... A>
  requires(Form::template fits<First, A...> && requires { Form::of(First{}, A{}...); })
struct application<Form, First, A...> {
  using silent = decltype(Form::of(First{}, A{}...));
  using type = surfaced<silent>;
};

/// The type of Form(args...), or the type of the mistake if the form does not take the arguments. A form has
/// - `name`: the name that messages show,
/// - `fits<A...>`: true if the number of arguments is right,
/// - `reported`: the misuse that is reported if the number is wrong,
/// - `of(args...)`: makes a value from expressions.
template <class Form, class... A>
using applied = typename application<Form, A...>::type;

/// The type of Op(args...), which is a tuple if Op has several results. If Op does not take the arguments, this is the
/// type of the mistake.
template <class Op, class... A>
using made = applied<operation_form<Op>, A...>;
/// The type of Op(args...) without a report of its mistake. A function that composes several operations uses this type
/// and reports once for all of them: `surfaced<unreported<Op, ...>>`.
template <class Op, class... A>
using unreported = typename application<operation_form<Op>, A...>::silent;

/// Returns the expression Op(args...), or a tuple if Op has several results.
template <class Op, an_expression... A>
constexpr made<Op, A...> make(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::made, lang::make;
}  // namespace cairn
