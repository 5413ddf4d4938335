// Fusion: elementwise operations of one shape that follow each other become one fused loop.
//
// The pass collects values in one open group. An operation that does not read the open group overtakes it: the plan
// step of the operation comes before the plan step of the group. Kernels can share a plan step with a fused loop in
// four ways:
// - An operation that computes its result in tiles hands each tile to the fused loop that reads the result.
// - For an operation that reads its argument row by row, a fused loop computes each row just before the operation reads
//   the row.
// - For an operation that computes numbers of each row (for example statistics), a fused loop reads each row and its
//   numbers right after the operation has finished the row.
// - A sum of values that a fused loop computes is accumulated in the same loop.
#pragma once

#include "cairn/plan/plan_step.hpp"

#include <limits>

namespace cairn::plans {

inline constexpr int max_loop_inputs = 16;
inline constexpr int max_loop_operations = 32;
inline constexpr int max_row_bytes = 16 * 1024;  ///< most bytes of a row that a kernel takes from a fused loop

namespace detail {
template <class Schedule, class Readers>
struct fuser {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  const Readers& readers;
  plan_steps<nodes> out{{readers}};
  int open[max_loop_operations] = {};
  int open_count = 0, open_inputs = 0;
  int open_sum = none;  ///< last sum in the open group, or none; all sums of a group run over the same axes
  int sum_axes = 0;     ///< first of the axes that the sums treat as one row
  bool open_begins_with_tiles = false;  ///< true if the first value of the open group is computed in tiles
  /// true if the tiled operation keeps partial sums in its result, so that the memory must not be overwritten
  bool open_keeps_partial_sums = false;
  int open_pieces = none;        ///< a concatenation that the open group reads in place, or none
  int open_kernel = none;        ///< kernel whose rows the open group reads right after the kernel, or none
  bool added_early[nodes] = {};  ///< by value: true if it was added before values that precede it in the schedule

  /// Returns true if `v` is in the open group. Code that tests every argument of every operation repeats this
  /// comparison instead of calling the function: the calls would take a twentieth of the steps that clang allows.
  constexpr bool in_open(int v) const { return out.step_of[v] == out.step_count; }
  constexpr const graphs::operation& op_of(int v) const { return *s.nodes[v].op; }
  constexpr const graphs::result_info& result_of(int v) const { return *s.nodes[v].result; }
  constexpr bool same_shape(int v, int w) const {
    return cairn::detail::same_address(s.nodes[v].result->same_shape, s.nodes[w].result->same_shape);
  }

  constexpr void add_member(int v) {
    out.position[v] = out.member_count;
    out.members[out.member_count++] = v;
  }
  constexpr void add_open(int v) {
    open[open_count++] = v;
    out.step_of[v] = out.step_count;
  }

  constexpr void add_results(int v) {
    for (int r = 0; r < op_of(v).result_count; ++r) add_member(v + r);
  }
  /// Assigns all results of `v` to plan step `index`.
  constexpr void assign(int v, int index) {
    for (int r = 0; r < op_of(v).result_count; ++r) out.step_of[v + r] = index;
  }

  /// Ends the open group. `row_reader` is an operation that reads rows of the group, or none.
  constexpr void close(int row_reader = none) {
    if (open_count == 0 && open_kernel == none) return;
    plan_step& added = out.steps[out.step_count++];
    added.begin = out.member_count;
    added.kernel = open_begins_with_tiles ? open[0] : open_kernel != none ? open_kernel : row_reader;
    added.loop_reads_tiles = open_begins_with_tiles && open_count > 1;
    added.loop_reads_rows = open_kernel != none && open_count > 0;
    if (open_kernel != none) add_results(open_kernel);
    if (open_begins_with_tiles && !added.loop_reads_tiles) {
      add_results(open[0]);
      added.loop_begin = added.loop_end = added.begin;
    } else {
      for (int r = 1; added.loop_reads_tiles && r < op_of(open[0]).result_count; ++r) add_member(open[0] + r);
      added.loop_begin = out.member_count;
      for (int i = 0; i < open_count; ++i) add_member(open[i]);
      added.loop_end = out.member_count;
      if (row_reader != none) add_results(row_reader);
    }
    added.end = out.member_count;
    open_count = open_inputs = 0;
    open_sum = open_pieces = open_kernel = none;
    open_begins_with_tiles = open_keeps_partial_sums = false;
  }

  /// Adds kernel `v` as a plan step before the open group. The kernel does not read the group.
  constexpr void add_kernel(int v) {
    plan_step& added = out.steps[out.step_count];
    added.begin = added.loop_begin = added.loop_end = out.member_count;
    added.kernel = v;
    add_results(v);
    added.end = out.member_count;
    assign(v, out.step_count++);
    if (open_begins_with_tiles) assign(open[0], out.step_count);
    if (open_kernel != none) assign(open_kernel, out.step_count);
    for (int i = 0; i < open_count; ++i) out.step_of[open[i]] = out.step_count;
  }

  /// Returns true if value `v` reads argument `a` element by element, which means that no map leads to other elements.
  constexpr bool reads_elementwise(int v, int a) const {
    const int root = readers.memory_root[a];
    return s.nodes[v].op->what != graphs::role::map &&
           (s.nodes[a].op->what != graphs::role::map || root == a || s.nodes[root].op->what == graphs::role::generated);
  }
  /// Returns true if the open group contains argument `a` or one of its pieces.
  constexpr bool depends_on_open(int a) const {
    bool waits = false;
    for_each_piece(s, readers, readers.memory_root[a], [&](int piece) { waits |= in_open(piece); });
    return waits;
  }
  /// Returns true if `v` would be written over its argument `a`.
  constexpr bool may_be_written_over(int v, int a) const {
    const int root = readers.memory_root[a];
    return readers.last[root] == v && result_of(v).covers(result_of(root)) && reads_elementwise(v, a) &&
           (out.step_of[root] != none || op_of(root).what == graphs::role::accumulated || op_of(v).updates);
  }
  /// Returns true if the axes of `a` from `axis` on are a row for `v`: either contiguous numbers, or one number that is
  /// broadcast.
  constexpr bool reads_as_rows(int v, int a, int axis) const {
    const shape &whole = result_of(v).extents, &own = result_of(a).extents;
    std::int64_t row = 1;
    bool some = false, one = false;
    for (int k = axis; k < whole.rank; ++k) {
      if (whole.extent[k] == 1) continue;
      row *= whole.extent[k];
      const int here = k - (whole.rank - own.rank);
      (here < 0 || own.extent[here] == 1 ? one : some) = true;
    }
    return reads_elementwise(v, a) && !(some && one) && (!readers.in_pieces[a] || row == own[-1]);
  }

  constexpr bool can_join_open(int v) const {
    const graphs::node& n = s.nodes[v];
    const int first = open_kernel != none ? s.argument(open_kernel, 0) : open[0];
    if ((open_count == 0 && open_kernel == none) || open_count + n.op->result_count > max_loop_operations ||
        open_inputs + n.op->argument_count > max_loop_inputs || !same_shape(first, v) ||
        (open_keeps_partial_sums && !has_room_for_sums(v)) ||
        ((open_begins_with_tiles || open_kernel != none) && (n.op->updates || belongs_to_next_loop(v))))
      return false;
    const bool outside_reads_unrestricted = open_sum == none && !open_keeps_partial_sums;
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int a = s.arguments[n.first + i], root = readers.memory_root[a];
      if (readers.in_pieces[root] && depends_on_open(a)) return false;
      if (open_kernel != none && a == root && is_one_number_per_row(a) && reads_elementwise(v, a)) continue;
      if (out.step_of[root] == out.step_count ? a != root || !in_registers(a) || !reads_elementwise(v, a)
                                              : !outside_reads_unrestricted && !can_read_outside(v, a))
        return false;
    }
    return true;
  }
  /// Returns true if `v` should wait for the next fused loop instead of joining the open group, so that `v` needs no
  /// memory. This is so if only a sum reads `v`, and if this sum can be fused with `v`. In addition, later operations
  /// must read the values of the open group that `v` reads. These values are then written to memory in any case.
  constexpr bool belongs_to_next_loop(int v) const {
    const int sum = readers.last[v];
    if (sum == none || sum != readers.first[v] || s.argument(sum, 0) != v || (v < s.turn && sum >= s.turn))
      return false;
    const int row = row_axis_of_sum(sum);
    bool reads_open = false;
    for (int i = 0; i < op_of(v).argument_count; ++i) {
      const int a = s.argument(v, i);
      if (row == none || !reads_as_rows(v, a, row) || (readers.in_pieces[a] && sums_across_pieces(sum, a)))
        return false;
      if (in_open(a) && readers.last[a] <= v) return false;
      reads_open |= in_open(a);
    }
    return reads_open;
  }
  /// Returns true if the memory of every result of `v` is large enough for the partial sums of the open group. These
  /// sums lie in the first result that the group stores.
  constexpr bool has_room_for_sums(int v) const {
    for (int r = 0; r < op_of(v).result_count; ++r) {
      if (result_of(v + r).bytes != result_of(open[0]).bytes) return false;
    }
    return true;
  }
  /// Returns true if value `a` of the open group is at hand in its fused loop. Sums are not, and neither are further
  /// results of the operation that computes tiles.
  constexpr bool in_registers(int a) const {
    return s.nodes[a].op->made.summed == 0 &&
           !(open_begins_with_tiles && a > open[0] && a < open[0] + op_of(open[0]).result_count);
  }
  /// Returns true if `a` is a result of the open kernel with one number for each row. There must be an open kernel.
  constexpr bool is_one_number_per_row(int a) const {
    return a >= open_kernel && a < open_kernel + op_of(open_kernel).result_count &&
           is_one_number_per_row(open_kernel, a);
  }
  constexpr bool is_one_number_per_row(int kernel, int result) const {
    const shape& rows = result_of(s.argument(kernel, 0)).extents;
    return result_of(result).extents == reduced(rows, cairn::detail::axis_set{1} << (rows.rank - 1), true);
  }
  /// Returns true if a fused loop that contains `v` may read `a`, which an earlier plan step computes.
  constexpr bool can_read_outside(int v, int a) const {
    if (readers.in_pieces[a] && open_sum != none && sums_across_pieces(open_sum, a)) return false;
    return (open_sum == none || reads_as_rows(v, a, sum_axes)) &&
           !(open_keeps_partial_sums && may_be_written_over(v, a));
  }
  /// Returns true if `sum` runs over the axis along which `concatenation` is put together.
  constexpr bool sums_across_pieces(int sum, int concatenation) const {
    return (op_of(sum).made.summed >> (result_of(concatenation).extents.rank - 1) & 1U) != 0;
  }

  constexpr void add_elementwise(int v) {
    const graphs::node& n = s.nodes[v];
    if (!can_join_open(v)) close();
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int a = s.arguments[n.first + i];
      open_inputs += out.step_of[a] != out.step_count;
      if (readers.in_pieces[a]) open_pieces = a;
    }
    for (int r = 0; r < n.op->result_count; ++r) add_open(v + r);
  }

  /// Returns true if all values that the open group reads are rows from `axis` on.
  constexpr bool open_reads_only_rows(int axis) const {
    for (int k = 0; k < open_count; ++k) {
      for (int i = 0; i < op_of(open[k]).argument_count; ++i) {
        const int a = s.argument(open[k], i);
        if (!in_open(a) && !reads_as_rows(open[k], a, axis)) return false;
      }
    }
    return true;
  }
  /// Returns the first of the axes that a fused loop treats as one row to accumulate the sum `v`. A fused loop can sum
  /// over all axes, over rows or over columns, if the sum has the real type of the program. Returns none for other sums
  /// and for operations that are not sums. The order of the additions depends on the shape alone, so a sum has the same
  /// bits in a fused loop and in a kernel of its own.
  constexpr int row_axis_of_sum(int v) const {
    const graphs::node& n = s.nodes[v];
    if (n.op->made.summed == 0) return none;
    const int a = s.arguments[n.first];
    if (n.result->count == result_of(a).count || result_of(a).count > std::numeric_limits<int>::max() ||
        n.result->element.type != dtype::real)
      return none;
    const shape& from = result_of(a).extents;
    int changes = 0, before = none, row = 0;
    for (int axis = 0; axis < from.rank; ++axis) {
      if (from.extent[axis] == 1) continue;
      const int gone = n.op->made.summed >> axis & 1U;
      if (before != none && gone != before) {
        ++changes;
        row = axis;
      }
      before = gone;
    }
    return changes <= 1 ? row : none;
  }
  /// Returns `row_axis_of_sum(v)` if the open group can accumulate the sum `v`, otherwise none.
  constexpr int row_axis_if_sum_joins(int v) const {
    const int row = row_axis_of_sum(v);
    if (row == none || !in_open(s.argument(v, 0)) || open_begins_with_tiles || open_kernel != none ||
        open_count == max_loop_operations ||
        (open_sum != none && op_of(open_sum).made.summed != op_of(v).made.summed) ||
        (open_pieces != none && sums_across_pieces(v, open_pieces)))
      return none;
    return open_reads_only_rows(row) ? row : none;
  }

  /// Returns true if `v` reads rows that the open group computes, and reads nothing else of the group. Rows of more
  /// than `max_row_bytes` are rejected, for two reasons: they would leave the first-level cache before they are read,
  /// and there may be fewer of them than threads.
  constexpr bool can_read_rows_of_open(int v) const {
    const graphs::node& n = s.nodes[v];
    if (!n.op->reads(0).rows_from_loop || open_begins_with_tiles || open_sum != none || open_kernel != none)
      return false;
    const int a = s.arguments[n.first];
    for (int i = 1; i < n.op->argument_count; ++i) {
      if (depends_on_open(s.arguments[n.first + i])) return false;
    }
    const int columns = in_open(a) ? result_of(a).extents[-1] : 1;
    return columns != 1 && result_of(a).bytes / result_of(a).count * columns <= max_row_bytes;
  }

  /// Returns true if `v` computes tiles and hands them to a fused loop. The fused loop must not be an update of a
  /// parameter: an update reads and writes many arrays in pieces as short as the rows of a tile, and the training step
  /// became slower.
  constexpr bool can_begin_loop_with_tiles(int v) const {
    const int reader = readers.first[v];
    if (op_of(v).made.tiles == tiling::none || reader == none || (v < s.turn && reader >= s.turn) ||
        op_of(reader).what != graphs::role::elementwise || op_of(reader).updates || !same_shape(reader, v) ||
        result_of(v).extents.rank == 0 || result_of(v).extents[-1] == 1)
      return false;
    for (int i = 0; i < op_of(reader).argument_count; ++i) {
      const int a = s.argument(reader, i);
      if (readers.memory_root[a] == v && !reads_elementwise(reader, a)) return false;
    }
    return true;
  }

  /// Returns true if a fused loop reads the row numbers of kernel `v` and can go through each row right after the
  /// kernel.
  constexpr bool can_begin_loop_after_rows(int v) const {
    const int rows = s.argument(v, 0);
    if (!op_of(v).made.one_for_each_row || result_of(rows).extents[-1] == 1) return false;
    for (int r = 0; r < op_of(v).result_count; ++r) {
      const int reader = readers.first[v + r];
      if (reader != none && is_one_number_per_row(v, v + r) && same_shape(reader, rows) &&
          op_of(reader).what == graphs::role::elementwise && (v >= s.turn || reader < s.turn))
        return true;
    }
    return false;
  }

  /// Returns true if the open group, which does not read `v`, can follow `v` in one fused loop.
  constexpr bool fits_before_open(int v) const {
    return open_count < max_loop_operations && open_sum == none && op_of(v).made.tiles == tiling::complete &&
           same_shape(open[0], v);
  }
  constexpr void add_tiled_kernel(int v) {
    for (int i = open_count++; i > 0; --i) open[i] = open[i - 1];
    open[0] = v;
    open_begins_with_tiles = true;
    open_keeps_partial_sums = op_of(v).made.tiles == tiling::summed_in_result;
    assign(v, out.step_count);
  }

  /// The values between the results of kernel `v` and the first reader of `v` are computed before `v` if they are smaller
  /// elementwise values. An example is the scale of a batch norm in prediction. The fused loop that reads the tiles of
  /// `v` can then follow `v` directly. Returns the end of the range of these values. The range is empty if they cannot
  /// be moved.
  constexpr int end_of_values_before(int v) const {
    const int next = v + op_of(v).result_count;
    if (op_of(v).result_count > 1 || !can_begin_loop_with_tiles(v)) return next;
    const int reader = readers.first[v];
    for (int w = next; w < reader; ++w) {
      if (op_of(w).what == graphs::role::kernel || op_of(w).updates || result_of(w).count >= result_of(v).count)
        return next;
    }
    return reader;
  }

  /// Looks at the values from `from` on, up to the next kernel. Adds a value if it can follow the open kernel row by
  /// row. The added values come before values that read the kernel's other results, for example before updates of
  /// weights.
  constexpr void add_row_followers(int from) {
    bool later[nodes] = {};
    for (int v = from; v < s.node_count && v != s.turn && v != s.first_update; ++v) {
      const graphs::node& n = s.nodes[v];
      if (n.op->what == graphs::role::kernel) break;
      later[v] = n.op->what == graphs::role::map && readers.memory_root[v] == v;
      if (n.op->what != graphs::role::elementwise || n.result_index > 0) continue;
      bool waits = false, reads_open = false;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int root = readers.memory_root[s.arguments[n.first + i]];
        waits |= later[root] || readers.in_pieces[root];
        reads_open |= in_open(root) && added_early[root];
      }
      const bool follows = !waits && can_join_open(v);
      if (follows) add(v);
      else if (reads_open) break;
      for (int r = 0; r < n.op->result_count; ++r) (follows ? added_early : later)[v + r] = true;
    }
  }

  constexpr void add(int v) {
    const graphs::node& n = s.nodes[v];
    if (added_early[v] || n.result_index > 0) return;
    out.step_of[v] = none;
    if (readers.in_pieces[v]) return;
    if (n.op->what == graphs::role::elementwise || (n.op->what == graphs::role::map && out.memory_root[v] == v))
      add_elementwise(v);
    else if (n.op->what == graphs::role::kernel) add_any_kernel(v);
  }
  constexpr void add_any_kernel(int v) {
    const graphs::node& n = s.nodes[v];
    if (const int row = row_axis_if_sum_joins(v); row != none) {
      open_sum = v;
      sum_axes = row;
      add_open(v);
    } else if (can_begin_loop_after_rows(v)) {
      close();
      open_kernel = v;
      assign(v, out.step_count);
      add_row_followers(v + n.op->result_count);
    } else if (can_read_rows_of_open(v)) {
      assign(v, out.step_count);
      close(v);
    } else {
      // a group that begins with a kernel is closed, because the kernel's arguments would stay alive while it waits
      bool waits = open_begins_with_tiles || open_kernel != none;
      for (int i = 0; i < n.op->argument_count; ++i) waits |= depends_on_open(s.arguments[n.first + i]);
      if (waits || (can_begin_loop_with_tiles(v) && !fits_before_open(v))) close();
      if (can_begin_loop_with_tiles(v)) add_tiled_kernel(v);
      else add_kernel(v);
    }
  }

  /// Ends the open group where backward or the updates begin.
  constexpr void begin_part(int v) {
    close();
    if (v == s.turn) out.turn = out.first_update_step = out.step_count;
    if (v == s.first_update) out.first_update_step = out.step_count;
  }
  constexpr void group() {
    for (int v = 0; v < s.node_count;) {
      if (v == s.turn || v == s.first_update) begin_part(v);
      const graphs::operation& op = *s.nodes[v].op;
      const int next = v + op.result_count;
      const int end = op.what == graphs::role::kernel ? end_of_values_before(v) : next;
      for (int w = next; w < end; ++w) add(w);
      add(v);
      v = end;
    }
    close();
    if (s.turn == s.node_count) out.turn = out.step_count;
  }

  constexpr void find_external() {
    for (int m = 0; m < out.member_count; ++m) {
      // readers in other plan steps come after readers in this one
      const int v = out.members[m], last = readers.last[v];
      const plan_step& st = out.steps[out.step_of[v]];
      out.external[v] = last == none ? s.result(v).always_in_memory
                                     : out.step_of[last] != out.step_of[v] || st.kernel == last ||
                                           (st.loop_reads_rows && m < st.loop_begin);
    }
    for (int i = 0; i < s.output_count; ++i) out.external[readers.memory_root[s.outputs[i]]] = true;
    for (int v : s.gradient) {
      if (v != none) out.external[readers.memory_root[v]] = true;
    }
    for (int i = 0; i < s.carry_count; ++i) out.external[s.carries[i].after] = true;
  }
};
}  // namespace detail

/// Groups the values of a schedule into plan steps.
template <class Schedule, class Readers>
constexpr auto fuse(const Schedule& s, const Readers& readers) {
  detail::fuser<Schedule, Readers> f{s, readers};
  f.group();
  f.find_external();
  return f.out;
}

}  // namespace cairn::plans
