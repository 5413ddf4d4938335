// Two layers with the same full name for a parameter or for a random key are a mistake, unless one of them is marked as
// shared.
#pragma once

#include "cairn/lang/block.hpp"

namespace cairn::lang {

/// The result X of a layer, together with one of the parameters of the layer, or with its random key. A second layer
/// with this leaf must be marked as shared.
template <class Leaf, an_expression X>
struct layer_result : expression {
  using owner = typename X::owner;
  static constexpr cairn::shape shape = X::shape;
  static constexpr element_type element = X::element;
  static constexpr expression_traits traits = X::traits;
};

template <class Owner, class Leaf, class X>
struct subexpressions_of<Owner, layer_result<Leaf, X>> {
  using type = std::tuple<seen_from<Owner, X>>;
};

/// A name up to its last dot: the name of a layer from the name of its parameter.
template <fixed_string Name>
inline constexpr auto without_last_part = [] {
  constexpr std::size_t end = std::min(std::string_view(Name).rfind('.'), sizeof(Name.text) - 1);
  fixed_string<end + 1> text;
  std::copy_n(Name.text, end, text.text);
  text.text[end] = '\0';  // clang prints only characters that were written
  return text;
}();
template <fixed_string Name, bool Trainable, initial Init, int... Extents, class X>
inline constexpr auto known_as<layer_result<parameter_leaf<Name, Trainable, Init, Extents...>, X>> =
    without_last_part<Name>;
template <class Leaf, class X>
struct axes_origin<layer_result<Leaf, X>> : axes_origin<X> {};

/// Returns the result x of the layer `Name`, marked with one of its parameters. A layer with an absolute name, which
/// begins with /, is not marked, because an absolute name says that the parameters are shared.
template <fixed_string Name, class Parameter, an_expression X>
constexpr auto result_of_layer(Parameter, X x) {
  if constexpr (wrong<X> || Name.text[0] == '/') return x;
  else return shortened<layer_result<Parameter, X>>{};
}

/// Returns the result x of a layer, marked with the key of the layer's random numbers. Absolute names are marked, too,
/// because layers can share parameters, but no random numbers.
template <fixed_string Name, an_expression X>
constexpr auto result_of_key(random_key_leaf<Name>, X) {
  return shortened<layer_result<random_key_leaf<Name>, X>>{};
}

/// A layer that shares its parameters with another application.
template <class Opaque>
struct shared_layer : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<shared_mark, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};

/// Marks a layer that uses the parameters of another application of the same layer: `x | encoder` and
/// `y | shared(encoder)`. If a layer, or a whole model, is applied several times, all applications except one must be
/// marked as shared. The random operations of a shared layer draw numbers of their own.
template <class F>
  requires std::is_class_v<F>
constexpr made_from_layer<"shared", F, shared_layer<opaque<F>>> shared(F) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::shared;
}  // namespace cairn
