// Fusion: elementwise values of one shape that follow each other become one loop. One group is open at a time; other
// steps overtake it as long as they do not read it. An operation that makes its result in tiles hands them to the loop
// that reads it, one that goes through its argument row by row has a loop make each row just before, or read it right
// after, with what it tells of the row, and a sum of what a loop computes is made as it goes.
#pragma once

#include "cairn/plan/readers.hpp"

#include <limits>

namespace cairn::pass {

inline constexpr int max_loop_inputs = 16;
inline constexpr int max_loop_operations = 32;
inline constexpr int widest_row = 16 * 1024;  ///< in bytes, of those that a kernel takes from a loop

/// A step: a kernel of its own (the results of one operation), a loop over several values, or both at once.
struct step {
  int begin = 0, end = 0;      ///< members in fused::members
  int code = 0, code_end = 0;  ///< those of the loop; beside them are results of the kernel
  int kernel = none;           ///< the first result of the kernel
  bool tiles = false;          ///< it is the loop's first value, handed over in tiles
  bool follows = false;        ///< the loop goes through rows right after it

  constexpr bool loop() const { return code < code_end; }
  /// Whether the kernel reads a value of the loop, of which it takes row after row.
  constexpr bool rows() const { return loop() && kernel != none && !tiles && !follows; }
};

/// Which steps a program has, in order.
template <int Nodes>
struct fused {
  int members[Nodes] = {};  ///< values in step order
  step steps[Nodes] = {};
  int step_of[Nodes] = {};    ///< by value; none for leaves, views, and what is read in place
  int root[Nodes] = {};       ///< the value whose memory is read; its own, if it has any or is joined
  bool joined[Nodes] = {};    ///< by root: the memory of its arguments is read
  int position[Nodes] = {};   ///< by value: where it stands in members
  bool external[Nodes] = {};  ///< read outside its step
  int member_count = 0, step_count = 0, turn = 0;
  int all_gradients = 0;  ///< where updates wait for all gradients, the step from which on they are made; else the turn
};

/// The bytes of working space that a step needs.
template <class Schedule>
constexpr std::int64_t scratch_of(const Schedule& s, const step& st, int threads) {
  return st.kernel == none ? 0 : s.op(st.kernel).scratch_bytes(threads);
}

namespace detail {
template <class Schedule, class Readers>
struct fuser {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  const Readers& readers;
  fused<nodes> out{};
  int open[max_loop_operations] = {};
  int open_count = 0, open_inputs = 0;
  int open_sum = none;      ///< the last sum in the open group; all go over the same axes
  int sum_axes = 0;         ///< the first of the axes that they treat as one row
  bool open_tiles = false;  ///< the open group begins with what makes tiles
  bool open_sums = false;   ///< that keeps sums in its result, over which nothing lies then
  int open_joined = none;   ///< a joined tensor that the open group reads
  int open_kernel = none;   ///< what the open group follows, row by row
  bool early[nodes] = {};   ///< added before what stands before it

  /// What asks it of each argument of each operation writes it out: the calls would be a twentieth of clang's steps.
  constexpr bool in_open(int v) const { return out.step_of[v] == out.step_count; }
  constexpr const ir::operation& op_of(int v) const { return *s.nodes[v].op; }
  constexpr const ir::result& made_by(int v) const { return *s.nodes[v].made; }
  constexpr bool same_shape(int v, int w) const { return same_address(made_by(v).same_shape, made_by(w).same_shape); }

  constexpr void add_member(int v) {
    out.position[v] = out.member_count;
    out.members[out.member_count++] = v;
  }
  constexpr void add_open(int v) {
    open[open_count++] = v;
    out.step_of[v] = out.step_count;
  }

  constexpr void add_results(int v) {
    for (int r = 0; r < op_of(v).results; ++r) add_member(v + r);
  }
  /// Has all results of v made at step `index`.
  constexpr void put(int v, int index) {
    for (int r = 0; r < op_of(v).results; ++r) out.step_of[v + r] = index;
  }

  /// Ends the open group; `taker` is an operation that takes rows of it.
  constexpr void close(int taker = none) {
    if (open_count == 0 && open_kernel == none) return;
    step& made = out.steps[out.step_count++];
    made.begin = out.member_count;
    made.kernel = open_tiles ? open[0] : open_kernel != none ? open_kernel : taker;
    made.tiles = open_tiles && open_count > 1;
    made.follows = open_kernel != none && open_count > 0;
    if (open_kernel != none) add_results(open_kernel);
    if (open_tiles && !made.tiles) {
      add_results(open[0]);
      made.code = made.code_end = made.begin;
    } else {
      for (int r = 1; made.tiles && r < op_of(open[0]).results; ++r) add_member(open[0] + r);
      made.code = out.member_count;
      for (int i = 0; i < open_count; ++i) add_member(open[i]);
      made.code_end = out.member_count;
      if (taker != none) add_results(taker);
    }
    made.end = out.member_count;
    open_count = open_inputs = 0;
    open_sum = open_joined = open_kernel = none;
    open_tiles = open_sums = false;
  }

  /// A kernel runs before the open group, whose steps it does not read.
  constexpr void add_kernel(int v) {
    step& made = out.steps[out.step_count];
    made.begin = made.code = made.code_end = out.member_count;
    made.kernel = v;
    add_results(v);
    made.end = out.member_count;
    put(v, out.step_count++);
    if (open_tiles) put(open[0], out.step_count);
    if (open_kernel != none) put(open_kernel, out.step_count);
    for (int i = 0; i < open_count; ++i) out.step_of[open[i]] = out.step_count;
  }

  /// Whether value v reads its argument a element by element: no map leads elsewhere.
  constexpr bool reads_plainly(int v, int a) const {
    const int root = readers.root[a];
    return op_of(v).what != ir::role::map &&
           (op_of(a).what != ir::role::map || root == a || op_of(root).what == ir::role::generated);
  }
  /// Whether an argument waits in the open group, or a piece of it does.
  constexpr bool waits_for(int a) const {
    bool waits = false;
    for_each_piece(s, readers, readers.root[a], [&](int piece) { waits |= in_open(piece); });
    return waits;
  }
  /// Whether v would be written over its argument a.
  constexpr bool takes_over(int v, int a) const {
    const int root = readers.root[a];
    return readers.last[root] == v && made_by(v).covers(made_by(root)) && reads_plainly(v, a) &&
           (out.step_of[root] != none || op_of(root).what == ir::role::earlier || op_of(v).updates);
  }
  /// Whether v finds the axes of a from `axis` on as one: rows of what lies side by side, or of one number.
  constexpr bool reads_rows(int v, int a, int axis) const {
    const shape &whole = made_by(v).extents, &own = made_by(a).extents;
    std::int64_t row = 1;
    bool some = false, one = false;
    for (int k = axis; k < whole.rank; ++k) {
      if (whole.extent[k] == 1) continue;
      row *= whole.extent[k];
      const int here = k - (whole.rank - own.rank);
      (here < 0 || own.extent[here] == 1 ? one : some) = true;
    }
    return reads_plainly(v, a) && !(some && one) && (!readers.joined[a] || row == own[-1]);
  }

  constexpr bool joins(int v) const {
    const ir::node& n = s.nodes[v];
    const int first = open_kernel != none ? s.argument(open_kernel, 0) : open[0];
    if ((open_count == 0 && open_kernel == none) || open_count + n.op->results > max_loop_operations ||
        open_inputs + n.op->arguments > max_loop_inputs || !same_shape(first, v) || (open_sums && !fits_sums(v)) ||
        ((open_tiles || open_kernel != none) && (n.op->updates || is_for_sum(v))))
      return false;
    const bool any_fits = open_sum == none && !open_sums;
    for (int i = 0; i < n.op->arguments; ++i) {
      const int a = s.arguments[n.first + i], root = readers.root[a];
      if (readers.joined[root] && waits_for(a)) return false;
      if (a == root && is_of_row(a) && reads_plainly(v, a)) continue;
      if (out.step_of[root] == out.step_count ? a != root || !in_registers(a) || !reads_plainly(v, a)
                                              : !any_fits && !fits_open(v, a))
        return false;
    }
    return true;
  }
  /// Whether only a sum reads v, which the next loop can make beside v, and others read later what v reads of the open
  /// group: then v need not be stored, and the rest is.
  constexpr bool is_for_sum(int v) const {
    const int sum = readers.last[v];
    if (sum == none || sum != readers.first[v] || s.argument(sum, 0) != v || (v < s.turn && sum >= s.turn))
      return false;
    const int row = row_of_sum(sum);
    bool reads_open = false;
    for (int i = 0; i < op_of(v).arguments; ++i) {
      const int a = s.argument(v, i);
      if (row == none || !reads_rows(v, a, row) || (readers.joined[a] && sums_pieces(sum, a))) return false;
      if (in_open(a) && readers.last[a] <= v) return false;
      reads_open |= in_open(a);
    }
    return reads_open;
  }
  /// Whether the sums of the open group, which lie in its first stored result, could lie in those of v.
  constexpr bool fits_sums(int v) const {
    for (int r = 0; r < op_of(v).results; ++r) {
      if (made_by(v + r).bytes != made_by(open[0]).bytes) return false;
    }
    return true;
  }
  /// Of a value of the open group: whether its loop has it at hand. Not a sum, nor further results of what makes tiles.
  constexpr bool in_registers(int a) const {
    return op_of(a).summed == 0 && !(open_tiles && a > open[0] && a < open[0] + op_of(open[0]).results);
  }
  /// Whether value a is what the open kernel tells of rows, a number for each.
  constexpr bool is_of_row(int a) const {
    return open_kernel != none && a >= open_kernel && a < open_kernel + op_of(open_kernel).results &&
           is_of_row(open_kernel, a);
  }
  constexpr bool is_of_row(int kernel, int result) const {
    const shape& rows = made_by(s.argument(kernel, 0)).extents;
    return made_by(result).extents == reduced(rows, axis_set{1} << (rows.rank - 1), true);
  }
  /// Whether a loop with v may read a, which is made before it.
  constexpr bool fits_open(int v, int a) const {
    if (readers.joined[a] && open_sum != none && sums_pieces(open_sum, a)) return false;
    return (open_sum == none || reads_rows(v, a, sum_axes)) && !(open_sums && takes_over(v, a));
  }
  /// Whether a sum goes over the axis along which a joined tensor has its pieces.
  constexpr bool sums_pieces(int sum, int joined) const {
    return (op_of(sum).summed >> (made_by(joined).extents.rank - 1) & 1U) != 0;
  }

  constexpr void add_elementwise(int v) {
    const ir::node& n = s.nodes[v];
    if (!joins(v)) close();
    for (int i = 0; i < n.op->arguments; ++i) {
      const int a = s.arguments[n.first + i];
      open_inputs += out.step_of[a] != out.step_count;
      if (readers.joined[a]) open_joined = a;
    }
    for (int r = 0; r < n.op->results; ++r) add_open(v + r);
  }

  /// Whether the open group reads rows of all that it reads.
  constexpr bool open_reads_rows(int axis) const {
    for (int k = 0; k < open_count; ++k) {
      for (int i = 0; i < op_of(open[k]).arguments; ++i) {
        const int a = s.argument(open[k], i);
        if (!in_open(a) && !reads_rows(open[k], a, axis)) return false;
      }
    }
    return true;
  }
  /// From which axis on a loop treats all axes as one row, to make a sum of the program's numbers as it goes: over all,
  /// over rows or over columns; none where it cannot, and of what is no sum. The order of the additions is a function
  /// of the shape alone, so that a sum has the same bits in a loop and by itself.
  constexpr int row_of_sum(int v) const {
    const ir::node& n = s.nodes[v];
    if (n.op->summed == 0) return none;
    const int a = s.arguments[n.first];
    if (n.made->count == made_by(a).count || made_by(a).count > std::numeric_limits<int>::max() ||
        n.made->element.type != dtype::real)
      return none;
    const shape& from = made_by(a).extents;
    int changes = 0, before = none, row = 0;
    for (int axis = 0; axis < from.rank; ++axis) {
      if (from.extent[axis] == 1) continue;
      const int gone = n.op->summed >> axis & 1U;
      if (before != none && gone != before) {
        ++changes;
        row = axis;
      }
      before = gone;
    }
    return changes <= 1 ? row : none;
  }
  /// The same where the open loop can make the sum.
  constexpr int joins_as_sum(int v) const {
    const int row = row_of_sum(v);
    if (row == none || !in_open(s.argument(v, 0)) || open_tiles || open_kernel != none ||
        open_count == max_loop_operations ||
        (open_sum != none && op_of(open_sum).summed != op_of(v).summed) ||
        (open_joined != none && sums_pieces(v, open_joined)))
      return none;
    return open_reads_rows(row) ? row : none;
  }

  /// Whether v takes rows of what the open loop computes, of which nothing else is read by it. Wide ones would leave
  /// the first-level cache before they are read, and there may be fewer than threads.
  constexpr bool takes_rows(int v) const {
    const ir::node& n = s.nodes[v];
    if (!n.op->takes_rows || open_tiles || open_sum != none || open_kernel != none) return false;
    const int a = s.arguments[n.first];
    for (int i = 1; i < n.op->arguments; ++i) {
      if (waits_for(s.arguments[n.first + i])) return false;
    }
    const int columns = in_open(a) ? made_by(a).extents[-1] : 1;
    return columns != 1 && made_by(a).bytes / made_by(a).count * columns <= widest_row;
  }

  /// Whether an operation that makes tiles hands them to a loop. Not to an update: it reads and writes so many arrays
  /// in pieces as short as a tile's rows that the step took longer for it.
  constexpr bool begins_loop(int v) const {
    const int reader = readers.first[v];
    if (op_of(v).tiles == tiling::none || reader == none || (v < s.turn && reader >= s.turn) ||
        op_of(reader).what != ir::role::elementwise || op_of(reader).updates || !same_shape(reader, v) ||
        made_by(v).extents.rank == 0 || made_by(v).extents[-1] == 1)
      return false;
    for (int i = 0; i < op_of(reader).arguments; ++i) {
      const int a = s.argument(reader, i);
      if (readers.root[a] == v && !reads_plainly(reader, a)) return false;
    }
    return true;
  }

  /// Whether a loop that reads what kernel v tells of rows can go through each of them right after it.
  constexpr bool begins_rows(int v) const {
    const int rows = s.argument(v, 0);
    if (!op_of(v).gives_rows || made_by(rows).extents[-1] == 1) return false;
    for (int r = 0; r < op_of(v).results; ++r) {
      const int reader = readers.first[v + r];
      if (reader != none && is_of_row(v, v + r) && same_shape(reader, rows) &&
          op_of(reader).what == ir::role::elementwise && (v >= s.turn || reader < s.turn))
        return true;
    }
    return false;
  }

  /// Whether the open group, which does not read v, can follow it in one loop.
  constexpr bool goes_before_open(int v) const {
    return open_count < max_loop_operations && open_sum == none && op_of(v).tiles == tiling::complete &&
           same_shape(open[0], v);
  }
  constexpr void add_maker(int v) {
    for (int i = open_count++; i > 0; --i) open[i] = open[i - 1];
    open[0] = v;
    open_tiles = true;
    open_sums = op_of(v).tiles == tiling::summed_in_result;
    put(v, out.step_count);
  }

  /// Up to which value those after v are made before it: to its first reader, where they are smaller and elementwise,
  /// as a batch norm's scale is in prediction. So the loop that reads its tiles follows it.
  constexpr int made_before(int v) const {
    const int next = v + op_of(v).results;
    if (op_of(v).what != ir::role::kernel || op_of(v).results > 1 || !begins_loop(v)) return next;
    const int reader = readers.first[v];
    for (int w = next; w < reader; ++w) {
      if (op_of(w).what == ir::role::kernel || op_of(w).updates || made_by(w).count >= made_by(v).count) return next;
    }
    return reader;
  }

  /// Adds what can follow the open kernel through its rows, up to the next kernel: before what reads its other results,
  /// as updates of weights do.
  constexpr void add_followers(int from) {
    bool later[nodes] = {};
    for (int v = from; v < s.node_count && v != s.turn && v != s.all_gradients; ++v) {
      const ir::node& n = s.nodes[v];
      if (n.op->what == ir::role::kernel) break;
      later[v] = n.op->what == ir::role::map && readers.root[v] == v;
      if (n.op->what != ir::role::elementwise || n.number > 0) continue;
      bool waits = false, reads_open = false;
      for (int i = 0; i < n.op->arguments; ++i) {
        const int root = readers.root[s.arguments[n.first + i]];
        waits |= later[root] || readers.joined[root];
        reads_open |= in_open(root) && early[root];
      }
      const bool follows = !waits && joins(v);
      if (follows) add(v);
      else if (reads_open) break;
      for (int r = 0; r < n.op->results; ++r) (follows ? early : later)[v + r] = true;
    }
  }

  constexpr void add(int v) {
    const ir::node& n = s.nodes[v];
    if (early[v]) return;
    out.root[v] = readers.root[v];
    out.joined[v] = readers.joined[v];
    if (n.number > 0) return;
    out.step_of[v] = none;
    if (readers.joined[v]) return;
    if (n.op->what == ir::role::elementwise || (n.op->what == ir::role::map && out.root[v] == v)) {
      add_elementwise(v);
    } else if (const int row = n.op->what == ir::role::kernel ? joins_as_sum(v) : none; row != none) {
      open_sum = v;
      sum_axes = row;
      add_open(v);
    } else if (n.op->what == ir::role::kernel && begins_rows(v)) {
      close();
      open_kernel = v;
      put(v, out.step_count);
      add_followers(v + n.op->results);
    } else if (n.op->what == ir::role::kernel && takes_rows(v)) {
      put(v, out.step_count);
      close(v);
    } else if (n.op->what == ir::role::kernel) {
      bool waits = open_tiles || open_kernel != none;  // what waited would keep its arguments
      for (int i = 0; i < n.op->arguments; ++i) waits |= waits_for(s.arguments[n.first + i]);
      if (waits || (begins_loop(v) && !goes_before_open(v))) close();
      if (begins_loop(v)) add_maker(v);
      else add_kernel(v);
    }
  }

  constexpr void group() {
    for (int v = 0; v < s.node_count;) {
      if (v == s.turn || v == s.all_gradients) close();
      if (v == s.turn) out.turn = out.all_gradients = out.step_count;
      if (v == s.all_gradients) out.all_gradients = out.step_count;
      const int next = v + op_of(v).results, end = made_before(v);
      for (int w = next; w < end; ++w) add(w);
      for (int w = v; w < next; ++w) add(w);
      v = end;
    }
    close();
    if (s.turn == s.node_count) out.turn = out.step_count;
  }

  constexpr void find_external() {
    for (int m = 0; m < out.member_count; ++m) {
      const int v = out.members[m], last = readers.last[v];  // who reads it elsewhere comes after who reads it here
      const step& made = out.steps[out.step_of[v]];
      out.external[v] = last == none ? s.made(v).always
                                     : out.step_of[last] != out.step_of[v] || made.kernel == last ||
                                           (made.follows && m < made.code);
    }
    for (int i = 0; i < s.output_count; ++i) out.external[readers.root[s.outputs[i]]] = true;
    for (int v : s.gradient) {
      if (v != none) out.external[readers.root[v]] = true;
    }
    for (int i = 0; i < s.carry_count; ++i) out.external[s.carries[i].after] = true;
  }
};
}  // namespace detail

/// Groups a schedule into steps.
template <class Schedule, class Readers>
constexpr auto fuse(const Schedule& s, const Readers& readers) {
  detail::fuser<Schedule, Readers> f{s, readers};
  f.group();
  f.find_external();
  return f.out;
}

}  // namespace cairn::pass
