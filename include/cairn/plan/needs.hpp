// What a step needs of a differentiated graph, and which of it costs so little that it is not kept for backward.
#pragma once

#include "cairn/plan/segments.hpp"

namespace cairn::pass {

/// By value of the graph and its gradient.
template <int Nodes>
struct needs {
  bool live[Nodes] = {};      ///< outputs and gradients depend on it, or on another result of its operation
  bool constant[Nodes] = {};  ///< of forward values: made of constants alone, by no kernel
  bool output[Nodes] = {};    ///< of forward values: a result of the program, or viewed by one
  bool cheap[Nodes] = {};     ///< of forward values: computed again in backward, or would be, were its segment a block
  int root[Nodes] = {};       ///< of forward values: what a view views
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

  constexpr bool is_leaf(int v) const { return ir::is_leaf(d.nodes[v].op->what); }
  constexpr bool is_view(int v) const { return d.nodes[v].op->what == ir::role::view; }
  constexpr bool in_loops(int v) const {
    return d.nodes[v].op->what == ir::role::elementwise || d.nodes[v].op->what == ir::role::map;
  }

  /// Whether a map leads to as much as its argument has: to be read there, that would have to be written again in
  /// whole.
  constexpr bool moves_all(int v) const {
    return d.nodes[v].op->what == ir::role::map && d.nodes[v].made->bytes == d.nodes[d.argument(v, 0)].made->bytes;
  }

  /// Whether it is a parameter, or an input, in another type: made again from there, as it is read.
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
      const ir::node& n = d.nodes[v];
      if (n.number > 0) out.live[v - n.number] = true;
      for (int i = 0; i < n.op->arguments; ++i) out.live[d.arguments[n.first + i]] = true;
    }
    for (int v = 0; v < d.node_count; ++v) {
      if (d.nodes[v].number > 0) out.live[v] = out.live[d.head(v)];
    }
  }

  constexpr void find_constants() {
    for (int v = 0; v < d.turn; ++v) {
      const ir::node& n = d.nodes[v];
      out.root[v] = n.op->what == ir::role::view ? out.root[d.arguments[n.first]] : v;
      out.constant[v] = ir::is_constant(n.op->what) || (n.op->arguments > 0 && n.op->what != ir::role::kernel);
      for (int i = 0; i < n.op->arguments; ++i) out.constant[v] &= out.constant[d.arguments[n.first + i]];
    }
    for (int i = 0; i < g.output_count; ++i) out.output[out.root[g.outputs[i]]] = true;
  }

  /// Finds what is cheap: what at most 16 elementwise operations in a row make of what costs fewer bytes than it has.
  /// Leaves, constants, outputs and what backward reads anyway cost nothing; so do boundaries of segments whose
  /// interior backward computes again from them. All else costs its bytes, or, if it is cheap, what it is made of
  /// costs; and all that may be made of a value share its cost. What is made again for a kernel is written and lives on
  /// as if it were kept, so it costs its bytes; nothing, where that kernel is of the gradient of the same body, which
  /// comes soon and has it written anyway. Boundaries are kept, never cheap, but for copies of leaves, and so is what
  /// maps move in whole. In a segment the same tells what would be cheap, were it a block: what is made of its own
  /// values that cost nothing.
  constexpr void find_cheap() {
    constexpr int longest_row = 16, nowhere = 1 << 29;
    bool boundary[nodes] = {};
    int written[nodes] = {};        // the body of the last kernel of backward that reads it, 0 outside of all, or none
    int kept[nodes] = {};           // the least depth at which backward reads it
    bool asked[nodes] = {};         // the interior of a segment that backward computes again reads it
    int shares[nodes] = {};         // how often it is read by what backward may make of it outside of segments
    int row[nodes] = {};            // of what is cheap: how many operations in a row
    std::int64_t cost[nodes] = {};  // of what it is made of
    for (int v = 0; v < d.turn; ++v) {
      kept[v] = nowhere;
      written[v] = none;
    }
    for (int v = d.node_count; v-- > 0;) {
      if (!out.live[v]) continue;
      const ir::node& n = d.nodes[v];
      out.cheap[v] = v < d.turn && (in_loops(v) || is_view(v)) && n.op->results == 1 && in.depth_of(v) <= 1 &&
                     !out.constant[v] && !out.output[out.root[v]] && !boundary[out.root[v]] && may_be_cheap(v);
      const bool asks = out.cheap[v] && in.of[v] == 0 && (kept[v] != nowhere || shares[v] > 0);
      const bool read_inside = asked[v] || kept[v] != nowhere;
      const bool again = v < d.turn && in.of[v] != 0 && kept[v] != 0 && read_inside && !in.saved[v];
      for (int i = 0; i < n.op->arguments; ++i) {
        if (d.arguments[n.first + i] >= d.turn) continue;
        const int a = out.root[d.arguments[n.first + i]], shared = in.common(in.of[a], in.of[v]);
        shares[a] += asks;
        if (v < d.turn) {
          boundary[a] |= (shared != in.of[v] && !copies_leaf(a)) || (asks && moves_all(v));
          asked[a] |= again;
          if (again && in.of[a] == 0) kept[a] = 0;
        } else {
          kept[a] = std::min(kept[a], in.saved[a] ? 0 : in.all[shared].depth);
          if (written[a] == none && n.op->what == ir::role::kernel) written[a] = n.region;
        }
      }
    }
    for (int v = 0; v < d.turn; ++v) {
      const ir::node& n = d.nodes[v];
      const int depth = in.depth_of(v);
      bool again = false;
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = out.root[d.arguments[n.first + i]];
        const bool inside = in.of[a] == in.of[v];
        again = out.cheap[a] && inside;
        if (again) row[v] = std::max(row[v], row[a]);
        const bool lives = again && written[a] != none && (written[a] == 0 || written[a] != n.region);
        const bool read = kept[a] <= depth && (inside || depth == 0);
        if (is_leaf(a) || out.constant[a] || out.output[a] || (read && !lives)) continue;
        const std::int64_t bytes = again && !lives ? cost[a] : d.nodes[a].made->bytes;
        cost[v] += shares[a] > 1 ? (bytes + shares[a] - 1) / shares[a] : bytes;
      }
      if (is_view(v)) out.cheap[v] &= again || cost[v] == 0;
      else out.cheap[v] &= ++row[v] <= longest_row && cost[v] < (depth == 0 ? n.made->bytes : 1);
    }
  }
};
}  // namespace detail

/// Finds what a step needs. `cheap_unplaced` says what is cheap in the same program without placed segments; it is null
/// if no segment is placed.
template <class Graph, class Gradient, class Segments>
constexpr auto find_needs(const Graph& g, const Gradient& d, const Segments& in, const bool* cheap_unplaced = nullptr) {
  detail::need_finder<Graph, Gradient, Segments> f{g, d, in, cheap_unplaced};
  f.find_live();
  f.find_constants();
  f.find_cheap();
  return f.out;
}

}  // namespace cairn::pass
