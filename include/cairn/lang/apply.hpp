// Applies operations to expressions. The result is an expression, or a mistake if the arguments do not fit.
#pragma once

#include "cairn/lang/form.hpp"
#include "cairn/lang/verdict.hpp"

namespace cairn::lang {

template <class E, std::size_t... I>
constexpr auto tuple_of_results(std::index_sequence<I...>) {
  return std::tuple{shortened<pick<static_cast<int>(I), E>>{}...};
}

template <class Op, class... A>
using application_fact = fact::operation<Op::name, tensor_fact<A>...>;
/// Returns the mistake in an application of Op, or `sound`.
template <class Op, class... A>
constexpr auto problem_of_application(A... args) {
  using owner = owner_of<A...>;
  if constexpr ((wrong<A> || ...)) return pass_on<owner>(args...);
  else if constexpr (!an_operation_on<Op, A...>)
    return mistake<misuse::no_operation, owner, application_fact<Op, A...>>{};
  else if constexpr (std::same_as<owner, mixed_scopes>)
    return mistake<misuse::captured_value, owner, application_fact<Op, A...>>{};
  else if constexpr (verdict_of<Op, A...>.fault != verdict::sound)
    return mistake_found<Op, owner, verdict_of<Op, A...>, A...>();
  else if constexpr (constexpr int height = expr<Op, A...>::traits.height; height > max_height)
    return mistake<misuse::expression_too_large, owner, application_fact<Op, A...>, fact::height<height>>{};
  else return sound{};
}
/// A form that applies the operation Op. If Op has several results, a mistake takes the place of all of them.
template <class Op>
struct operation_form {
  static constexpr fixed_string name = Op::name;
  template <class... A>
  static constexpr bool fits = true;
  template <an_expression... A>
  static constexpr auto of(A... args) {
    using problem = decltype(problem_of_application<Op>(args...));
    if constexpr (!an_operation_on<Op, A...>) {
      return problem{};
    } else {
      constexpr std::size_t count = result_count<Op, A...>;
      if constexpr (!std::same_as<problem, sound>) return in_place_of_results<count>(problem{});
      else if constexpr (count > 1) return tuple_of_results<expr<Op, A...>>(std::make_index_sequence<count>{});
      else return shortened<expr<Op, A...>>{};
    }
  }
};

/// A form like Base that applies the operation Op.
template <class Op, class Base>
struct form_applying : Base {
  template <an_expression... A>
  static constexpr auto of(A... args) {
    return operation_form<Op>::of(args...);
  }
};

/// The type of Op(args...), which is a tuple if Op has several results. If Op does not take the arguments, this is the
/// type of the mistake.
template <class Op, class... A>
using made = applied<operation_form<Op>, A...>;

/// Returns the expression Op(args...), or a tuple if Op has several results.
template <class Op, an_expression... A>
constexpr made<Op, A...> make(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::made, lang::make;
}  // namespace cairn
