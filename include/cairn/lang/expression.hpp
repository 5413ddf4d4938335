// What an expression is: an empty type that states its shape, its elements, and a few traits for diagnosis.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/misuse/misuse.hpp"
#include "cairn/lang/opaque.hpp"
#include "cairn/lang/scope.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace cairn {

/// Base of every expression, and how argument-dependent lookup finds the operators. To ask it for its truth, as `if`
/// does, is a mistake. It is reported by the exception specification, which compilers look at where the operator is
/// called: the body would come too late for `?:`, of which g++ has an error of its own.
struct expression {
  template <std::same_as<bool> T>
  explicit constexpr operator T() const noexcept(truth_of_expression::found<std::false_type, T>{}) {
    return false;
  }
};
/// A class that is not complete yet is none: its operators are looked up among cairn's, too. Asked so often that
/// std::derived_from, which also asks for a conversion, and std::is_base_of_v, a constant for each type, would take
/// compilers noticeably longer.
template <class T>
concept an_expression = requires { sizeof(T); } && __is_base_of(expression, T);

/// Base of every layer that cairn makes: one side of `|` must be an expression or one of these.
struct layer_base {};
template <class T>
concept a_layer = requires { sizeof(T); } && __is_base_of(layer_base, T);
/// What functions of expressions accept: a layer among them is a mistake with a message of its own.
template <class T>
concept an_operand = an_expression<T> || a_layer<T>;
/// In place of a function's argument and result where its name stands alone, as if it were a layer: `x | relu`.
struct function_name {};
/// What functions of several accept: at least one, and beside them plain numbers, which are a mistake, too.
template <class... T>
concept some_operands = (an_operand<T> || ...) && ((an_operand<T> || std::is_arithmetic_v<T>) && ...);

/// Elements and extents as a short type.
template <element_type E, int... Extents>
struct tensor {
  static constexpr cairn::shape shape{Extents...};
  static constexpr element_type element = E;
};

namespace detail {
template <class E, std::size_t... Axis>
tensor<E::element, E::shape.extent[Axis]...> as_tensor(std::index_sequence<Axis...>);
template <class E>
using axes_of_expression = std::make_index_sequence<static_cast<std::size_t>(E::shape.rank)>;
}  // namespace detail
/// The tensor that has the shape and the elements of E.
template <class E>
using tensor_of = decltype(detail::as_tensor<E>(detail::axes_of_expression<E>{}));

/// What an expression tells those made of it, besides its tensor.
struct expression_traits {
  int level = 0;            ///< of the deepest placeholder below
  int height = 1;           ///< how far the expressions below nest
  int spelled = 1;          ///< nodes that the type's name spells out
  int order = 0;            ///< how many gradients are taken of each other, at most
  bool detached = false;    ///< an operation below cuts a gradient
  bool fed = false;         ///< has an input of the program
  bool trained = false;     ///< may have a parameter that is trained: an argument of a body counts as one
  bool computed = false;    ///< computes something from one, and does not only read it in another order
  bool of_model = false;    ///< has a leaf that is no constant, a body or a gradient: no gradient rule has
  bool captures = false;    ///< in a body: computes again what was computed from an input outside of all bodies
  bool elsewhere = false;   ///< has a loop whose snapshots lie elsewhere
  std::uint64_t reads = 0;  ///< a bit for each argument of the body around it
};
/// The traits of something made of parts.
constexpr expression_traits merged(std::initializer_list<expression_traits> parts, bool detached = false,
                                   bool captures = false) {
  expression_traits all{.detached = detached, .captures = captures};
  for (const expression_traits& part : parts) {
    all.level = std::max(all.level, part.level);
    all.height = std::max(all.height, 1 + part.height);
    all.spelled += part.spelled;
    all.order = std::max(all.order, part.order);
    all.detached |= part.detached;
    all.fed |= part.fed;
    all.trained |= part.trained;
    all.computed |= part.computed;
    all.of_model |= part.of_model;
    all.captures |= part.captures;
    all.elsewhere |= part.elsewhere;
    all.reads |= part.reads;
  }
  return all;
}
/// The same of something that computes with what it is made of, or does not.
constexpr expression_traits computing(expression_traits t, bool does = true) {
  t.computed |= does && t.fed;
  return t;
}

/// A placeholder: argument number Index of the body of F. `Level` is one more than the deepest of the call's
/// arguments, and together with F it keeps the arguments of nested bodies apart.
template <int Level, int Index, class Tensor, class F>
struct argument : expression {
  using owner = scope<Level, F>;
  static constexpr cairn::shape shape = Tensor::shape;
  static constexpr element_type element = Tensor::element;
  static constexpr expression_traits traits{.level = Level, .trained = true, .reads = std::uint64_t{1} << Index};
};

namespace detail {
constexpr expression_traits with_short_name(expression_traits t) {
  t.spelled = 1;
  return t;
}
}  // namespace detail
/// An expression by another name.
template <class Opaque>
struct renamed : detail::revealed<Opaque> {
  static constexpr expression_traits traits = detail::with_short_name(detail::revealed<Opaque>::traits);
};

/// Nodes that a type may spell out. To rename every one would cost the compiler more than to read this many.
inline constexpr int max_spelled = 16;

namespace detail {
template <class E>
using by_other_name = renamed<opaque<E>>;

template <class E>
struct renaming {
  using type = E;
};
template <class E>
  requires(std::same_as<typename E::owner, top_scope> || E::traits.spelled > max_spelled)
struct renaming<E> {
  using type = by_other_name<E>;
};
/// E, or E by another name where its own would be too long.
template <class E>
using shortened = typename renaming<E>::type;
}  // namespace detail

/// How far the expressions below E nest: lowering recurses as deep, and compilers end a constant evaluation
/// at 512.
inline constexpr int max_height = 400;

/// Whether E, computed from an input outside of all bodies, is used in the body Owner.
template <class Owner, class E>
inline constexpr bool captured =
    !std::same_as<Owner, top_scope> && std::same_as<typename E::owner, top_scope> && E::traits.computed;

}  // namespace cairn
