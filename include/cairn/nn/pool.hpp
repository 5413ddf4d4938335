// Pools over images {N, H, W, C}, and upsampling to larger images, as functions and as layers.
#pragma once

#include "cairn/cost/window.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/op/pool.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/op/resample.hpp"

namespace cairn {

namespace detail {
/// The windows of a pool. Without a stride, windows lie side by side.
template <int Extent, nn::window W>
inline constexpr pooling pooling_of{Extent, W.stride == 0 ? Extent : W.stride, W.padding};

/// Returns a mistake if the argument is not an image. Returns sound if the argument is an image, or is a mistake
/// itself.
template <fixed_string Name, class X>
constexpr auto problem_of_image(X) {
  if constexpr (wrong<X> || X::shape.rank == 4) return sound{};
  else return mistake<misuse::image, typename X::owner, fact::operation<Name, tensor_fact<X>>>{};
}
template <fixed_string Name, nn::window W, class Op, class X>
constexpr auto pooled(X x) {
  using problem = decltype(problem_of_image<Name>(x));
  if constexpr (!std::same_as<problem, sound>) {
    return problem{};
  } else if constexpr (!wrong<X> && (W.dilation != 1 || W.groups != 1)) {
    using what = fact::operation<Name, tensor_fact<X>>;
    return mistake<misuse::settings_of_pool, typename X::owner, what, fact::dilation<W.dilation>,
                   fact::groups<W.groups>>{};
  } else if constexpr (result_count<Op, X> > 1) {
    return std::get<0>(make<Op>(x));
  } else {
    return make<Op>(x);
  }
}

template <int Extent, nn::window W>
struct max_pool_form : form_of_one<"max_pool2d"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    return pooled<"max_pool2d", W, max_pool_op<pooling_of<Extent, W>>>(x);
  }
};
template <int Extent, nn::window W>
struct avg_pool_form : form_of_one<"avg_pool2d"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    return pooled<"avg_pool2d", W, sum_pool_op<pooling_of<Extent, W>, true>>(x);
  }
};
/// The form of upsample2d. Without a mode, each pixel is repeated. nn/resample.hpp has the form with a mode.
template <int Factor, nn::interpolation... Mode>
struct upsample_form : form_of_one<"upsample2d"> {
  template <class X>
  static constexpr bool has_extents = cairn::detail::is_extent(std::int64_t{Factor} * X::shape[1]) &&
                                      cairn::detail::is_extent(std::int64_t{Factor} * X::shape[2]);
  template <an_expression X>
  static constexpr auto body(X x) {
    using problem = decltype(problem_of_image<"upsample2d">(x));
    if constexpr (!std::same_as<problem, sound>) {
      return problem{};
    } else if constexpr (!wrong<X> && !has_extents<X>) {
      using what = fact::operation<"upsample2d", tensor_fact<X>>;
      return mistake<misuse::factor_of_pixels, typename X::owner, what, fact::factor<Factor>>{};
    } else {
      constexpr int height = Factor * X::shape[1], width = Factor * X::shape[2];
      return make<window_spread_op<pooling{Factor}, false, height, width>>(x);
    }
  }
};
struct global_average_form : form_of_one<"global_average"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using problem = decltype(problem_of_image<"global_average">(x));
    if constexpr (std::same_as<problem, sound>) return lang::mean<1, 2>(x);
    else return problem{};
  }
};
}  // namespace detail

/// Computes the largest element of each window of Extent x Extent pixels in x {N, H, W, C}, as F.max_pool2d does.
/// `max_pool2d<2>(x)` halves height and width. `max_pool2d<3, nn::window{.stride = 2, .padding = 1}>(x)` sets stride
/// and padding. If several elements of a window are equal, the first one, row by row, gets the gradient. If a window
/// contains NaN, the result is NaN.
/// Rejects: an x that does not have four axes; a window larger than the padded image; padding of more than half of the
/// window; dilation and groups.
template <int Extent, nn::window W = nn::window{}, an_operand X, class... Surplus>
constexpr lang::applied<detail::max_pool_form<Extent, W>, X, Surplus...> max_pool2d(X, Surplus...) {
  return {};
}

/// Computes the mean of each window, as F.avg_pool2d does. Padding counts as zeros. Rejects what max_pool2d rejects.
template <int Extent, nn::window W = nn::window{}, an_operand X, class... Surplus>
constexpr lang::applied<detail::avg_pool_form<Extent, W>, X, Surplus...> avg_pool2d(X, Surplus...) {
  return {};
}

/// Repeats each pixel of x {N, H, W, C} Factor times along height and width: {N, Factor * H, Factor * W, C}. This is
/// F.interpolate(x, scale_factor=Factor) with mode='nearest'. Rejects: an x that does not have four axes; a factor
/// below 1; a height or width of the result of 2^31 or more.
template <int Factor, an_operand X, class... Surplus>
constexpr lang::applied<detail::upsample_form<Factor>, X, Surplus...> upsample2d(X, Surplus...) {
  return {};
}

/// Computes the mean over height and width of x {N, H, W, C}: {N, C}. Rejects: an x that does not have four axes.
template <an_operand X, class... Surplus>
constexpr lang::applied<detail::global_average_form, X, Surplus...> global_average(X, Surplus...) {
  return {};
}

namespace nn {
/// The functions of this file as layers: `nn::max_pool2d<3, nn::window{.stride = 2, .padding = 1}>`.
template <int Extent, window W = window{}>
inline constexpr detail::form_layer<cairn::detail::max_pool_form<Extent, W>> max_pool2d{};
template <int Extent, window W = window{}>
inline constexpr detail::form_layer<cairn::detail::avg_pool_form<Extent, W>> avg_pool2d{};
inline constexpr detail::form_layer<cairn::detail::global_average_form> global_average{};
template <int Factor, interpolation... Mode>
inline constexpr detail::form_layer<cairn::detail::upsample_form<Factor, Mode...>> upsample2d{};
}  // namespace nn

}  // namespace cairn
