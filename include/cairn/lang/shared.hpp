// Layers whose parameters have one full name: a mistake, unless one says that it shares them.
#pragma once

#include "cairn/lang/block.hpp"

namespace cairn {

/// What a layer gives, and one of its parameters: a second layer that has this parameter is to be marked as shared.
template <class Parameter, an_expression X>
struct layer_result : expression {
  using owner = typename X::owner;
  static constexpr cairn::shape shape = X::shape;
  static constexpr element_type element = X::element;
  static constexpr expression_traits traits = X::traits;
};

namespace detail {
template <class Owner, class Parameter, class X>
struct parts_of<Owner, layer_result<Parameter, X>> {
  using type = std::tuple<seen_from<Owner, X>>;
};

template <fixed_string Name>
inline constexpr auto without_last_part = [] {
  constexpr std::size_t end = std::min(std::string_view(Name).rfind('.'), sizeof(Name.text) - 1);
  fixed_string<end + 1> text;
  std::copy_n(Name.text, end, text.text);
  text.text[end] = '\0';  // clang prints only what was written
  return text;
}();
template <fixed_string Name, bool Trainable, initial Init, int... Extents, class X>
inline constexpr auto known_as<layer_result<parameter_leaf<Name, Trainable, Init, Extents...>, X>> =
    without_last_part<Name>;
template <class Parameter, class X>
struct rank_from<layer_result<Parameter, X>> : rank_from<X> {};

/// The result X of the layer Name, which has the given parameter. Who writes an absolute name wants it shared.
template <fixed_string Name, class Parameter, an_expression X>
constexpr auto result_of_layer(Parameter, X x) {
  if constexpr (wrong<X> || Name.text[0] == '/') return x;
  else return shortened<layer_result<Parameter, X>>{};
}

template <class Opaque>
struct shared_layer : layer_base {
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<shared_mark, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};
}  // namespace detail

/// The layer, of which the parameters are those of another application: where one layer, or a whole model, is applied
/// several times, all applications but one are shared. `x | encoder`, `y | shared(encoder)`. Its random operations draw
/// numbers of their own.
template <class F>
  requires std::is_class_v<F>
constexpr detail::made_from_layer<"shared", F, detail::shared_layer<detail::opaque<F>>> shared(F) {
  return {};
}

}  // namespace cairn
