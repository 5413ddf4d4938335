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

/// Judges the values of the graph of a layer. The graph's first `arguments` leaves are the arguments of the layer.
template <class Graph>
struct row_judge {
  const Graph& g;
  row_kind of[Graph::size.nodes + 1] = {};
  bool needed[Graph::size.nodes + 1] = {};  ///< by value: true if a result of the layer depends on the value

  constexpr row_judge(const Graph& graph, int arguments) : g(graph) {
    for (int r = 0; r < g.result_count; ++r) needed[g.outputs[r]] = true;
    for (int v = g.node_count; v-- > 0;) {
      for (int i = 0; needed[v] && i < g.op(v).argument_count; ++i) needed[g.argument(v, i)] = true;
    }
    for (int i = 0; i < arguments; ++i) of[g.leaves[i].node] = row_kind::rows;
    const int rows = arguments == 0 ? 0 : g.leaf_op(0).results[0].extents.extent[0];
    for (int v = 0; v < g.node_count; ++v) {
      if (needed[v] && !is_leaf(g.op(v).what)) of[v] = judge(v, rows);
    }
  }
  /// Returns the first value that a result of the layer depends on and that mixes rows, or none.
  constexpr int first_mixed() const {
    for (int v = 0; v < g.node_count; ++v) {
      if (needed[v] && of[v] == row_kind::mixed) return v;
    }
    for (int r = 0; r < g.result_count; ++r) {
      if (of[g.outputs[r]] != row_kind::rows) return g.outputs[r];
    }
    return none;
  }
  /// Returns true if the random numbers that are drawn from leaf `leaf` belong to rows.
  constexpr bool draws_for_rows(int leaf) const {
    bool found = false;
    for (int v = 0; v < g.node_count; ++v) found |= of[v] == row_kind::rows && reads(v, g.leaves[leaf].node);
    return found;
  }

 private:
  constexpr bool reads(int v, int argument) const {
    bool found = false;
    for (int i = 0; i < g.op(v).argument_count; ++i) found |= g.argument(v, i) == argument;
    return found;
  }
  constexpr bool draws(int v) const {
    bool found = false;
    for (int i = 0; i < g.op(v).argument_count; ++i) found |= g.op(g.argument(v, i)).what == role::random;
    return found;
  }
  /// Returns true if value `v` has an entry for each entry of `made`, the result of an elementwise operation.
  constexpr bool is_aligned(int v, const shape& made) const {
    const shape& x = g.result(v).extents;
    return made.rank > 0 && x.rank == made.rank && x.extent[0] == made.extent[0];
  }
  /// Returns true if value `v` is repeated for each entry of `made`, the result of an elementwise operation.
  constexpr bool is_repeated(int v, const shape& made) const {
    const shape& x = g.result(v).extents;
    return x.rank < made.rank || made.rank == 0 || x.extent[0] == 1;
  }
  /// Judges value `v` by its arguments. `aligned(i, x)` returns true if entry r of the value is computed from entry r
  /// of argument number i, which is x. `repeated(i, x)` returns true if all entries are computed from the same of x.
  constexpr row_kind join(int v, auto aligned, auto repeated) const {
    bool any = false, alike = true, one_by_one = true;
    for (int i = 0; i < g.op(v).argument_count; ++i) {
      const int x = g.argument(v, i);
      const bool in_rows = of[x] == row_kind::rows, same = repeated(i, x) || of[x] == row_kind::alike;
      any |= in_rows || of[x] == row_kind::mixed;
      alike &= repeated(i, x) || (aligned(i, x) && of[x] == row_kind::alike);
      one_by_one &= in_rows ? aligned(i, x) : same && of[x] != row_kind::mixed;
    }
    if (any) return one_by_one ? row_kind::rows : row_kind::mixed;
    return alike ? row_kind::alike : row_kind::no_rows;
  }
  constexpr row_kind judge(int v, int rows) const {
    const shape& made = g.result(v).extents;
    const auto never = [](int, int) { return false; };
    const operation& op = g.op(v);
    if (op.what == role::elementwise)
      return join(v, [&](int, int x) { return is_aligned(x, made); }, [&](int, int x) { return is_repeated(x, made); });
    if (op.what == role::view) {
      // the elements keep their order, so entries stay together if their number stays
      const shape& x = g.result(g.argument(v, 0)).extents;
      const bool stays = made.rank > 0 && x.rank > 0 && x.extent[0] == made.extent[0];
      return join(v, [=](int, int) { return stays; }, never);
    }
    if (op.what == role::map) {
      const bool in_order = op.map[0].begin == 0 && op.map[0].step == 1 && op.map[0].repeat == 1;
      return join(v, [&](int, int x) { return in_order && is_aligned(x, made); }, never);
    }
    const auto keeps = [&](int i, int) { return i < 64 && (op.keeps_rows >> i) % 2 == 1; };
    const row_kind found = join(v, keeps, [&](int i, int x) {
      if (g.op(x).what == role::random) return true;  // one key for all entries
      const shape& read = g.result(x).extents;
      return op.keeps_rows != 0 && (!keeps(i, x) || (read.rank > 0 && read.extent[0] == 1));
    });
    // Random numbers differ from entry to entry. If there is an entry for each row, each row has its own.
    if (found != row_kind::alike || !draws(v)) return found;
    return made.rank > 0 && made.extent[0] == rows ? row_kind::rows : row_kind::no_rows;
  }
};

/// Returns what is wrong with a layer that is applied to `groups` groups of rows. If nothing is wrong, `groups` is 0 in
/// the result.
template <class Graph>
constexpr mixed_rows find_mixed_rows(const row_judge<Graph>& rows, int groups) {
  const Graph& g = rows.g;
  mixed_rows out;
  if (const int v = rows.first_mixed(); v != none) {
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
