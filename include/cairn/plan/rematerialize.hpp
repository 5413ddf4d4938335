// Rematerialization: what backward reads of a segment's interior is cloned, from the segment's boundaries, right before
// its first reader. Cloning is on demand, so what backward does not read never appears a second time. What a policy
// saves is stored where it is asked for, and so what leads to it need not be computed again. Outside of segments, what
// a few elementwise operations make of what costs fewer bytes is not kept either, but computed again, by the loop that
// reads it or for the kernel that does (needs.hpp).
//
// A backward value stands in the segment of the forward value whose gradient it computes. Each segment around
// it is an environment in which clones live; environment 0 is the program itself, whose forward values are
// stored. A value is taken from the outermost environment that has it, or cloned in the innermost that
// contains it. So the interior of a nested segment is computed once more to rebuild its result for the
// segment around it, and again for its own backward.
//
// The snapshots of a loop by Revolve are written over by who reads them: a second reader has the loop computed again.
#pragma once

#include "cairn/plan/needs.hpp"

namespace cairn::pass {

/// What a step leaves for the next one: `after` takes the place of `before`, a parameter or a moment of it.
struct carry {
  int before = none, after = none;
  int leaf = 0, moment = none;  ///< whose moment, and which; none for the parameter itself
  int key = none;               ///< the first of the two words by which that is rounded, if it is
};

/// What operations of a plan take.
struct plan_work {
  std::int64_t flops = 0, recomputed = 0;  ///< of all; and of this a second time, also by pullbacks of loops
  std::int64_t recomputed_in_loops = 0;    ///< by these alone
  loop_counts loops;                       ///< what loops do

  constexpr plan_work& operator+=(const plan_work& more) {
    flops += more.flops;
    recomputed += more.recomputed;
    recomputed_in_loops += more.recomputed_in_loops;
    loops += more.loops;
    return *this;
  }
};

/// The values of a step in the order of their computation.
template <int Nodes, int Arguments, int Leaves, int Segments, int Tags, int Outputs, int Carries = 1>
struct schedule : ir::values<Nodes, Arguments> {
  static constexpr int segment_capacity = Segments;
  template <int MoreNodes, int MoreArguments, int MoreCarries>
  using resized = schedule<MoreNodes, MoreArguments, Leaves, Segments, Tags, Outputs, MoreCarries>;
  struct cost {
    int operations = 0;
    std::int64_t flops = 0;
  };
  bool kept[Nodes] = {};    ///< forward values that backward reads as they are
  int again[Nodes] = {};    ///< of values that are computed a second time: one more than the first one's number
  int origin[Nodes] = {};   ///< which value of the graph and its gradient it is
  int segment[Nodes] = {};  ///< in which it lies; of a clone, that which computes it again
  int turn = 0;
  int leaf_value[Leaves] = {}, gradient[Leaves] = {};  ///< by leaf; none where it has none
  int earlier[Leaves] = {};  ///< by leaf: the gradient that its own is added to; 0, a forward value, where it is not
  int tagged[Tags] = {};     ///< by tag; none where nothing needs the value
  int outputs[Outputs] = {}, output_count = 0;
  carry carries[Carries] = {};
  int carry_count = 0;
  int first_number = none, number_count = 0;  ///< values that are numbers of update rules
  int all_gradients = none;        ///< from this value on parameters are updated, where that waits for all gradients
  cost recomputed[Segments] = {};  ///< by the segment whose backward asked for it; 0 is the program outside of them

  /// What the operation takes whose first result is v; nothing, where v is another of its results.
  constexpr plan_work work_of(int v) const {
    const ir::operation& by = this->op(v);
    if (this->nodes[v].number > 0) return {};
    return {by.flops, again[v] != 0 ? by.flops : by.recomputed, by.recomputed, by.counts};
  }
};

/// What the operations of a schedule's values [begin, end) take.
template <class Schedule>
constexpr plan_work work_of(const Schedule& s, int begin, int end) {
  plan_work out;
  for (int v = begin; v < end; ++v) out += s.work_of(v);
  return out;
}
template <class Schedule>
constexpr plan_work work_of(const Schedule& s) {
  return work_of(s, 0, s.node_count);
}

/// Upper bounds of its values and arguments. `order` is how many gradients are parts of the forward pass.
template <class Gradient, class Segments>
constexpr ir::sizes schedule_size(const Gradient& d, const Segments& in, int order) {
  const int times = order > 0 ? 2 : 1;
  ir::sizes size;
  size.nodes = d.node_count;
  size.arguments = d.argument_count + 1;
  for (int v = 0; v < d.node_count; ++v) {
    const ir::node& n = d.nodes[v];
    const int clones = v < d.turn ? times * (1 + in.depth_of(v)) : 0;
    size.nodes += clones;
    if (n.number > 0) continue;
    size.arguments += clones * n.op->arguments;
    for (int i = 0; i < n.op->arguments; ++i) {
      const ir::node& read = d.nodes[d.arguments[n.first + i]];
      if (!read.made->rewritten) continue;
      size.nodes += (1 + clones) * read.op->results;
      size.arguments += (1 + clones) * read.op->arguments;
    }
  }
  return size;
}

namespace detail {
/// The state of one rematerialization. Tables by depth are flattened: entry (depth, v) is at depth * Nodes + v.
template <ir::sizes Size, class Graph, class Gradient, class Segments, class Needs>
struct rematerializer {
  static constexpr int nodes = Gradient::capacity;
  static constexpr int depths = Segments::depths;
  struct demand {
    int value, segment;
  };

  const Graph& g;
  const Gradient& d;
  const Segments& in;
  const Needs& need;
  const int order;  ///< how many gradients are parts of the forward pass
  schedule<Size.nodes, Size.arguments, Graph::size.leaves + 1, Segments::capacity, Graph::size.tags + 1,
           Graph::output_capacity>
      out{};
  bool own[nodes] = {};       ///< forward values that results need without passing through a gradient
  bool computed[nodes] = {};  ///< forward values that are there, or were and so are computed again
  bool stored[nodes] = {};
  int moved[nodes] = {};           ///< forward and backward values by their old number
  int clone[nodes * depths] = {};  ///< by depth of the environment; one more than the clone's number
  demand pending[nodes] = {};

  constexpr bool is_leaf(int v) const { return ir::is_leaf(d.nodes[v].op->what); }
  constexpr bool is_view(int v) const { return d.nodes[v].op->what == ir::role::view; }

  /// Appends all results of the operation of v, whose arguments have been written after those of the values before.
  constexpr int emit(int v, int segment) {
    const ir::node& n = d.nodes[v];
    const int made = out.node_count, first = out.argument_count;
    out.argument_count += n.op->arguments;
    for (int r = 0; r < n.op->results; ++r) {
      out.origin[out.node_count] = v + r;
      out.segment[out.node_count] = segment;
      out.nodes[out.node_count] = d.nodes[v + r];
      out.nodes[out.node_count++].first = first;
    }
    for (int i = 0; i < n.op->arguments; ++i) {
      const int a = d.arguments[n.first + i];
      if (d.nodes[a].made->rewritten) write_over(a, out.arguments[first + i]);
    }
    return made;
  }
  /// Once it is read, what is written over meanwhile is there no more.
  constexpr void write_over(int v, int read) {
    computed[v] = computed[v] && moved[v] != read;
    for (int e = 0; e < depths; ++e) {
      int& made = clone[e * nodes + v];
      if (made == read + 1) made = 0;
    }
  }
  constexpr void move(int v, int made) {
    for (int r = 0; r < d.nodes[v].op->results; ++r) {
      moved[v + r] = made + r;
      computed[v + r] = v < d.turn;
    }
  }

  constexpr void find_own() {
    for (int i = 0; i < g.output_count; ++i) own[g.outputs[i]] = true;
    for (int v = d.turn; v-- > 0;) {
      const ir::node& n = d.nodes[v];
      own[v] |= is_leaf(v);
      if (n.number > 0) own[v - n.number] |= own[v];
      for (int i = 0; own[v] && i < n.op->arguments; ++i) {
        const int a = d.arguments[n.first + i];
        own[a] |= d.nodes[a].order >= n.order;
      }
    }
  }
  /// A gradient in the forward pass finds the values that it is a gradient of as backward does. Those that nothing else
  /// reads are computed where it reads them.
  constexpr void forward() {
    if (order > 0) find_own();
    for (int v = 0; v < d.turn; ++v) stored[v] = need.output[v];
    for (int v = 0; v < d.turn; ++v) {
      const ir::node& n = d.nodes[v];
      if (n.number > 0 || !need.live[v] || (order > 0 && !own[v])) continue;
      for (int i = 0; order > 0 && i < n.op->arguments; ++i) {
        const int a = d.arguments[n.first + i];
        if (d.nodes[a].order < n.order) resolve(a, in.of[v]);
      }
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = d.arguments[n.first + i];
        out.arguments[out.argument_count + i] = d.nodes[a].order < n.order ? lookup(a, in.of[v]) : moved[a];
      }
      move(v, emit(v, in.of[v]));
    }
    out.turn = out.node_count;
    if (order > 0) forget();
  }
  /// What was computed again for gradients in the forward pass does not live on for backward.
  constexpr void forget() {
    for (int v = 0; v < d.turn; ++v) stored[v] = need.output[v];
    for (int& made : clone) made = 0;
  }

  /// Where backward in `segment` finds v, or none where it has to be cloned first.
  constexpr int lookup(int v, int segment) {
    if (is_leaf(v)) return moved[v];
    const int home = in.of[v] == segment ? segment : in.common(in.of[v], segment);
    const int depth = in.all[home].depth;
    if (computed[v] && !need.constant[v] && !(need.cheap[v] && in.of[v] == 0) && in.visible[v] == 0 &&
        (depth == 0 || stored[v] || in.saved[v])) {
      for (int w = v; !stored[w]; w = is_view(w) ? d.argument(w, 0) : w) stored[w] = true;
      return moved[v];
    }
    for (int e = std::min(in.visible[v], depth); e <= depth; ++e) {
      if (clone[e * nodes + v] != 0) return clone[e * nodes + v] - 1;
    }
    return none;
  }

  constexpr void resolve(int wanted, int segment) {
    if (lookup(wanted, segment) != none) return;
    int count = 0;
    pending[count++] = {d.head(wanted), segment};
    while (count > 0) {
      const demand top = pending[count - 1];
      const int home = in.common(in.of[top.value], top.segment);
      const ir::node& n = d.nodes[top.value];
      bool ready = true;
      for (int i = 0; i < n.op->arguments && ready; ++i) {
        const int a = d.arguments[n.first + i], there = lookup(a, home);
        if (there == none) {
          pending[count++] = {d.head(a), home};
          ready = false;
        }
        out.arguments[out.argument_count + i] = there;
      }
      if (!ready) continue;
      const int made = emit(top.value, home);
      for (int r = 0; r < n.op->results; ++r) {
        clone[in.all[home].depth * nodes + top.value + r] = made + r + 1;
        if (computed[top.value]) out.again[made + r] = moved[top.value + r] + 1;
      }
      if (!computed[top.value] && out.turn == 0) move(top.value, made);
      if (out.again[made] > 0 && !is_view(top.value)) {
        ++out.recomputed[home].operations;
        out.recomputed[home].flops += n.op->flops;
      }
      --count;
    }
  }

  constexpr void backward() {
    for (int v = d.turn; v < d.node_count; ++v) {
      const ir::node& n = d.nodes[v];
      if (n.number > 0 || !need.live[v]) continue;
      for (int i = 0; i < n.op->arguments; ++i) {
        if (d.arguments[n.first + i] < d.turn) resolve(d.arguments[n.first + i], in.of[v]);
      }
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = d.arguments[n.first + i];
        out.arguments[out.argument_count + i] = a < d.turn ? lookup(a, in.of[v]) : moved[a];
      }
      move(v, emit(v, in.of[v]));
    }
    for (int v = 0; v < d.turn; ++v) {
      if (need.live[v] && stored[v]) out.kept[moved[v]] = true;
    }
  }

  constexpr void note_leaves() {
    for (int& gradient : out.gradient) gradient = none;
    for (int i = 0; i < g.leaf_count; ++i) {
      const int v = g.leaves[i].node;
      out.leaf_value[i] = need.live[v] ? moved[v] : none;
      if (d.gradient[i] == none) continue;
      out.gradient[i] = moved[d.gradient[i]];
      if (d.earlier[i] != 0) out.earlier[i] = moved[d.earlier[i]];
    }
    for (int i = 0; i < g.tag_count; ++i) {
      const int v = g.tags[i].node;
      out.tagged[i] = need.live[v] && computed[v] ? moved[v] : none;
    }
    for (int i = 0; i < g.output_count; ++i) out.outputs[out.output_count++] = moved[g.outputs[i]];
  }
};
}  // namespace detail

/// The program in the order of its steps: forward, of which `order` gradients are parts, then backward with the
/// recomputation it needs.
template <ir::sizes Size, class Graph, class Gradient, class Segments, class Needs>
constexpr auto rematerialize(const Graph& g, const Gradient& d, const Segments& in, const Needs& need, int order) {
  detail::rematerializer<Size, Graph, Gradient, Segments, Needs> r{g, d, in, need, order};
  r.forward();
  r.backward();
  r.note_leaves();
  return r.out;
}

}  // namespace cairn::pass
