// Whether a function can be called, asked without an error of its body.
//
// Where the body of a generic function does not compile, the compiler says so when it is asked whether F can be called,
// and what follows must be silent. To see such an F, ask before: where it takes as many arguments of any type, a call is
// ambiguous beside a function that does too, and then no body is looked at.
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

template <class F, std::size_t Arguments>
struct overloads : F, beside<Arguments> {
  using F::operator();
  using beside<Arguments>::operator();
};
template <class F, class... A>
concept can_be_called = requires(const F& f, A... a) { f(static_cast<A&&>(a)...); };
template <class F, class... A>
inline constexpr bool takes_anything = false;
template <class F, class... A>
  requires(has_calls<F> && sizeof...(A) >= 1 && sizeof...(A) <= 4)
inline constexpr bool takes_anything<F, A...> = !can_be_called<overloads<F, sizeof...(A)>, A...>;

/// Whether F can be called with these, and whether it could if its body compiled.
template <class F, class... A>
struct applying {
  static constexpr bool taken = takes_anything<F, A...>;
  static constexpr bool invocable = (static_cast<void>(taken), can_be_called<F, A...>);
  static constexpr bool broken = taken && !invocable;
};

}  // namespace cairn::detail
