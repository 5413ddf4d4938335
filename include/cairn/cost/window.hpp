// The motion of a small window over images: the filter of a convolution, or the window of a pool.
#pragma once

#include "cairn/base/shape.hpp"
#include "cairn/cost/parts.hpp"

#include <concepts>
#include <limits>

namespace cairn::nn {

/// Two lengths in pixels, along the height and along the width of images. A single number stands for both lengths, so 3
/// and {3, 3} are the same extents.
struct extents {
  int height, width;

  constexpr extents(int both) : height(both), width(both) {}
  constexpr extents(int along_height, int along_width) : height(along_height), width(along_width) {}
  template <std::floating_point Real>
  extents(Real) = delete;
  /// Returns the length along an axis: 0 is the height, and 1 is the width.
  constexpr int operator[](int axis) const { return axis == 0 ? height : width; }
  friend constexpr bool operator==(const extents&, const extents&) = default;
};

/// The padding with which conv2d and conv1d keep the height and the width of their argument. If the pixels of padding
/// are odd in number, the last pixel is at the end. A negative length serves as the mark.
inline constexpr extents same{std::numeric_limits<int>::min()};

/// Describes how the window of a convolution or a pool moves. Lengths are in pixels. The words are PyTorch's.
struct window {
  extents stride = 0;    ///< distance between window positions; 0: 1 for a convolution, the window's extent for a pool
  extents padding = 0;   ///< pixels around the image, with the value 0, or minus infinity if the pool is a maximum
  extents dilation = 1;  ///< distance between neighbouring pixels of the window
  int groups = 1;        ///< groups of channels; a result of a convolution reads only the channels of its own group
  extents output_padding = 0;     ///< pixels that a transposed convolution adds at the ends of its result
  bool ceil_mode = false;         ///< the last windows of a pool may reach over the end of the padded image
  bool count_include_pad = true;  ///< the mean of a window counts its pixels of padding

  friend constexpr bool operator==(const window&, const window&) = default;
};

}  // namespace cairn::nn

namespace cairn::detail {
/// Is true if each of the extents has equal lengths. Messages then show a single number for each of them.
template <nn::extents... E>
inline constexpr bool single_numbers = ((E.height == E.width) && ...);
}  // namespace cairn::detail

namespace cairn::costs {

/// Windows along one axis of an image, `stride` pixels apart. Lengths are in pixels. The first window begins `padding`
/// pixels before the image. The padding after the image has `padding + more` pixels. A negative `more` means that the
/// last windows that would fit are left out. Sums and products of lengths have 64 bits, because they may exceed 2^31.
struct window_axis {
  int extent, stride = 1, padding = 0, dilation = 1, more = 0;

  /// Returns the distance from the first to the last pixel of a window, both included.
  constexpr std::int64_t span() const { return std::int64_t{dilation} * (extent - 1) + 1; }
  /// Returns how many pixels are behind a window that begins with the padding, if the padding has equal ends.
  constexpr std::int64_t room(int pixels) const { return pixels + 2 * std::int64_t{padding} - span(); }
  /// Returns how many windows fit over `pixels` pixels and their padding.
  constexpr std::int64_t count(int pixels) const {
    const std::int64_t behind = room(pixels) + more;
    return behind < 0 ? 0 : behind / stride + 1;
  }
  /// Returns how many pixels one more window lacks after `pixels` pixels and their padding. Returns 0 if no pixel is
  /// left for this window, or if this window would begin after the image.
  constexpr int lacking(int pixels) const {
    const std::int64_t behind = room(pixels), lacks = behind < 0 ? -behind : (stride - behind % stride) % stride;
    const bool begins = behind + lacks < std::int64_t{pixels} + padding;
    return lacks < stride && begins ? static_cast<int>(lacks) : 0;
  }
  /// Returns over how many pixels exactly `windows` windows and no pixel more fit, without the padding.
  constexpr std::int64_t pixels(int windows) const {
    return std::int64_t{windows - 1} * stride + span() - 2 * std::int64_t{padding} - more;
  }
  /// Returns the pixel that the window number `window` begins with. It may be outside of the image.
  constexpr std::int64_t first_pixel(std::int64_t window) const { return window * stride - padding; }
  /// Returns which of the window's pixels are within an image of `pixels` pixels.
  constexpr range within(std::int64_t window, std::int64_t pixels) const {
    const std::int64_t first = first_pixel(window);
    if (padding == 0 && more == 0) return {0, extent};
    return {std::max<std::int64_t>(0, (dilation - 1 - first) / dilation),
            std::min<std::int64_t>(extent, (dilation - 1 + pixels - first) / dilation)};
  }
  /// Returns which of `windows` windows span the pixel. With a dilation, the pixel may lie between their pixels.
  constexpr range windows_over(std::int64_t pixel, std::int64_t windows) const {
    const std::int64_t i = pixel + padding;
    return {i < span() ? 0 : (i - span()) / stride + 1, std::min(i / stride + 1, windows)};
  }
  /// Returns the most windows that span one pixel.
  constexpr std::int64_t most_over_pixel() const { return (span() - 1) / stride + 1; }
};

/// Returns the shape of images, or `no_shape` if they have no pixels or are too large for a tensor.
constexpr shape image_shape(int count, std::int64_t rows, std::int64_t columns, int channels) {
  const bool fits = cairn::detail::is_extent(rows) && cairn::detail::is_extent(columns) &&
                    cairn::detail::can_be_counted(count, rows, columns, channels);
  return fits ? shape{count, rows, columns, channels} : no_shape;
}

}  // namespace cairn::costs
