// What a step needs of a differentiated graph, and which of it costs so little that it is not kept for backward.
#pragma once

#include "cairn/pass/segments.hpp"

namespace cairn::pass {

/// By value of the graph and its gradient.
template <int Nodes>
struct needs {
  bool live[Nodes] = {};      ///< outputs and gradients depend on it, or on another result of its operation
  bool constant[Nodes] = {};  ///< of forward values: made of constants alone
  bool output[Nodes] = {};    ///< of forward values: a result of the program, or viewed by one
  bool cheap[Nodes] = {};     ///< of forward values: computed again in backward, or would be, were its segment a block
  int root[Nodes] = {};       ///< of forward values: what a view views
};

namespace detail {
/// Some values: none, one, two or more. Their numbers are one more than by value, and 0 is
/// nobody, for in arrays g++ 12 makes members zero, whatever their initializers are.
struct source_set {
  int one, other;
  bool more;

  constexpr bool has(int number) const { return number != 0 && (number == one || number == other); }
  constexpr void add(int number) {
    if (number == 0 || has(number)) return;
    if (one == 0) one = number;
    else if (other == 0) other = number;
    else more = true;
  }
};

template <class Graph, class Gradient, class Segments>
struct need_finder {
  static constexpr int nodes = Gradient::capacity;
  const Graph& g;
  const Gradient& d;
  const Segments& in;
  needs<nodes> out{};

  constexpr bool is_leaf(int v) const { return ir::is_leaf(d.nodes[v].op->what); }
  constexpr bool in_loops(int v) const {
    return d.nodes[v].op->what == ir::role::elementwise || d.nodes[v].op->what == ir::role::map;
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
      out.constant[v] = ir::is_constant(n.op->what) || n.op->arguments > 0;
      for (int i = 0; i < n.op->arguments; ++i) out.constant[v] &= out.constant[d.arguments[n.first + i]];
    }
    for (int i = 0; i < g.output_count; ++i) out.output[out.root[g.outputs[i]]] = true;
  }

  /// Finds what is cheap: backward computes it again, in few operations from leaves and from what is kept anyway. It
  /// must not make more bytes live. So it may read one value of its own size, which then lives in its place; a second
  /// one only if one of the two is a leaf, and backward reads what is made in loops, not by a kernel. Outside of
  /// segments it may also read what backward reads inside of segments alone, or not at all: that is kept then, if it is
  /// no more bytes than what is made, and fewer than all that it spares. Boundaries are kept, never cheap. In a segment
  /// the same tells what would be cheap, were it a block.
  constexpr void find_cheap() {
    constexpr int most_operations = 16, nowhere = 1 << 29;
    bool by_kernel[nodes] = {}, boundary[nodes] = {};
    int kept[nodes] = {};               // the least depth at which backward reads it
    int operations[nodes] = {};         // of what is cheap
    std::int64_t kept_for[nodes] = {};  // bytes that are kept for it alone
    source_set sources[nodes] = {};     // as large as it
    source_set spared[nodes] = {};      // no smaller, stored for backward alone, and made of it by loops
    for (int v = 0; v < d.turn; ++v) kept[v] = nowhere;
    for (int v = 0; v < d.node_count; ++v) {
      if (!out.live[v]) continue;
      const ir::node& n = d.nodes[v];
      for (int i = 0; i < n.op->arguments; ++i) {
        if (d.arguments[n.first + i] >= d.turn) continue;
        const int a = out.root[d.arguments[n.first + i]], shared = in.common(in.of[a], in.of[v]);
        if (v < d.turn) {
          boundary[a] |= shared != in.of[v];
        } else {
          kept[a] = std::min(kept[a], in.all[shared].depth);
          by_kernel[a] |= n.op->what == ir::role::kernel;
        }
      }
    }
    for (int v = d.turn; v-- > 0;) {
      if (!out.live[v] || !in_loops(v)) continue;
      const ir::node& n = d.nodes[v];
      if (kept[v] != nowhere) spared[v] = {};
      if (kept[v] != nowhere && !out.output[v] && !boundary[v] && in.depth_of(v) == 0) spared[v].add(v + 1);
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = out.root[d.arguments[n.first + i]];
        for (const int by : {spared[v].one, spared[v].other}) {
          if (by != 0 && d.nodes[by - 1].made->bytes >= d.nodes[a].made->bytes) spared[a].add(by);
        }
      }
    }
    const auto pays = [&](int v) {
      const auto [one, other, more] = spared[v];
      return other != 0 || (one != 0 && d.nodes[one - 1].made->bytes > d.nodes[v].made->bytes);
    };
    for (int v = 0; v < d.turn; ++v) {
      const ir::node& n = d.nodes[v];
      const int depth = in.depth_of(v);
      const bool view = n.op->what == ir::role::view;
      if (!out.live[v] || (!view && !in_loops(v)) || n.op->results > 1 || depth > 1 || out.constant[v] ||
          out.output[out.root[v]] || boundary[out.root[v]])
        continue;
      bool cheap = true;
      operations[v] = view ? 0 : 1;
      const auto there = [&](int w) { return is_leaf(w) || out.constant[w] || out.output[w] || kept[w] <= depth; };
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = d.arguments[n.first + i], root = out.root[a];
        if (out.cheap[a] && in.of[a] == in.of[v]) {
          operations[v] += operations[a];
          kept_for[v] += kept_for[a];
          for (const int from : {sources[a].one, sources[a].other}) {
            if (sources[v].has(from) && !there(from - 1)) kept_for[v] -= d.nodes[from - 1].made->bytes;
            sources[v].add(from);
          }
        } else {
          cheap &= there(root) || (depth == 0 && (kept[root] != nowhere || pays(root)));
          if (!there(root) && !sources[v].has(root + 1)) kept_for[v] += d.nodes[root].made->bytes;
          if (d.nodes[a].made->bytes == n.made->bytes) sources[v].add(root + 1);
        }
      }
      const source_set& of = sources[v];
      out.cheap[v] = cheap && operations[v] <= most_operations && kept_for[v] <= n.made->bytes && !of.more &&
                     (of.other == 0 || (!by_kernel[v] && (is_leaf(of.one - 1) || is_leaf(of.other - 1))));
    }
  }
};
}  // namespace detail

/// Finds what a step needs.
template <class Graph, class Gradient, class Segments>
constexpr auto find_needs(const Graph& g, const Gradient& d, const Segments& in) {
  detail::need_finder<Graph, Gradient, Segments> f{g, d, in};
  f.find_live();
  f.find_constants();
  f.find_cheap();
  return f.out;
}

}  // namespace cairn::pass
