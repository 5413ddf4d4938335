// Finds the first and the last reader of each value in the schedule. Views do not count as readers. The pass also
// decides which maps (slices, transposes and similar) and which concatenations are read in place. Readers of such a
// value find its elements in the memory of its arguments, so the value needs no memory.
#pragma once

#include "cairn/plan/schedule.hpp"

namespace cairn::plans {

/// Says for each value of the schedule in which memory its elements are read.
template <int Nodes>
struct memory_roots {
  /// by value: the value whose memory is read; the value itself, if it has memory or is read in pieces
  int memory_root[Nodes] = {};
  /// by memory root: a concatenation without memory of its own; its pieces are read instead
  bool in_pieces[Nodes] = {};
};

/// Readers by value of the schedule.
template <int Nodes>
struct readers : memory_roots<Nodes> {
  int first[Nodes] = {}, last[Nodes] = {};  ///< by memory root: first and last reader, or none if unused
};

/// Calls `visit` with the values from whose memory `root` is read: the pieces of a concatenation that is read in place,
/// or `root` itself.
template <class Schedule, class Found>
constexpr void for_each_piece(const Schedule& s, const Found& found, int root, auto visit) {
  if (!found.in_pieces[root]) return visit(root);
  const graphs::node& n = s.nodes[root];
  for (int i = 0; i < n.op->argument_count; ++i)
    for_each_piece(s, found, found.memory_root[s.arguments[n.first + i]], visit);
}

/// Returns the number of elements in a row of argument `i`, as operation `v` reads the argument. Returns 0 if the
/// operation cannot read rows that lie apart.
template <class Schedule>
constexpr std::int64_t row_length(const Schedule& s, int v, int i) {
  const shape& of = s.result(s.argument(v, i)).extents;
  std::int64_t row = 1;
  const int axes = s.op(v).reads(i).row_axes;
  for (int axis = std::max(of.rank - axes, 0); axis < of.rank; ++axis) row *= of.extent[axis];
  return axes > 0 ? row : 0;
}
/// Returns the distance, in elements, between rows of `row` elements of the mapped value `v`, measured in its argument.
/// Returns 0 if the rows are not equally far apart, or if a row is not contiguous there.
template <class Schedule>
constexpr std::int64_t row_stride(const Schedule& s, int v, std::int64_t row) {
  const axis_map* const map = s.op(v).map;
  const shape &to = s.result(v).extents, &from = s.result(s.argument(v, 0)).extents;
  std::int64_t stride = 1, length = 1, distance = 0, expected = 0;
  for (int axis = to.rank; axis-- > 0; stride *= from.extent[axis]) {
    if (!map[axis].in_steps()) return 0;
    if (to.extent[axis] == 1) continue;
    const std::int64_t step = map[axis].step * stride;
    if (step == 0) return 0;
    if (length < row) {
      if (step != length) return 0;
      length *= to.extent[axis];
      continue;
    }
    if (distance == 0) distance = step;
    else if (step != expected) return 0;
    expected = step * to.extent[axis];
  }
  if (distance == 0) return length % row == 0 ? row : 0;
  return length == row ? distance : 0;
}

namespace detail {
template <class Schedule>
struct reader_finder {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  readers<nodes> out{};
  bool is_in_place[nodes] = {};  ///< of maps: true if the map is read in place
  int last[nodes] = {};          ///< of maps: the last reader
  int kernels[nodes] = {};       ///< by value: number of kernels up to the value; recomputed ones do not count

  constexpr const graphs::operation& op_of(int v) const { return *s.nodes[v].op; }
  /// Returns true if an axis of the map has one element and does not go through its argument in steps. If a reader
  /// broadcast the argument along such an axis through the map, it would read wrong elements.
  constexpr bool extends_beyond_one(int map) const {
    const shape& to = s.result(map).extents;
    for (int axis = 0; axis < to.rank; ++axis) {
      if (to.extent[axis] == 1 && !op_of(map).map[axis].in_steps()) return true;
    }
    return false;
  }
  /// Returns true if value `v` can read argument `i` through `map`. An elementwise operation must read the map itself.
  /// An operation that reads rows may also read a view of the map.
  constexpr bool reads_through(int v, int i, int map) const {
    const graphs::operation& op = op_of(v);
    if (op.what == graphs::role::elementwise)
      return s.argument(v, i) == map &&
             (cairn::detail::same_address(s.nodes[v].result->same_shape, s.nodes[map].result->same_shape) ||
              !extends_beyond_one(map));
    if (op.what != graphs::role::kernel || s.op(s.root(s.argument(map, 0))).what == graphs::role::generated)
      return false;
    const std::int64_t row = row_length(s, v, i);
    return row > 0 && row_stride(s, map, row) != 0;
  }

  /// Returns true if more than one kernel comes after the map, up to and including its last reader. Recomputed kernels
  /// do not count, so that slices are read in the same way with any choice of segments.
  constexpr bool is_read_later(int map) const { return kernels[last[map]] - kernels[map] > 1; }
  /// Returns true if a copy of `map` takes less than 3/4 of the bytes of its argument `of`, and if the argument is not
  /// a leaf. The memory of the argument can then be freed.
  constexpr bool is_small(int map, int of) const {
    return 3 * s.result(of).bytes > 4 * s.result(map).bytes && !graphs::is_leaf(op_of(of).what);
  }
  /// Finds the maps that are read in place. A map is normally read in place if all its readers can do so. The
  /// exceptions are:
  /// - An output or a gradient is always written.
  /// - A map of the forward pass that the backward pass reads is copied, unless its argument is a leaf.
  /// - All small maps of an argument are copied under three conditions, so that the argument can be freed: some maps of
  ///   the argument are read later, all of these are small, and together they have fewer bytes than the argument. If a
  ///   map that is not small is read later, the argument stays alive in any case, and copies would save nothing.
  constexpr void find_maps() {
    bool any = false;
    int kernels_so_far = 0;
    for (int v = 0; v < s.node_count; ++v) {
      const graphs::node& n = s.nodes[v];
      kernels[v] = kernels_so_far +=
          n.op->what == graphs::role::kernel && n.result_index == 0 && s.recomputes[v] == none;
      if (n.op->what == graphs::role::map) {
        is_in_place[v] = any = true;
        last[v] = v;
      }
      if (!any || n.result_index > 0 || n.op->what == graphs::role::view) continue;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = s.root(s.arguments[n.first + i]);
        if (!is_in_place[a]) continue;
        is_in_place[a] = reads_through(v, i, a) &&
                         (v < s.turn || a >= s.turn || graphs::is_leaf(op_of(s.root(s.argument(a, 0))).what));
        last[a] = v;
      }
    }
    if (!any) return;
    for (int i = 0; i < s.output_count; ++i) is_in_place[s.root(s.outputs[i])] = false;
    for (const int v : s.gradient) {
      if (v != none) is_in_place[s.root(v)] = false;
    }
    // by argument: bytes of it that stay alive anyway for maps that are read later
    std::int64_t bytes_kept_alive[nodes] = {};
    for (int v = 0; v < s.node_count; ++v) {
      const int of = is_in_place[v] ? s.root(s.argument(v, 0)) : none;
      if (of != none && is_read_later(v)) bytes_kept_alive[of] += s.result(is_small(v, of) ? v : of).bytes;
    }
    for (int v = 0; v < s.node_count; ++v) {
      const int of = is_in_place[v] ? s.root(s.argument(v, 0)) : none;
      if (of != none && is_small(v, of) && bytes_kept_alive[of] > 0 && bytes_kept_alive[of] < s.result(of).bytes)
        is_in_place[v] = false;
    }
  }

  /// Returns true if value `v` can read its argument `i`, which is `concatenation`, piece by piece.
  constexpr bool reads_pieces(int v, int i, int concatenation) const {
    const graphs::operation& op = op_of(v);
    if (op.what == graphs::role::elementwise)
      return cairn::detail::same_address(s.nodes[v].result->same_shape, s.nodes[concatenation].result->same_shape);
    return op.what == graphs::role::kernel && op.reads(i).in_pieces;
  }
  /// Finds the concatenations that are read in place. All readers must be able to read pieces, no piece may be a
  /// constant, and the pieces must have at least two columns each on average. The pieces have as many bytes as the
  /// concatenation, so reading in place never keeps more memory alive than a copy.
  constexpr void find_pieces() {
    bool any = false;
    for (int v = 0; v < s.node_count; ++v) {
      const graphs::node& n = s.nodes[v];
      out.in_pieces[v] = n.op->made.joins && n.result->extents[-1] >= 2 * n.op->argument_count;
      any |= n.op->made.joins;
      for (int i = 0; any && n.result_index == 0 && i < n.op->argument_count; ++i) {
        const int a = s.arguments[n.first + i];
        out.in_pieces[a] = out.in_pieces[a] && reads_pieces(v, i, a);
        out.in_pieces[v] = out.in_pieces[v] && !graphs::is_constant(op_of(s.root(a)).what);
      }
    }
    if (!any) return;
    for (int i = 0; i < s.output_count; ++i) out.in_pieces[s.root(s.outputs[i])] = false;
    for (const int v : s.gradient) {
      if (v != none) out.in_pieces[s.root(v)] = false;
    }
  }

  constexpr void find_readers() {
    for (int v = 0; v < s.node_count; ++v) {
      const graphs::node& n = s.nodes[v];
      const bool elsewhere = n.op->what == graphs::role::view || is_in_place[v];
      out.memory_root[v] = elsewhere ? out.memory_root[s.arguments[n.first]] : v;
      out.first[v] = out.last[v] = none;
      if (elsewhere || out.in_pieces[v] || n.result_index > 0) continue;
      for (int i = 0; i < n.op->argument_count; ++i) {
        for_each_piece(s, out, out.memory_root[s.arguments[n.first + i]], [&](int a) {
          if (out.first[a] == none) out.first[a] = v;
          out.last[a] = v;
        });
      }
    }
  }
};
}  // namespace detail

template <class Schedule>
constexpr auto find_readers(const Schedule& s) {
  detail::reader_finder<Schedule> f{s};
  f.find_maps();
  f.find_pieces();
  f.find_readers();
  return f.out;
}

}  // namespace cairn::plans
