// Says to which body an expression belongs: to the top level, or to the body of one application of a function.
#pragma once

#include "cairn/base/compiler.hpp"

#include <concepts>

namespace cairn::lang {

/// The top level, outside of all bodies.
struct top_scope {};
/// The body of one application of F. `Level` is the level of its arguments.
template <int Level, class F>
struct scope {};
/// Stands for the body of an expression that is made of values of several bodies. Such an expression is a mistake.
struct mixed_scopes {};

/// The body of an expression that is made of a value of A and a value of B. Values of the top level fit into every
/// body.
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

/// The body that all expressions A belong to, or mixed_scopes. Expressions of the top level do not count, unless all
/// are.
template <class... A>
using owner_of = typename merged_scopes<typename A::owner...>::type;
/// owner_of<A...> as a class template, because g++ 12 does not accept every pack in the alias owner_of: the pack must
/// be all of its arguments.
template <class... A>
struct owner_among {
  using type = owner_of<A...>;
};

}  // namespace cairn::lang
