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

namespace cairn::lang {

/// Takes `Arguments` arguments of any type. It can be called as a function object, and as the gradient rule `vjp`.
template <std::size_t Arguments>
struct takes_any {};
template <>
struct takes_any<1> {
  template <class A>
  void operator()(A) const;
};
template <>
struct takes_any<2> {
  template <class A, class B>
  void operator()(A, B) const;
  template <class A, class B>
  static void vjp(A, B);
};
template <>
struct takes_any<3> {
  template <class A, class B, class C>
  void operator()(A, B, C) const;
  template <class A, class B, class C>
  static void vjp(A, B, C);
};
template <>
struct takes_any<4> {
  template <class A, class B, class C, class D>
  void operator()(A, B, C, D) const;
  template <class A, class B, class C, class D>
  static void vjp(A, B, C, D);
};
template <>
struct takes_any<5> {
  template <class A, class B, class C, class D, class E>
  void operator()(A, B, C, D, E) const;
  template <class A, class B, class C, class D, class E>
  static void vjp(A, B, C, D, E);
};
template <>
struct takes_any<6> {
  template <class A, class B, class C, class D, class E, class F>
  void operator()(A, B, C, D, E, F) const;
  template <class A, class B, class C, class D, class E, class F>
  static void vjp(A, B, C, D, E, F);
};
struct other_call {
  void operator()();
};
template <class F>
struct with_other_call : F, other_call {};
/// F has a call operator. If so, the name operator() is ambiguous in `with_other_call`, which also inherits it from
/// other_call.
template <class F>
concept has_call_operator = std::is_class_v<F> && !std::is_final_v<F> && !requires { &with_other_call<F>::operator(); };

/// F, overloaded with a function that takes any arguments. `Second` makes a second type for the same question, because
/// compilers remember the answer for a type.
template <class F, std::size_t Arguments, bool Second>
struct overloads : F, takes_any<Arguments> {
  using F::operator();
  using takes_any<Arguments>::operator();
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
template <bool Second, class F, class... A>
inline constexpr bool takes_anything = false;
template <bool Second, class F, class... A>
  requires(has_call_operator<F> && sizeof...(A) >= 1 && sizeof...(A) <= 6)
inline constexpr bool takes_anything<Second, F, A...> = !can_be_called<overloads<F, sizeof...(A), Second>, A...>;

/// F is deleted for these arguments. It is asked only if F takes anything and cannot be called with these arguments. If
/// F is deleted, the compiler has not reported an error; otherwise the body of F has an error.
///
/// The compilers differ in how the two cases are told apart:
/// - clang ignores a function with an error in its body in later calls, and still considers a deleted function.
/// - g++ can name a function with an error in its body, and cannot name a deleted function.
template <class F, class... A>
concept is_deleted =
#ifdef __clang__
    takes_anything<true, F, A...>;
#else
    !requires { &F::template operator()<A...>; };
#endif

/// Says whether F can be called with these arguments (`invocable`), and whether the body of F has an error that the
/// compiler has already reported (`has_body_error`). `is_generic` is evaluated before the body is looked at.
template <class F, class... A>
struct call_check {
  static constexpr bool is_generic = takes_anything<false, F, A...>;
  static constexpr bool invocable =
      (static_cast<void>(is_generic), can_be_called<F, A...>&& can_be_called_again<F, A...>);
  static constexpr bool has_body_error = [] {
    if constexpr (is_generic && !invocable) return !is_deleted<F, A...>;
    else return false;
  }();
};

// The gradient rule O::vjp is examined in the same way, as a static function.

template <class O, std::size_t Arguments, bool Second = false>
struct vjp_overloads : O, takes_any<Arguments> {
  using O::vjp;
  using takes_any<Arguments>::vjp;
};
template <class O, class... A>
concept can_call_vjp = requires { O::vjp(A{}...); };
struct other_vjp {
  void vjp();
};
template <class O>
struct with_other_vjp : O, other_vjp {};
/// O has a gradient rule of any kind. If so, the name vjp is ambiguous in `with_other_vjp`, which also inherits it from
/// other_vjp.
template <class O>
concept has_any_vjp = !std::is_final_v<O> && !requires { &with_other_vjp<O>::vjp; };

/// The gradient rule is not static, or is deleted. The compiler has not reported an error in either case.
template <class O, class... A>
concept deleted_or_not_static = requires(const O& o) { o.vjp(A{}...); } ||
#ifdef __clang__
                                !can_call_vjp<vjp_overloads<O, sizeof...(A), true>, A...>;
#else
                                !requires { &O::template vjp<A...>; };
#endif

/// The gradient rule of O called with these arguments. `exists` is true if it can be called.
template <class O, class... A>
struct vjp_call {
  static constexpr bool is_generic = [] {
    if constexpr (sizeof...(A) <= 6 && has_any_vjp<O>) return !can_call_vjp<vjp_overloads<O, sizeof...(A)>, A...>;
    else return false;
  }();
  static constexpr bool exists = (static_cast<void>(is_generic), can_call_vjp<O, A...>);
  /// The body of the rule has an error, which the compiler has already reported.
  static constexpr bool has_body_error = [] {
    if constexpr (is_generic && !exists) return !deleted_or_not_static<O, A...>;
    else return false;
  }();
  template <class Rule = O>
  using type = decltype(Rule::vjp(A{}...));
};

}  // namespace cairn::lang
