// Operations as layers, and the residual connection.
#pragma once

#include "cairn/lang/block.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/softmax.hpp"

namespace cairn::nn {

namespace detail {
/// An operation as an object that can be passed around.
template <class Op>
struct operation_layer : layer_base {
  static constexpr fixed_string name = Op::name;
  template <an_expression X>
  constexpr made<Op, X> operator()(X) const {
    return {};
  }
};
/// A function of one value as an object that can be passed around.
template <class Form>
struct form_layer : layer_base {
  static constexpr auto name = Form::name;
  template <an_expression X>
  constexpr applied<Form, X> operator()(X) const {
    return {};
  }
};
template <fixed_string Name>
struct tag_layer : layer_base {
  template <an_expression X>
  constexpr applied<cairn::detail::tag_form<Name>, X> operator()(X) const {
    return {};
  }
};
template <class L>
struct residual_layer : layer_base {
  template <an_expression X>
  constexpr surfaced<cairn::detail::unreported<add_op, X, cairn::detail::body_of<L, X>>> operator()(X) const {
    return {};
  }
};
template <class L, class Shortcut>
struct projected_layer : layer_base {
  template <an_expression X>
  constexpr surfaced<
      cairn::detail::unreported<add_op, cairn::detail::body_of<Shortcut, X>, cairn::detail::body_of<L, X>>>
  operator()(X) const {
    return {};
  }
};
}  // namespace detail

inline constexpr detail::operation_layer<exp_op> exp{};
inline constexpr detail::operation_layer<gelu_op> gelu{};
/// x where it is positive, else Slope x; 0.01 where nothing is said: `nn::leaky_relu<>`.
template <auto Slope = 0.01>
inline constexpr detail::form_layer<cairn::detail::leaky_relu_form<static_cast<double>(Slope)>> leaky_relu{};
inline constexpr detail::operation_layer<log_softmax_op<-1>> log_softmax{};
inline constexpr detail::operation_layer<relu_op> relu{};
inline constexpr detail::operation_layer<sigmoid_op> sigmoid{};
inline constexpr detail::operation_layer<silu_op> silu{};
inline constexpr detail::operation_layer<softmax_op<-1>> softmax{};
inline constexpr detail::operation_layer<softplus_op> softplus{};
inline constexpr detail::operation_layer<square_op> square{};
inline constexpr detail::operation_layer<tanh_op> tanh{};

/// The value at this place of a chain under a name for policies, which itself changes nothing.
template <fixed_string Name>
inline constexpr detail::tag_layer<Name> tag{};

/// x + f(x) (He et al., 2015); f keeps the shape.
template <class L>
constexpr cairn::detail::made_from_layer<"residual", L, detail::residual_layer<L>> residual(L) {
  return {};
}
/// shortcut(x) + f(x): where f changes the shape, so does the shortcut, as by a convolution of 1 x 1.
template <class L, class Shortcut>
constexpr cairn::detail::made_from_layer<
    "residual", L, cairn::detail::made_from_layer<"residual", Shortcut, detail::projected_layer<L, Shortcut>>>
residual(L, Shortcut) {
  return {};
}

}  // namespace cairn::nn
