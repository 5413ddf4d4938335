// These functions find the addresses of the rows that a fused loop reads and writes.
#pragma once

#include "cairn/graph/loop_table.hpp"
#include "cairn/kernel/registers.hpp"

namespace cairn::kernels {

using graphs::access, graphs::loop_table, graphs::mapped_axis;

/// Returns the index of the element of the argument's axis that element i of a mapped axis shows. Returns -1 if element
/// i shows no element of the argument; the value of element i is then zero.
inline std::int64_t mapped_to(const mapped_axis& a, std::int64_t i) {
  if (i >= a.begin && i < a.end) return i + (i < a.cut ? a.before : a.after);
  const std::int64_t extent = std::int64_t{a.extent} * a.map.repeat;
  std::int64_t j = a.map.begin + a.map.step * i;
  if (a.map.outside == nn::edge::wrap) j = (j % extent + extent) % extent;
  else if (a.map.outside == nn::edge::nearest) j = std::clamp<std::int64_t>(j, 0, extent - 1);
  else if (j < 0 || j >= extent) return -1;
  return j / a.map.repeat;
}

/// Returns the number of elements of a mapped axis, from element i on, that are consecutive in the argument's axis.
/// Returns 1 if the number is not known.
inline std::int64_t in_order_from(const mapped_axis& a, std::int64_t i) {
  if (i < a.begin || i >= a.end) return 1;
  return (i < a.cut ? a.cut : a.end) - i;
}

/// An array that a fused loop reads or writes. `bytes` is the number of bytes of one element. `input` is the index of
/// the input, or -1 for a result. `map` is the index of the input's map, or -1 if the array is not a mapped input.
struct stream {
  int bytes = 0, input = -1, map = -1;
  access how = access::contiguous;
  bool is_sum = false;  ///< the array is a sum, whose address is the same for all rows
};

/// The rows [row, end) of a fused loop. `start` finds the address where a row begins in each stream.
struct row_range {
  /// From `row` up to row `next_restart`, the address of each row is the address of the row before plus a constant
  /// step. The address of row `next_restart` must be found by `start`.
  std::int64_t row, next_restart, end;

  /// Finds for each stream the address at which row `row` begins, and the step to the next row in bytes; also sets
  /// `next_restart`. The address is null if a map shows no element of the argument at this row, so that the row is
  /// zero.
  [[gnu::noinline]] void start(const stream* streams, int count, const loop_table& t, void* const* operands,
                               std::byte** at, std::int64_t* step) {
    std::int64_t index[max_rank] = {}, rest = row;
    for (int axis = t.outer; axis-- > 0; rest /= t.extent[axis]) index[axis] = axis == 0 ? rest : rest % t.extent[axis];
    next_restart = row + (t.outer == 0 ? 1 : t.extent[t.outer - 1] - index[t.outer - 1]);
    for (int k = 0; k < count; ++k) {
      const stream& s = streams[k];
      std::int64_t offset = s.input >= 0 || s.is_sum ? 0 : row * t.columns;
      bool nowhere = false;
      for (int axis = 0; axis < (s.input < 0 ? 0 : t.outer); ++axis) {
        if (s.how == access::mapped) {
          const mapped_axis& a = t.maps[s.map * (t.outer + 1) + axis];
          const std::int64_t here = index[axis], i = mapped_to(a, here);
          nowhere |= i < 0;
          offset += i * a.stride;
          if (axis == t.outer - 1) next_restart = std::min(next_restart, row + in_order_from(a, here));
        } else {
          offset += index[axis] * t.stride(s.input, axis);
        }
      }
      at[k] = nowhere ? nullptr : static_cast<std::byte*>(operands[k]) + offset * s.bytes;
      const bool moves = !s.is_sum && !nowhere && t.outer > 0;
      step[k] = !moves                    ? 0
                : s.input < 0             ? s.bytes * t.columns
                : s.how == access::mapped ? s.bytes * t.maps[s.map * (t.outer + 1) + t.outer - 1].stride
                                          : s.bytes * t.stride(s.input, t.outer - 1);
    }
  }
};

/// Finds the addresses `at` of a fused loop's arrays for the columns `own`, in which each input in pieces is one of its
/// pieces. The address of a piece is moved back so that the fused loop's column numbers are also valid for the piece.
[[gnu::noinline]] inline void find_piece_addresses(const stream* streams, int count, const graphs::column_range& own,
                                                   void* const* operands, void** at) {
  for (int k = 0; k < count; ++k) {
    at[k] = operands[k];
    if (streams[k].input < 0) continue;
    const graphs::piece_read& read = own.reads[streams[k].input];
    at[k] = static_cast<std::byte*>(operands[read.operand]) - std::ptrdiff_t{read.column} * streams[k].bytes;
  }
}

/// Fetches the parts of the contiguous arrays that lie under a tile into the first-level cache. The tile has `height`
/// rows and `columns` columns and begins at (row, column).
[[gnu::noinline]] inline void fetch_streams(const stream* streams, int count, const loop_table& t,
                                            void* const* operands, int row, int column, int height, int columns) {
  std::byte* at;
  std::int64_t step;
  for (int k = 0; k < count; ++k) {
    const stream& s = streams[k];
    if (s.how != access::contiguous) continue;
    const auto each_line = [&](auto bring) {
      for (row_range r{row, 0, row + height}; r.row < r.end; ++r.row, at += step) {
        if (r.row >= r.next_restart) r.start(&s, 1, t, operands + k, &at, &step);
        else if (step == 0) continue;  // this row is the same memory as the row before
        for (int i = column * s.bytes; i < (column + columns) * s.bytes; i += 64) bring(at + i);
      }
    };
    if (s.input < 0) each_line([](std::byte* line) { fetch(line); });
    else each_line([](const std::byte* line) { fetch(line); });
  }
}

/// Loads n elements of a mapped axis, from element i on, when the elements may not all be consecutive in the argument.
/// `row` is the address where the argument's row begins; if `row` is null, all elements are zero.
template <class Held>
[[gnu::noinline]] typename Held::type gather_mapped(const mapped_axis& a, const typename Held::number* row,
                                                    std::int64_t i, int n) {
  using number = typename Held::number;
  number part[Held::type::width] = {};
  if (row == nullptr) return Held::load(part);
  if constexpr (Held::in_parts) {
    const bool all_in_runs = a.map.outside == nn::edge::zero || (i >= a.begin && i + n <= a.end);
    if (a.stride == 1 && all_in_runs && a.begin < a.end) {
      const auto lane_of = [i, n](int at) { return static_cast<int>(std::clamp<std::int64_t>(at - i, 0, n)); };
      const auto first = Held::load_between(row + i + a.before, lane_of(a.begin), lane_of(a.cut));
      return masked(first, lane_of(a.cut), Held::load_between(row + i + a.after, lane_of(a.cut), lane_of(a.end)));
    }
  }
  for (int k = 0; k < std::min<int>(n, Held::type::width); ++k) {  // n is at most the width, but g++ cannot know that
    const std::int64_t from = mapped_to(a, i + k);
    if (from >= 0) part[k] = row[from * a.stride];
  }
  return Held::load(part);
}
/// Loads n elements of a mapped axis, from element i on. If the elements are consecutive in the argument, they are
/// loaded as one register.
template <class Held>
[[gnu::always_inline]] inline typename Held::type load_mapped(const mapped_axis& a, const typename Held::number* row,
                                                              std::int64_t i, int n, bool tail) {
  const bool later = i >= a.cut;
  const std::int64_t begin = later ? a.cut : a.begin, end = later ? a.end : a.cut;
  if (row == nullptr || a.stride != 1 || i < begin || i + n > end) return gather_mapped<Held>(a, row, i, n);
  const auto* const from = row + i + (later ? a.after : a.before);
  return tail ? Held::load(from, n) : Held::load(from);
}

}  // namespace cairn::kernels
