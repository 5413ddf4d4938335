// Operations applied to expressions: the expression that this is, or the mistake.
#pragma once

#include "cairn/expr/mistake.hpp"
#include "cairn/expr/operation.hpp"

namespace cairn {

namespace detail {
/// Whether E is a constant, which takes the type of what it meets.
template <class E>
inline constexpr bool is_constant = false;
/// Whether E can be updated by a step.
template <class E>
inline constexpr bool is_state = false;

/// The type of the real numbers among arguments, constants apart; `agree` is whether it is one.
struct common_type {
  dtype type = dtype::real;
  bool agree = true;
};
template <class... A>
constexpr common_type common_type_of() {
  common_type common;
  bool any = false;
  const auto meet = [&](dtype t, bool constant) {
    if (kind_of(t) != kind::real || constant) return;
    common.agree &= !any || common.type == t;
    if (!any) common.type = t;
    any = true;
  };
  (meet(A::element.type, is_constant<A>), ...);
  return common;
}

/// The tensor of an argument; of a constant, of the type that the others have.
template <class E>
constexpr tensor_type argument_tensor(dtype common) {
  return {E::shape, is_constant<E> ? element_type{common} : E::element};
}

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
/// What Op makes of arguments that have shape and element.
template <class Op, class... A>
inline constexpr auto results_of = [] {
  constexpr dtype common = common_type_of<A...>().type;
  return as_list(Op::result(argument_tensor<A>(common)...), common);
}();
/// How many there are; asks for no value, for mistakes have none.
template <class Op, class... A>
inline constexpr std::size_t result_count =
    std::tuple_size_v<decltype(as_list(Op::result(argument_tensor<A>(dtype{})...), dtype{}))>;
/// Result number I, as what has a shape and elements.
template <class Op, int I, class... A>
struct result_tensor {
  static constexpr cairn::shape shape = results_of<Op, A...>[I];
  static constexpr element_type element = results_of<Op, A...>[I].element;
};
template <class Op, class... A>
constexpr bool results_valid() {
  for (const tensor_type& result : results_of<Op, A...>) {
    if (!result.valid()) return false;
  }
  return true;
}
}  // namespace detail

/// An operation applied to expressions; its value is the first result.
template <class Op, class... A>
struct expr : expression {
  using owner = owner_of<A...>;
  static constexpr const auto& results = detail::results_of<Op, A...>;
  static constexpr cairn::shape shape = results[0];
  static constexpr element_type element = results[0].element;
  static constexpr expression_traits traits = [] {
    expression_traits t = merged({A::traits...});
    t.detached |= Op::detaches;
    t.captures |= (captured<owner, A> || ...);
    return t;
  }();
};

/// Result number I of an expression that has several.
template <int I, class E>
struct pick : expression {
  using owner = typename E::owner;
  static constexpr cairn::shape shape = E::results[I];
  static constexpr element_type element = E::results[I].element;
  static constexpr expression_traits traits = E::traits;
};

namespace detail {
/// Whether an operation has a kernel that computes: kernels know no types of users, which only loops convert.
template <class Op>
inline constexpr bool has_kernel = !Op::elementwise && !Op::view && !Op::mapped && Op::stands_for(true) < 0;

/// The types that an operation takes in place of these: where it takes numbers of any sort, those of the first such.
template <class Op, class... A>
constexpr auto types_taken() {
  const dtype given[]{A::element.type...};
  std::array<dtype, sizeof...(A)> taken{};
  int first_of_any = -1;
  for (int i = 0; i < static_cast<int>(sizeof...(A)); ++i) {
    const kind wanted = Op::argument_kind(i);
    if (wanted == kind::any && first_of_any < 0) first_of_any = i;
    const bool known = given[i] < dtype::own || !has_kernel<Op>;
    taken[static_cast<std::size_t>(i)] = wanted == kind::any                    ? given[first_of_any]
                                         : wanted == kind_of(given[i]) && known ? given[i]
                                         : wanted == kind::whole                ? dtype::i32
                                         : wanted == kind::key                  ? dtype::key
                                                                                : dtype::real;
  }
  return taken;
}
template <class Op, class... A>
constexpr bool kinds_fit() {
  return types_taken<Op, A...>() == std::array<dtype, sizeof...(A)>{A::element.type...} && common_type_of<A...>().agree;
}

template <class Op, class Owner, class... A, std::size_t... I>
constexpr auto wrong_kinds(std::index_sequence<I...>) {
  using what = fact::operation<Op::name, tensor_fact<A>...>;
  constexpr auto taken = types_taken<Op, A...>();
  if constexpr (!common_type_of<A...>().agree) return mistake<different_types, Owner, what>{};
  else return mistake<kind_mismatch, Owner, what, fact::takes<typename shown_element<taken[I]>::type...>>{};
}

template <class Op, class A, std::size_t I>
struct shown_argument {
  static constexpr cairn::shape shape = Op::shown(I, A::shape);
  static constexpr element_type element = A::element;
};
/// The first argument whose indices are not all positions in what they index, or -1.
template <class Op, class... A, std::size_t... I>
constexpr int first_out_of_reach(std::index_sequence<I...>) {
  int found = -1;
  const auto look = [&](int i, const tensor_type& t) {
    const int extent = Op::extent_indexed(i, tensor_type{A::shape, A::element}...);
    if (found < 0 && extent > 0 && (t.element.bound < 1 || t.element.bound > extent)) found = i;
  };
  (look(static_cast<int>(I), tensor_type{A::shape, A::element}), ...);
  return found;
}
template <class Op, class Owner, int I, class... A>
constexpr auto out_of_reach() {
  constexpr int bound = std::array{A::element.bound...}[I];
  return mistake<bound_above_extent, Owner, fact::operation<Op::name, tensor_fact<A>...>, fact::bound<bound>>{};
}

/// Whether what Op updates are states.
template <class Op, class... A>
constexpr bool updates_states() {
  const bool state[]{is_state<A>...};
  for (int i = 0; i < static_cast<int>(sizeof...(A)); ++i) {
    const next_state next = Op::becomes(i);
    if (!state[i] && (next.result >= 0 || next.argument >= 0)) return false;
  }
  return true;
}

template <class Op, class Owner, class... A, std::size_t... I>
constexpr auto wrong_shapes(std::index_sequence<I...>) {
  using what = fact::operation<Op::name, tensor_fact<shown_argument<Op, A, I>>...>;
  if constexpr (requires { typename Op::asked; }) {
    return mistake<typename Op::rule, Owner, what, typename Op::asked>{};
  } else {
    return mistake<typename Op::rule, Owner, what>{};
  }
}

/// The expression, or a tuple of the results where there are several.
template <class E>
constexpr auto each_result() {
  if constexpr (E::results.size() == 1) {
    return shortened<E>{};
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{shortened<pick<static_cast<int>(I), E>>{}...};
    }(std::make_index_sequence<E::results.size()>{});
  }
}

/// A mistake in place of N results: for `auto [y, m] = ...` as many values, of which the first reports it.
template <std::size_t N, class P>
constexpr auto spread(P p) {
  if constexpr (N == 1) {
    return p;
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<std::conditional_t<I == 0, P, rejected>...>{};
    }(std::make_index_sequence<N>{});
  }
}

template <class Op, class... A>
constexpr auto problem_of_application(A... args) {
  using owner = owner_of<A...>;
  using what = fact::operation<Op::name, tensor_fact<A>...>;
  if constexpr ((wrong<A> || ...)) {
    return pass_on<owner>(args...);
  } else if constexpr (std::same_as<owner, mixed_scopes>) {
    return mistake<captured_value, owner, what>{};
  } else if constexpr (!kinds_fit<Op, A...>()) {
    return wrong_kinds<Op, owner, A...>(std::index_sequence_for<A...>{});
  } else if constexpr (!updates_states<Op, A...>()) {
    return mistake<no_state, owner, what>{};
  } else if constexpr (!results_valid<Op, A...>()) {
    return wrong_shapes<Op, owner, A...>(std::index_sequence_for<A...>{});
  } else if constexpr (first_out_of_reach<Op, A...>(std::index_sequence_for<A...>{}) >= 0) {
    return out_of_reach<Op, owner, first_out_of_reach<Op, A...>(std::index_sequence_for<A...>{}), A...>();
  } else if constexpr (expr<Op, A...>::traits.height > max_height) {
    return mistake<expression_too_large, owner, what, fact::height<expr<Op, A...>::traits.height>>{};
  } else {
    return sound{};
  }
}
/// Op(args...) as a part of something larger, which reports for it.
template <class Op, class... A>
constexpr auto made_silently(A... args) {
  using problem = decltype(problem_of_application<Op>(args...));
  if constexpr (std::same_as<problem, sound>) return each_result<expr<Op, A...>>();
  else return spread<result_count<Op, A...>>(problem{});
}

/// A form of one expression; what else it needs stands in <...>.
template <fixed_string Name>
struct form_of_one {
  static constexpr fixed_string name = Name;
  using misuse = axes_as_arguments;
  template <class... A>
  static constexpr bool fits = sizeof...(A) == 1;
};
/// A form of two expressions.
template <fixed_string Name>
struct form_of_two {
  static constexpr fixed_string name = Name;
  using misuse = two_arguments;
  template <class... A>
  static constexpr bool fits = sizeof...(A) == 2;
};
/// An operation as a form.
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

/// Why a form does not take these.
template <class Form, class... A>
struct misuse_of {
  using type = typename Form::misuse;
};
template <class Form, class... A>
  requires(Form::template fits<A...>)
struct misuse_of<Form, A...> {
  using type = std::conditional_t<(a_layer<A> || ...), layer_for_expression, raw_number>;
};

// No type for what is no operand at all: compilers form return types before they look at constraints.
template <class Form, class... A>
struct application {};
template <class Form, class... A>
  requires(an_operand<A> || ...)
struct application<Form, A...> {
  using silent = decltype(misused_silently<typename misuse_of<Form, A...>::type, Form::name, A...>());
  using type = typename std::conditional_t<(an_expression<A> || ...), surfacing<silent>, surfacing_at_once<silent>>::type;
};
template <class Form, an_expression First, class... A>
  requires(Form::template fits<First, A...> && requires { Form::of(First{}, A{}...); })
struct application<Form, First, A...> {
  using silent = decltype(Form::of(First{}, A{}...));
  using type = surfaced<silent>;
};
}  // namespace detail

/// The type of Form(args...), or of the mistake that it is. A form has a name, says whether the number of arguments fits
/// and else what the mistake is, and makes something of expressions: `of(args...)`.
template <class Form, class... A>
using applied = typename detail::application<Form, A...>::type;

/// The type of Op(args...), a tuple where it has several results, or of the mistake that it is.
template <class Op, class... A>
using made = applied<detail::operation_form<Op>, A...>;
namespace detail {
/// The same within a function that reports for all of its operations: `surfaced<unreported<Op, ...>>`.
template <class Op, class... A>
using unreported = typename application<operation_form<Op>, A...>::silent;
}  // namespace detail

/// Makes the expression Op(args...), or a tuple of its results.
template <class Op, an_expression... A>
constexpr made<Op, A...> make(A...) {
  return {};
}

}  // namespace cairn
