// Where the elements of a tensor lie in another one of the same rank: parts, borders, turns, repetitions.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdint>

namespace cairn {

/// What stands where a map leads outside of an axis.
enum class edge : std::uint8_t { none, zero, wrap, nearest };

/// Element i of an axis is element (begin + step * i) / repeat of that axis of the argument, rounded down.
struct axis_map {
  int begin = 0, step = 1, repeat = 1;
  edge outside = edge::none;

  constexpr bool in_steps() const { return repeat == 1 && outside == edge::none; }
};

}  // namespace cairn
