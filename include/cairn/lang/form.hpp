// Forms. A form makes an expression of arguments, or refuses them. The functions of the language call forms.
#pragma once

#include "cairn/lang/mistake.hpp"

namespace cairn::lang {

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

/// A form makes an expression of arguments, or refuses them. It has
/// - `name`: the name that messages show;
/// - `fits<A...>`: true if the number of arguments is right;
/// - `reported`: the misuse that is reported if the number is wrong;
/// - either `of(args...)`, which makes the types of new expressions, or `body(args...)`, which is written in the
///   language. Both may return a mistake. Their parameters for expressions are constrained by `an_expression`, so that
///   numbers and layers are refused. A body calls functions with qualified names, because functions of the user may
///   have the same names. Each operation in a body has an argument of the body among its arguments.
///
/// This base is for forms that take `Count` expressions. All else that such a form needs stands in <...>.
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

/// Stands for the scope of the arguments of a form's body. A mistake that belongs to it is not reported.
struct form_scope {};
/// Expression E as an argument of a form's body. An operation on it reports no mistake, because the form reports the
/// mistake in the line of the user. The results of such operations are quiet, too.
template <class E>
struct quiet : E {
  using owner = form_scope;
};
template <class E>
inline constexpr auto known_as<quiet<E>> = known_as<E>;
template <class E>
struct axes_origin<quiet<E>> : axes_origin<E> {};

/// What a form's body gets in place of A. An argument that is no expression stays as it is.
template <class A>
struct quieting {
  using type = A;
};
template <an_expression E>
struct quieting<E> {
  using type = quiet<E>;
};
template <wrong E>
struct quieting<E> {
  using type = rejected;
};
template <class M, class Owner, class Path, class... F>
struct quieting<poison<M, Owner, Path, F...>> {
  using type = poison<M, form_scope, Path, F...>;
};
template <class... E>
struct quieting<std::tuple<E...>> {
  using type = std::tuple<typename quieting<E>::type...>;
};
template <class A>
using quieted = typename quieting<A>::type;

/// The reverse: what stands outside of a form for the value E of its body. A mistake then belongs to `Owner`.
template <class Owner, class E>
struct unquieting {
  using type = E;
};
template <class Owner, class E>
struct unquieting<Owner, quiet<E>> {
  using type = E;
};
template <class Owner, class M, class Inner, class Path, class... F>
struct unquieting<Owner, poison<M, Inner, Path, F...>> {
  using type = poison<M, Owner, Path, F...>;
};
template <class Owner, class... E>
struct unquieting<Owner, std::tuple<E...>> {
  using type = std::tuple<typename unquieting<Owner, E>::type...>;
};
template <class Owner, class E>
using unquieted = typename unquieting<Owner, E>::type;

template <class A>
inline constexpr bool is_quiet = false;
template <class E>
inline constexpr bool is_quiet<quiet<E>> = true;

/// Base of a form that takes arguments of other kinds than expressions, such as functions. `Misuse` is reported for all
/// arguments that `of` does not take.
struct takes_all_kinds {};
template <fixed_string Name, class Misuse>
struct free_form : takes_all_kinds {
  static constexpr fixed_string name = Name;
  using reported = Misuse;
  template <class...>
  static constexpr bool fits = true;
};
template <class Form>
concept a_free_form = __is_base_of(takes_all_kinds, Form);

/// The misuse that is reported if a layer, a tuple or a plain number is among A and stands for an expression.
template <class... A>
struct misuse_for_expression {
  using of_number = std::conditional_t<(a_constant_type<A> || ...), misuse::index_as_number, misuse::raw_number>;
  using not_a_layer = std::conditional_t<(is_tuple_of_expressions<A> || ...), misuse::tuple_for_expression, of_number>;
  using type = std::conditional_t<(a_layer<A> || ...), misuse::layer_for_expression, not_a_layer>;
};
/// The misuse that is reported if a form does not take the arguments A.
template <class Form, class... A>
struct misuse_of {
  using type = typename Form::reported;
};
template <class Form, class... A>
  requires(Form::template fits<A...> && !a_free_form<Form>)
struct misuse_of<Form, A...> : misuse_for_expression<A...> {};

/// `of` of the form takes the arguments.
template <class Form, class... A>
concept makes_of = Form::template fits<A...> && requires { Form::of(std::declval<A>()...); };
/// `body` of the form takes the arguments.
template <class Form, class... A>
concept writes_for = Form::template fits<A...> && requires { Form::body(std::declval<quieted<A>>()...); };

/// Returns what the form makes of the arguments, or the mistake in them. Reports nothing.
template <class Form, class... A>
constexpr auto result_of_form() {
  if constexpr ((is_quiet<A> || ...)) {
    return quieted<decltype(result_of_form<Form, unquieted<form_scope, A>...>())>{};
  } else if constexpr (makes_of<Form, A...>) {
    return decltype(Form::of(std::declval<A>()...)){};
  } else if constexpr (writes_for<Form, A...>) {
    using owner = typename owner_among<showing<A>...>::type;
    return unquieted<owner, decltype(Form::body(std::declval<quieted<A>>()...))>{};
  } else if constexpr ((has_wrong_elements<A> || ...)) {
    return rejected{};  // the tuple has reported its mistake
  } else {
    return mistaken_call<typename misuse_of<Form, A...>::type, Form::name, A...>();
  }
}

/// The type that a form makes of its arguments. The primary template has no member `type`, because compilers form the
/// return type of a function before they look at its constraints, also if no argument is an operand.
template <class Form, class... A>
struct application {};
template <class Form, class... A>
  requires((an_operand<A> || ...) || a_free_form<Form>)
struct application<Form, A...> {
  using silent = decltype(result_of_form<Form, A...>());
  static constexpr bool at_once = !(an_expression<A> || ...) && !a_free_form<Form>;
  using type = typename std::conditional_t<at_once, surfacing_at_once<silent>, surfacing<silent>>::type;
};

/// The type of Form(args...), or the type of the mistake if the form does not take the arguments.
template <class Form, class... A>
using applied = typename application<Form, A...>::type;

}  // namespace cairn::lang
