// Applies operations to expressions. The result is an expression, or a mistake if the arguments do not fit.
#pragma once

#include "cairn/lang/verdict.hpp"

namespace cairn::lang {

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
