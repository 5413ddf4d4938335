// Draws the forward pass as a graph for Graphviz: `report::dot<program<loss>>(out)`, then `dot -Tsvg`.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/report/account.hpp"
#include "cairn/report/print.hpp"
#include "cairn/report/stream.hpp"
#include "cairn/report/tables.hpp"

#include <locale>
#include <map>

namespace cairn::report {

namespace detail {
struct dot_writer {
  std::ostream& out;
  const account& a;
  std::map<int, int> again;  ///< for each value, how often it is recomputed

  /// Returns true if value v is a line in the boxes that read it, and has no box of its own. This holds for parameters,
  /// random keys and constants. Inputs have their own nodes.
  bool is_line(int v) const {
    const value& of = a[a.root(v)];
    return of.what == graphs::role::parameter || of.what == graphs::role::random || graphs::is_constant(of.what);
  }
  std::string line_of(int v) const {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    const value& of = a[a.root(v)];
    if (of.what == graphs::role::constant) text << of.number;
    else if (of.what == graphs::role::generated) text << "of positions";
    else text << escaped(a.name(a.leaf(of.leaf)));
    if (of.what == graphs::role::parameter) text << ' ' << extents_of{a[v].extents, a[v].type};
    return text.str();
  }

  /// Adds a line in small print to the label of a box.
  void line(std::string_view color, const auto&... parts) {
    out << "<br/><font color='" << color << "' point-size='10'>";
    (out << ... << parts) << "</font>";
  }
  void node(int v) {
    const value& n = a[v];
    if (is_line(v)) return;
    out << "  v" << v << " [label=<"
        << (n.leaf != graphs::none ? escaped(a.name(a.leaf(n.leaf))) : escaped(n.operation)) << ' '
        << extents_of{n.extents, n.type};
    for (int i = 0; i < n.argument_count; ++i) {
      if (is_line(a.argument(v, i))) line("#7a808a", line_of(a.argument(v, i)));
    }
    if (n.tag != graphs::none) line("#7a808a", '"', escaped(a.name(a.tag(n.tag))), '"');
    if (n.stored) line("#1f5fa8", "stored, ", bytes(n.bytes));
    const auto times = again.find(v);
    if (times != again.end())
      line("#b35900", "recomputed", times->second > 1 ? ", " + std::to_string(times->second) + " times" : "");
    out << '>';
    if (n.leaf != graphs::none) out << ", shape=plaintext, fontcolor=\"#7a808a\"";
    else if (n.stored) out << ", color=\"#2878d0\", fillcolor=\"#d8e8f8\", penwidth=2";
    else if (times != again.end()) out << ", color=\"#d9730d\", style=\"filled,rounded,dashed\"";
    out << "];\n";
  }
  void edges(int v) {
    const value& n = a[v];
    for (int i = 0; i < n.argument_count; ++i) {
      const int of = a.argument(v, i);
      if (is_line(of)) continue;
      const int depth = a.segment(n.segment).depth;
      const bool boundary =
          depth > 0 && a[a.root(of)].leaf == graphs::none && a.around(a[of].segment, depth) != n.segment;
      out << "  v" << of << " -> v" << v << (boundary ? " [color=\"#2878d0\", penwidth=2.5]" : "") << ";\n";
    }
  }
  void cluster(int s) {
    if (s > 0) {
      out << "  subgraph cluster" << s << " { label=<" << escaped(a.segment(s).name)
          << ">; style=rounded; color=\"#9aa2ad\"; bgcolor=\"#" << (a.segment(s).depth % 2 == 1 ? "f4f6f8" : "e9edf1")
          << "\";\n";
    }
    for (int v = 0; v < a.value_turn; ++v) {
      if (a[v].segment == s) node(v);
    }
    for (int inner = s + 1; inner < static_cast<int>(a.segments.size()); ++inner) {
      if (a.segment(inner).parent == s) cluster(inner);
    }
    if (s > 0) out << "  }\n";
  }

  void write() {
    for (const value& v : a.values) {
      if (v.recomputes != graphs::none && v.what != graphs::role::view) ++again[v.recomputes];
    }
    out << "digraph step {\n"
           "  graph [fontname=\"Helvetica\", fontsize=12, ranksep=0.3, nodesep=0.3, labeljust=l];\n"
           "  node [fontname=\"Helvetica\", fontsize=12, shape=box, style=\"filled,rounded\", color=\"#9aa2ad\", "
           "fillcolor=\"#ffffff\", margin=\"0.12,0.06\"];\n"
           "  edge [color=\"#9aa2ad\", arrowsize=0.6];\n";
    if (!a.segments.empty()) cluster(0);
    for (int v = 0; v < a.value_turn; ++v) edges(v);
    out << "}\n";
  }
};
}  // namespace detail

/// Writes the forward pass in the DOT language. Each value is a box, and each segment is a box around its values.
/// Values that are stored for the backward pass are blue, and so are the arrows by which values enter a segment.
/// Recomputed values have a dashed outline. Parameters stand in grey in the box of the operation that reads them.
inline void dot(std::ostream& out, const account& a) {
  const detail::plain_numbers guard(out);
  detail::dot_writer{out, a, {}}.write();
}
template <class Program>
void dot(std::ostream& out) {
  dot(out, account_of<Program>());
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
