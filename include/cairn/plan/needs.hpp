// Finds what a training step needs of the differentiated graph: its live values, its constant values, and the values
// that are so cheap that the backward pass recomputes them instead of storing them.
#pragma once

#include "cairn/plan/segments.hpp"

namespace cairn::plan {

/// The needs of a training step, with one entry for each value of the graph and its gradient.
template <int Nodes>
struct needs {
  bool live[Nodes] = {};      ///< an output or a gradient depends on the value, or on another result of its operation
  bool constant[Nodes] = {};  ///< of forward values: computed from constants alone, and not by a kernel
  /// of forward values: a result of the program, or the value that such a result is a view of
  bool output[Nodes] = {};
  /// of forward values: recomputed in the backward pass; in a segment: would be, if the segment were a block
  bool cheap[Nodes] = {};
  int root[Nodes] = {};  ///< of forward values: the value that a view shows; for other values the value itself
};

namespace detail {
template <class Graph, class Gradient, class Segments>
struct need_finder {
  static constexpr int nodes = Gradient::capacity;
  const Graph& g;
  const Gradient& d;
  const Segments& in;
  const bool* cheap_unplaced;  ///< by forward value: cheap where no segment is placed; null in that program itself
  needs<nodes> out{};

  constexpr bool is_leaf(int v) const { return graph::is_leaf(d.nodes[v].op->what); }
  constexpr bool is_view(int v) const { return d.nodes[v].op->what == graph::role::view; }
  constexpr bool in_loops(int v) const {
    return d.nodes[v].op->what == graph::role::elementwise || d.nodes[v].op->what == graph::role::map;
  }

  /// Returns true if `v` is a map (a slice, a transpose) with as many bytes as its argument. Reading the argument
  /// through such a map would mean writing all of the argument again.
  constexpr bool moves_all(int v) const {
    return d.nodes[v].op->what == graph::role::map &&
           d.nodes[v].result->bytes == d.nodes[d.argument(v, 0)].result->bytes;
  }

  /// Returns true if `v` is a leaf converted to another type. The leaf is always there to be converted again.
  constexpr bool copies_leaf(int v) const { return d.nodes[v].op->converts && is_leaf(out.root[d.argument(v, 0)]); }

  /// Returns false if v lies outside of all segments and is kept where none is placed. A placed segment holds values
  /// that the unplaced program does not keep. If others made of these became cheap, the program would do work that the
  /// costs of placements, read off the unplaced program, do not contain.
  constexpr bool may_be_cheap(int v) const {
    return in.of[v] != 0 || same_address(cheap_unplaced, nullptr) || cheap_unplaced[v];
  }

  constexpr void find_live() {
    for (int i = 0; i < g.output_count; ++i) out.live[g.outputs[i]] = true;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (d.gradient[i] != none) out.live[d.gradient[i]] = true;
    }
    for (int v = d.node_count; v-- > 0;) {
      if (!out.live[v]) continue;
      const graph::node& n = d.nodes[v];
      if (n.result_index > 0) out.live[v - n.result_index] = true;
      for (int i = 0; i < n.op->argument_count; ++i) out.live[d.arguments[n.first + i]] = true;
    }
    for (int v = 0; v < d.node_count; ++v) {
      if (d.nodes[v].result_index > 0) out.live[v] = out.live[d.head(v)];
    }
  }

  constexpr void find_constants() {
    for (int v = 0; v < d.turn; ++v) {
      const graph::node& n = d.nodes[v];
      out.root[v] = n.op->what == graph::role::view ? out.root[d.arguments[n.first]] : v;
      out.constant[v] =
          graph::is_constant(n.op->what) || (n.op->argument_count > 0 && n.op->what != graph::role::kernel);
      for (int i = 0; i < n.op->argument_count; ++i) out.constant[v] &= out.constant[d.arguments[n.first + i]];
    }
    for (int i = 0; i < g.output_count; ++i) out.output[out.root[g.outputs[i]]] = true;
  }

  /// Decides which values are cheap.
  ///
  /// A value is cheap if a chain of at most 16 elementwise operations computes it, and if the inputs of this chain that
  /// would be stored only for recomputation have fewer bytes than the value. The cost of an input is
  /// - zero for a leaf, a constant, an output, and a value that the backward pass reads in any case;
  /// - zero for a boundary of a segment, if the backward pass recomputes the segment's interior from it;
  /// - the cost of the input's own inputs, if the input is cheap;
  /// - the input's bytes otherwise. Several values that would be recomputed from one input share its cost.
  ///
  /// There is one exception. If a kernel of the backward pass reads a recomputed value, the value is written to memory
  /// and lives until the kernel runs, as if it had been stored. Its cost is then its bytes. Kernels that compute
  /// gradients of the same region do not count, because they run shortly after the value is written.
  ///
  /// Boundaries of segments are stored, so they are not cheap; only converted leaves are. A value that a map would move
  /// as a whole is not cheap either. In a segment, the same rule tells which values would be cheap if the segment were
  /// a block. All inputs of such a value must be values of the segment that cost nothing.
  constexpr void find_cheap() {
    constexpr int longest_row = 16, nowhere = 1 << 29;
    bool boundary[nodes] = {};
    // region of the last kernel of the backward pass that reads the value, 0 outside of all regions, or none
    int written[nodes] = {};
    int kept[nodes] = {};           // the outermost depth of segments at which the backward pass reads the value
    bool asked[nodes] = {};         // true if the interior of a segment reads the value and is recomputed
    int shares[nodes] = {};         // number of reads by values outside of segments that would be recomputed
    int row[nodes] = {};            // of cheap values: number of operations in a row that are recomputed
    std::int64_t cost[nodes] = {};  // bytes that are stored only to recompute the value
    for (int v = 0; v < d.turn; ++v) {
      kept[v] = nowhere;
      written[v] = none;
    }
    for (int v = d.node_count; v-- > 0;) {
      if (!out.live[v]) continue;
      const graph::node& n = d.nodes[v];
      out.cheap[v] = v < d.turn && (in_loops(v) || is_view(v)) && n.op->result_count == 1 && in.depth_of(v) <= 1 &&
                     !out.constant[v] && !out.output[out.root[v]] && !boundary[out.root[v]] && may_be_cheap(v);
      const bool asks = out.cheap[v] && in.of[v] == 0 && (kept[v] != nowhere || shares[v] > 0);
      const bool read_inside = asked[v] || kept[v] != nowhere;
      const bool again = v < d.turn && in.of[v] != 0 && kept[v] != 0 && read_inside && !in.saved[v];
      for (int i = 0; i < n.op->argument_count; ++i) {
        if (d.arguments[n.first + i] >= d.turn) continue;
        const int a = out.root[d.arguments[n.first + i]], shared = in.common(in.of[a], in.of[v]);
        shares[a] += asks;
        if (v < d.turn) {
          boundary[a] |= (shared != in.of[v] && !copies_leaf(a)) || (asks && moves_all(v));
          asked[a] |= again;
          if (again && in.of[a] == 0) kept[a] = 0;
        } else {
          kept[a] = std::min(kept[a], in.saved[a] ? 0 : in.all[shared].depth);
          if (written[a] == none && n.op->what == graph::role::kernel) written[a] = n.region;
        }
      }
    }
    for (int v = 0; v < d.turn; ++v) {
      const graph::node& n = d.nodes[v];
      const int depth = in.depth_of(v);
      bool again = false;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int a = out.root[d.arguments[n.first + i]];
        const bool inside = in.of[a] == in.of[v];
        again = out.cheap[a] && inside;
        if (again) row[v] = std::max(row[v], row[a]);
        const bool lives = again && written[a] != none && (written[a] == 0 || written[a] != n.region);
        const bool read = kept[a] <= depth && (inside || depth == 0);
        if (is_leaf(a) || out.constant[a] || out.output[a] || (read && !lives)) continue;
        const std::int64_t bytes = again && !lives ? cost[a] : d.nodes[a].result->bytes;
        cost[v] += shares[a] > 1 ? (bytes + shares[a] - 1) / shares[a] : bytes;
      }
      if (is_view(v)) out.cheap[v] &= again || cost[v] == 0;
      else out.cheap[v] &= ++row[v] <= longest_row && cost[v] < (depth == 0 ? n.result->bytes : 1);
    }
  }
};
}  // namespace detail

/// Finds what a training step needs of graph `g` with gradient `d`, if its segments are `in`. `cheap_unplaced` says
/// what is cheap in the same program without placed segments. It is null if no segment is placed.
template <class Graph, class Gradient, class Segments>
constexpr auto find_needs(const Graph& g, const Gradient& d, const Segments& in, const bool* cheap_unplaced = nullptr) {
  detail::need_finder<Graph, Gradient, Segments> f{g, d, in, cheap_unplaced};
  f.find_live();
  f.find_constants();
  f.find_cheap();
  return f.out;
}

}  // namespace cairn::plan
