// Operations as layers, and residual connections.
#pragma once

#include "cairn/lang/block.hpp"
#include "cairn/op/activation.hpp"
#include "cairn/op/softmax.hpp"

namespace cairn::nn {

namespace detail {
/// An operation as a layer, which is an object that can be passed around.
template <class Op>
struct operation_layer : lang::layer_base {
  static constexpr fixed_string name = Op::name;
  template <an_expression X>
  constexpr made<Op, X> operator()(X) const {
    return {};
  }
};
/// A function of one expression as a layer, which is an object that can be passed around.
template <class Form>
struct form_layer : lang::layer_base {
  static constexpr auto name = Form::name;
  template <an_expression X>
  constexpr lang::applied<Form, X> operator()(X) const {
    return {};
  }
};
template <fixed_string Name>
struct tag_layer : lang::layer_base {
  template <an_expression X>
  constexpr lang::applied<lang::tag_form<Name>, X> operator()(X) const {
    return {};
  }
};
/// What a residual connection adds to f(x): x, or shortcut(x).
template <class X, class... Shortcut>
struct beside_layer {
  using type = X;
};
template <class X, class Shortcut>
struct beside_layer<X, Shortcut> {
  using type = lang::called<lang::stage_mark, Shortcut, X>;
};
template <class L, class... Shortcut>
struct residual_form : lang::form_of_one<"residual"> {
  template <an_expression X>
  static constexpr auto body(X) {
    return made<lang::add_op, typename beside_layer<X, Shortcut...>::type, lang::called<lang::stage_mark, L, X>>{};
  }
};
template <class L, class... Shortcut>
struct residual_layer : lang::layer_base {
  template <an_expression X>
  constexpr lang::applied<residual_form<L, Shortcut...>, X> operator()(X) const {
    return {};
  }
};
}  // namespace detail

/// Computes x where x is positive, else Alpha (exp(x) - 1). Without an Alpha, `nn::elu<>` uses 1.
template <auto Alpha = 1.0>
inline constexpr detail::form_layer<lang::elu_form<static_cast<double>(Alpha)>> elu{};
inline constexpr detail::operation_layer<lang::exp_op> exp{};
inline constexpr detail::operation_layer<lang::gelu_op> gelu{};
inline constexpr detail::operation_layer<lang::gelu_tanh_op> gelu_tanh{};
inline constexpr detail::form_layer<lang::hardsigmoid_form> hardsigmoid{};
inline constexpr detail::operation_layer<lang::hardswish_op> hardswish{};
/// Computes x where x is positive, else Slope x. Without a Slope, `nn::leaky_relu<>` uses 0.01.
template <auto Slope = 0.01>
inline constexpr detail::form_layer<lang::leaky_relu_form<static_cast<double>(Slope)>> leaky_relu{};
inline constexpr detail::operation_layer<lang::log_softmax_op<-1>> log_softmax{};
inline constexpr detail::operation_layer<lang::mish_op> mish{};
inline constexpr detail::operation_layer<lang::relu_op> relu{};
inline constexpr detail::operation_layer<lang::sigmoid_op> sigmoid{};
inline constexpr detail::operation_layer<lang::silu_op> silu{};
inline constexpr detail::operation_layer<lang::softmax_op<-1>> softmax{};
inline constexpr detail::operation_layer<lang::softplus_op> softplus{};
inline constexpr detail::operation_layer<lang::square_op> square{};
inline constexpr detail::operation_layer<lang::tanh_op> tanh{};

/// Gives the value at this point of a chain a name, to which policies can refer. The value itself does not change.
template <fixed_string Name>
inline constexpr detail::tag_layer<Name> tag{};

/// Computes x + f(x) (He et al., 2015). f must keep the shape of x.
template <class L>
constexpr lang::made_from_layer<"residual", L, detail::residual_layer<L>> residual(L) {
  return {};
}
/// Computes shortcut(x) + f(x). If f changes the shape of x, the shortcut must change it to the same shape, for example
/// by a 1 x 1 convolution.
template <class L, class Shortcut>
constexpr lang::made_from_layer<"residual", L,
                                lang::made_from_layer<"residual", Shortcut, detail::residual_layer<L, Shortcut>>>
residual(L, Shortcut) {
  return {};
}

}  // namespace cairn::nn
