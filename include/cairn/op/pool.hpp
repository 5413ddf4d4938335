// Pools: windows move over images {N, H, W, C}, and each window gives its largest number, its sum or its mean.
#pragma once

#include "cairn/cost/window.hpp"
#include "cairn/lang/apply.hpp"

namespace cairn::lang {

/// The windows of a pool. `extent` is the height and width of a window in pixels. `stride` is the distance between
/// neighbouring windows in pixels. The first window begins `padding` pixels outside of the image. `dilation` is the
/// distance between neighbouring pixels of a window. After the image, there are `padding + more` pixels of padding.
struct pooling {
  nn::extents extent, stride = extent, padding = 0, dilation = 1, more = 0;

  /// Returns how the window moves along an axis: 0 is the height, and 1 is the width.
  constexpr costs::window_axis along(int axis) const {
    return {extent[axis], stride[axis], padding[axis], dilation[axis], more[axis]};
  }
  constexpr shape result(const shape& x) const {
    if (x.rank != 4 || !is_valid(0) || !is_valid(1)) return no_shape;
    return costs::image_shape(x[0], along(0).count(x[1]), along(1).count(x[2]), x[3]);
  }
  constexpr bool is_valid(int axis) const {
    return extent[axis] > 0 && stride[axis] > 0 && padding[axis] >= 0 && padding[axis] <= extent[axis] / 2 &&
           dilation[axis] > 0 && detail::is_extent(std::int64_t{extent.height} * extent.width);
  }
  constexpr int position_count() const { return extent.height * extent.width; }
  /// Returns the type of positions in a window, which are counted row by row. The type is a byte if a window has at
  /// most 256 positions.
  constexpr element_type position_type() const {
    const bool small = position_count() <= 256;
    return {small ? dtype::u8 : dtype::i32, position_count()};
  }
  friend constexpr bool operator==(const pooling&, const pooling&) = default;
};

template <pooling P>
struct pooling_op : op {
  using rule = misuse::window_in_image;
  using asked =
      std::conditional_t<detail::single_numbers<P.extent, P.stride, P.padding, P.dilation>,
                         fact::window<P.extent.width, P.stride.width, P.padding.width, P.dilation.width>,
                         fact::window<P.extent.height, P.extent.width, P.stride.height, P.stride.width,
                                      P.padding.height, P.padding.width, P.dilation.height, P.dilation.width>>;
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 0 ? reading::as_stored : reading::as_float};
  }
  static constexpr making makes(int result, int, const auto&...) { return {.rounds = result == 0}; }
  static constexpr bool keeps_rows(int, const auto&...) { return true; }
};
/// Returns the shape of an image, from the shape `g` of its pool and the height and width that the image had before
/// pooling.
constexpr shape unpooled(shape g, int height, int width) {
  g.extent[1] = height;
  g.extent[2] = width;
  return g;
}

/// Adds each number to one pixel of the window that the number belongs to. The second argument holds the position of
/// this pixel in the window. The result is an image of Height x Width pixels.
template <pooling P, int Height, int Width>
struct window_scatter_op;

/// Reads one number from each window of an image: the number at the given position of that window.
template <pooling P>
struct window_gather_op : pooling_op<P> {
  static constexpr fixed_string name = "pool_at";
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr int extent_indexed(int i, const shape&, const shape&) { return i == 1 ? P.position_count() : 0; }
  static constexpr shape result(const shape& x, const shape& at) { return P.result(x) == at ? at : no_shape; }
  static constexpr std::int64_t flops(const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x, auto at) {
    constexpr shape from = decltype(x)::shape;
    return gradients(make<window_scatter_op<P, from[1], from[2]>>(g, at), no_gradient{});
  }
};

template <pooling P, int Height, int Width>
struct window_scatter_op : pooling_op<P> {
  static constexpr fixed_string name = "unpool";
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr int extent_indexed(int i, const shape&, const shape&) { return i == 1 ? P.position_count() : 0; }
  static constexpr shape result(const shape& x, const shape& at) {
    const shape whole = unpooled(x, Height, Width);
    return x == at && P.result(whole) == x ? whole : no_shape;
  }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto, auto at) {
    return gradients(make<window_gather_op<P>>(g, at), no_gradient{});
  }
};

/// Computes the largest number of each window, and the position of this number in the window. If several numbers are
/// equal, the position is that of the first. If a window contains NaN, the result is NaN. Pixels outside of the image
/// do not count.
template <pooling P>
struct max_pool_op : pooling_op<P> {
  static constexpr fixed_string name = "max_pool2d";
  static constexpr std::array<tensor_type, 2> result(const tensor_type& x) {
    const shape to = P.result(x);
    if (!to.valid()) return {no_shape, no_shape};
    return {tensor_type(to, x.element), tensor_type(to, P.position_type())};
  }
  static constexpr std::int64_t flops(const shape& x) { return P.result(x).count() * P.position_count(); }
  static constexpr auto vjp(auto g, auto, auto at, auto x) {
    constexpr shape from = decltype(x)::shape;
    return gradients(make<window_scatter_op<P, from[1], from[2]>>(g, at));
  }
};

/// Adds each number to all pixels of its window. If Mean is true, adds the number divided by the count of positions in
/// a window. The result is an image of Height x Width pixels. If Mean is false and windows lie side by side, the image
/// repeats each number.
template <pooling P, bool Mean, int Height, int Width>
struct window_spread_op;

/// Computes the sum of each window, or its mean if Mean is true. Pixels outside of the image count as zeros, in a mean
/// too.
template <pooling P, bool Mean>
struct sum_pool_op : pooling_op<P> {
  static constexpr auto name = [] {
    if constexpr (Mean) return fixed_string{"avg_pool2d"};
    else return fixed_string{"sum_pool2d"};
  }();
  static constexpr shape result(const shape& x) { return P.result(x); }
  static constexpr std::int64_t flops(const shape& x) { return P.result(x).count() * P.position_count(); }
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr shape from = decltype(x)::shape;
    return gradients(make<window_spread_op<P, Mean, from[1], from[2]>>(g));
  }
};

template <pooling P, bool Mean, int Height, int Width>
struct window_spread_op : pooling_op<P> {
  static constexpr auto name = [] {
    if constexpr (!Mean && P == pooling{P.extent}) return fixed_string{"upsample2d"};
    else return fixed_string{"spread_pool2d"};
  }();
  static constexpr shape result(const shape& g) {
    const shape whole = unpooled(g, Height, Width);
    return P.result(whole) == g ? whole : no_shape;
  }
  static constexpr std::int64_t flops(const shape& g) { return g.count() * P.position_count(); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<sum_pool_op<P, Mean>>(g)); }
};

}  // namespace cairn::lang
