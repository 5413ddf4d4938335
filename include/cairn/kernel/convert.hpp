// Conversions between types of elements.
#pragma once

#include "cairn/lang/convert.hpp"

namespace cairn {

/// Loops convert what an operation makes to the type of its result.
template <dtype To, class V>
[[gnu::always_inline]] inline V lanewise(as_op<To>, V a) {
  return a;
}

}  // namespace cairn
