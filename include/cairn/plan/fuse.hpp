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
/// The group of values that the pass collects for the next fused loop.
struct open_group {
  int values[max_loop_operations] = {};
  int count = 0;
  int inputs = 0;                  ///< how many values the group reads that are not in the group
  int sum = none;                  ///< the last sum in the group, or none; all sums of a group run over the same axes
  int sum_axes = 0;                ///< first of the axes that the sums treat as one row
  int pieces = none;               ///< a concatenation that the group reads in place, or none
  int kernel = none;               ///< kernel whose rows the group reads right after the kernel, or none
  bool begins_with_tiles = false;  ///< the first value of the group is computed in tiles
  /// The tiled operation keeps partial sums in its result, so the memory of the result must not be overwritten.
  bool keeps_partial_sums = false;
};

template <class Schedule, class Readers>
struct fuser {
  static constexpr int nodes = Schedule::capacity;
  static constexpr int open_step = nodes;  ///< the plan step of values in the open group, until the group closes
  const Schedule& s;
  const Readers& readers;
  plan_steps<nodes> out{{readers}};
  open_group group{};
  bool added_early[nodes] = {};  ///< by value: true if it was added before values that precede it in the schedule

  /// Returns true if `v` is in the open group. Code that tests every argument of every operation repeats this
  /// comparison instead of calling the function: the calls would take a twentieth of the steps that clang allows.
  constexpr bool in_open(int v) const { return out.step_of[v] == open_step; }
  constexpr const graphs::operation& op_of(int v) const { return *s.nodes[v].op; }
  constexpr const graphs::result_info& result_of(int v) const { return *s.nodes[v].result; }
  constexpr bool same_shape(int v, int w) const {
    return cairn::detail::same_address(s.nodes[v].result->same_shape, s.nodes[w].result->same_shape);
  }

  /// Adds the results of `v` to the list of members, from result `first` on.
  constexpr void add_results(int v, int first = 0) {
    for (int r = first, count = op_of(v).result_count; r < count; ++r) out.members[out.member_count++] = v + r;
  }
  /// Assigns all results of `v` to plan step `index`.
  constexpr void assign(int v, int index) {
    for (int r = 0, count = op_of(v).result_count; r < count; ++r) out.step_of[v + r] = index;
  }

  /// Ends the open group. `row_reader` is an operation that reads rows of the group, or none.
  constexpr void close(int row_reader = none) {
    if (group.count == 0 && group.kernel == none) return;
    const bool alone = group.begins_with_tiles && group.count == 1;  // then no fused loop reads the tiles
    const int begin = out.member_count;
    if (group.kernel != none) add_results(group.kernel);
    if (group.begins_with_tiles) add_results(group.values[0], alone ? 0 : 1);
    const int loop_begin = alone ? begin : out.member_count;
    for (int i = alone; i < group.count; ++i) out.members[out.member_count++] = group.values[i];
    const int loop_end = alone ? begin : out.member_count;
    if (row_reader != none) add_results(row_reader);
    for (int m = begin; m < out.member_count; ++m) out.step_of[out.members[m]] = out.step_count;
    out.steps[out.step_count++] = {
        .begin = begin,
        .end = out.member_count,
        .loop_begin = loop_begin,
        .loop_end = loop_end,
        .kernel = group.begins_with_tiles ? group.values[0]
                  : group.kernel != none  ? group.kernel
                                          : row_reader,
        .loop_reads_tiles = group.begins_with_tiles && !alone,
        .loop_reads_rows = group.kernel != none && group.count > 0,
    };
    group = {};
  }

  /// Adds kernel `v` as a plan step before the open group. The kernel does not read the group.
  constexpr void add_kernel(int v) {
    const int begin = out.member_count;
    add_results(v);
    out.steps[out.step_count] = {
        .begin = begin, .end = out.member_count, .loop_begin = begin, .loop_end = begin, .kernel = v};
    assign(v, out.step_count++);
  }

  /// Returns true if value `v` reads argument `a` element by element, which means that no map leads to other elements.
  constexpr bool reads_elementwise(int v, int a) const {
    const int root = readers.memory_root[a];
    return s.nodes[v].op->what != graphs::role::map &&
           (s.nodes[a].op->what != graphs::role::map || root == a || s.nodes[root].op->what == graphs::role::generated);
  }
  /// Returns true if the open group contains argument `a` or one of its pieces.
  constexpr bool depends_on_open(int a) const {
    const int root = readers.memory_root[a];
    if (!readers.in_pieces[root]) return out.step_of[root] == open_step;
    bool waits = false;
    for_each_piece(s, readers, root, [&](int piece) { waits |= in_open(piece); });
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
    const int first = group.kernel != none ? s.argument(group.kernel, 0) : group.values[0];
    if ((group.count == 0 && group.kernel == none) || group.count + n.op->result_count > max_loop_operations ||
        group.inputs + n.op->argument_count > max_loop_inputs || !same_shape(first, v) ||
        (group.keeps_partial_sums && !has_room_for_sums(v)) ||
        ((group.begins_with_tiles || group.kernel != none) && (n.op->updates || belongs_to_next_loop(v))))
      return false;
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int a = s.arguments[n.first + i], root = readers.memory_root[a];
      if (readers.in_pieces[root] && depends_on_open(a)) return false;
      if (group.kernel != none && a == root && is_one_number_per_row(a) && reads_elementwise(v, a)) continue;
      if (out.step_of[root] == open_step ? a != root || !in_registers(a) || !reads_elementwise(v, a)
                                         : (group.sum != none || group.keeps_partial_sums) && !can_read_outside(v, a))
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
      if (result_of(v + r).bytes != result_of(group.values[0]).bytes) return false;
    }
    return true;
  }
  /// Returns true if value `a` of the open group is at hand in its fused loop. Sums are not, and neither are further
  /// results of the operation that computes tiles.
  constexpr bool in_registers(int a) const {
    return s.nodes[a].op->made.summed == 0 && !(group.begins_with_tiles && a > group.values[0] &&
                                                a < group.values[0] + op_of(group.values[0]).result_count);
  }
  /// Returns true if `a` is a result of the open kernel with one number for each row. There must be an open kernel.
  constexpr bool is_one_number_per_row(int a) const {
    return a >= group.kernel && a < group.kernel + op_of(group.kernel).result_count &&
           is_one_number_per_row(group.kernel, a);
  }
  constexpr bool is_one_number_per_row(int kernel, int result) const {
    const shape& rows = result_of(s.argument(kernel, 0)).extents;
    return result_of(result).extents == reduced(rows, cairn::detail::axis_set{1} << (rows.rank - 1), true);
  }
  /// Returns true if a fused loop that contains `v` may read `a`, which an earlier plan step computes.
  constexpr bool can_read_outside(int v, int a) const {
    if (readers.in_pieces[a] && group.sum != none && sums_across_pieces(group.sum, a)) return false;
    return (group.sum == none || reads_as_rows(v, a, group.sum_axes)) &&
           !(group.keeps_partial_sums && may_be_written_over(v, a));
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
      group.inputs += out.step_of[a] != open_step;
      if (readers.in_pieces[a]) group.pieces = a;
    }
    for (int r = 0; r < n.op->result_count; ++r) {
      group.values[group.count++] = v + r;
      out.step_of[v + r] = open_step;
    }
  }

  /// Returns true if all values that the open group reads are rows from `axis` on.
  constexpr bool open_reads_only_rows(int axis) const {
    for (int k = 0; k < group.count; ++k) {
      const graphs::node& n = s.nodes[group.values[k]];
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = s.arguments[n.first + i];
        if (out.step_of[a] != open_step && !reads_as_rows(group.values[k], a, axis)) return false;
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
    if (row == none || !in_open(s.argument(v, 0)) || group.begins_with_tiles || group.kernel != none ||
        group.count == max_loop_operations ||
        (group.sum != none && op_of(group.sum).made.summed != op_of(v).made.summed) ||
        (group.pieces != none && sums_across_pieces(v, group.pieces)))
      return none;
    return open_reads_only_rows(row) ? row : none;
  }

  /// Returns true if `v` reads rows that the open group computes, and reads nothing else of the group. Rows of more
  /// than `max_row_bytes` are rejected, for two reasons: they would leave the first-level cache before they are read,
  /// and there may be fewer of them than threads.
  constexpr bool can_read_rows_of_open(int v) const {
    const graphs::node& n = s.nodes[v];
    if (group.count == 0 || group.begins_with_tiles || group.sum != none || group.kernel != none ||
        !n.op->reads(0).rows_from_loop)
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
    if (s.nodes[v].op->made.tiles == tiling::none || reader == none || (v < s.turn && reader >= s.turn) ||
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
    if (!s.nodes[v].op->made.one_for_each_row) return false;
    const int rows = s.argument(v, 0);
    if (result_of(rows).extents[-1] == 1) return false;
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
    return group.count < max_loop_operations && group.sum == none && op_of(v).made.tiles == tiling::complete &&
           same_shape(group.values[0], v);
  }
  constexpr void add_tiled_kernel(int v) {
    for (int i = group.count++; i > 0; --i) group.values[i] = group.values[i - 1];
    group.values[0] = v;
    group.begins_with_tiles = true;
    group.keeps_partial_sums = op_of(v).made.tiles == tiling::summed_in_result;
    assign(v, open_step);
  }

  /// Adds the values between the results of kernel `v` and the first reader of `v`, if they are smaller elementwise
  /// values. An example is the scale of a batch norm in prediction. The fused loop that reads the tiles of `v` can then
  /// follow `v` directly.
  constexpr void add_values_before_reader(int v) {
    const int next = v + op_of(v).result_count, reader = readers.first[v];
    if (op_of(v).result_count > 1) return;
    for (int w = next; w < reader; ++w) {
      if (op_of(w).what == graphs::role::kernel || op_of(w).updates || result_of(w).count >= result_of(v).count) return;
    }
    for (int w = next; w < reader; ++w) {
      add(w);
      added_early[w] = true;
    }
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
    if (added_early[v] || s.nodes[v].result_index > 0) return;
    out.step_of[v] = none;
    if (readers.in_pieces[v]) return;
    const graphs::role what = s.nodes[v].op->what;
    if (what == graphs::role::elementwise || (what == graphs::role::map && out.memory_root[v] == v)) add_elementwise(v);
    else if (what == graphs::role::kernel) add_any_kernel(v);
  }
  constexpr void add_any_kernel(int v) {
    const graphs::node& n = s.nodes[v];
    const bool begins_with_tiles = can_begin_loop_with_tiles(v);
    if (begins_with_tiles) add_values_before_reader(v);
    if (const int row = row_axis_if_sum_joins(v); row != none) {
      group.sum = group.values[group.count++] = v;
      group.sum_axes = row;
      out.step_of[v] = open_step;
    } else if (can_begin_loop_after_rows(v)) {
      close();
      group.kernel = v;
      assign(v, open_step);
      add_row_followers(v + n.op->result_count);
    } else if (can_read_rows_of_open(v)) {
      close(v);
    } else {
      // a group that begins with a kernel is closed, because the kernel's arguments would stay alive while it waits
      bool waits = group.begins_with_tiles || group.kernel != none;
      for (int i = 0; i < n.op->argument_count; ++i) waits |= depends_on_open(s.arguments[n.first + i]);
      if (waits || (begins_with_tiles && !fits_before_open(v))) close();
      if (begins_with_tiles) add_tiled_kernel(v);
      else add_kernel(v);
    }
  }

  /// Adds all values. No group spans the turn, or the begin of the updates.
  constexpr void group_values() {
    const int updates = s.first_update == none ? s.node_count : s.first_update;
    for (int v = 0; v < s.turn; ++v) add(v);
    close();
    out.turn = out.step_count;
    for (int v = s.turn; v < updates; ++v) add(v);
    close();
    out.first_update_step = s.first_update == none ? out.turn : out.step_count;
    for (int v = updates; v < s.node_count; ++v) {
      if (s.updates_apart) close();
      add(v);
    }
    close();
  }
};
}  // namespace detail

/// Groups the values of a schedule into plan steps. `mark_external` completes the table.
template <class Schedule, class Readers>
constexpr auto fuse(const Schedule& s, const Readers& readers) {
  detail::fuser<Schedule, Readers> f{s, readers};
  f.group_values();
  return f.out;
}

/// Returns the plan steps with the positions of their values, and with the values that must be written to memory.
template <class Schedule, class Readers, class Steps>
constexpr Steps mark_external(const Schedule& s, const Readers& readers, Steps out) {
  for (int m = 0; m < out.member_count; ++m) {
    // readers in other plan steps come after readers in this one
    const int v = out.members[m], last = readers.last[v], step = out.step_of[v];
    out.position[v] = m;
    out.external[v] = last == none ? s.result(v).always_in_memory
                                   : out.step_of[last] != step || out.steps[step].kernel == last ||
                                         (out.steps[step].loop_reads_rows && m < out.steps[step].loop_begin);
  }
  for (int i = 0; i < s.output_count; ++i) out.external[readers.memory_root[s.outputs[i]]] = true;
  for (int v : s.gradient) {
    if (v != none) out.external[readers.memory_root[v]] = true;
  }
  for (int i = 0; i < s.carry_count; ++i) out.external[s.carries[i].after] = true;
  return out;
}

}  // namespace cairn::plans
