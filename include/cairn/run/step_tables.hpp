// Tables with constants that kernels take. The table of a fused loop contains its extents, and the strides, maps and
// pieces of its inputs. The table of a kernel says where the rows and pieces of its arguments lie.
#pragma once

#include "cairn/kernel/loop_step.hpp"
#include "cairn/plan/compile.hpp"

namespace cairn::detail {

template <class Compiled>
struct step_tables {
  static constexpr const auto& s = Compiled::schedule;
  static constexpr const auto& f = Compiled::steps;
  static constexpr const auto& l = Compiled::loops;

  static constexpr int input_count(int step) { return l.of[step].input_end - l.of[step].input_begin; }
  static constexpr int outer_axis_count(int step) { return std::max(l.of[step].extents.rank - 1, 0); }
  static constexpr int columns_of(int step) { return l.of[step].extents.rank == 0 ? 1 : l.of[step].extents[-1]; }

  /// Returns true if a kernel that reads `v` reads the argument of a map instead of the map's result. `v` is the map
  /// or a view of it.
  static constexpr bool is_read_through_map(int v) {
    return s.op(s.root(v)).what == graphs::role::map && f.memory_root[v] != s.root(v);
  }
  static constexpr bool is_in_pieces(int v) { return f.in_pieces[v]; }
  static constexpr bool reads_any(int v, bool (*predicate)(int)) {
    for (int i = 0; v != graphs::none && i < s.op(v).argument_count; ++i) {
      if (predicate(s.argument(v, i))) return true;
    }
    return false;
  }

  // The pieces of concatenations that are read in place.

  static constexpr int piece_count = [] {
    int n = 0;
    for (int v = 0; v < s.node_count; ++v) {
      if (f.in_pieces[v]) plans::for_each_piece(s, f, v, [&n](int) { ++n; });
    }
    return n;
  }();
  struct piece_table {
    int columns[piece_count + 1] = {};  ///< number of columns of each piece

    /// These arrays are indexed by value. The pieces of value v are columns[begin[v]] to columns[end[v] - 1]. There are
    /// none if the value is not in pieces.
    int begin[Compiled::schedule.capacity + 1] = {}, end[Compiled::schedule.capacity + 1] = {};
  };
  static constexpr piece_table pieces = [] {
    piece_table out;
    int n = 0;
    for (int v = 0; v < s.node_count; ++v) {
      out.begin[v] = n;
      if (f.in_pieces[v])
        plans::for_each_piece(s, f, v, [&](int piece) { out.columns[n++] = s.result(piece).extents[-1]; });
      out.end[v] = n;
    }
    return out;
  }();
  /// A cursor over the columns of a fused loop, for one input of the loop. The cursor starts at the first column.
  struct read_position {
    int piece = 0, piece_end = 0;  ///< indices in the table of pieces; equal if the input is not in pieces
    int operand = 0, column = 0;   ///< operand that the loop reads here, and the first column of the piece

    /// Returns the end of the columns that the cursor's piece covers, or `limit` if the input is not in pieces.
    constexpr int end_column(int limit) const { return piece == piece_end ? limit : column + pieces.columns[piece]; }
    /// Moves to the piece that contains column `at`.
    constexpr void go_to(int at) {
      while (piece < piece_end && column + pieces.columns[piece] <= at) {
        column += pieces.columns[piece++];
        ++operand;
      }
    }
  };
  /// Returns how many results a fused loop stores.
  static constexpr int stored_results(int step) {
    int results = 0;
    for (int m = f.steps[step].loop_begin; m < f.steps[step].loop_end; ++m) results += l.code[m].written;
    return results;
  }
  /// Writes the positions of all inputs of a fused loop at its first column. Returns the number of the loop's
  /// operands.
  static constexpr int begin_reading(int step, read_position* of) {
    int operand = stored_results(step);
    for (int k = 0; k < input_count(step); ++k) {
      const plans::loop_input& in = l.inputs[l.of[step].input_begin + k];
      of[k] = {0, 0, operand, 0};
      if (in.in_pieces) of[k] = {pieces.begin[in.value], pieces.end[in.value], operand, 0};
      operand += in.in_pieces ? of[k].piece_end - of[k].piece : in.how != graphs::access::constant;
    }
    return operand;
  }
  static constexpr bool loop_reads_pieces(int step) {
    for (int k = l.of[step].input_begin; k < l.of[step].input_end; ++k) {
      if (l.inputs[k].in_pieces) return true;
    }
    return false;
  }
  /// Calls visit(begin, end, readings) for each range of a fused loop's columns in which no piece begins or ends.
  static constexpr void for_each_range(int step, auto visit) {
    if (!loop_reads_pieces(step)) return;
    read_position all[plans::max_loop_inputs] = {};
    begin_reading(step, all);
    for (int begin = 0, end = 0; begin < columns_of(step); begin = end) {
      end = columns_of(step);
      for (int k = 0; k < input_count(step); ++k) {
        all[k].go_to(begin);
        end = std::min(end, all[k].end_column(end));
      }
      visit(begin, end, all);
    }
  }
  /// Calls visit(columns) for each piece of the arguments of `v` that a kernel may read in pieces. An argument that is
  /// not in pieces counts as one piece.
  static constexpr void for_each_column_count(int v, auto visit) {
    for (int i = 0; i < s.op(v).argument_count; ++i) {
      const int a = s.argument(v, i);
      for (int k = pieces.begin[a]; k < pieces.end[a]; ++k) visit(pieces.columns[k]);
      if (!f.in_pieces[a] && s.op(v).reads(i).in_pieces) visit(s.result(a).extents[-1]);
    }
  }

  // The storage to which the pointers in the tables point.

  /// Counts of entries, one for each kind of entry, summed over some plan steps. If they are summed over all plan steps
  /// before a plan step, they are the offsets of the entries of this plan step.
  struct entry_counts {
    int strides = 0, maps = 0, ranges = 0, reads = 0, row_strides = 0, pieces = 0, tables = 0;
  };
  /// Adds the entries of a plan step.
  static constexpr void add_entries(entry_counts& n, int step) {
    const plans::plan_step& st = f.steps[step];
    if (st.has_loop()) {
      int ranges = 0;
      for_each_range(step, [&](int, int, const read_position*) { ++ranges; });
      n.strides += input_count(step) * outer_axis_count(step);
      n.ranges += ranges;
      n.reads += ranges * input_count(step);
      for (int k = l.of[step].input_begin; k < l.of[step].input_end; ++k) {
        if (l.inputs[k].how == graphs::access::mapped) n.maps += outer_axis_count(step) + 1;
      }
    }
    const bool has_strided_rows = reads_any(st.kernel, is_read_through_map),
               in_pieces = reads_any(st.kernel, is_in_pieces);
    if (has_strided_rows) n.row_strides += s.op(st.kernel).argument_count;
    if (in_pieces) for_each_column_count(st.kernel, [&](int) { ++n.pieces; });
    n.tables += st.has_loop() || has_strided_rows || in_pieces;
  }
  static constexpr entry_counts totals = [] {
    entry_counts n;
    for (int i = 0; i < f.step_count; ++i) add_entries(n, i);
    return n;
  }();

  static constexpr graphs::mapped_axis axis_of_map(const plans::loop_input& in, const shape& whole, int axis,
                                                   int merged_extent) {
    const plans::operand_axis at = plans::axis_of_operand(s, in, whole, axis);
    if (!at.needs_map) return graphs::mapped_along({}, merged_extent, at.stride, merged_extent);
    const int here = axis - (whole.rank - s.result(in.value).extents.rank);
    const int extent = s.result(s.argument(in.value, 0)).extents.extent[here];
    return graphs::mapped_along(s.op(in.value).map[here], extent, at.stride, merged_extent);
  }

  struct table_entries {
    std::int64_t strides[totals.strides + 1] = {}, row_strides[totals.row_strides + 1] = {};
    graphs::mapped_axis maps[totals.maps + 1] = {};
    graphs::piece_read reads[totals.reads + 1] = {};
    int pieces[totals.pieces + 1] = {};
  };
  static constexpr void write_strides(table_entries& out, entry_counts& at, int step, const plans::loop_input& in) {
    const shape& whole = s.result(f.members[f.steps[step].loop_begin]).extents;
    for (int axis = 0; axis < outer_axis_count(step); ++axis) {
      if (in.how != graphs::access::constant)
        out.strides[at.strides] = plans::axis_of_operand(s, in, whole, l.of[step].last_axis[axis]).stride;
      ++at.strides;
    }
  }
  static constexpr void write_loop(table_entries& out, entry_counts& at, int step) {
    const plans::loop& here = l.of[step];
    const shape& whole = s.result(f.members[f.steps[step].loop_begin]).extents;
    for (int k = here.input_begin; k < here.input_end; ++k) {
      write_strides(out, at, step, l.inputs[k]);
      if (l.inputs[k].how != graphs::access::mapped) continue;
      for (int axis = 0; axis < outer_axis_count(step) + 1; ++axis)
        out.maps[at.maps++] = axis_of_map(l.inputs[k], whole, here.last_axis[axis], here.extents.extent[axis]);
    }
    for_each_range(step, [&](int, int, const read_position* all) {
      for (int k = 0; k < input_count(step); ++k) {
        const bool in_pieces = l.inputs[here.input_begin + k].in_pieces;
        out.reads[at.reads++] = {all[k].operand, all[k].column, in_pieces ? pieces.columns[all[k].piece] : 1};
      }
    });
  }
  static constexpr table_entries entries = [] {
    table_entries out;
    entry_counts n;
    for (int i = 0; i < f.step_count; ++i) {
      entry_counts at = n;
      if (f.steps[i].has_loop()) write_loop(out, at, i);
      const int v = f.steps[i].kernel;
      for (int a = 0; reads_any(v, is_read_through_map) && a < s.op(v).argument_count; ++a)
        out.row_strides[at.row_strides++] =
            is_read_through_map(s.argument(v, a))
                ? plans::row_stride(s, s.root(s.argument(v, a)), plans::row_length(s, v, a))
                : 0;
      if (reads_any(v, is_in_pieces)) for_each_column_count(v, [&](int columns) { out.pieces[at.pieces++] = columns; });
      add_entries(n, i);
    }
    return out;
  }();

  // The tables.

  static constexpr auto ranges = [] {
    std::array<graphs::column_range, static_cast<std::size_t>(totals.ranges) + 1> out{};
    entry_counts n;
    std::size_t next = 0;
    for (int i = 0; i < f.step_count; ++i) {
      const int inputs = input_count(i);
      entry_counts at = n;
      for_each_range(i, [&](int begin, int end, const read_position*) {
        out[next++] = {begin, end, entries.reads + at.reads};
        at.reads += inputs;
      });
      add_entries(n, i);
    }
    return out;
  }();
  static constexpr graphs::loop_table table_of(int i, const entry_counts& before) {
    const shape& extents = l.of[i].extents;
    graphs::loop_table t;
    t.columns = columns_of(i);
    t.rows = extents.count() / t.columns;
    t.outer = outer_axis_count(i);
    for (int axis = 0; axis < t.outer; ++axis) t.extent[axis] = extents.extent[axis];
    t.strides = entries.strides + before.strides;
    t.maps = entries.maps + before.maps;
    t.ranges = ranges.data() + before.ranges;
    for_each_range(i, [&t](int, int, const read_position*) { ++t.range_count; });
    return t;
  }
  static constexpr auto tables = [] {
    struct {
      kernels::step_table of[totals.tables + 1] = {};
      /// index of the table of each plan step; none if the plan step has no table
      int table_of_step[f.step_count + 1] = {};
    } out;
    entry_counts n;
    for (int i = 0; i < f.step_count; ++i) {
      const plans::plan_step& st = f.steps[i];
      const entry_counts before = n;
      add_entries(n, i);
      out.table_of_step[i] = graphs::none;
      if (n.tables == before.tables) continue;
      out.table_of_step[i] = before.tables;
      kernels::step_table& made = out.of[before.tables];
      if (st.has_loop()) made.loop = table_of(i, before);
      read_position all[plans::max_loop_inputs] = {};
      if (st.has_loop()) made.loop_operands = begin_reading(i, all);
      if (st.has_loop() && st.kernel != graphs::none) made.kernel = s.op(st.kernel).run;
      if (n.row_strides > before.row_strides) made.how.row_strides = entries.row_strides + before.row_strides;
      if (n.pieces > before.pieces) made.how.pieces = entries.pieces + before.pieces;
      made.how.piece_count = n.pieces - before.pieces;
    }
    return out;
  }();
  /// Returns the table that the kernel of a plan step takes, or null if the kernel takes none.
  static constexpr const void* constants_of(int step) {
    if (tables.table_of_step[step] == graphs::none) return nullptr;
    const kernels::step_table& own = tables.of[tables.table_of_step[step]];
    if (!f.steps[step].has_loop()) return &own.how;
    if (f.steps[step].kernel == graphs::none) return &own.loop;
    return &own;
  }
};
}  // namespace cairn::detail
