// Finds out whether a function can be called, and whether the compiler has already reported an error in its body.
//
// If the body of a generic function does not compile, the compiler reports an error as soon as it is asked whether the
// function can be called. All that follows must then be silent. So a second question comes first, which does not look
// at the body: does the function take this number of arguments of any type? To answer it, the function is overloaded
// with another one that takes this number of arguments of any type. If a call is ambiguous, the answer is yes. If the
// answer is yes and the function cannot be called, its body has an error or the function is deleted.
#pragma once

#include "cairn/base/compiler.hpp"

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cairn::detail {

/// Takes `Arguments` arguments of any type. It can be called as a function object, and as the gradient rule `vjp`.
template <std::size_t Arguments>
struct beside {};
template <>
struct beside<1> {
  template <class A>
  void operator()(A) const;
};
template <>
struct beside<2> {
  template <class A, class B>
  void operator()(A, B) const;
  template <class A, class B>
  static void vjp(A, B);
};
template <>
struct beside<3> {
  template <class A, class B, class C>
  void operator()(A, B, C) const;
  template <class A, class B, class C>
  static void vjp(A, B, C);
};
template <>
struct beside<4> {
  template <class A, class B, class C, class D>
  void operator()(A, B, C, D) const;
  template <class A, class B, class C, class D>
  static void vjp(A, B, C, D);
};
template <>
struct beside<5> {
  template <class A, class B, class C, class D, class E>
  void operator()(A, B, C, D, E) const;
  template <class A, class B, class C, class D, class E>
  static void vjp(A, B, C, D, E);
};
template <>
struct beside<6> {
  template <class A, class B, class C, class D, class E, class F>
  void operator()(A, B, C, D, E, F) const;
  template <class A, class B, class C, class D, class E, class F>
  static void vjp(A, B, C, D, E, F);
};
struct beside_any {
  void operator()();
};
template <class F>
struct calls : F, beside_any {};
/// F has a call operator. If so, the name operator() is ambiguous in `calls`, which also inherits it from beside_any.
template <class F>
concept has_calls = std::is_class_v<F> && !std::is_final_v<F> && !requires { &calls<F>::operator(); };

/// F, overloaded with a function that takes any arguments. `Again` makes a second type for the same question, because
/// compilers remember the answer for a type.
template <class F, std::size_t Arguments, bool Again>
struct overloads : F, beside<Arguments> {
  using F::operator();
  using beside<Arguments>::operator();
};
template <class F, class... A>
concept can_be_called = requires(const F& f, A... a) { f(static_cast<A&&>(a)...); };
/// Returns true if F can be called when the question is asked a second time. If a body returns values of different
/// types, clang reports the error at the first question and answers yes. From then on clang answers no. g++ needs no
/// second question.
template <class F, class... A>
concept can_be_called_again =
#ifdef __clang__
    requires(const F& f, A... a) { f(static_cast<A&&>(a)...); };
#else
    true;
#endif
/// Is true if F is generic and takes this number of arguments, of any type. Does not look at the body of F. Knows
/// functions of 1 to 6 arguments.
template <bool Again, class F, class... A>
inline constexpr bool takes_anything = false;
template <bool Again, class F, class... A>
  requires(has_calls<F> && sizeof...(A) >= 1 && sizeof...(A) <= 6)
inline constexpr bool takes_anything<Again, F, A...> = !can_be_called<overloads<F, sizeof...(A), Again>, A...>;

/// F is deleted for these arguments. It is asked only if F takes anything and cannot be called with these arguments. If
/// F is deleted, the compiler has not reported an error; otherwise the body of F has an error.
///
/// The compilers differ in how the two cases are told apart:
/// - clang ignores a function with an error in its body in later calls, and still considers a deleted function.
/// - g++ can name a function with an error in its body, and cannot name a deleted function.
template <class F, class... A>
concept deleted =
#ifdef __clang__
    takes_anything<true, F, A...>;
#else
    !requires { &F::template operator()<A...>; };
#endif

/// Says whether F can be called with these arguments (`invocable`), and whether the body of F has an error that the
/// compiler has already reported (`broken`). `taken` is evaluated before the body is looked at.
template <class F, class... A>
struct applying {
  static constexpr bool taken = takes_anything<false, F, A...>;
  static constexpr bool invocable = (static_cast<void>(taken), can_be_called<F, A...>&& can_be_called_again<F, A...>);
  static constexpr bool broken = [] {
    if constexpr (taken && !invocable) return !deleted<F, A...>;
    else return false;
  }();
};

// The gradient rule O::vjp is examined in the same way, as a static function.

template <class O, std::size_t Arguments, bool Again = false>
struct both_rules : O, beside<Arguments> {
  using O::vjp;
  using beside<Arguments>::vjp;
};
template <class O, class... A>
concept has_rule = requires { O::vjp(A{}...); };
struct no_rule {
  void vjp();
};
template <class O>
struct some_rule : O, no_rule {};
/// O has a gradient rule of any kind. If so, the name vjp is ambiguous in `some_rule`, which also inherits it from
/// no_rule.
template <class O>
concept has_some_rule = !std::is_final_v<O> && !requires { &some_rule<O>::vjp; };

/// The gradient rule is not static, or is deleted. The compiler has not reported an error in either case.
template <class O, class... A>
concept not_to_be_called = requires(const O& o) { o.vjp(A{}...); } ||
#ifdef __clang__
                           !has_rule<both_rules<O, sizeof...(A), true>, A...>;
#else
                           !requires { &O::template vjp<A...>; };
#endif

/// The gradient rule of O called with these arguments. `exists` is true if it can be called.
template <class O, class... A>
struct rule_call {
  static constexpr bool taken = [] {
    if constexpr (sizeof...(A) <= 6 && has_some_rule<O>) return !has_rule<both_rules<O, sizeof...(A)>, A...>;
    else return false;
  }();
  static constexpr bool exists = (static_cast<void>(taken), has_rule<O, A...>);
  /// The body of the rule has an error, which the compiler has already reported.
  static constexpr bool broken = [] {
    if constexpr (taken && !exists) return !not_to_be_called<O, A...>;
    else return false;
  }();
  template <class Rule = O>
  using type = decltype(Rule::vjp(A{}...));
};

}  // namespace cairn::detail
