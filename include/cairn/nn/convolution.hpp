// Convolutions as layers.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/convolution.hpp"

namespace cairn::nn {

namespace detail {
template <class Form, fixed_string Name, int Out, extents Extent, bool Bias, initial... Start>
struct convolution_layer : checked_layer<convolution_layer<Form, Name, Out, Extent, Bias, Start...>> {
  static constexpr fixed_string name = Name;
  static constexpr auto problem(auto x) {
    return problem_of_features<Form::name, Name>(x, []<class X>(X) {
      using what = fact::operation<Form::name, lang::tensor_fact<X>>;
      using given = std::conditional_t<cairn::detail::single_numbers<Extent>, fact::filters<Out, Extent.width>,
                                       fact::filters<Out, Extent.height, Extent.width>>;
      if constexpr (Out < 1 || Extent.height < 1 || Extent.width < 1) {
        return lang::poison<misuse::positive_extents, typename X::owner, fact::in<Name>, what, given>{};
      } else if constexpr (constexpr int fault = Form::broken_rule(X::shape, filters<X>); fault != 0) {
        using rule = std::tuple_element_t<fault, typename Form::rules>;
        return lang::poison<rule, typename X::owner, fact::in<Name>, what, given, typename Form::asked>{};
      } else {
        return lang::sound{};
      }
    });
  }
  static constexpr bool has_weight = true;
  static constexpr bool is_transposed = std::string_view(Form::name) == "conv_transpose2d";
  static constexpr auto apply(auto x) {
    const auto weight = weight_for(x);
    return lang::result_of_layer<Name>(weight, with_weight(x, weight));
  }
  /// Returns the parameter that is the weight of the layer for x.
  template <class X>
  static constexpr auto weight_for(X) {
    constexpr initial of_weight = start_of_weight(in_torch<X>, Start...);
    return weight_of<filters<X>, of_weight>(std::make_index_sequence<filters<X>.rank>{});
  }
  /// Returns the value of the layer with the given weight.
  template <class X, class W>
  static constexpr auto with_weight(X, W) {
    constexpr initial of_bias = start_of_bias(in_torch<X>, Start...);
    const auto y = lang::applied<Form, X, W>{};
    if constexpr (!Bias) return y;
    else return y + param_from<Name + fixed_string{".bias"}, of_bias, Out>;
  }

 private:
  template <class X>
  static constexpr shape filters = Form::filters(X::shape[-1], Out, Extent);
  template <class X>
  static constexpr initial in_torch = fan_in(fan_in_of(filters<X>));
  template <shape Filters, initial OfWeight, std::size_t... Axis>
  static constexpr auto weight_of(std::index_sequence<Axis...>) {
    return param_from<Name + fixed_string{".weight"}, OfWeight, Filters.extent[Axis]...>;
  }
};
}  // namespace detail

/// Convolves images {N, H, W, C} with Out filters of 3 x 3 pixels:
/// `nn::conv2d<"conv1", 64, 3, nn::window{.stride = 2, .padding = 1}>`. Extents are a number or a pair of numbers, for
/// the height and the width: `nn::conv2d<"conv1", 64, {1, 7}, nn::window{.padding = {0, 3}}>`. The parameters are
/// `Name.weight` {Out, C / groups, height, width} and `Name.bias` {Out}.
///
/// Start says how the weight starts: `nn::conv2d<"conv1", 64, 3, nn::window{}, initial::kaiming()>`. The bias then
/// starts as zeros, or as a second `initial` says. Without Start, both parameters start as in PyTorch.
///
/// Rejects: what the function conv2d rejects; groups that do not divide Out; an Out or Extent below 1.
template <fixed_string Name, int Out, extents Extent, window By = window{}, initial... Start>
  requires(sizeof...(Start) <= 2)
inline constexpr detail::convolution_layer<lang::conv2d_form<By>, Name, Out, Extent, true, Start...> conv2d{};
/// Convolves images without a bias, for example before a batch norm.
template <fixed_string Name, int Out, extents Extent, window By = window{}, initial... Start>
  requires(sizeof...(Start) <= 1)
inline constexpr detail::convolution_layer<lang::conv2d_form<By>, Name, Out, Extent, false, Start...>
    conv2d_without_bias{};
/// Convolves rows {N, L, C}: {N, L', Out}. The weight is `Name.weight` {Out, C / groups, Extent}.
template <fixed_string Name, int Out, int Extent, window By = window{}, initial... Start>
  requires(sizeof...(Start) <= 2)
inline constexpr detail::convolution_layer<lang::conv1d_form<By>, Name, Out, Extent, true, Start...> conv1d{};
/// Convolves rows without a bias.
template <fixed_string Name, int Out, int Extent, window By = window{}, initial... Start>
  requires(sizeof...(Start) <= 1)
inline constexpr detail::convolution_layer<lang::conv1d_form<By>, Name, Out, Extent, false, Start...>
    conv1d_without_bias{};
/// Convolves images to larger ones, as the function conv_transpose2d does. The weight is `Name.weight`
/// {C, Out / groups, height, width}.
template <fixed_string Name, int Out, extents Extent, window By = window{}, initial... Start>
  requires(sizeof...(Start) <= 2)
inline constexpr detail::convolution_layer<lang::conv_transpose2d_form<By>, Name, Out, Extent, true, Start...>
    conv_transpose2d{};
/// Convolves images to larger ones without a bias.
template <fixed_string Name, int Out, extents Extent, window By = window{}, initial... Start>
  requires(sizeof...(Start) <= 1)
inline constexpr detail::convolution_layer<lang::conv_transpose2d_form<By>, Name, Out, Extent, false, Start...>
    conv_transpose2d_without_bias{};
/// Convolves rows to longer ones, as the function conv_transpose1d does. The weight is `Name.weight`
/// {C, Out / groups, Extent}.
template <fixed_string Name, int Out, int Extent, window By = window{}>
inline constexpr detail::convolution_layer<lang::conv_transpose1d_form<By>, Name, Out, Extent, true> conv_transpose1d{};
/// Convolves rows to longer ones without a bias.
template <fixed_string Name, int Out, int Extent, window By = window{}>
inline constexpr detail::convolution_layer<lang::conv_transpose1d_form<By>, Name, Out, Extent, false>
    conv_transpose1d_without_bias{};

}  // namespace cairn::nn
