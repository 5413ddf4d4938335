// Tables that tell a fused loop which arrays it runs over. The code of a loop is compiled once for all extents, so
// extents and strides come from these tables.
#pragma once

#include "cairn/base/address.hpp"
#include "cairn/base/element.hpp"
#include "cairn/base/map.hpp"
#include "cairn/base/shape.hpp"

#include <algorithm>
#include <cstddef>

namespace cairn::graphs {

struct lane_code;

/// A value of a fused loop. Its arguments begin at `first` in a list of arguments. Argument k >= 0 is value k of the
/// loop; argument k < 0 is input -k - 1. If `lanes` is null, the value is one of the following:
/// - the loop's first value, which a kernel hands over in tiles,
/// - the sum of its argument,
/// - a further result of the operation before it.
struct loop_value {
  const lane_code* lanes = nullptr;
  dtype type = dtype::real;
  int first = 0, arguments = 0;
  bool written = false;  ///< is read outside of the loop, so the loop writes it to memory

  constexpr bool same_code(const loop_value& other) const {
    return cairn::detail::same_address(lanes, other.lanes) && type == other.type && arguments == other.arguments &&
           written == other.written;
  }
};

/// Returns the address that stands for the first position of a generated array. There is no array at this address.
/// Adding n to the address gives the address that stands for position n.
inline std::byte* first_position() { return reinterpret_cast<std::byte*>(std::uintptr_t{4096}); }

/// Says how a fused loop reads an input along the innermost axis.
enum class access : std::uint8_t {
  contiguous,
  repeated,   ///< one number for the whole row
  mapped,     ///< elements to which a map leads
  constant,   ///< an immediate, no array
  generated,  ///< computed from the positions of its elements
};

/// The sums that a fused loop computes of a value: none, one sum of all elements, one for each column, or one for each
/// row.
enum class sums : std::uint8_t { nothing, all, columns, rows };

/// A mapped input along one axis of the loop. `extent` and `stride` describe the argument's axis. If the map reads
/// neighbours in order, up to two runs describe it without the map. For begin <= i < cut, element i is number
/// i + before of the argument. For cut <= i < end, element i is number i + after. Other elements follow the map.
struct mapped_axis {
  axis_map map;
  int extent = 1;
  std::int64_t stride = 0;
  int begin = 0, cut = 0, end = 0, before = 0, after = 0;
};
/// Returns the description of a mapped input along an axis on which the loop has `count` elements.
constexpr mapped_axis mapped_along(const axis_map& map, int extent, std::int64_t stride, int count) {
  mapped_axis a{map, extent, stride};
  if (map.step != 1 || map.repeat != 1) return a;
  const bool wraps = map.outside == nn::edge::wrap;
  a.before = wraps ? (map.begin % extent + extent) % extent : map.begin;
  a.after = a.before - extent;
  a.begin = std::min(std::max(-a.before, 0), count);
  a.cut = std::max(a.begin, std::min(extent - a.before, count));
  a.end = wraps ? std::min(a.cut + extent, count) : a.cut;
  return a;
}

/// Says which operand of the loop an input is, the column at which the operand begins, and how many columns the operand
/// has. `columns` is 1 if the input is not a piece of a concatenation.
struct piece_read {
  int operand = 0, column = 0, columns = 1;
};
/// A range of columns of a loop in which each concatenation is read from only one of its pieces.
struct column_range {
  int begin = 0, end = 0;
  const piece_read* reads = nullptr;  ///< by input
};

/// The extents of a fused loop, and the strides of its inputs. Results are contiguous.
struct loop_table {
  std::int64_t rows = 1;  ///< the product of the extents of all axes except the innermost
  int columns = 1;
  int outer = 0;              ///< how many axes there are, without the innermost
  int extent[max_rank] = {};  ///< the extents of these axes
  /// By input and outer axis, in elements. For a concatenation the unit is a row of a piece. Unused for mapped inputs.
  const std::int64_t* strides = nullptr;
  const mapped_axis* maps = nullptr;     ///< by mapped input and axis, the innermost axis last
  const column_range* ranges = nullptr;  ///< the ranges of columns, if the loop reads concatenations
  int range_count = 0;
  const piece_read* reads = nullptr;  ///< the pieces of one range, if the table describes one range; otherwise null

  std::int64_t stride(int input, int axis) const {
    return strides[input * outer + axis] * (reads == nullptr ? 1 : reads[input].columns);
  }
};

}  // namespace cairn::graphs
