// Converts elements from one type to another.
#pragma once

#include "cairn/lang/convert.hpp"

namespace cairn::lang {

/// Returns its argument. The fused loop converts the results of all operations to the types of these results.
template <dtype To, class V>
[[gnu::always_inline]] inline V lanewise(as_op<To>, V a) {
  return a;
}

}  // namespace cairn::lang
