// The motion of a small window over images: the filter of a convolution, or the window of a pool.
#pragma once

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
/// last windows that would fit are left out.
struct window_axis {
  int extent, stride = 1, padding = 0, dilation = 1, more = 0;

  /// Returns the distance from the first to the last pixel of a window, both included.
  constexpr int span() const { return dilation * (extent - 1) + 1; }
  /// Returns how many windows fit over `pixels` pixels and their padding.
  constexpr int count(int pixels) const {
    const int room = pixels + 2 * padding + more - span();
    return room < 0 ? 0 : room / stride + 1;
  }
  /// Returns how many pixels one more window lacks after `pixels` pixels and their padding. Returns 0 if no pixel is
  /// left for this window, or if this window would begin after the image.
  constexpr int lacking(int pixels) const {
    const int room = pixels + 2 * padding - span();
    const int lacks = room < 0 ? -room : (stride - room % stride) % stride;
    return lacks < stride && room + lacks < pixels + padding ? lacks : 0;
  }
  /// Returns over how many pixels exactly `windows` windows and no pixel more fit, without the padding.
  constexpr int pixels(int windows) const { return (windows - 1) * stride + span() - 2 * padding - more; }
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
  constexpr int most_over_pixel() const { return (span() - 1) / stride + 1; }
};

}  // namespace cairn::costs
