// What an expression is: an empty type that states its shape and a few facts for diagnosis.
#pragma once

#include "cairn/core/diagnose.hpp"
#include "cairn/core/shape.hpp"

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cairn {

struct random_stream;

/// Base of every expression, and how argument-dependent lookup finds the operators.
struct expression {};
template <class T>
concept an_expression = std::derived_from<T, expression>;

/// Base of every layer that cairn makes: one side of `|` must be an expression or one of these.
struct layer_base {};
template <class T>
concept a_layer = std::derived_from<T, layer_base>;
/// What functions of expressions accept: a layer among them is a mistake with a message of its own.
template <class T>
concept an_operand = an_expression<T> || a_layer<T>;

/// The body in which an expression was made: the top level, or the body of one application of F.
struct top_scope {};
template <int Level, class F>
struct scope {};
struct mixed_scopes {};

namespace detail {
template <class A, class B>
struct merged {
  using type = mixed_scopes;
};
template <class A>
struct merged<A, A> {
  using type = A;
};
template <class A>
  requires(!std::same_as<A, top_scope>)
struct merged<A, top_scope> {
  using type = A;
};
template <class A>
  requires(!std::same_as<A, top_scope>)
struct merged<top_scope, A> {
  using type = A;
};
template <class Result>
struct merging {
  template <class Other>
  merging<typename merged<Result, Other>::type> operator+(merging<Other>) const;
  using type = Result;
};
}  // namespace detail

/// The one body that all of A are from, or mixed_scopes.
template <class... A>
using owner_of = typename decltype((detail::merging<top_scope>{} + ... + detail::merging<typename A::owner>{}))::type;

/// Element kind and extents as a short type.
template <kind K, int... Extents>
struct tensor {
  static constexpr cairn::shape shape = [] {
    if constexpr (sizeof...(Extents) == 0) return cairn::shape{};
    else return cairn::shape{Extents...};
  }();
  static constexpr kind element = K;
};

namespace detail {
template <class E, std::size_t... Axis>
tensor<E::element, E::shape.extent[Axis]...> as_tensor(std::index_sequence<Axis...>);
template <class E>
using axes_of_expression = std::make_index_sequence<static_cast<std::size_t>(E::shape.rank)>;

/// An element as messages print it.
template <kind K>
using shown_element =
    std::conditional_t<K == kind::real, float, std::conditional_t<K == kind::index, int, random_stream>>;
template <kind K, int... Extents>
struct as_array {
  using type = shown_element<K>;
};
template <kind K, int First, int... Rest>
struct as_array<K, First, Rest...> {
  using type = typename as_array<K, Rest...>::type[First];
};
template <class E, std::size_t... Axis>
as_array<E::element, E::shape.extent[Axis]...> shown_as(std::index_sequence<Axis...>);
}  // namespace detail
template <an_expression E>
using tensor_of = decltype(detail::as_tensor<E>(detail::axes_of_expression<E>{}));
/// A tensor as messages print it: `float[128][784]`, or `int[128]` for class indices.
template <class E>
using tensor_fact = typename decltype(detail::shown_as<E>(detail::axes_of_expression<E>{}))::type;

/// What an expression tells those made of it, besides its shape.
struct facts {
  int level = 0;            ///< of the deepest placeholder below
  int height = 1;           ///< how far the expressions below nest
  int spelled = 1;          ///< nodes that the type's name spells out
  int order = 0;            ///< how many gradients are taken of each other, at most
  bool detached = false;    ///< stops a gradient somewhere
  bool fed = false;         ///< computed from an input of the program
  bool captures = false;    ///< in a body: computes again what was computed from an input outside of all bodies
  std::uint64_t reads = 0;  ///< a bit for each argument of the body around it
};
/// The facts of something made of parts.
constexpr facts made_of(std::initializer_list<facts> parts) {
  facts all;
  for (const facts& part : parts) {
    all.level = std::max(all.level, part.level);
    all.height = std::max(all.height, 1 + part.height);
    all.spelled += part.spelled;
    all.order = std::max(all.order, part.order);
    all.detached |= part.detached;
    all.fed |= part.fed;
    all.captures |= part.captures;
    all.reads |= part.reads;
  }
  return all;
}

/// A placeholder: argument number Index of the body of F. `Level` is one more than the deepest of the call's
/// arguments, and together with F it keeps the arguments of nested bodies apart.
template <int Level, int Index, class Tensor, class F>
struct argument : expression {
  using owner = scope<Level, F>;
  static constexpr cairn::shape shape = Tensor::shape;
  static constexpr kind element = Tensor::element;
  static constexpr cairn::facts facts{.level = Level, .reads = std::uint64_t{1} << Index};
};

namespace detail {
/// A type by another name: compilers print that of a lambda as the place where it stands, however long T is.
template <class T>
inline constexpr auto hidden = [] { return std::type_identity<T>{}; };
template <class T>
using hiding = std::remove_const_t<decltype(hidden<T>)>;
template <class Hiding>
using hidden_in = typename std::invoke_result_t<Hiding>::type;
}  // namespace detail

/// An expression whose type is not spelled out: a value used twice at every step would double the name each
/// time.
template <class Hiding>
struct brief : detail::hidden_in<Hiding> {
  static constexpr cairn::facts facts = [] {
    cairn::facts f = detail::hidden_in<Hiding>::facts;
    f.spelled = 1;
    return f;
  }();
};
template <class E>
using in_brief = brief<detail::hiding<E>>;

/// Nodes that a type may spell out. To hide every one would cost the compiler more than to read this many.
inline constexpr int max_spelled = 16;

namespace detail {
template <class E>
struct shortening {
  using type = E;
};
template <class E>
  requires(std::same_as<typename E::owner, top_scope> || E::facts.spelled > max_spelled)
struct shortening<E> {
  using type = in_brief<E>;
};
}  // namespace detail
/// E, or E by a short name where its own would be too long.
template <class E>
using shortened = typename detail::shortening<E>::type;

/// How far the expressions below E nest: lowering recurses as deep, and compilers end a constant evaluation
/// at 512.
inline constexpr int max_height = 400;

/// Whether E, computed from an input outside of all bodies, is used in the body Owner.
template <class Owner, class E>
inline constexpr bool captured = !std::same_as<Owner, top_scope> && std::same_as<typename E::owner, top_scope> &&
                                 E::facts.fed && E::facts.height > 1;

/// An operation applied to expressions. Op states the shape rule, the gradient and the cost; see
/// expr/operation.hpp.
template <class Op, class... A>
struct expr : expression {
  using owner = owner_of<A...>;
  static constexpr cairn::shape shape = Op::result(A::shape...);
  static constexpr kind element = Op::element;
  static constexpr cairn::facts facts = [] {
    cairn::facts f = made_of({A::facts...});
    f.detached |= Op::detaches;
    f.captures |= (captured<owner, A> || ...);
    return f;
  }();
};

}  // namespace cairn
