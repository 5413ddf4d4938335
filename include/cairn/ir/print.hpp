// The graph as text, one line a value: "%4 = matmul(%0, %1)", its shape, its segment.
#pragma once

#include <iomanip>
#include <ostream>
#include <sstream>

#include "cairn/ir/graph.hpp"

namespace cairn::ir {

/// Writes parts one after another, then blanks up to `width` characters.
void print_column(std::ostream& out, int width, const auto&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  out << text.view() << std::setw(width - static_cast<int>(text.view().size())) << "";
}

/// {16, 32}; {} is a scalar.
struct extents_of {
  const shape& of;
  friend std::ostream& operator<<(std::ostream& out, extents_of s) {
    out << '{';
    for (int axis = 0; axis < s.of.rank; ++axis) out << (axis > 0 ? ", " : "") << s.of.extent[axis];
    return out << '}';
  }
};

/// What a value is: matmul(%0, %1), or the leaf's kind and name.
template <class Graph>
struct formula_of {
  const Graph& graph;
  const node& of;
  int leaf;  ///< its number, or none
  friend std::ostream& operator<<(std::ostream& out, formula_of f) {
    const operation& op = *f.of.op;
    if (op.what == role::constant) return out << op.value;
    if (f.leaf != none) {
      const auto& named = f.graph.leaves[f.leaf];
      const char* what = op.what == role::input    ? "input "
                         : op.what == role::random ? "key "
                         : op.trainable            ? "parameter "
                         : named.after != 0        ? "state "
                                                   : "frozen ";
      return out << what << f.graph.name(named);
    }
    out << op.name;
    if (op.arguments == 0) return out;
    out << '(';
    for (int i = 0; i < op.arguments; ++i) out << (i > 0 ? ", %" : "%") << f.of.argument[i];
    return out << ')';
  }
};

/// Writes value `number` of a table of nodes; `leaf` is the number of the leaf that it is, or none.
template <class Graph>
void print(std::ostream& out, const Graph& g, const node& n, int number, int leaf) {
  print_column(out, 42, '%', number, " = ", formula_of<Graph>{g, n, leaf});
  print_column(out, n.segment > 0 ? 12 : 0, extents_of{n.op->result});
  if (n.segment > 0) out << g.name(g.segments[n.segment]);
  out << '\n';
}

/// Writes a graph and what its results are.
template <class Graph>
void print(std::ostream& out, const Graph& g) {
  for (int v = 0; v < g.node_count; ++v) {
    int leaf = g.leaf_count;
    while (leaf-- > 0 && g.leaves[leaf].node != v) {
    }
    print(out << "  ", g, g.nodes[v], v, leaf);
  }
  out << "  results:";
  for (int i = 0; i < g.result_count; ++i) out << " %" << g.outputs[i];
  out << '\n';
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaves[i].after != 0) out << "  " << g.name(g.leaves[i]) << " becomes %" << g.leaves[i].after - 1 << '\n';
  }
}

}  // namespace cairn::ir
