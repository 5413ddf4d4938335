// Whether a function can be called, asked without an error of its body.
//
// Where the body of a generic function does not compile, the compiler says so when it is asked whether F can be called,
// and what follows must be silent. To see such an F, ask before: where it takes as many arguments of any type, a call
// is ambiguous beside a function that does too, and then no body is looked at.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cairn::detail {

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
};
template <>
struct beside<3> {
  template <class A, class B, class C>
  void operator()(A, B, C) const;
};
template <>
struct beside<4> {
  template <class A, class B, class C, class D>
  void operator()(A, B, C, D) const;
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
template <bool Again, class F, class... A>
inline constexpr bool takes_anything = false;
template <bool Again, class F, class... A>
  requires(has_calls<F> && sizeof...(A) >= 1 && sizeof...(A) <= 4)
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
  static constexpr bool invocable = (static_cast<void>(taken), can_be_called<F, A...>);
  static constexpr bool broken = [] {
    if constexpr (taken && !invocable) return !deleted<F, A...>;
    else return false;
  }();
};

}  // namespace cairn::detail
