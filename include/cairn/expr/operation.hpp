// What an operation states, and how expressions are made of it.
#pragma once

#include "cairn/core/parts.hpp"
#include "cairn/expr/misuse.hpp"

namespace cairn {

/// Defaults of every operation. An operation is an empty struct with
///   name         how messages, graphs and reports call it
///   result(...)  its shape rule: shapes to shape, or no_shape
///   rule         what messages say where it is broken
///   asked        optional: a fact that they show beside the arguments, such as the wanted shape
///   vjp(args..., result, cotangent)  the gradient of each argument, written in the language itself
///   flops(...)   floating-point operations, from the shapes
/// Its kernel stands in the file of the same stem in kernel/.
struct op {
  static constexpr kind element = kind::real;
  /// Kind of argument number i.
  static constexpr kind argument_kind(int) { return kind::real; }
  static constexpr bool elementwise = false;       ///< one result element from one element of each broadcast argument
  static constexpr bool view = false;              ///< same elements in the same order: no step, no memory
  static constexpr bool in_place = false;          ///< the kernel may write its result over its first argument
  static constexpr bool detaches = false;          ///< stops the gradient on purpose
  static constexpr bool only_in_training = false;  ///< a predictor takes the first argument in its place
  /// The shape of argument number i as the user wrote it.
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  /// Working space of the kernel, for each part of its work, in elements of the program's type, of `Bytes` bytes each.
  template <int Bytes, shape... Shapes>
  static constexpr workspace scratch{};
};

/// An operation that computes each element of the result from the elements at the same place.
struct elementwise_op : op {
  static constexpr bool elementwise = true;
  using rule = rule::extents_equal_or_one;
  static constexpr shape result(const shape& a, auto... more) {
    shape out = a;
    ((out = out.valid() ? broadcast(out, more) : out), ...);
    return out;
  }
  static constexpr std::int64_t flops(auto... shapes) { return result(shapes...).count(); }
};

/// Marks an argument that gets no gradient.
struct no_gradient {};

/// The gradients of an operation's arguments, in order.
template <class... G>
struct gradients {
  constexpr explicit gradients(G...) {}
};

namespace detail {
template <class Op, class... A, std::size_t... I>
constexpr bool kinds_fit(std::index_sequence<I...>) {
  return ((Op::argument_kind(static_cast<int>(I)) == A::element) && ...);
}

template <class Op, std::size_t I>
using kind_fact = shown_element<Op::argument_kind(static_cast<int>(I))>;
template <class Op, class Owner, class... A, std::size_t... I>
constexpr auto wrong_kinds(std::index_sequence<I...>) {
  return mistake<kind_mismatch, Owner, fact::operation<Op::name, tensor_fact<A>...>,
                 fact::takes<kind_fact<Op, I>...>>{};
}
template <class Op, class A, std::size_t I>
struct shown_argument {
  static constexpr cairn::shape shape = Op::shown(I, A::shape);
  static constexpr kind element = A::element;
};
template <class Op, class Owner, class... A, std::size_t... I>
constexpr auto wrong_shapes(std::index_sequence<I...>) {
  using what = fact::operation<Op::name, tensor_fact<shown_argument<Op, A, I>>...>;
  if constexpr (requires { typename Op::asked; }) {
    return mistake<typename Op::rule, Owner, what, typename Op::asked>{};
  } else {
    return mistake<typename Op::rule, Owner, what>{};
  }
}

template <class Op, class... A>
constexpr auto made_silently(A... args) {
  using owner = owner_of<A...>;
  if constexpr ((wrong<A> || ...)) {
    return pass_on<owner>(args...);
  } else if constexpr (std::same_as<owner, mixed_scopes>) {
    return mistake<captured_value, owner, fact::operation<Op::name, tensor_fact<A>...>>{};
  } else if constexpr (!kinds_fit<Op, A...>(std::index_sequence_for<A...>{})) {
    return wrong_kinds<Op, owner, A...>(std::index_sequence_for<A...>{});
  } else if constexpr (!Op::result(A::shape...).valid()) {
    return wrong_shapes<Op, owner, A...>(std::index_sequence_for<A...>{});
  } else if constexpr (expr<Op, A...>::facts.height > max_height) {
    return mistake<expression_too_large, owner, fact::operation<Op::name, tensor_fact<A>...>,
                   fact::height<expr<Op, A...>::facts.height>>{};
  } else {
    return shortened<expr<Op, A...>>{};
  }
}

// No type for anything but expressions: clang forms return types before it looks at constraints.
template <class Op, class... A>
struct making {};
template <class Op, an_expression... A>
struct making<Op, A...> {
  using silent = decltype(made_silently<Op>(A{}...));
  using type = surfaced<silent>;
};
template <class Op, an_operand... A>
  requires(a_layer<A> || ...)
struct making<Op, A...> {
  using silent = decltype(misused_silently<layer_for_expression, Op::name, A...>());
  using type = typename std::conditional_t<(a_layer<A> && ...), surfacing_at_once<silent>, surfacing<silent>>::type;
};
}  // namespace detail

/// The type of Op(args...), or of the mistake that it is.
template <class Op, class... A>
using made = typename detail::making<Op, A...>::type;
/// The same as a part of a function that reports for all of its operations: `surfaced<part<Op, ...>>`.
template <class Op, class... A>
using part = typename detail::making<Op, A...>::silent;

/// Makes the expression Op(args...).
template <class Op, an_expression... A>
constexpr made<Op, A...> make(A...) {
  return {};
}

}  // namespace cairn
