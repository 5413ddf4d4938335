// Fusion: elementwise values of one shape that follow each other become one loop. One group is open at a time; other
// steps overtake it as long as they do not read it.
#pragma once

#include "cairn/pass/rematerialize.hpp"

namespace cairn::pass {

inline constexpr int max_loop_inputs = 16;
inline constexpr int max_loop_operations = 32;

/// A step: a kernel of its own (one member), or a loop over several members.
struct step {
  int begin = 0, end = 0;  ///< members in fused::members
  bool loop = false;
};

/// Which steps a program has, in order.
template <int Nodes>
struct fused {
  int members[Nodes] = {};  ///< values in step order
  step steps[Nodes] = {};
  int step_of[Nodes] = {};    ///< by value; none for leaves and views
  int position[Nodes] = {};   ///< by value: where it stands in members
  int root[Nodes] = {};       ///< the value whose memory a view reads; else itself
  bool external[Nodes] = {};  ///< read outside its step
  int member_count = 0, step_count = 0, turn = 0;
};

namespace detail {
template <class Schedule>
struct fuser {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  fused<nodes> out{};
  int open[max_loop_operations] = {};
  int open_count = 0, open_inputs = 0;

  constexpr bool in_open(int v) const { return open_count > 0 && out.step_of[v] == out.step_count; }

  constexpr void add_member(int v) {
    out.position[v] = out.member_count;
    out.members[out.member_count++] = v;
  }

  constexpr void close() {
    if (open_count == 0) return;
    step& made = out.steps[out.step_count++];
    made.loop = true;
    made.begin = out.member_count;
    for (int i = 0; i < open_count; ++i) add_member(open[i]);
    made.end = out.member_count;
    open_count = open_inputs = 0;
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

  constexpr void add_elementwise(int v) {
    const ir::node& n = s.nodes[v];
    bool joins = open_count > 0 && open_count < max_loop_operations &&
                 open_inputs + n.op->arguments <= max_loop_inputs && s.nodes[open[0]].op->same_shape == n.op->same_shape;
    for (int i = 0; i < n.op->arguments && joins; ++i) {
      const int a = n.argument[i];
      joins = a == out.root[a] || !in_open(out.root[a]);
    }
    if (!joins) close();
    for (int i = 0; i < n.op->arguments; ++i) open_inputs += in_open(n.argument[i]) ? 0 : 1;
    open[open_count++] = v;
    out.step_of[v] = out.step_count;
  }

  constexpr void group() {
    for (int v = 0; v < s.node_count; ++v) {
      if (v == s.turn) {
        close();
        out.turn = out.step_count;
      }
      const ir::node& n = s.nodes[v];
      out.root[v] = n.op->what == ir::role::view ? out.root[n.argument[0]] : v;
      out.step_of[v] = none;
      if (n.op->what == ir::role::elementwise) {
        add_elementwise(v);
      } else if (n.op->what == ir::role::kernel) {
        for (int i = 0; i < n.op->arguments; ++i) {
          if (in_open(out.root[n.argument[i]])) close();
        }
        add_kernel(v);
      }
    }
    close();
    if (s.turn == s.node_count) out.turn = out.step_count;
  }

  constexpr void find_external() {
    for (int m = 0; m < out.member_count; ++m) {
      const int v = out.members[m];
      const ir::node& n = s.nodes[v];
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = out.root[n.argument[i]];
        if (out.step_of[a] != out.step_of[v]) out.external[a] = true;
      }
    }
    for (int i = 0; i < s.output_count; ++i) out.external[out.root[s.outputs[i]]] = true;
    for (int v : s.gradient) {
      if (v != none) out.external[out.root[v]] = true;
    }
  }
};
}  // namespace detail

/// Groups a schedule into steps.
template <class Schedule>
constexpr auto fuse(const Schedule& s) {
  detail::fuser<Schedule> f{s};
  f.group();
  f.find_external();
  return f.out;
}

}  // namespace cairn::pass
