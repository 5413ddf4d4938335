// Defines expressions. An expression is an empty type that states its shape, its elements, and a few traits. Most
// traits serve to find mistakes.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/lang/opaque.hpp"
#include "cairn/lang/scope.hpp"
#include "cairn/misuse/table.hpp"

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <utility>

// Namespace cairn has only the names that docs/operations.md lists. Headers of lang/ and op/ define their names in
// cairn::lang, and then declare the listed ones in cairn.
namespace cairn {
namespace lang {}
/// The library's own namespace sees all names of the language.
namespace detail {
using namespace lang;
}
}  // namespace cairn

namespace cairn::lang {

/// Base of every expression. Argument-dependent lookup finds the operators through this base. The conversion to bool,
/// as in `if (x)`, reports a mistake. The exception specification reports the mistake, because compilers read it where
/// the operator is called. The body would be read too late for `?:`, for which g++ has an error of its own.
struct expression {
  template <std::same_as<bool> T>
  explicit constexpr operator T() const noexcept(misuse::truth_of_expression::found<std::false_type, T>{}) {
    return false;
  }
};
/// T is an expression. An incomplete class is no expression. The question needs an answer for incomplete classes,
/// because compilers consider cairn's operators for them, too.
///
/// The concept is evaluated very often, so it uses the compiler's own __is_base_of. Both std::derived_from, which also
/// checks a conversion, and std::is_base_of_v, which creates a constant for each type, would take compilers noticeably
/// longer.
template <class T>
concept an_expression = requires { sizeof(T); } && __is_base_of(expression, T);

/// Base of every layer that cairn makes. One side of `|` must be an expression or such a layer.
struct layer_base {};
template <class T>
concept a_layer = requires { sizeof(T); } && __is_base_of(layer_base, T);
/// True for the results of a function with several results, such as a scan, in one tuple.
template <class T>
inline constexpr bool is_tuple_of_expressions = false;
template <an_expression... E>
inline constexpr bool is_tuple_of_expressions<std::tuple<E...>> = sizeof...(E) > 0;
/// T is accepted by functions of expressions. These functions accept layers and tuples of expressions as well, to
/// report them as mistakes with messages of their own.
template <class T>
concept an_operand = an_expression<T> || a_layer<T> || is_tuple_of_expressions<T>;
/// Stands for the argument and the result of a function if the user wrote the name of the function alone, as if it were
/// a layer: `x | relu`.
struct function_name {};
/// T is a constant as a type, as std::integral_constant, which is the type of the index that `repeat` passes on.
template <class T>
concept a_constant_type = requires {
  typename T::value_type;
  T::value;
};
/// The types T are accepted by functions of several expressions. At least one T must be an operand. The other T may be
/// plain numbers, which are accepted only to report them as a mistake.
template <class... T>
concept some_operands =
    (an_operand<T> || ...) && ((an_operand<T> || std::is_arithmetic_v<T> || a_constant_type<T>) && ...);

/// A short type that states only elements and extents.
template <element_type E, int... Extents>
struct tensor {
  static constexpr cairn::shape shape{Extents...};
  static constexpr element_type element = E;
};

template <class E, std::size_t... Axis>
tensor<E::element, E::shape.extent[Axis]...> as_tensor(std::index_sequence<Axis...>);
template <class E>
using axes_of_expression = std::make_index_sequence<static_cast<std::size_t>(E::shape.rank)>;
/// The tensor that has the shape and the elements of E.
template <class E>
using tensor_of = decltype(as_tensor<E>(axes_of_expression<E>{}));

/// The properties of an expression that expressions made of it inherit, in addition to its tensor.
struct expression_traits {
  // An expression contains itself and all expressions that it is made of.
  int level = 0;          ///< the level of the deepest placeholder that the expression contains
  int height = 1;         ///< how deep the expressions nest that the expression is made of
  int spelled_nodes = 1;  ///< the number of nodes that the name of the type spells out
  int order = 0;  ///< an upper bound of the order of gradients in the expression: 2 for a gradient of a gradient
  bool detached = false;   ///< contains an operation that cuts a gradient
  bool has_input = false;  ///< contains an input of the program
  bool trained = false;    ///< may contain a parameter that is trained; an argument of a body counts as a parameter
  /// computes something from an input, and does not only read the input in another order
  bool computes_from_input = false;
  /// Contains a leaf other than a constant, or a body, or a gradient. Gradient rules must not contain any of them.
  bool has_model_parts = false;
  /// The expression is in a body and contains a value that was computed outside of all bodies from an input. The body
  /// would recompute the value.
  bool recomputes_outside_value = false;
  /// contains a scan with snapshots outside of the arena, in memory that the user gives
  bool snapshots_in_user_memory = false;
  std::uint64_t arguments_read = 0;  ///< a bit for each argument of the body around the expression; set if it is read
};
/// Gives the properties of a part to the traits `all` of the whole. Numbers are not properties.
constexpr void inherit_properties(expression_traits& all, const expression_traits& part) {
  all.detached |= part.detached;
  all.has_input |= part.has_input;
  all.trained |= part.trained;
  all.computes_from_input |= part.computes_from_input;
  all.has_model_parts |= part.has_model_parts;
  all.recomputes_outside_value |= part.recomputes_outside_value;
  all.snapshots_in_user_memory |= part.snapshots_in_user_memory;
}
/// Returns the traits of an expression that is made of these parts.
constexpr expression_traits merged_traits(std::initializer_list<expression_traits> parts, bool detached = false,
                                          bool recomputes_outside_value = false) {
  expression_traits all{.detached = detached, .recomputes_outside_value = recomputes_outside_value};
  for (const expression_traits& part : parts) {
    all.level = std::max(all.level, part.level);
    all.height = std::max(all.height, 1 + part.height);
    all.spelled_nodes += part.spelled_nodes;
    all.order = std::max(all.order, part.order);
    all.arguments_read |= part.arguments_read;
    inherit_properties(all, part);
  }
  return all;
}
/// Returns the traits `t` of an expression that, if `does` is true, computes with the values that it is made of.
constexpr expression_traits with_computation(expression_traits t, bool does = true) {
  t.computes_from_input |= does && t.has_input;
  return t;
}

/// A placeholder: argument number Index of the body of F. `Level` is one more than the greatest level among the
/// arguments of the call. Together with F, the level keeps the arguments of nested bodies apart.
template <int Level, int Index, class Tensor, class F>
struct argument : expression {
  using owner = scope<Level, F>;
  static constexpr cairn::shape shape = Tensor::shape;
  static constexpr element_type element = Tensor::element;
  static constexpr expression_traits traits{
      .level = Level, .trained = true, .arguments_read = std::uint64_t{1} << Index};
};

constexpr expression_traits with_short_name(expression_traits t) {
  t.spelled_nodes = 1;
  return t;
}
/// An expression under a short name. `Opaque` stands for the type with the long name.
template <class Opaque>
struct renamed : revealed<Opaque> {
  static constexpr expression_traits traits = with_short_name(revealed<Opaque>::traits);
};

/// The most nodes that the name of a type may spell out before the expression gets a short name. It would cost
/// compilers more to rename every expression than to read names of this length.
inline constexpr int max_spelled = 16;

template <class E>
using under_short_name = renamed<opaque<E>>;

template <class E>
struct short_name_of {
  using type = E;
};
template <class E>
  requires(std::same_as<typename E::owner, top_scope> || E::traits.spelled_nodes > max_spelled)
struct short_name_of<E> {
  using type = under_short_name<E>;
};
/// E, or E under a short name. E gets a short name if it belongs to the top level or if its own name is too long.
template <class E>
using shortened = typename short_name_of<E>::type;

/// The greatest height of an expression. Lowering recurses as deep as expressions nest, and compilers stop a constant
/// evaluation at a depth of 512.
inline constexpr int max_height = 400;

/// Is true if the body Owner uses E, and E was computed outside of all bodies from an input of the program.
template <class Owner, class E>
inline constexpr bool captured =
    !std::same_as<Owner, top_scope> && std::same_as<typename E::owner, top_scope> && E::traits.computes_from_input;

}  // namespace cairn::lang

namespace cairn {
using lang::a_layer, lang::an_expression, lang::an_operand;
}  // namespace cairn
