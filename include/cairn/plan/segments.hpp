// Decides which regions of a model are segments, and which segments values share with their readers. Lowering records
// where each region begins and what it is. This pass decides which regions a program checkpoints, so all forms of a
// model share one graph and one gradient.
#pragma once

#include "cairn/plan/differentiate.hpp"

namespace cairn::plans {

struct segment {
  int parent = none, depth = 0;      ///< the segment around it, and the number of segments around it
  int region = 0;                    ///< region of the graph; of a placed segment, the first region that lies in it
  bool placed = false;               ///< true if a search added the segment, false if the user marked it
  bool stores_contractions = false;  ///< of a placed segment: true if it stores the contractions in it
};

/// Segments that a search adds to the marked segments.
template <int Regions, int Segments, int Depth>
struct placement {
  static constexpr int capacity = Segments, depth = Depth;
  /// by region: the placed segment in which it lies; 0 if it lies in the same segment as the region around it
  int of[Regions] = {};
  int parent[Segments + 1] = {};                ///< by segment, from 1 on: the placed segment around it, or 0
  bool stores_contractions[Segments + 1] = {};  ///< by segment: true if it stores its contractions
};
inline constexpr placement<1, 0, 0> no_placement{};

/// The segments of a model. The first one is the program outside of all others.
template <int Nodes, int Regions, int Segments, int Depth>
struct segmentation {
  static constexpr int capacity = Segments, depths = Depth + 1;
  segment all[Segments] = {};
  int count = 1;
  int of_region[Regions] = {};
  int of[Nodes] = {};  ///< by value of the graph and its gradient: its segment
  /// Of forward values: each reader shares an innermost segment with the value. This is the least depth of these
  /// segments.
  int shared_depth[Nodes] = {};
  /// of forward values: true if an outermost segment stores the value for the backward pass, by its policy or because
  /// the segment is placed and stores contractions
  bool stored_by_segment[Nodes] = {};

  /// Returns the innermost segment that contains segments `a` and `b`.
  constexpr int common(int a, int b) const {
    while (a != b) {
      if (all[a].depth >= all[b].depth) a = all[a].parent;
      else b = all[b].parent;
    }
    return a;
  }
  constexpr int depth_of(int v) const { return all[of[v]].depth; }
};

namespace detail {
template <class Graph, class Gradient, class Placement>
struct segment_finder {
  const Graph& g;
  const Gradient& d;
  const Placement& placed;
  segmentation<Gradient::capacity, Graph::size.regions + 1, Graph::size.segments + 1 + Placement::capacity,
               Graph::size.depth + Placement::depth>
      out{};
  int index_of[Placement::capacity + 1] = {};  ///< by placed segment: its index in `out.all`, or 0

  constexpr int add(int around, int region) {
    out.all[out.count] = {.parent = around, .depth = out.all[around].depth + 1, .region = region};
    return out.count++;
  }
  /// Returns the index of placed segment `i`. If the segment is not there yet, adds it; it then begins with `region`.
  constexpr int placed_index(int i, int around, int region) {
    if (i == 0) return around;
    if (index_of[i] == 0) {
      index_of[i] = add(placed_index(placed.parent[i], around, region), region);
      out.all[index_of[i]].placed = true;
      out.all[index_of[i]].stores_contractions = placed.stores_contractions[i];
    }
    return index_of[i];
  }
  /// Has segment `by` store value `v`, which it computes.
  constexpr void store(int v, const segment& by) {
    out.shared_depth[v] = std::min(out.shared_depth[v], by.depth - 1);
    out.stored_by_segment[v] |= by.depth == 1;
  }
  /// Has all segments around value `v` store the value, so that nothing recomputes it.
  constexpr void store_always(int v) {
    out.shared_depth[v] = 0;
    out.stored_by_segment[v] = true;
  }
  /// Chooses the segments. `block_levels` is the number of outermost levels of nested segments that become blocks.
  constexpr void choose(int block_levels) {
    int marked_depth[Graph::size.regions + 1] = {};  // by region: number of marked segments around it, itself included
    for (int r = 1; r < g.region_count; ++r) {
      const graphs::region& here = g.regions[r];
      const bool marked = here.what == graphs::region_kind::segment;
      marked_depth[r] = marked_depth[here.parent] + marked;
      int& segment_here = out.of_region[r];
      segment_here = out.of_region[here.parent];
      if constexpr (Placement::capacity > 0) segment_here = placed_index(placed.of[r], segment_here, r);
      if (marked && marked_depth[r] > block_levels) segment_here = add(segment_here, r);
    }
    for (int v = 0; v < d.node_count; ++v) out.of[v] = out.of_region[d.nodes[v].region];
  }

  /// Finds `shared_depth`. The program outside of segments has depth 0. Readers of a higher order are gradients in the
  /// forward pass. They do not count, because they find the value in the same way as the backward pass does. The
  /// readers of a view are also readers of the value that the view shows, if both are in one segment. For a value that
  /// a segment stores, the segment around it counts.
  constexpr void find_shared_depths() {
    const auto region_segment = [&](int v) { return out.of_region[d.nodes[v].open_region]; };
    for (int v = 0; v < d.turn; ++v) out.shared_depth[v] = out.all[region_segment(v)].depth;
    for (int i = 0; i < g.output_count; ++i) out.shared_depth[g.outputs[i]] = 0;
    for (int v = d.turn; v-- > 0;) {
      const graphs::node& n = d.nodes[v];
      const bool view = n.op->what == graphs::role::view;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = d.arguments[n.first + i];
        if (n.order > d.nodes[a].order) continue;
        int shared = out.all[out.common(region_segment(a), region_segment(v))].depth;
        if (view && region_segment(a) == region_segment(v)) shared = std::min(shared, out.shared_depth[v]);
        out.shared_depth[a] = std::min(out.shared_depth[a], shared);
      }
    }
    for (int i = 0; i < g.stored_value_count; ++i) {
      const auto [v, region] = g.stored_values[i];
      const segment& by = out.all[out.of_region[region]];
      if (by.region != region || by.placed) continue;  // the region is a block here, and a block stores nothing
      store(v, by);
    }
    for (int v = 0; v < d.turn; ++v) {
      if (d.nodes[v].op->averages_over_shards && out.of[v] != 0) store_always(v);
      const segment& by = out.all[out.of[v]];
      if (!by.stores_contractions || !d.nodes[v].op->contraction) continue;
      store(d.nodes[v].bf16_version != none ? d.nodes[v].bf16_version : v, by);
    }
  }
};
}  // namespace detail

/// Finds the segments of a model. `block_levels` levels of marked segments are blocks instead, and the segments in
/// `placed` are added.
template <class Graph, class Gradient, class Placement>
constexpr auto find_segments(const Graph& g, const Gradient& d, int block_levels, const Placement& placed) {
  detail::segment_finder<Graph, Gradient, Placement> f{g, d, placed};
  f.choose(block_levels);
  if (f.out.count > 1) f.find_shared_depths();
  return f.out;
}

}  // namespace cairn::plans
