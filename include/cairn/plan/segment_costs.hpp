// Counts what segments cost and what they free, for reports and for diagnosis. The bytes are counted in the schedule.
#pragma once

#include "cairn/plan/schedule.hpp"

namespace cairn::plans {

/// Bytes by segment. Index 0 is the program outside of all segments.
template <int Segments>
struct segment_costs {
  std::int64_t boundary_bytes[Segments] = {};
  std::int64_t interior_bytes[Segments] = {};  ///< bytes that would be stored if the segment were a block
  /// bytes of boundaries and results that are stored only because the segment is not a block
  std::int64_t extra_bytes[Segments] = {};
};

namespace detail {
template <class Graph, class Gradient, class Segments, class Needs, class Schedule>
struct cost_counter {
  static constexpr int nodes = Gradient::capacity, no_segment = 0, several = -1;
  const Graph& g;
  const Gradient& d;
  const Segments& segments;
  const Needs& need;
  const Schedule& s;
  segment_costs<Segments::capacity> out{};
  // By value of the graph and its gradient.
  bool stored[nodes] = {}, read[nodes] = {};
  /// of forward values: the one segment whose recomputation reads the value, `no_segment`, or `several`
  int segment_recomputed_from[nodes] = {};
  /// of forward values: the outermost segment that stores a clone of the value for itself, or 0
  int outermost[nodes] = {};

  constexpr bool is_leaf(int v) const { return graphs::is_leaf(d.nodes[v].op->what); }

  /// Notes that a clone in `segment` reads `v`, which lies inside or outside the segment.
  constexpr void note_read(int v, int segment) {
    if (is_leaf(v) || (segments.of[v] == segment && !segments.stored_by_segment[v])) return;
    const int shared = segments.stored_by_segment[v] ? 0 : segments.common(segments.of[v], segment);
    const int levels_out = segments.all[segment].depth - segments.all[shared].depth;
    if (levels_out == 0) return;
    int& only = segment_recomputed_from[need.view_root[v]];
    only = levels_out == 1 && (only == no_segment || only == segment) ? segment : several;
  }

  constexpr void find_backward_reads() {
    for (int v = 0; v < s.turn; ++v) stored[s.origin[v]] |= s.stored[v];
    for (int v = s.turn; v < s.node_count; ++v) {
      const graphs::node& n = s.nodes[v];
      const int of = s.origin[v];
      const bool clone = of < d.turn;
      if (clone && segments.all[s.segment[v]].depth >= std::max(segments.shared_depth[of], 1)) {
        int& found = outermost[of];
        if (found == 0 || segments.all[found].depth > segments.all[s.segment[v]].depth) found = s.segment[v];
      }
      if (n.result_index > 0) continue;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = d.arguments[d.nodes[of].first + i];
        if (clone) note_read(a, s.segment[v]);
        else if (a < d.turn) read[need.view_root[a]] = true;
      }
    }
  }

  constexpr void count() {
    int counted[nodes * Segments::depths] = {};
    for (int v = 0; v < d.turn; ++v) {
      if (!need.live[v] || is_leaf(v) || need.made_of_constants[v]) continue;
      const graphs::node& n = d.nodes[v];
      const bool wanted = read[v] || segment_recomputed_from[v] != no_segment;
      if (wanted && !stored[v] && !need.cheap[v]) out.interior_bytes[outermost[v]] += n.result->bytes;
      if (wanted && stored[v] && need.cheap[v]) out.extra_bytes[segments.of[v]] += n.result->bytes;
      else if (segment_recomputed_from[v] > no_segment && !read[v] && !need.output[v])
        out.extra_bytes[segment_recomputed_from[v]] += n.result->bytes;
      for (int i = 0; n.result_index == 0 && i < n.op->argument_count; ++i) {
        const int a = need.view_root[d.arguments[n.first + i]];
        const bool recomputed = need.cheap[a] && segments.of[a] == 0;  // in a segment: `a` is a converted leaf
        if (is_leaf(a) || need.made_of_constants[a] || recomputed || segments.of[a] == segments.of[v]) continue;
        const int shared = segments.common(segments.of[a], segments.of[v]);
        for (int at = segments.of[v]; at != shared; at = segments.all[at].parent) {
          int& seen = counted[(segments.all[at].depth - 1) * nodes + a];
          if (seen != at) out.boundary_bytes[at] += d.nodes[a].result->bytes;
          seen = at;
        }
      }
    }
  }
};
}  // namespace detail

/// Counts the bytes of each segment.
template <class Graph, class Gradient, class Segments, class Needs, class Schedule>
constexpr auto count_segment_bytes(const Graph& g, const Gradient& d, const Segments& segments, const Needs& need,
                                   const Schedule& s) {
  detail::cost_counter<Graph, Gradient, Segments, Needs, Schedule> c{g, d, segments, need, s};
  if (segments.count > 1) {
    c.find_backward_reads();
    c.count();
  }
  return c.out;
}

}  // namespace cairn::plans
