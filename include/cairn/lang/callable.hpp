// Whether a function can be called, asked without an error of its body.
//
// Where the body of a generic function does not compile, the compiler says so when it is asked whether F can be called,
// and what follows must be silent. To see such an F, ask before: where it takes as many arguments of any type, a call
// is ambiguous beside a function that does too, and then no body is looked at.
#pragma once

#include "cairn/base/compiler.hpp"

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cairn::detail {

/// Takes as many arguments of any type: called like a function object, and as a gradient rule.
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
/// Whether F has a call operator: then its name is ambiguous in `calls`.
template <class F>
concept has_calls = std::is_class_v<F> && !std::is_final_v<F> && !requires { &calls<F>::operator(); };

template <class F, std::size_t Arguments, bool Again>
struct overloads : F, beside<Arguments> {
  using F::operator();
  using beside<Arguments>::operator();
};
template <class F, class... A>
concept can_be_called = requires(const F& f, A... a) { f(static_cast<A&&>(a)...); };
/// Returns true if F can be called a second time. Where a body returns values of different types, clang reports that at
/// the first question, answers yes, and no from then on.
template <class F, class... A>
concept can_be_called_again =
#ifdef __clang__
    requires(const F& f, A... a) { f(static_cast<A&&>(a)...); };
#else
    true;
#endif
template <bool Again, class F, class... A>
inline constexpr bool takes_anything = false;
template <bool Again, class F, class... A>
  requires(has_calls<F> && sizeof...(A) >= 1 && sizeof...(A) <= 6)
inline constexpr bool takes_anything<Again, F, A...> = !can_be_called<overloads<F, sizeof...(A), Again>, A...>;

/// Whether a function that takes anything, but not these, is deleted: then the compiler has said nothing. A body that
/// does not compile takes its function out of later calls in clang; g++ still knows its name.
template <class F, class... A>
concept deleted =
#ifdef __clang__
    takes_anything<true, F, A...>;
#else
    !requires { &F::template operator()<A...>; };
#endif

/// Whether F can be called with these, and whether it could if its body compiled.
template <class F, class... A>
struct applying {
  static constexpr bool taken = takes_anything<false, F, A...>;
  static constexpr bool invocable = (static_cast<void>(taken), can_be_called<F, A...>&& can_be_called_again<F, A...>);
  static constexpr bool broken = [] {
    if constexpr (taken && !invocable) return !deleted<F, A...>;
    else return false;
  }();
};

// The same of a gradient rule, O::vjp.

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
/// Whether O has a rule of any kind: then its name is ambiguous in `some_rule`.
template <class O>
concept has_some_rule = !std::is_final_v<O> && !requires { &some_rule<O>::vjp; };

/// Whether the rule is one of an object, or deleted: then the compiler has said nothing.
template <class O, class... A>
concept not_to_be_called = requires(const O& o) { o.vjp(A{}...); } ||
#ifdef __clang__
                           !has_rule<both_rules<O, sizeof...(A), true>, A...>;
#else
                           !requires { &O::template vjp<A...>; };
#endif

/// The rule of O called with these.
template <class O, class... A>
struct rule_call {
  static constexpr bool taken = [] {
    if constexpr (sizeof...(A) <= 6 && has_some_rule<O>) return !has_rule<both_rules<O, sizeof...(A)>, A...>;
    else return false;
  }();
  static constexpr bool exists = (static_cast<void>(taken), has_rule<O, A...>);
  /// The compiler has said why.
  static constexpr bool broken = [] {
    if constexpr (taken && !exists) return !not_to_be_called<O, A...>;
    else return false;
  }();
  template <class Rule = O>
  using type = decltype(Rule::vjp(A{}...));
};

}  // namespace cairn::detail
