// Maps from the elements of a tensor to elements of another tensor of the same rank. Slices, padding, reversals, rolls
// and repetitions are maps.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdint>

namespace cairn::nn {
/// Says what a map reads outside of an axis. `none`: the map never leads outside. `zero`: it reads a zero. `wrap`: the
/// axis starts again from its other end. `nearest`: it reads the nearest element, which is the first or the last.
enum class edge : std::uint8_t { none, zero, wrap, nearest };
}  // namespace cairn::nn

namespace cairn {

/// A map along one axis. Element i of the axis is element (begin + step * i) / repeat of the same axis of the argument,
/// rounded down.
struct axis_map {
  int begin = 0, step = 1, repeat = 1;
  nn::edge outside = nn::edge::none;

  /// Returns true if the elements that the map reads have equal distances, so that a stride describes the map.
  constexpr bool in_steps() const { return repeat == 1 && outside == nn::edge::none; }
};

}  // namespace cairn
