// The code of the fused loops: the operands, operations and extents of each fused group. The pass also finds fused
// loops with equal code.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/graph/loop_table.hpp"
#include "cairn/plan/fuse.hpp"

#include <bit>
#include <limits>

namespace cairn::plans {

using graphs::access, graphs::loop_value, graphs::sums;

/// An operand of a fused loop: a value, or an immediate constant.
struct loop_input {
  int value = none;   ///< the value as the fused loop sees it
  int source = none;  ///< the value whose memory is read: `value`, the value that it views, or the argument of its map
  dtype type = dtype::real;
  access how = access::contiguous;
  bool through_map = false;  ///< true if a map leads from the value to its source
  bool in_pieces = false;    ///< a concatenation that is read in place; its strides are counted in rows
  bool broadcast = false;    ///< true if it is broadcast along some axes
  double immediate = 0;
  const graphs::generator* generate = nullptr;  ///< the generator of a generated array, or null

  constexpr bool same_code(const loop_input& other) const {
    return type == other.type && how == other.how && in_pieces == other.in_pieces &&
           ::cairn::detail::same_address(generate, other.generate) &&
           (how != access::constant ||  // the comparison is bitwise, because -0 and 0 are different constants
            std::bit_cast<std::uint64_t>(immediate) == std::bit_cast<std::uint64_t>(other.immediate));
  }
  /// Returns true if a result of the fused loop may be written over the operand.
  constexpr bool overwritable() const { return how == access::contiguous && !through_map && !broadcast && !in_pieces; }
};

struct loop {
  int input_begin = 0, input_end = 0;  ///< range in `loops::inputs`; empty for kernels
  shape extents;                 ///< extents, where neighbouring axes are merged if every operand treats them alike
  int last_axis[max_rank] = {};  ///< by merged axis: the last of the axes that it consists of
  sums sum = sums::nothing;
  int same_as = 0;  ///< the first plan step with equal code
};

template <int Nodes, int Arguments>
struct loops {
  loop_value code[Nodes] = {};    ///< by index in `plan_steps::members`
  int arguments[Arguments] = {};  ///< k >= 0: value k of the fused loop; k < 0: its input -1 - k
  loop_input inputs[Arguments] = {};
  loop of[Nodes] = {};  ///< by plan step
  int argument_count = 0, input_count = 0;
};

/// Addresses of an operand along one axis of the fused loop.
struct operand_axis {
  std::int64_t stride = 0;  ///< stride in the source, in elements; 0 if the operand is broadcast along the axis
  int begin = 0;            ///< first index along that axis of the source
  bool needs_map = false;   ///< true if the map does not go in steps; `stride` is then the stride of the source's axis
};
template <class Schedule>
constexpr operand_axis axis_of_operand(const Schedule& s, const loop_input& in, const shape& whole, int axis) {
  const shape& own = s.nodes[in.value].result->extents;
  const int here = axis - (whole.rank - own.rank);
  if (here < 0 || (own.extent[here] == 1 && whole.extent[axis] != 1)) return {};
  const shape& from = in.through_map ? s.result(s.argument(in.value, 0)).extents : own;
  std::int64_t stride = 1;
  for (int k = here + 1; k < from.rank; ++k) stride *= from.extent[k];
  if (in.in_pieces && here < from.rank - 1) stride /= from[-1];
  if (!in.through_map) return {stride, 0, false};
  const axis_map& map = s.op(in.value).map[here];
  return map.in_steps() ? operand_axis{stride * map.step, map.begin, false} : operand_axis{stride, 0, true};
}

namespace detail {
inline constexpr std::int64_t most_extent = std::numeric_limits<int>::max();

template <class Schedule, class Steps>
struct loop_writer {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  const Steps& f;
  loops<nodes, Schedule::argument_capacity> out{};
  int input_number[nodes] = {};  ///< by value: 1 + its index in `loops::inputs`, for the last fused loop that reads it
  int buckets[256] = {}, next_in_bucket[nodes] = {};

  /// Returns the number of an input of fused loop `l`. `by` is the operation that reads argument `a`. If `by` is a map
  /// of the fused loop itself, it reads the argument through the map.
  constexpr int input_of(const loop& l, int a, int by) {
    const bool own_map = s.nodes[by].op->what == graphs::role::map;
    const int v = own_map ? by : a;
    if (input_number[v] > l.input_begin) return input_number[v] - 1 - l.input_begin;
    const graphs::operation& source = *s.nodes[f.memory_root[a]].op;
    const bool map = own_map || (s.nodes[a].op->what == graphs::role::map && f.memory_root[a] != a);
    const bool constant = source.what == graphs::role::constant && !map;
    out.inputs[out.input_count] = {v,
                                   f.memory_root[a],
                                   s.nodes[a].result->element.type,
                                   constant ? access::constant
                                   : !map && !::cairn::detail::same_address(source.generate, nullptr)
                                       ? access::generated
                                       : access::contiguous,
                                   map,
                                   f.in_pieces[v],
                                   false,
                                   constant ? source.value : 0,
                                   source.generate};
    input_number[v] = ++out.input_count;
    return out.input_count - 1 - l.input_begin;
  }

  /// Merges neighbouring axes that every operand treats alike, and drops axes of extent 1 along which no operand is
  /// mapped. There are two exceptions: axes that a sum runs over are not merged with other axes, and a fused loop that
  /// shares its plan step with a kernel keeps its columns separate.
  constexpr void merge_axes(const plan_step& st, loop& l, ::cairn::detail::axis_set summed) {
    const graphs::result_info& whole = s.result(f.members[st.loop_begin]);
    const shape& extents = whole.extents;
    bool flat = summed == 0 && st.kernel == none && whole.count <= most_extent;
    for (int i = l.input_begin; i < l.input_end; ++i) {
      loop_input& in = out.inputs[i];
      in.broadcast = s.nodes[in.value].result->count != whole.count;
      flat &= in.how == access::constant || (!in.broadcast && !in.through_map && !in.in_pieces);
    }
    if (flat) {
      l.extents.rank = whole.count == 1 ? 0 : 1;
      l.extents.extent[0] = whole.count == 1 ? 0 : static_cast<int>(whole.count);
      return;
    }
    const auto merge = [&](int axis, int before) {
      if (((summed >> axis ^ summed >> before) & 1U) != 0 || (st.kernel != none && axis == extents.rank - 1))
        return false;
      for (int i = l.input_begin; i < l.input_end; ++i) {
        if (out.inputs[i].how == access::constant) continue;
        const operand_axis here = axis_of_operand(s, out.inputs[i], extents, axis),
                           there = axis_of_operand(s, out.inputs[i], extents, before);
        if (here.needs_map || there.needs_map || there.stride != here.stride * extents.extent[axis]) return false;
      }
      return true;
    };
    const auto mapped_along = [&](int axis) {
      for (int i = l.input_begin; i < l.input_end; ++i) {
        if (out.inputs[i].through_map && axis_of_operand(s, out.inputs[i], extents, axis).needs_map) return true;
      }
      return false;
    };
    int rank = 0;
    for (int axis = 0; axis < extents.rank; ++axis) {
      if (extents.extent[axis] == 1 && !mapped_along(axis)) continue;
      if (rank == 0 || std::int64_t{l.extents.extent[rank - 1]} * extents.extent[axis] > most_extent ||
          !merge(axis, l.last_axis[rank - 1]))
        l.extents.extent[rank++] = 1;
      l.extents.extent[rank - 1] *= extents.extent[axis];
      l.last_axis[rank - 1] = axis;
    }
    l.extents.rank = rank;
    for (int i = l.input_begin; i < l.input_end; ++i) {
      loop_input& in = out.inputs[i];
      if (in.how == access::constant) continue;
      bool needs_map = false;
      for (int k = 0; k < rank && in.through_map; ++k)
        needs_map |= axis_of_operand(s, in, extents, l.last_axis[k]).needs_map;
      const std::int64_t step = rank == 0 ? 1 : axis_of_operand(s, in, extents, l.last_axis[rank - 1]).stride;
      in.how = needs_map || (step != 0 && step != 1)                  ? access::mapped
               : step == 0                                            ? access::repeated
               : !::cairn::detail::same_address(in.generate, nullptr) ? access::generated
                                                                      : access::contiguous;
    }
    const bool along_rows = rank > 0 && (summed >> l.last_axis[rank - 1] & 1U) != 0;
    if (summed != 0) l.sum = rank == 1 ? sums::all : along_rows ? sums::rows : sums::columns;
  }

  /// Writes the code of a fused loop. Returns a hash, which differs for most fused loops with different code.
  constexpr std::uint32_t write(const plan_step& st, loop& l) {
    std::uint32_t hash = 0;
    cairn::detail::axis_set summed = 0;
    l.input_begin = out.input_count;
    for (int m = st.loop_begin; m < st.loop_end; ++m) {
      const int v = f.members[m];
      const graphs::node& n = s.nodes[v];
      const bool computed = n.result_index == 0 && (m > st.loop_begin || !st.loop_reads_tiles);
      const int count = computed ? n.op->argument_count : 0;
      out.code[m] = {computed ? n.op->lanes : nullptr, n.result->element.type, out.argument_count, count,
                     f.external[v]};
      hash = cairn::detail::mix(hash, n.op->hash + f.external[v]);
      summed |= n.op->made.summed;
      for (int i = 0; i < count; ++i) {
        const int a = s.arguments[n.first + i];
        out.arguments[out.argument_count++] = f.step_of[a] == f.step_of[v] && f.position[a] >= st.loop_begin
                                                  ? f.position[a] - st.loop_begin
                                                  : -1 - input_of(l, a, v);
      }
    }
    l.input_end = out.input_count;
    merge_axes(st, l, summed);
    return hash ^ hash >> 16;
  }

  constexpr bool equal(int one, int two) const {
    const plan_step &p = f.steps[one], &q = f.steps[two];
    const loop &a = out.of[one], &b = out.of[two];
    if (p.loop_end - p.loop_begin != q.loop_end - q.loop_begin || p.loop_reads_tiles != q.loop_reads_tiles ||
        p.kernel_reads_rows() != q.kernel_reads_rows() || p.loop_reads_rows != q.loop_reads_rows || a.sum != b.sum ||
        a.input_end - a.input_begin != b.input_end - b.input_begin)
      return false;
    for (int m = 0; m < p.loop_end - p.loop_begin; ++m) {
      const loop_value &x = out.code[p.loop_begin + m], &y = out.code[q.loop_begin + m];
      if (!x.same_code(y)) return false;
      for (int i = 0; i < x.arguments; ++i)
        if (out.arguments[x.first + i] != out.arguments[y.first + i]) return false;
    }
    for (int i = 0; i < a.input_end - a.input_begin; ++i)
      if (!out.inputs[a.input_begin + i].same_code(out.inputs[b.input_begin + i])) return false;
    return true;
  }

  /// Returns the first plan step with code equal to that of plan step `index`. Fused loops with equal code share one
  /// kernel, even if their extents differ.
  constexpr int first_equal(int index, std::uint32_t hash) {
    int& bucket = buckets[hash % 256];
    for (int other = bucket - 1; other != none; other = next_in_bucket[other]) {
      if (equal(other, index)) return other;
    }
    next_in_bucket[index] = bucket - 1;
    bucket = index + 1;
    return index;
  }
};
}  // namespace detail

/// Writes the code of all fused loops.
template <class Schedule, class Steps>
constexpr auto write_loops(const Schedule& s, const Steps& f) {
  detail::loop_writer<Schedule, Steps> w{s, f};
  for (int i = 0; i < f.step_count; ++i) {
    if (!f.steps[i].has_loop()) continue;
    const std::uint32_t hash = w.write(f.steps[i], w.out.of[i]);
    w.out.of[i].same_as = w.first_equal(i, hash);
  }
  return w.out;
}

}  // namespace cairn::plans
