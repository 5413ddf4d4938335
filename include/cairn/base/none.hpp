// Says that a table has no value, leaf, step or other entry at an index.
#pragma once

#include "cairn/base/compiler.hpp"

namespace cairn::detail {

/// The index of no entry. Tables that hold indices use it, unless they say otherwise.
inline constexpr int none = -1;

}  // namespace cairn::detail
