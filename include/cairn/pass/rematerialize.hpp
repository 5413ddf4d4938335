// Rematerialization: what backward reads of a segment's interior is cloned, from the segment's boundaries, right before
// its first reader. Cloning is on demand, so what backward does not read never appears a second time. What a policy
// saves is stored where it is asked for, and so what leads to it need not be computed again. Outside of segments, what a
// few elementwise operations make of a value that is there anyway is not kept either, but computed again, by the loop
// that reads it or for the kernel that does (needs.hpp).
//
// A backward node stands in the segment of the forward node whose gradient it computes. Each segment around
// it is an environment in which clones live; environment 0 is the program itself, whose forward values are
// stored. A value is taken from the outermost environment that has it, or cloned in the innermost that
// contains it. So the interior of a nested segment is computed once more to rebuild its result for the
// segment around it, and again for its own backward.
#pragma once

#include "cairn/pass/needs.hpp"

namespace cairn::pass {

/// The values of a step in the order of their computation.
template <int Nodes, int Leaves, int Segments, int Tags, int Outputs>
struct schedule {
  static constexpr int capacity = Nodes;
  struct cost {
    int operations = 0;
    std::int64_t flops = 0;
  };
  ir::node nodes[Nodes] = {};
  bool kept[Nodes] = {};  ///< forward values that backward reads as they are
  int again[Nodes] = {};  ///< of values that are computed a second time: one more than the first one's number
  int node_count = 0, turn = 0;
  int leaf_value[Leaves] = {}, gradient[Leaves] = {};  ///< by leaf; none where it has none
  int earlier[Leaves] = {};  ///< by leaf: the gradient that its own is added to; 0, a forward value, where it is not
  int tagged[Tags] = {};     ///< by tag; none where nothing needs the value
  int outputs[Outputs] = {}, output_count = 0;
  cost recomputed[Segments] = {};  ///< by the segment whose backward asked for it; 0 is the program outside of them
  std::int64_t boundary_bytes[Segments] = {};
  std::int64_t interior_bytes[Segments] = {};  ///< what would be kept if the segment were a block
  std::int64_t only_bytes[Segments] = {};      ///< of boundaries and results that would not
};

/// `order` is how many gradients are parts of the forward pass.
template <class Graph, class Gradient>
constexpr int schedule_capacity(const Graph& g, const Gradient& d, int order) {
  int clones = 0;
  for (int v = 0; v < d.turn; ++v) clones += 1 + g.segments[d.nodes[v].segment].depth;
  return d.node_count + clones * (order > 0 ? 2 : 1);
}

namespace detail {
/// The state of one rematerialization. Tables by depth are flattened: entry (depth, v) is at depth * Nodes +
/// v.
template <int Capacity, class Graph, class Gradient, class Needs>
struct rematerializer {
  static constexpr int nodes = Gradient::capacity;
  static constexpr int depths = Graph::capacity.depth + 1;
  static constexpr int nobody = 0, several = -1;
  struct request {
    int value, segment;
  };

  const Graph& g;
  const Gradient& d;
  const Needs& need;
  const int order;  ///< how many gradients are parts of the forward pass
  schedule<Capacity, Graph::capacity.leaves + 1, Graph::capacity.segments + 1, Graph::capacity.tags + 1,
           Graph::output_capacity>
      out{};
  bool own[nodes] = {};       ///< forward values that results are made of, but by gradients that recompute them
  bool computed[nodes] = {};  ///< forward values that are there, or were and so are computed again
  bool stored[nodes] = {}, read[nodes] = {};
  int keeper[nodes] = {};          ///< of forward values: the one segment that computes again from it, or several
  int moved[nodes] = {};           ///< forward and backward values by their old number
  int clone[nodes * depths] = {};  ///< by depth of the environment; one more than the clone's number
  request pending[nodes] = {};

  constexpr bool is_leaf(int v) const { return d.nodes[v].op->what < ir::role::view; }
  constexpr bool is_view(int v) const { return d.nodes[v].op->what == ir::role::view; }
  constexpr int common(int a, int b) const { return pass::common(g, a, b); }

  constexpr int emit(const ir::node& n) {
    out.nodes[out.node_count] = n;
    return out.node_count++;
  }

  constexpr void find_own() {
    for (int i = 0; i < g.output_count; ++i) own[g.outputs[i]] = true;
    for (int v = d.turn; v-- > 0;) {
      const ir::node& n = d.nodes[v];
      own[v] |= is_leaf(v);
      for (int i = 0; own[v] && i < n.op->arguments; ++i) own[n.argument[i]] |= d.nodes[n.argument[i]].order >= n.order;
    }
  }
  /// A gradient in the forward pass finds the values that it is a gradient of as backward does. Those that nothing else
  /// reads are computed where it reads them.
  constexpr void forward() {
    if (order > 0) find_own();
    for (int v = 0; v < d.turn; ++v) {
      if (!need.live[v] || (order > 0 && !own[v])) continue;
      ir::node n = d.nodes[v];
      stored[v] = need.output[v];
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = n.argument[i];
        n.argument[i] = d.nodes[a].order < n.order ? resolve(a, n.segment) : moved[a];
      }
      moved[v] = emit(n);
      computed[v] = true;
    }
    out.turn = out.node_count;
    if (order > 0) forget();
  }
  /// What was computed again for gradients in the forward pass does not live on for backward.
  constexpr void forget() {
    for (int v = 0; v < d.turn; ++v) {
      stored[v] = need.output[v];
      keeper[v] = nobody;
    }
    for (int& made : clone) made = 0;
  }

  /// Notes that a clone in `segment` reads v, which lies outside of it or inside.
  constexpr void keep(int v, int segment) {
    if (is_leaf(v) || (d.nodes[v].segment == segment && !d.nodes[v].saved)) return;
    const int shared = d.nodes[v].saved ? 0 : common(d.nodes[v].segment, segment);
    const int steps_out = g.segments[segment].depth - g.segments[shared].depth;
    if (steps_out == 0) return;
    int& only = keeper[need.root[v]];
    only = steps_out == 1 && (only == nobody || only == segment) ? segment : several;
  }

  /// Where backward in `segment` finds v, or none where it has to be cloned first.
  constexpr int lookup(int v, int segment) {
    if (is_leaf(v)) return moved[v];
    const int home = d.nodes[v].segment == segment ? segment : common(d.nodes[v].segment, segment);
    const int depth = g.segments[home].depth;
    if (computed[v] && !need.constant[v] && !(need.cheap[v] && d.nodes[v].segment == 0) && d.nodes[v].visible == 0 &&
        (depth == 0 || stored[v] || d.nodes[v].saved)) {
      for (int w = v; !stored[w]; w = is_view(w) ? d.nodes[w].argument[0] : w) stored[w] = true;
      return moved[v];
    }
    for (int e = std::min(d.nodes[v].visible, depth); e <= depth; ++e) {
      if (clone[e * nodes + v] != 0) return clone[e * nodes + v] - 1;
    }
    return none;
  }

  constexpr int resolve(int v, int segment) {
    if (const int known = lookup(v, segment); known != none) return known;
    int count = 0;
    pending[count++] = {v, segment};
    int made = none;
    while (count > 0) {
      const request top = pending[count - 1];
      const int home = common(d.nodes[top.value].segment, top.segment);
      ir::node n = d.nodes[top.value];
      bool ready = true;
      for (int i = 0; i < n.op->arguments && ready; ++i) {
        const int a = lookup(n.argument[i], home);
        if (a == none) {
          pending[count++] = {n.argument[i], home};
          ready = false;
        }
        n.argument[i] = a;
      }
      if (!ready) continue;
      for (int i = 0; i < n.op->arguments; ++i) keep(d.nodes[top.value].argument[i], home);
      made = emit(n);
      clone[g.segments[home].depth * nodes + top.value] = made + 1;
      if (computed[top.value]) {
        out.again[made] = moved[top.value] + 1;
      } else if (out.turn == 0) {
        moved[top.value] = made;
        computed[top.value] = true;
      }
      if (out.again[made] > 0 && !is_view(top.value)) {
        ++out.recomputed[home].operations;
        out.recomputed[home].flops += n.op->flops;
      }
      --count;
    }
    return made;
  }

  constexpr void backward() {
    for (int v = d.turn; v < d.node_count; ++v) {
      if (!need.live[v]) continue;
      ir::node n = d.nodes[v];
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = n.argument[i];
        if (a < d.turn) read[need.root[a]] = true;
        n.argument[i] = a >= d.turn ? moved[a] : resolve(a, n.segment);
      }
      moved[v] = emit(n);
    }
  }

  /// The outermost segment that keeps a clone of v for itself; 0 if there is none.
  constexpr int clone_keeper(int v) const {
    int found = 0;
    for (int s = d.nodes[v].segment; g.segments[s].depth >= std::max(d.nodes[v].visible, 1); s = g.segments[s].parent) {
      if (clone[g.segments[s].depth * nodes + v] != 0) found = s;
    }
    return found;
  }

  constexpr void count_bytes() {
    int counted[nodes * depths] = {};
    for (int v = 0; v < d.turn; ++v) {
      if (!need.live[v] || is_leaf(v) || need.constant[v]) continue;
      const ir::node& n = d.nodes[v];
      const bool wanted = read[v] || keeper[v] != nobody;
      if (wanted && !stored[v] && !need.cheap[v]) out.interior_bytes[clone_keeper(v)] += n.op->bytes;
      if (wanted && stored[v] && need.cheap[v]) out.only_bytes[n.segment] += n.op->bytes;
      else if (keeper[v] > nobody && !read[v] && !need.output[v]) out.only_bytes[keeper[v]] += n.op->bytes;
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = need.root[n.argument[i]];
        if (is_leaf(a) || need.constant[a] || d.nodes[a].segment == n.segment) continue;
        const int shared = common(d.nodes[a].segment, n.segment);
        for (int s = n.segment; s != shared; s = g.segments[s].parent) {
          int& seen = counted[(g.segments[s].depth - 1) * nodes + a];
          if (seen != s) out.boundary_bytes[s] += d.nodes[a].op->bytes;
          seen = s;
        }
      }
    }
    for (int v = 0; v < d.turn; ++v) {
      if (need.live[v] && stored[v]) out.kept[moved[v]] = true;
    }
  }
};
}  // namespace detail

/// The program in the order of its steps: forward, of which `order` gradients are parts, then backward with the
/// recomputation it needs.
template <int Capacity, class Graph, class Gradient, class Needs>
constexpr auto rematerialize(const Graph& g, const Gradient& d, const Needs& need, int order) {
  detail::rematerializer<Capacity, Graph, Gradient, Needs> r{g, d, need, order};
  r.forward();
  r.backward();
  r.count_bytes();
  for (int& gradient : r.out.gradient) gradient = none;
  for (int i = 0; i < g.leaf_count; ++i) {
    const int v = g.leaves[i].node;
    r.out.leaf_value[i] = need.live[v] ? r.moved[v] : none;
    if (d.gradient[i] == none) continue;
    r.out.gradient[i] = r.moved[d.gradient[i]];
    if (d.earlier[i] != 0) r.out.earlier[i] = r.moved[d.earlier[i]];
  }
  for (int i = 0; i < g.tag_count; ++i) {
    const int v = g.tags[i].node;
    r.out.tagged[i] = need.live[v] && r.computed[v] ? r.moved[v] : none;
  }
  for (int i = 0; i < g.output_count; ++i) r.out.outputs[r.out.output_count++] = r.moved[g.outputs[i]];
  return r.out;
}

}  // namespace cairn::pass
