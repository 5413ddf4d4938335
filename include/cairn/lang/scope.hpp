// Which body an expression belongs to: the top level, or the body of one application of a function.
#pragma once

#include "cairn/base/compiler.hpp"

#include <concepts>

namespace cairn {

struct top_scope {};
template <int Level, class F>
struct scope {};
struct mixed_scopes {};

namespace detail {
template <class A, class B>
struct merged_scope {
  using type = mixed_scopes;
};
template <class A>
struct merged_scope<A, A> {
  using type = A;
};
template <class A>
  requires(!std::same_as<A, top_scope>)
struct merged_scope<A, top_scope> {
  using type = A;
};
template <class A>
  requires(!std::same_as<A, top_scope>)
struct merged_scope<top_scope, A> {
  using type = A;
};
template <class... Scope>
struct merged_scopes {
  using type = top_scope;
};
template <class Scope>
struct merged_scopes<Scope> {
  using type = Scope;
};
template <class First, class Second, class... More>
struct merged_scopes<First, Second, More...> : merged_scopes<typename merged_scope<First, Second>::type, More...> {};
}  // namespace detail

/// The one body that all of A are from, or mixed_scopes.
template <class... A>
using owner_of = typename detail::merged_scopes<typename A::owner...>::type;

}  // namespace cairn
