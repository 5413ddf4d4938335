// Pools over images {N, H, W, C}, and upsampling to larger images, as functions and as layers.
#pragma once

#include "cairn/cost/window.hpp"
#include "cairn/lang/generated.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/op/pool.hpp"
#include "cairn/op/reduce.hpp"
#include "cairn/op/resample.hpp"

namespace cairn {

namespace detail {
/// Returns the windows of a pool over images {N, H, W, C}. Without a stride, windows lie side by side. In ceil_mode,
/// pixels may be left over after the last window. The padding after the image then grows until one more window fits. As
/// in PyTorch, this window begins in the image, or in the padding before the image.
constexpr pooling pooling_of(nn::extents extent, const nn::window& by, const shape& images) {
  const auto stride = [&](int axis) { return by.stride[axis] == 0 ? extent[axis] : by.stride[axis]; };
  pooling out{extent, {stride(0), stride(1)}, by.padding, by.dilation};
  if (by.ceil_mode && images.rank == 4 && out.is_valid(0) && out.is_valid(1))
    out.more = {out.along(0).lacking(images[1]), out.along(1).lacking(images[2])};
  return out;
}
/// Computes how many pixels of a window are counted in a mean over an image of Height x Width pixels. Pixels of padding
/// are counted if PaddingCounts is true. Pixels behind the padding are never counted.
template <pooling P, int Height, int Width, bool PaddingCounts>
struct counted_pixels {
  static constexpr int along(int axis, int window, int pixels) {
    const costs::window_axis moves = P.along(axis);
    const int first = static_cast<int>(moves.first_pixel(window)), around = PaddingCounts ? moves.padding : 0;
    return std::min(first + moves.extent, pixels + around) - std::max(first, -around);
  }
  constexpr int operator()(int, int row, int column, int) const {
    return along(0, row, Height) * along(1, column, Width);
  }
};

/// Returns a mistake if the argument is not an image. Returns sound if the argument is an image, or is a mistake
/// itself.
template <fixed_string Name, class X>
constexpr auto problem_of_image(X) {
  if constexpr (wrong<X> || X::shape.rank == 4) return sound{};
  else return mistake<misuse::image, typename X::owner, fact::operation<Name, tensor_fact<X>>>{};
}
/// Returns true if all settings of the window are settings of pools: of max pools if Max is true, and of average pools
/// if Max is false.
template <bool Max>
constexpr bool has_settings(const nn::window& by) {
  return by.groups == 1 && by.output_padding == 0 && by.padding != nn::same &&
         (Max ? by.count_include_pad : by.dilation == 1);
}
template <fixed_string Name, bool Max, nn::window W, class Op, class X>
constexpr auto pooled(X x) {
  using problem = decltype(problem_of_image<Name>(x));
  if constexpr (!std::same_as<problem, sound>) {
    return problem{};
  } else if constexpr (!wrong<X> && !has_settings<Max>(W)) {
    using what = fact::operation<Name, tensor_fact<X>>;
    return mistake<misuse::settings_of_pool, typename X::owner, what,
                   fact::dilation<W.dilation.height, W.dilation.width>, fact::groups<W.groups>>{};
  } else if constexpr (result_count<Op, X> > 1) {
    return std::get<0>(make<Op>(x));
  } else {
    return make<Op>(x);
  }
}

template <nn::extents Extent, nn::window W>
struct max_pool_form : form_of_one<"max_pool2d"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    return pooled<"max_pool2d", true, W, max_pool_op<pooling_of(Extent, W, X::shape)>>(x);
  }
};
template <nn::extents Extent, nn::window W>
struct avg_pool_form : form_of_one<"avg_pool2d"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr pooling moves = pooling_of(Extent, W, X::shape);
    constexpr shape to = moves.result(X::shape);
    constexpr bool counts_alike =
        moves.more == nn::extents{0} && (W.count_include_pad || moves.padding == nn::extents{0});
    const auto averaged = pooled<"avg_pool2d", false, W, sum_pool_op<moves, counts_alike || !to.valid()>>(x);
    if constexpr (counts_alike || wrong<std::remove_const_t<decltype(averaged)>>) {
      return averaged;
    } else {
      using counted = counted_pixels<moves, X::shape[1], X::shape[2], W.count_include_pad>;
      return averaged / lang::generated<1, to[1], to[2], 1>(counted{});
    }
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

/// Computes the largest element of each window of pixels in x {N, H, W, C}, as F.max_pool2d does. `max_pool2d<2>(x)`
/// halves height and width. `max_pool2d<3, nn::window{.stride = 2, .padding = 1}>(x)` sets stride and padding. The
/// extents of a window are a number or a pair: `max_pool2d<{1, 2}>(x)` halves the width alone. If several elements of a
/// window are equal, the first one, row by row, gets the gradient. If a window contains NaN, the result is NaN.
/// With `.ceil_mode = true`, the last windows may reach over the end of the padded image.
/// Rejects: an x that does not have four axes; a window larger than the padded image; padding of more than half of the
/// window; settings of convolutions and of average pools.
template <nn::extents Extent, nn::window W = nn::window{}, an_operand X, class... Surplus>
constexpr lang::applied<detail::max_pool_form<Extent, W>, X, Surplus...> max_pool2d(X, Surplus...) {
  return {};
}

/// Computes the mean of each window, as F.avg_pool2d does. Padding counts as zeros. With `.count_include_pad = false`,
/// a mean counts the pixels of the image alone. Pixels that `.ceil_mode = true` adds behind the padding never count.
/// Rejects what max_pool2d rejects, and a dilation.
template <nn::extents Extent, nn::window W = nn::window{}, an_operand X, class... Surplus>
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
template <extents Extent, window W = window{}>
inline constexpr detail::form_layer<cairn::detail::max_pool_form<Extent, W>> max_pool2d{};
template <extents Extent, window W = window{}>
inline constexpr detail::form_layer<cairn::detail::avg_pool_form<Extent, W>> avg_pool2d{};
inline constexpr detail::form_layer<cairn::detail::global_average_form> global_average{};
template <int Factor, interpolation... Mode>
inline constexpr detail::form_layer<cairn::detail::upsample_form<Factor, Mode...>> upsample2d{};
}  // namespace nn

}  // namespace cairn
