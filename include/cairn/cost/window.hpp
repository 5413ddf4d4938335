// Where a small window stands as it moves over images.
#pragma once

#include "cairn/base/compiler.hpp"

namespace cairn::nn {

/// How the window of a convolution or a pool moves, along all axes of the image alike, in pixels: PyTorch's words.
struct window {
  int stride = 0;    ///< from one place to the next; 0: 1 for a convolution, its own extent for a pool
  int padding = 0;   ///< around the image: zeros; minus infinity for a maximum
  int dilation = 1;  ///< between the window's own pixels
  int groups = 1;    ///< of channels: a convolution's results read those of their own group alone

  friend constexpr bool operator==(const window&, const window&) = default;
};

}  // namespace cairn::nn
