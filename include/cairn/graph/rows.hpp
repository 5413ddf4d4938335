// Finds out whether a tiled layer treats rows independently: row r of its result depends on row r of its arguments
// alone, in the same way for each r. The rows are the entries along the first axis.
#pragma once

#include "cairn/graph/graph.hpp"

namespace cairn::graphs {

/// What is known of the entries of a value along its first axis.
enum class row_kind : std::uint8_t {
  no_rows,  ///< the value does not depend on the arguments of the layer, and its entries may differ
  alike,    ///< the value does not depend on the arguments of the layer, and its entries are computed alike
  rows,     ///< entry r is computed from row r of the arguments, in the same way for each r
  mixed     ///< the value depends on the arguments of the layer in another way
};

/// Judges the values of the graph of a layer. Values are judged after their arguments.
template <class Graph>
struct row_judge {
  const Graph& g;
  row_kind of[Graph::size.nodes + 1] = {};

  /// Returns true if argument `v` has an entry for each entry of the result `made` of an elementwise operation.
  constexpr bool is_aligned(int v, const shape& made) const {
    const shape& x = g.result(v).extents;
    return made.rank > 0 && x.rank == made.rank && x.extent[0] == made.extent[0];
  }
  /// Returns true if argument `v` is repeated for each entry of the result `made` of an elementwise operation.
  constexpr bool is_repeated(int v, const shape& made) const {
    const shape& x = g.result(v).extents;
    return x.rank < made.rank || made.rank == 0 || x.extent[0] == 1;
  }
  /// Judges a result by the kinds of its arguments. `aligned(i, v)` returns true if entry r of the result reads entry r
  /// of argument number i, which is value v. `repeated(i, v)` returns true if all entries read the same of the argument.
  constexpr row_kind join(const node& n, auto aligned, auto repeated) const {
    bool any = false, alike = true, one_by_one = true;
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int v = g.arguments[n.first + i];
      const row_kind k = of[v];
      any |= k == row_kind::rows || k == row_kind::mixed;
      alike &= repeated(i, v) || (aligned(i, v) && k == row_kind::alike);
      one_by_one &=
          k == row_kind::rows ? aligned(i, v) : k != row_kind::mixed && (repeated(i, v) || k == row_kind::alike);
    }
    if (any) return one_by_one ? row_kind::rows : row_kind::mixed;
    return alike ? row_kind::alike : row_kind::no_rows;
  }
  constexpr row_kind judge(int v) const {
    const node& n = g.nodes[v];
    const shape& made = n.result->extents;
    switch (n.op->what) {
      case role::elementwise:
        return join(
            n, [&](int, int x) { return is_aligned(x, made); }, [&](int, int x) { return is_repeated(x, made); });
      case role::view:
        return join(
            n,
            [&](int, int x) {
              return made.rank > 0 && g.result(x).extents.rank > 0 && g.result(x).extents.extent[0] == made.extent[0];
            },
            [&](int, int) { return false; });
      case role::map: {
        const axis_map& first = n.op->map[0];
        const bool in_order = first.begin == 0 && first.step == 1 && first.repeat == 1;
        return join(n, [&](int, int x) { return in_order && is_aligned(x, made); }, [&](int, int) { return false; });
      }
      case role::kernel: {
        const auto keeps = [&](int i, int) { return (n.op->keeps_rows >> i) % 2 == 1; };
        return join(n, keeps, [&](int i, int x) {
          const shape& read = g.result(x).extents;
          return n.op->keeps_rows != 0 && (!keeps(i, x) || (read.rank > 0 && read.extent[0] == 1));
        });
      }
      default:
        return row_kind::no_rows;
    }
  }
};

/// Returns the first value that a result of the layer needs and that mixes rows, or none. The graph's first `arguments`
/// leaves are the arguments of the layer.
template <class Graph>
constexpr int first_mixed(const Graph& g, int arguments) {
  row_judge<Graph> rows{g};
  bool needed[Graph::size.nodes + 1] = {};
  for (int r = 0; r < g.result_count; ++r) needed[g.outputs[r]] = true;
  for (int v = g.node_count; v-- > 0;) {
    for (int i = 0; needed[v] && i < g.op(v).argument_count; ++i) needed[g.arguments[g.nodes[v].first + i]] = true;
  }
  for (int i = 0; i < arguments; ++i) rows.of[g.leaves[i].node] = row_kind::rows;
  for (int v = 0; v < g.node_count; ++v) {
    if (!needed[v] || rows.of[v] == row_kind::rows) continue;
    rows.of[v] = rows.judge(v);
    if (rows.of[v] == row_kind::mixed) return v;
  }
  for (int r = 0; r < g.result_count; ++r) {
    if (rows.of[g.outputs[r]] != row_kind::rows) return g.outputs[r];
  }
  return none;
}

/// Returns what is wrong with a layer that is applied to `groups` groups of rows. If nothing is wrong, `groups` is 0 in
/// the result. The graph's first `arguments` leaves are the arguments of the layer.
template <class Graph>
constexpr mixed_rows find_mixed_rows(const Graph& g, int arguments, int groups) {
  mixed_rows out;
  if (const int v = first_mixed(g, arguments); v != none) {
    out = {.groups = groups, .name = g.op(v).name, .argument_count = std::min(g.op(v).argument_count, out.most_shown)};
    for (int i = 0; i < out.argument_count; ++i) out.arguments[i] = g.nodes[g.argument(v, i)].result;
    return out;
  }
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaves[i].next_value != none) return {.groups = groups, .name = g.name(g.leaves[i]), .updates_state = true};
  }
  return out;
}

}  // namespace cairn::graphs
