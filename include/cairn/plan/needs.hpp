// Finds what a training step needs of the differentiated graph: its live values, the values made of constants, and the
// values that are so cheap that the backward pass recomputes them instead of storing them.
#pragma once

#include "cairn/plan/segments.hpp"

namespace cairn::plans {

/// The needs of a training step, with one entry for each value of the graph and its gradient.
template <int Nodes>
struct needs {
  bool live[Nodes] = {};  ///< an output or a gradient depends on the value, or on another result of its operation
  bool made_of_constants[Nodes] = {};  ///< of forward values: computed from constants alone, and not by a kernel
  /// of forward values: a result of the program, or the value that such a result is a view of
  bool output[Nodes] = {};
  /// of forward values: true if the value is cheap enough to be recomputed instead of stored. Outside of segments, the
  /// backward pass recomputes it. In a segment, only the costs use the entry: it tells whether the value would be
  /// recomputed if the segment were a block.
  bool cheap[Nodes] = {};
  int view_root[Nodes] = {};  ///< of forward values: the value that a view shows; for other values the value itself
};

namespace detail {

/// How the backward pass reads the values of the forward pass.
template <int Nodes>
struct backward_reads {
  static constexpr int never = 1 << 29;  ///< larger than the depth of any segment

  int outermost_depth[Nodes] = {};  ///< smallest depth of a segment in which the backward pass reads the value
  /// region of the last kernel of the backward pass that reads the value, or none
  int region_of_last_kernel[Nodes] = {};
  bool read_by_interior[Nodes] = {};   ///< true if the interior of a segment reads the value and is recomputed
  int recomputed_readers[Nodes] = {};  ///< number of reads by recomputable values outside of segments
};

template <class Graph, class Gradient, class Segments>
struct need_finder {
  static constexpr int nodes = Gradient::capacity;
  static constexpr int max_recompute_length = 16;  ///< most recomputed operations in a row

  const Graph& g;
  const Gradient& d;
  const Segments& segments;
  const bool* cheap_unplaced;  ///< by forward value: cheap where no segment is placed; null in that program itself
  needs<nodes> out{};
  backward_reads<nodes> reads{};
  bool recomputable[nodes] = {};  ///< by forward value: its operation and its readers allow that it is recomputed

  constexpr bool is_leaf(int v) const { return graphs::is_leaf(d.nodes[v].op->what); }
  constexpr bool is_view(int v) const { return d.nodes[v].op->what == graphs::role::view; }
  constexpr bool is_fusible(int v) const {
    return d.nodes[v].op->what == graphs::role::elementwise || d.nodes[v].op->what == graphs::role::map;
  }

  /// Returns true if `v` is a map with as many bytes as its argument, for example `roll` or `flip`. To recompute such a
  /// map, the backward pass would write all numbers of the argument again.
  constexpr bool moves_whole_argument(int v) const {
    return d.nodes[v].op->what == graphs::role::map &&
           d.nodes[v].result->bytes == d.nodes[d.argument(v, 0)].result->bytes;
  }

  /// Returns true if `v` is a leaf converted to another type. The leaf is always there to be converted again.
  constexpr bool is_converted_leaf(int v) const {
    return d.nodes[v].op->converts && is_leaf(out.view_root[d.argument(v, 0)]);
  }

  /// Returns false if `v` lies outside of all segments and the program without placed segments stores it. A placed
  /// segment stores values that the unplaced program does not store, and `v` could become cheap because it can be
  /// recomputed from them. The program would then do work that the search's costs do not contain, because the search
  /// takes its costs from the unplaced program.
  constexpr bool may_be_cheap(int v) const {
    return segments.of[v] != 0 || ::cairn::detail::same_address(cheap_unplaced, nullptr) || cheap_unplaced[v];
  }

  /// Marks the values on which an output or a gradient depends. If one result of an operation is live, all are.
  constexpr void find_live() {
    for (int i = 0; i < g.output_count; ++i) out.live[g.outputs[i]] = true;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (d.gradient[i] != none) out.live[d.gradient[i]] = true;
    }
    for (int v = d.node_count; v-- > 0;) {
      if (!out.live[v]) continue;
      const graphs::node& n = d.nodes[v];
      if (n.result_index > 0) out.live[v - n.result_index] = true;
      for (int i = 0; i < n.op->argument_count; ++i) out.live[d.arguments[n.first + i]] = true;
    }
    for (int v = 0; v < d.node_count; ++v) {
      if (d.nodes[v].result_index > 0) out.live[v] = out.live[d.head(v)];
    }
  }

  /// Finds the root of each view, the values made of constants, and the roots of the program's outputs.
  constexpr void find_made_of_constants() {
    for (int v = 0; v < d.turn; ++v) {
      const graphs::node& n = d.nodes[v];
      out.view_root[v] = n.op->what == graphs::role::view ? out.view_root[d.arguments[n.first]] : v;
      out.made_of_constants[v] =
          graphs::is_constant(n.op->what) || (n.op->argument_count > 0 && n.op->what != graphs::role::kernel);
      for (int i = 0; i < n.op->argument_count; ++i)
        out.made_of_constants[v] &= out.made_of_constants[d.arguments[n.first + i]];
    }
    for (int i = 0; i < g.output_count; ++i) out.output[out.view_root[g.outputs[i]]] = true;
  }

  /// Finds the values that may be recomputed, and how the backward pass reads each value. Visits values from the last
  /// to the first, so that all readers of a value are known when the value itself is visited.
  constexpr void find_recomputable() {
    bool is_excluded[nodes] = {};  // not recomputable: a boundary of a segment, or moved as a whole by a map
    for (int v = 0; v < d.turn; ++v) {
      reads.outermost_depth[v] = reads.never;
      reads.region_of_last_kernel[v] = none;
    }
    for (int v = d.node_count; v-- > 0;) {
      if (!out.live[v]) continue;
      const graphs::node& n = d.nodes[v];
      const bool in_forward = v < d.turn;
      recomputable[v] = in_forward && (is_fusible(v) || is_view(v)) && n.op->result_count == 1 &&
                        segments.depth_of(v) <= 1 && !out.made_of_constants[v] && !out.output[out.view_root[v]] &&
                        !is_excluded[out.view_root[v]] && may_be_cheap(v);
      const bool is_read_by_backward = reads.outermost_depth[v] != reads.never;
      const bool recomputed =
          recomputable[v] && segments.of[v] == 0 && (is_read_by_backward || reads.recomputed_readers[v] > 0);
      const bool recomputed_in_segment = in_forward && segments.of[v] != 0 && reads.outermost_depth[v] != 0 &&
                                         (is_read_by_backward || reads.read_by_interior[v]) &&
                                         !segments.stored_by_segment[v];
      for (int i = 0; i < n.op->argument_count; ++i) {
        if (d.arguments[n.first + i] >= d.turn) continue;
        const int a = out.view_root[d.arguments[n.first + i]];
        const int shared_segment = segments.common(segments.of[a], segments.of[v]);
        reads.recomputed_readers[a] += recomputed;
        if (in_forward) {
          const bool enters_segment = shared_segment != segments.of[v];
          is_excluded[a] |= (enters_segment && !is_converted_leaf(a)) || (recomputed && moves_whole_argument(v));
          reads.read_by_interior[a] |= recomputed_in_segment;
          if (recomputed_in_segment && segments.of[a] == 0) reads.outermost_depth[a] = 0;
        } else {
          reads.outermost_depth[a] = std::min(reads.outermost_depth[a],
                                              segments.stored_by_segment[a] ? 0 : segments.all[shared_segment].depth);
          if (reads.region_of_last_kernel[a] == none && n.op->what == graphs::role::kernel)
            reads.region_of_last_kernel[a] = n.region;
        }
      }
    }
  }

  /// Decides which of the recomputable values are cheap.
  ///
  /// A value is cheap under two conditions. The first is that it is computed by at most 16 recomputed operations in a
  /// row. They are elementwise operations and maps; views do not count. The second is that the inputs that would be
  /// stored only for recomputation have fewer bytes than the value. A view is cheap if the value that it shows is cheap
  /// or costs nothing. A value in a nested segment is never cheap. The cost of an input is
  /// - zero for a leaf, a value made of constants, an output, and a value that the backward pass reads in any case;
  /// - zero for a boundary of a segment, if the backward pass recomputes the segment's interior from it;
  /// - the cost of the input's own inputs, if the input is cheap;
  /// - the input's bytes otherwise. Several values that would be recomputed from one input share its cost.
  ///
  /// There is one exception. If kernels of the backward pass read a recomputed value, the value is written to memory.
  /// It lives until the last of these kernels runs, as if it had been stored. A value that is recomputed from it then
  /// has its bytes as a cost. The exception does not hold if this kernel is in the region of the value that is
  /// recomputed from it, because the kernel then runs shortly after the value is written. It does hold in region 0,
  /// which is the program outside of all regions.
  ///
  /// Arguments of segments are stored, so they are not cheap; only converted leaves are. A value that a map would move
  /// as a whole is not cheap either. In a segment, the same rule tells which values would be cheap if the segment were
  /// a block. The inputs of such a value must cost nothing. A value of another segment costs its bytes, unless it is a
  /// leaf, made of constants, or an output.
  constexpr void find_cheap() {
    int recompute_length[nodes] = {};     // of cheap values: how many operations in a row are recomputed
    std::int64_t input_cost[nodes] = {};  // bytes that are stored only to recompute the value
    for (int v = 0; v < d.turn; ++v) {
      const graphs::node& n = d.nodes[v];
      const int depth = segments.depth_of(v);
      bool recomputed = false;  // true if the last argument is recomputed; a view has only one argument
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = out.view_root[d.arguments[n.first + i]];
        const bool in_same_segment = segments.of[a] == segments.of[v];
        recomputed = out.cheap[a] && in_same_segment;
        if (recomputed) recompute_length[v] = std::max(recompute_length[v], recompute_length[a]);

        const int region = reads.region_of_last_kernel[a];  // 0 outside of all regions
        const bool lives_as_if_stored = recomputed && region != none && (region == 0 || region != n.region);
        const bool is_read_anyway = reads.outermost_depth[a] <= depth && (in_same_segment || depth == 0);
        if (is_leaf(a) || out.made_of_constants[a] || out.output[a] || (is_read_anyway && !lives_as_if_stored))
          continue;

        const std::int64_t bytes = recomputed && !lives_as_if_stored ? input_cost[a] : d.nodes[a].result->bytes;
        const int sharers = reads.recomputed_readers[a];
        input_cost[v] += sharers > 1 ? (bytes + sharers - 1) / sharers : bytes;
      }
      if (is_view(v)) {
        out.cheap[v] = recomputable[v] && (recomputed || input_cost[v] == 0);
      } else {
        ++recompute_length[v];
        out.cheap[v] = recomputable[v] && recompute_length[v] <= max_recompute_length &&
                       input_cost[v] < (depth == 0 ? n.result->bytes : 1);
      }
    }
  }
};

}  // namespace detail

/// Finds what a training step needs of graph `g` with gradient `d`, if its segments are `segments`. `cheap_unplaced`
/// says what is cheap in the same program without placed segments. It is null if no segment is placed.
template <class Graph, class Gradient, class Segments>
constexpr auto find_needs(const Graph& g, const Gradient& d, const Segments& segments,
                          const bool* cheap_unplaced = nullptr) {
  detail::need_finder<Graph, Gradient, Segments> finder{g, d, segments, cheap_unplaced};
  finder.find_live();
  finder.find_made_of_constants();
  finder.find_recomputable();
  finder.find_cheap();
  return finder.out;
}

}  // namespace cairn::plans
