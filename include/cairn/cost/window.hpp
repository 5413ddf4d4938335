// The motion of a small window over images.
#pragma once

#include "cairn/base/compiler.hpp"

namespace cairn::nn {

/// Describes how the window of a convolution or a pool moves, along all axes of the image alike. Lengths are in pixels.
/// The words are PyTorch's.
struct window {
  int stride = 0;    ///< distance between window positions; 0: 1 for a convolution, the window's extent for a pool
  int padding = 0;   ///< pixels around the image, with the value 0, or minus infinity if the pool is a maximum
  int dilation = 1;  ///< distance between neighbouring pixels of the window
  int groups = 1;    ///< groups of channels; a result of a convolution reads only the channels of its own group

  friend constexpr bool operator==(const window&, const window&) = default;
};

}  // namespace cairn::nn
