// What a fused loop is told of the arrays that it runs over: its code is compiled once for all extents.
#pragma once

#include "cairn/base/address.hpp"
#include "cairn/base/element.hpp"
#include "cairn/base/map.hpp"
#include "cairn/base/shape.hpp"

#include <algorithm>
#include <cstddef>

namespace cairn::ir {

struct lane_code;

/// A value of a loop. Argument k >= 0 is value k, k < 0 is input -k - 1; they begin at `first` in a list of arguments.
/// Without lanes it is the first value, which comes in tiles, or a sum of its argument, or a further result of the one
/// before.
struct loop_value {
  const lane_code* lanes = nullptr;
  dtype type = dtype::real;
  int first = 0, arguments = 0;
  bool stored = false;  ///< read outside the loop

  constexpr bool same_code(const loop_value& other) const {
    return same_address(lanes, other.lanes) && type == other.type && arguments == other.arguments &&
           stored == other.stored;
  }
};

/// Where a generated array begins. Nothing lies there: each element has one address, that counts as its position.
inline std::byte* first_position() { return reinterpret_cast<std::byte*>(std::uintptr_t{4096}); }

/// How a loop reads an input along its innermost axis.
enum class access : std::uint8_t {
  contiguous,
  repeated,   ///< one number for the whole row
  mapped,     ///< where a map leads
  constant,   ///< an immediate, no array
  generated,  ///< computed from the positions of its elements
};

/// The sum that a loop makes of what it computes: over everything, one for each column, or one for each row.
enum class sums : std::uint8_t { nothing, all, columns, rows };

/// A mapped input along an axis of the loop: elements of the argument's axis, which lie `stride` apart. Those that lie
/// one after the other are told in up to two runs: element i is number i + before of the argument where begin <= i <
/// cut, and number i + after where cut <= i < end.
struct mapped_axis {
  axis_map map;
  int extent = 1;  ///< of the argument
  std::int64_t stride = 0;
  int begin = 0, cut = 0, end = 0, before = 0, after = 0;
};
/// The same where the loop has so many elements along it.
constexpr mapped_axis mapped_along(const axis_map& map, int extent, std::int64_t stride, int count) {
  mapped_axis a{map, extent, stride};
  if (map.step != 1 || map.repeat != 1) return a;
  const bool wraps = map.outside == edge::wrap;
  a.before = wraps ? (map.begin % extent + extent) % extent : map.begin;
  a.after = a.before - extent;
  a.begin = std::min(std::max(-a.before, 0), count);
  a.cut = std::max(a.begin, std::min(extent - a.before, count));
  a.end = wraps ? std::min(a.cut + extent, count) : a.cut;
  return a;
}

/// Which of the loop's operands an input is, the column at which that begins, and how many it has; 1 where it is no
/// piece.
struct piece_read {
  int operand = 0, column = 0, columns = 1;
};
/// Some columns of a loop, in which each joined input is one of its pieces.
struct column_range {
  int begin = 0, end = 0;
  const piece_read* reads = nullptr;  ///< by input
};

/// The extents of a loop, and where its inputs lie. Results lie in order.
struct loop_table {
  std::int64_t rows = 1;  ///< of all axes but the innermost
  int columns = 1;
  int outer = 0;              ///< axes outside of the innermost
  int extent[max_rank] = {};  ///< of these
  /// By input and outer axis, in elements, of joined ones in rows of a piece; of mapped ones unused.
  const std::int64_t* strides = nullptr;
  const mapped_axis* maps = nullptr;     ///< by mapped input and axis, the innermost last
  const column_range* ranges = nullptr;  ///< where it reads joined tensors
  int range_count = 0;
  const piece_read* reads = nullptr;  ///< in one of these, where that is meant

  std::int64_t stride(int input, int axis) const {
    return strides[input * outer + axis] * (reads == nullptr ? 1 : reads[input].columns);
  }
};

}  // namespace cairn::ir
