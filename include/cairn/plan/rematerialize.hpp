// Rematerialization: if the backward pass reads a value of a segment's interior, the value is cloned from the segment's
// boundaries, right before its first reader. Cloning happens on demand, so values that the backward pass does not read
// never appear a second time. A value that a policy stores is read and not cloned, so its inputs are not cloned for its
// sake. Outside of segments, cheap values are not stored either (needs.hpp). They are recomputed by the fused loop that
// reads them, or for the kernel that reads them.
//
// A backward value belongs to the segment of the forward value whose gradient it computes. Each segment around it is an
// environment in which clones live. Environment 0 is the program itself, whose forward values are stored. A value is
// taken from the outermost environment that has it, but not from further out than the value's `shared_depth`
// (segments.hpp). If no environment has it, it is cloned in the innermost environment that contains both the value and
// its reader.
//
// For example, segment A contains segment B. In B, value x is computed, and from x the result r of B. The backward pass
// of A reads r, so x and r are cloned in environment A. Later the backward pass of B reads x. B is the outermost
// segment that x shares with a reader, so the clone of x in environment A is not used, and x is cloned a second time in
// environment B.
#pragma once

#include "cairn/plan/backward_order.hpp"
#include "cairn/plan/schedule.hpp"

namespace cairn::plans {

/// Returns upper bounds of the schedule's values and arguments. `order` says how deeply gradients are nested in the
/// forward pass: 0 without a gradient, 2 for a gradient of a gradient.
template <class Gradient, class Segments>
constexpr graphs::sizes schedule_size(const Gradient& d, const Segments& segments, int order) {
  const int times = order > 0 ? 2 : 1;
  graphs::sizes size;
  size.nodes = d.node_count;
  size.arguments = d.argument_count + 1;
  for (int v = 0; v < d.node_count; ++v) {
    const graphs::node& n = d.nodes[v];
    const int clones = v < d.turn ? times * (1 + segments.depth_of(v)) : 0;
    size.nodes += clones;
    if (n.result_index > 0) continue;
    size.arguments += clones * n.op->argument_count;
    for (int i = 0; i < n.op->argument_count; ++i) {
      const graphs::node& read = d.nodes[d.arguments[n.first + i]];
      if (!read.result->overwritten_by_reader) continue;
      size.nodes += (1 + clones) * read.op->result_count;
      size.arguments += (1 + clones) * read.op->argument_count;
    }
  }
  return size;
}

namespace detail {
/// The state of one rematerialization. Tables by depth are flattened: entry (depth, v) is at depth * Nodes + v.
template <graphs::sizes Size, class Graph, class Gradient, class Segments, class Needs>
struct rematerializer {
  static constexpr int nodes = Gradient::capacity;
  static constexpr int depths = Segments::depths;
  struct demand {
    int value, segment;
  };

  const Graph& g;
  const Gradient& d;
  const Segments& segments;
  const Needs& need;
  const backward_order<nodes>& in_backward;
  const int order;  ///< how deeply gradients are nested in the forward pass
  schedule<Size.nodes, Size.arguments, Graph::size.leaves + 1, Segments::capacity, Graph::size.tags + 1,
           Graph::output_capacity>
      out{};
  bool needed_by_outputs[nodes] = {};  ///< forward values that outputs need without passing through a gradient
  /// forward values that were computed and have not been overwritten since; a further clone is then recomputation
  bool was_computed[nodes] = {};
  bool stored[nodes] = {};         ///< forward values that are stored, as in `schedule::stored`
  int scheduled[nodes] = {};       ///< number in the schedule, by value of the graph and its gradient
  int clone[nodes * depths] = {};  ///< by depth of the environment and value: 1 + the number of the clone, or 0
  demand pending[nodes] = {};

  constexpr bool is_leaf(int v) const { return graphs::is_leaf(d.nodes[v].op->what); }
  constexpr bool is_view(int v) const { return d.nodes[v].op->what == graphs::role::view; }

  /// Appends all results of the operation of `v`. The caller has already written the operation's arguments to the end
  /// of `out.arguments`.
  constexpr int emit(int v, int segment) {
    const graphs::node& n = d.nodes[v];
    const int made = out.node_count, first = out.argument_count;
    out.argument_count += n.op->argument_count;
    for (int r = 0; r < n.op->result_count; ++r) {
      out.origin[out.node_count] = v + r;
      out.segment[out.node_count] = segment;
      out.recomputes[out.node_count] = none;
      out.nodes[out.node_count] = d.nodes[v + r];
      out.nodes[out.node_count++].first = first;
    }
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int a = d.arguments[n.first + i];
      if (d.nodes[a].result->overwritten_by_reader) forget_overwritten(a, out.arguments[first + i]);
    }
    return made;
  }
  /// Forgets the copy of value `v` that has number `read` in the schedule, because its reader overwrites it. A further
  /// reader gets a new clone. Revolve, for example, overwrites the snapshots of a scan while it reads them. If the
  /// snapshots have a second reader, the scan is therefore recomputed.
  constexpr void forget_overwritten(int v, int read) {
    was_computed[v] = was_computed[v] && scheduled[v] != read;
    for (int e = 0; e < depths; ++e) {
      int& made = clone[e * nodes + v];
      if (made == read + 1) made = 0;
    }
  }
  constexpr void note_scheduled(int v, int made) {
    for (int r = 0; r < d.nodes[v].op->result_count; ++r) {
      scheduled[v + r] = made + r;
      was_computed[v + r] = v < d.turn;
    }
  }

  constexpr void find_needed_by_outputs() {
    for (int i = 0; i < g.output_count; ++i) needed_by_outputs[g.outputs[i]] = true;
    for (int v = d.turn; v-- > 0;) {
      const graphs::node& n = d.nodes[v];
      needed_by_outputs[v] |= is_leaf(v);
      if (n.result_index > 0) needed_by_outputs[v - n.result_index] |= needed_by_outputs[v];
      for (int i = 0; needed_by_outputs[v] && i < n.op->argument_count; ++i) {
        const int a = d.arguments[n.first + i];
        needed_by_outputs[a] |= d.nodes[a].order >= n.order;
      }
    }
  }
  /// Writes the forward pass. A gradient that is part of it finds the values of which it is a gradient in the same way
  /// as the backward pass does. Values that nothing else reads are computed where this gradient reads them.
  constexpr void forward() {
    if (order > 0) find_needed_by_outputs();
    for (int v = 0; v < d.turn; ++v) stored[v] = need.output[v];
    for (int v = 0; v < d.turn; ++v) {
      const graphs::node& n = d.nodes[v];
      if (n.result_index > 0 || !need.live[v] || (order > 0 && !needed_by_outputs[v])) continue;
      for (int i = 0; order > 0 && i < n.op->argument_count; ++i) {
        const int a = d.arguments[n.first + i];
        if (d.nodes[a].order < n.order) resolve(a, segments.of[v]);
      }
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = d.arguments[n.first + i];
        out.arguments[out.argument_count + i] =
            d.nodes[a].order < n.order ? find_and_mark_stored(a, segments.of[v]) : scheduled[a];
      }
      note_scheduled(v, emit(v, segments.of[v]));
    }
    out.turn = out.node_count;
    if (order > 0) forget_clones();
  }
  /// Forgets the clones for gradients in the forward pass. They do not stay alive for the backward pass.
  constexpr void forget_clones() {
    for (int v = 0; v < d.turn; ++v) stored[v] = need.output[v];
    for (int& made : clone) made = 0;
  }

  /// Returns the number in the schedule of `v` as the backward pass in `segment` finds it. If this is the value of the
  /// forward pass, marks it as stored. Returns none if `v` has to be cloned first.
  constexpr int find_and_mark_stored(int v, int segment) {
    if (is_leaf(v)) return scheduled[v];
    const int environment = segments.of[v] == segment ? segment : segments.common(segments.of[v], segment);
    const int depth = segments.all[environment].depth;
    if (was_computed[v] && !need.made_of_constants[v] && !(need.cheap[v] && segments.of[v] == 0) &&
        segments.shared_depth[v] == 0 && (depth == 0 || stored[v] || segments.stored_by_segment[v])) {
      for (int w = v; !stored[w]; w = is_view(w) ? d.argument(w, 0) : w) stored[w] = true;
      return scheduled[v];
    }
    for (int e = std::min(segments.shared_depth[v], depth); e <= depth; ++e) {
      if (clone[e * nodes + v] != 0) return clone[e * nodes + v] - 1;
    }
    return none;
  }

  constexpr void resolve(int wanted, int segment) {
    if (find_and_mark_stored(wanted, segment) != none) return;
    int count = 0;
    pending[count++] = {d.head(wanted), segment};
    while (count > 0) {
      const demand top = pending[count - 1];
      const int environment = segments.common(segments.of[top.value], top.segment);
      const graphs::node& n = d.nodes[top.value];
      bool ready = true;
      for (int i = 0; i < n.op->argument_count && ready; ++i) {
        const int a = d.arguments[n.first + i], there = find_and_mark_stored(a, environment);
        if (there == none) {
          pending[count++] = {d.head(a), environment};
          ready = false;
        }
        out.arguments[out.argument_count + i] = there;
      }
      if (!ready) continue;
      const int made = emit(top.value, environment);
      for (int r = 0; r < n.op->result_count; ++r) {
        clone[segments.all[environment].depth * nodes + top.value + r] = made + r + 1;
        if (was_computed[top.value]) out.recomputes[made + r] = scheduled[top.value + r];
      }
      if (!was_computed[top.value] && out.turn == 0) note_scheduled(top.value, made);
      if (out.recomputes[made] != none && !is_view(top.value)) {
        ++out.recomputed[environment].operations;
        out.recomputed[environment].flops += n.op->flops;
      }
      --count;
    }
  }

  constexpr void backward() {
    for (int k = 0; k < in_backward.count; ++k) {
      const int v = in_backward.values[k];
      const graphs::node& n = d.nodes[v];
      for (int i = 0; i < n.op->argument_count; ++i) {
        if (d.arguments[n.first + i] < d.turn) resolve(d.arguments[n.first + i], segments.of[v]);
      }
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = d.arguments[n.first + i];
        out.arguments[out.argument_count + i] = a < d.turn ? find_and_mark_stored(a, segments.of[v]) : scheduled[a];
      }
      note_scheduled(v, emit(v, segments.of[v]));
    }
    for (int v = 0; v < d.turn; ++v) {
      if (need.live[v] && stored[v]) out.stored[scheduled[v]] = true;
    }
  }

  constexpr void fill_tables() {
    for (int& gradient : out.gradient) gradient = none;
    for (int& gradient : out.earlier) gradient = none;
    for (int i = 0; i < g.leaf_count; ++i) {
      const int v = g.leaves[i].node;
      out.leaf_value[i] = need.live[v] ? scheduled[v] : none;
      if (d.gradient[i] == none) continue;
      out.gradient[i] = scheduled[d.gradient[i]];
      if (d.earlier[i] != none) out.earlier[i] = scheduled[d.earlier[i]];
    }
    for (int i = 0; i < g.tag_count; ++i) {
      const int v = g.tags[i].node;
      out.tagged[i] = need.live[v] && was_computed[v] ? scheduled[v] : none;
    }
    for (int i = 0; i < g.output_count; ++i) out.outputs[out.output_count++] = scheduled[g.outputs[i]];
  }
};
}  // namespace detail

/// Returns the schedule of a program: the forward pass, in which gradients are nested `order` times, then the backward
/// pass in the order `in_backward`, with the recomputation that it needs.
template <graphs::sizes Size, class Graph, class Gradient, class Segments, class Needs>
constexpr auto rematerialize(const Graph& g, const Gradient& d, const Segments& segments, const Needs& need,
                             const backward_order<Gradient::capacity>& in_backward, int order) {
  detail::rematerializer<Size, Graph, Gradient, Segments, Needs> r{g, d, segments, need, in_backward, order};
  r.forward();
  r.backward();
  r.fill_tables();
  return r.out;
}

}  // namespace cairn::plans
