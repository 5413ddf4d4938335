// Which body an expression belongs to: the top level, or the body of one application of a function.
#pragma once

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
template <class Scope>
struct merging_scopes {
  template <class Other>
  merging_scopes<typename merged_scope<Scope, Other>::type> operator+(merging_scopes<Other>) const;
  using type = Scope;
};
}  // namespace detail

/// The one body that all of A are from, or mixed_scopes.
template <class... A>
using owner_of =
    typename decltype((detail::merging_scopes<top_scope>{} + ... + detail::merging_scopes<typename A::owner>{}))::type;

}  // namespace cairn
