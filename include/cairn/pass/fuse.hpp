// Fusion: elementwise values of one shape that follow each other become one loop. One group is open at a time; other
// steps overtake it as long as they do not read it. A product hands its result to the loop that reads it tile by tile, and
// a sum of what a loop computes is made as it goes.
#pragma once

#include "cairn/pass/readers.hpp"

namespace cairn::pass {

inline constexpr int max_loop_inputs = 16;
inline constexpr int max_loop_operations = 32;

/// A step: a kernel of its own (one member), or a loop over several members.
struct step {
  int begin = 0, end = 0;  ///< members in fused::members
  bool loop = false;
  bool product = false;  ///< the first member of the loop is a matrix product
};

/// Which steps a program has, in order.
template <int Nodes>
struct fused {
  int members[Nodes] = {};  ///< values in step order
  step steps[Nodes] = {};
  int step_of[Nodes] = {};    ///< by value; none for leaves and views
  int root[Nodes] = {};       ///< the value whose memory a view reads; else itself
  int position[Nodes] = {};   ///< by value: where it stands in members
  bool external[Nodes] = {};  ///< read outside its step
  int member_count = 0, step_count = 0, turn = 0;
};

namespace detail {
template <class Schedule, class Readers>
struct fuser {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  const Readers& readers;
  fused<nodes> out{};
  int open[max_loop_operations] = {};
  int open_count = 0, open_inputs = 0;
  int open_sum = none;        ///< the sum in the open group
  bool open_product = false;  ///< the open group begins with a product
  bool open_deep = false;     ///< of several blocks of depth: it keeps sums in its result, over which nothing lies then
  bool open_flat = true;      ///< what the open group reads are numbers or has its shape

  constexpr bool in_open(int v) const { return open_count > 0 && out.step_of[v] == out.step_count; }
  constexpr const ir::operation& op_of(int v) const { return *s.nodes[v].op; }

  constexpr void add_member(int v) {
    out.position[v] = out.member_count;
    out.members[out.member_count++] = v;
  }

  constexpr void add_open(int v) {
    open[open_count++] = v;
    out.step_of[v] = out.step_count;
  }

  constexpr void close() {
    if (open_count == 0) return;
    step& made = out.steps[out.step_count++];
    made.loop = !open_product || open_count > 1;
    made.product = made.loop && open_product;
    made.begin = out.member_count;
    for (int i = 0; i < open_count; ++i) add_member(open[i]);
    made.end = out.member_count;
    open_count = open_inputs = 0;
    open_sum = none;
    open_product = open_deep = false;
    open_flat = true;
  }

  /// A kernel runs before the open group, whose steps it does not read.
  constexpr void add_kernel(int v) {
    step& made = out.steps[out.step_count];
    made.begin = out.member_count;
    add_member(v);
    made.end = out.member_count;
    out.step_of[v] = out.step_count++;
    for (int i = 0; i < open_count; ++i) out.step_of[open[i]] = out.step_count;
  }

  /// Whether v would be written over a, its argument.
  constexpr bool takes_over(int v, int a) const {
    return readers.last[a] == v && op_of(a).count == op_of(v).count &&
           (out.step_of[a] != none || op_of(a).what == ir::role::gradient);
  }
  constexpr bool is_deep(const ir::operation& op) const {
    return op.multiplied.k > depth_of(op.multiplied, op.element_bytes);
  }

  constexpr bool joins(int v) const {
    const ir::node& n = s.nodes[v];
    if (open_count == 0 || open_count == max_loop_operations || open_inputs + n.op->arguments > max_loop_inputs ||
        op_of(open[0]).same_shape != n.op->same_shape)
      return false;
    for (int i = 0; i < n.op->arguments; ++i) {
      const int a = n.argument[i], root = readers.root[a];
      if (in_open(root) ? a != root || a == open_sum : !fits_open(v, root)) return false;
    }
    return true;
  }
  /// Whether a loop with v may read a, which is made before it.
  constexpr bool fits_open(int v, int a) const {
    return (open_sum == none || is_flat(v, a)) && !(open_deep && takes_over(v, a));
  }
  constexpr bool is_flat(int v, int a) const { return op_of(a).count == op_of(v).count || op_of(a).count == 1; }

  constexpr void add_elementwise(int v) {
    const ir::node& n = s.nodes[v];
    if (!joins(v)) close();
    for (int i = 0; i < n.op->arguments; ++i) {
      if (in_open(n.argument[i])) continue;
      ++open_inputs;
      open_flat &= is_flat(v, n.argument[i]);
    }
    add_open(v);
  }

  /// Whether a sum is made by the open loop: over all of its elements, over its rows or over its columns. The order of
  /// the additions is a function of the shape alone, so that a sum has the same bits in a loop and by itself.
  constexpr bool joins_as_sum(int v) const {
    const ir::node& n = s.nodes[v];
    const int a = n.argument[0];
    if (n.op->summed == 0 || !in_open(a) || open_sum != none || open_product || !open_flat ||
        open_count == max_loop_operations || n.op->count == op_of(a).count)
      return false;
    const shape& from = op_of(a).result;
    int changes = 0, before = none;
    for (int axis = 0; axis < from.rank; ++axis) {
      if (from.extent[axis] == 1) continue;
      const int gone = n.op->summed >> axis & 1U;
      changes += before != none && gone != before;
      before = gone;
    }
    return changes <= 1;
  }

  /// Whether a product hands its tiles to a loop.
  constexpr bool begins_loop(int v) const {
    const int reader = readers.first[v];
    return op_of(v).multiplied.n > 1 && reader != none && (v >= s.turn || reader < s.turn) &&
           op_of(reader).what == ir::role::elementwise && op_of(reader).same_shape == op_of(v).same_shape;
  }

  /// Whether the open group, which does not read the product v, can follow it in one loop.
  constexpr bool goes_before_open(int v) const {
    return open_count < max_loop_operations && open_sum == none && !is_deep(op_of(v)) &&
           op_of(open[0]).same_shape == op_of(v).same_shape;
  }
  constexpr void add_product(int v) {
    for (int i = open_count++; i > 0; --i) open[i] = open[i - 1];
    open[0] = v;
    open_product = true;
    open_deep = is_deep(op_of(v));
    out.step_of[v] = out.step_count;
  }

  constexpr void group() {
    for (int v = 0; v < s.node_count; ++v) {
      if (v == s.turn) {
        close();
        out.turn = out.step_count;
      }
      const ir::node& n = s.nodes[v];
      out.root[v] = readers.root[v];
      out.step_of[v] = none;
      if (n.op->what == ir::role::elementwise) {
        add_elementwise(v);
      } else if (n.op->what == ir::role::kernel && joins_as_sum(v)) {
        open_sum = v;
        add_open(v);
      } else if (n.op->what == ir::role::kernel) {
        bool waits = open_product;  // a product that waited would keep its arguments
        for (int i = 0; i < n.op->arguments; ++i) waits |= in_open(readers.root[n.argument[i]]);
        if (waits || (begins_loop(v) && !goes_before_open(v))) close();
        if (begins_loop(v)) add_product(v);
        else add_kernel(v);
      }
    }
    close();
    if (s.turn == s.node_count) out.turn = out.step_count;
  }

  constexpr void find_external() {
    for (int m = 0; m < out.member_count; ++m) {
      const int v = out.members[m], last = readers.last[v];  // who reads it elsewhere comes after who reads it here
      out.external[v] = last != none && out.step_of[last] != out.step_of[v];
    }
    for (int i = 0; i < s.output_count; ++i) out.external[readers.root[s.outputs[i]]] = true;
    for (int v : s.gradient) {
      if (v != none) out.external[readers.root[v]] = true;
    }
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
