// Writes a graph as text. A value takes one line: "%4 = matmul(%0, %1)", its shape, its segment.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/graph/graph.hpp"

#include <iomanip>
#include <locale>
#include <ostream>
#include <sstream>

namespace cairn::report {

namespace detail {
/// Writes the parts one after another, and then blanks up to a width of `width` characters.
void print_column(std::ostream& out, int width, const auto&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  out << text.view() << std::setw(width - static_cast<int>(text.view().size())) << "";
}

/// Writes extents as {16, 32}. A scalar is {}. If the numbers have another type than the program's real numbers, the
/// type follows: {16, 32} bf16.
struct extents_of {
  const shape& of;
  dtype type = dtype::real;
  friend std::ostream& operator<<(std::ostream& out, extents_of s) {
    out << '{';
    for (int axis = 0; axis < s.of.rank; ++axis) out << (axis > 0 ? ", " : "") << s.of.extent[axis];
    out << '}';
    switch (s.type) {
      case dtype::bf16:
        return out << " bf16";
      case dtype::f32:
        return out << " f32";
      case dtype::f64:
        return out << " f64";
      default:
        return out;
    }
  }
};

/// Writes how a value is computed, for example matmul(%0, %1), or the kind and the name of a leaf.
template <class Graph, class Values>
struct formula_of {
  const Graph& graph;
  const Values& values;
  int value;
  int leaf;  ///< index of the leaf that the value is, or none
  friend std::ostream& operator<<(std::ostream& out, formula_of f) {
    const graphs::operation& op = f.values.op(f.value);
    if (op.what == graphs::role::constant) return out << op.value;
    if (f.leaf != graphs::none) {
      const graphs::leaf& named = f.graph.leaves[f.leaf];
      const char* what = op.what == graphs::role::input     ? "input "
                         : op.what == graphs::role::random  ? "key "
                         : op.trainable                     ? "parameter "
                         : named.next_value != graphs::none ? "state "
                                                            : "frozen ";
      return out << what << f.graph.name(named);
    }
    out << op.name;
    if (op.result_count > 1) out << '.' << f.values.nodes[f.value].result_index;
    if (op.argument_count == 0) return out;
    out << '(';
    for (int i = 0; i < op.argument_count; ++i) out << (i > 0 ? ", %" : "%") << f.values.argument(f.value, i);
    return out << ')';
  }
};

/// Writes the line of value `number` of a table of values. `leaf` is the index of the leaf that the value is, or none.
/// `path` is the path of the value's segment.
template <class Graph, class Values>
void print(std::ostream& out, const Graph& g, const Values& values, int number, int leaf, std::string_view path) {
  print_column(out, 42, '%', number, " = ", formula_of<Graph, Values>{g, values, number, leaf});
  const graphs::result_info& made = values.result(number);
  const int width = made.element.type == dtype::bf16 ? 17 : 12;
  print_column(out, path.empty() ? 0 : width, extents_of{made.extents, made.element.type});
  out << path << '\n';
}
}  // namespace detail

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
