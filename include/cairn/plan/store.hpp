// Decides which values are stored as bf16, and inserts conversions. Lowering and differentiation know real numbers
// only; their operations describe which arguments the kernels read as bf16, and which results are rounded. In a graph
// without such operations nothing changes.
//
// Each value is computed once. Readers of a rounded value read it as bf16, also if the float is stored as well. The
// float is stored if it leaves the graph: as an output, as the next value of a state, or as the gradient of a leaf.
#pragma once

#include "cairn/plan/differentiate.hpp"

namespace cairn::plans {

/// A graph and its gradient, as they are stored.
template <class Graph, class Gradient>
struct stored_graphs {
  Graph graph;
  Gradient gradient;
};

/// Returns true if a value may have to be stored as bf16, or converted to it or from it.
template <class Gradient>
constexpr bool may_store_bf16(const Gradient& d) {
  for (int v = 0; v < d.node_count; ++v) {
    if (d.op(v).bf16_handling != graphs::rounding::as_typed) return true;
  }
  return false;
}

namespace detail {
template <class Graph, class Gradient>
struct storer {
  static constexpr int capacity = Gradient::capacity;
  const Graph& g;
  const Gradient& d;
  stored_graphs<Graph, Gradient> out{g, {}};
  // By value of `d`.
  const graphs::operation* form[capacity] = {};  ///< the operation that computes it, for the types of its arguments
  bool is_bf16[capacity] = {};                   ///< readers read it as bf16
  bool leaves_as_float[capacity] = {};           ///< it is rounded, and its float is stored as well
  bool float_gradient[capacity] = {};            ///< it is the gradient of floats alone, so it is not rounded
  bool is_parameter_function[capacity] = {};     ///< it is a function of parameters, states and constants alone
  int read_as[capacity] = {};                    ///< its number in `out`, as readers read it
  int as_float[capacity] = {};                   ///< the number of its float in `out`, or none
  // By value of `out`.
  int conversion[capacity] = {};  ///< the latest conversion of it that readers share, or none

  constexpr const graphs::result_info& described(int v) const { return form[v]->results[d.nodes[v].result_index]; }
  constexpr bool only_moves(int v) const {
    return d.op(v).what == graphs::role::view || d.op(v).what == graphs::role::map;
  }
  /// Returns true if v is a parameter that is stored as bf16, or a view or map of one. Its numbers are exact in bf16.
  constexpr bool is_weight(int v) const {
    if (!is_bf16[v]) return false;
    while (only_moves(v)) v = d.argument(v, 0);
    return d.op(v).what == graphs::role::parameter;
  }

  /// Returns the form of an operation that fits its arguments. If the argument that decides is a float that is not
  /// rounded, the form reads floats only.
  constexpr const graphs::operation* form_for(int v) const {
    const graphs::operation& op = d.op(v);
    return !cairn::detail::same_address(op.with_float_arguments, nullptr) &&
                   !is_bf16[d.argument(v, op.precision_argument)]
               ? op.with_float_arguments
               : &op;
  }
  /// Returns true if readers of v read bf16.
  constexpr bool is_rounded(int v) const {
    const graphs::result_info& r = described(v);
    if (r.element.type == dtype::bf16 && r.has_type_bf16) return true;
    if (float_gradient[v]) return false;
    if (r.element.type == dtype::bf16) return true;
    switch (form[v]->bf16_handling) {
      case graphs::rounding::as_typed:
        return false;
      case graphs::rounding::follows_arguments: {
        bool any = false;
        for (int i = 0; i < form[v]->argument_count; ++i) {
          const int a = d.argument(v, i);
          any |= is_bf16[a] && (only_moves(v) || !is_weight(a));
        }
        return any && (r.is_rounded || (only_moves(v) && !cairn::detail::same_address(r.to_bf16, nullptr)));
      }
      default:
        return r.is_rounded;
    }
  }
  /// Decides which values are read as bf16. The gradient of a value has the type of the value. A value that is the
  /// gradient of several values is float only if all of them are.
  constexpr void choose_types() {
    int first[capacity], next[2 * Gradient::argument_capacity + 1];  // lists of the pairs of each value
    for (int& pair : first) pair = none;
    for (int i = 0; i < d.gradient_pair_count; ++i) {
      next[i] = first[d.gradient_pairs[i].value];
      first[d.gradient_pairs[i].value] = i;
    }
    for (int v = 0; v < d.node_count; ++v) {
      form[v] = d.nodes[v].result_index == 0 ? form_for(v) : form[v - 1];
      float_gradient[v] = first[v] != none;
      for (int i = first[v]; i != none; i = next[i]) {
        const int of = d.gradient_pairs[i].of;
        float_gradient[v] &= !is_bf16[of] || is_weight(of);
      }
      is_bf16[v] = is_rounded(v);
    }
  }
  /// Finds the values whose floats leave the graph. A view or a map of a float needs the float that it moves.
  constexpr void find_floats() {
    const auto note = [&](int v) {
      if (v != none) leaves_as_float[v] |= is_bf16[v] && !described(v).has_type_bf16;
    };
    for (int i = 0; i < g.output_count; ++i) note(g.outputs[i]);
    for (int i = 0; i < g.leaf_count; ++i) {
      note(d.gradient[i]);
      note(g.leaves[i].mean_of);
    }
    for (int v = d.node_count; v-- > 0;) {
      if (only_moves(v) && (leaves_as_float[v] || !is_bf16[v])) note(d.argument(v, 0));
    }
  }
  constexpr void find_parameter_functions() {
    for (int v = 0; v < d.turn; ++v) {
      const graphs::operation& op = d.op(v);
      bool of_parameters = graphs::is_persistent(op.what) || graphs::is_constant(op.what) || op.argument_count > 0;
      for (int i = 0; i < op.argument_count; ++i) of_parameters &= is_parameter_function[d.argument(v, i)];
      is_parameter_function[v] = of_parameters;
    }
  }

  constexpr graphs::node& node(int number) { return out.gradient.nodes[number]; }
  /// Appends the results of an operation, which are in the regions of value `like`. Returns the first result.
  constexpr int append(const graphs::operation* op, const int* arguments, int like) {
    Gradient& to = out.gradient;
    const int made = to.node_count, begin = to.argument_count;
    for (int i = 0; i < op->argument_count; ++i) to.arguments[to.argument_count++] = arguments[i];
    for (int r = 0; r < op->result_count; ++r) {
      const graphs::node& n = d.nodes[like];
      conversion[to.node_count] = none;
      to.nodes[to.node_count++] = {op, op->results + r, begin, r, n.region, n.open_region, n.order};
    }
    return made;
  }
  /// Moves a value of `out`, and the values that it is computed from, to region `to`, which contains their regions.
  constexpr void move_out(int number, int to) {
    if (node(number).region == to || graphs::is_leaf(node(number).op->what)) return;
    node(number).region = node(number).open_region = to;
    for (int i = 0; i < node(number).op->argument_count; ++i) {
      const int a = out.gradient.argument(number, i);
      move_out(a, graphs::common_region(g.regions, node(a).region, to));
    }
  }
  /// Returns value v, converted by operation `by` for `reader`. A region and the regions inside of it share one
  /// conversion. A function of parameters alone is converted once, in the innermost region that contains all readers.
  /// A conversion for a gradient is shared only with values that have the same open region.
  constexpr int converted(const graphs::operation* by, int v, int reader) {
    const graphs::node& n = d.nodes[reader];
    const int from = read_as[v], known = conversion[from];
    const bool of_parameters =
        is_parameter_function[v] && n.order == 0 && reader < d.turn && !g.regions[n.open_region].is_parameter_function;
    if (known != none) {
      const graphs::node& there = node(known);
      const bool ordinary = there.open_region == there.region || there.open_region == n.open_region;
      if (ordinary && graphs::common_region(g.regions, there.region, n.region) == there.region) return known;
      if (of_parameters) {
        move_out(known, graphs::common_region(g.regions, there.region, n.region));
        return known;
      }
    }
    return conversion[from] = append(by, &from, reader);
  }
  /// Returns the number of argument number i of value v, in the type that the operation reads.
  constexpr int argument_of(int v, int i) {
    const int a = d.argument(v, i);
    const graphs::operation& op = *form[v];
    if (op.bf16_handling == graphs::rounding::as_typed) return read_as[a];
    if (op.bf16_handling == graphs::rounding::follows_arguments) {
      const bool moves_float = only_moves(v) && is_bf16[a] && (leaves_as_float[v] || !is_bf16[v]);
      return moves_float ? as_float[a] : read_as[a];
    }
    const graphs::result_info& read = *node(read_as[a]).result;
    const graphs::operation* const by = op.reads_bf16(i) == is_bf16[a] ? nullptr
                                        : is_bf16[a]                   ? read.to_float
                                                                       : read.to_bf16;
    return cairn::detail::same_address(by, nullptr) ? read_as[a] : converted(by, a, v);
  }
  /// Appends the operation whose first result is v, with the conversions that it needs.
  constexpr void append_operation(int v) {
    const graphs::operation* op = form[v];
    bool makes_float = false;  // a result that the kernel would round has to be float
    for (int r = 0; r < op->result_count; ++r) {
      const bool rounds = op->results[r].element.type == dtype::bf16 && !op->results[r].has_type_bf16;
      makes_float |= rounds && (leaves_as_float[v + r] || !is_bf16[v + r]);
    }
    if (makes_float && !cairn::detail::same_address(op->with_float_results, nullptr)) op = op->with_float_results;
    graphs::stack<int> arguments;
    for (int i = 0; i < op->argument_count; ++i) arguments.push(argument_of(v, i));
    const int made = append(op, arguments.begin(), v);
    const bool loop_rounds = op->bf16_handling == graphs::rounding::follows_arguments;
    for (int r = 0; r < op->result_count; ++r) {
      const graphs::result_info*& result = node(made + r).result;
      if (loop_rounds && is_bf16[v + r] && !leaves_as_float[v + r] && result->element.type != dtype::bf16)
        result = result->to_bf16->results;
    }
    for (int r = 0; r < op->result_count; ++r) append_versions(v + r, made + r);
  }
  /// Appends what else is needed of value v, which is value `made` of `out`: the rounded number of a float, or the
  /// float of a bf16 number.
  constexpr void append_versions(int v, int made) {
    const graphs::result_info& result = *node(made).result;
    read_as[v] = as_float[v] = made;
    if (result.element.type != dtype::bf16) {
      if (is_bf16[v]) read_as[v] = node(made).bf16_version = append(result.to_bf16, &made, v);
    } else if (!result.has_type_bf16 && (leaves_as_float[v] || !is_bf16[v])) {
      as_float[v] = append(result.to_float, &made, v);
      if (!is_bf16[v]) read_as[v] = as_float[v];
    }
  }

  constexpr void renumber() {
    Graph& graph = out.graph;
    Gradient& gradient = out.gradient;
    const auto read = [&](int& v) { v = v == none ? none : read_as[v]; };
    const auto left = [&](int& v) { v = v == none ? none : leaves_as_float[v] ? as_float[v] : read_as[v]; };
    for (int i = 0; i < g.leaf_count; ++i) {
      read(graph.leaves[i].node);
      left(graph.leaves[i].next_value);
      left(graph.leaves[i].mean_of);
      gradient.gradient[i] = d.gradient[i];
      gradient.earlier[i] = d.earlier[i];
      left(gradient.gradient[i]);
      read(gradient.earlier[i]);
    }
    for (int i = 0; i < g.output_count; ++i) left(graph.outputs[i]);
    for (int i = 0; i < g.stored_value_count; ++i) read(graph.stored_values[i].node);
    for (int i = 0; i < g.tag_count; ++i) read(graph.tags[i].node);
    read(graph.cotangent);
    for (int* v : {&graph.wrong.independent, &graph.wrong.first_layer, &graph.wrong.second_layer}) read(*v);
    for (int r = 0; r <= Graph::size.regions; ++r) gradient.reached[r] = d.reached[r];
    gradient.gradient_of_scan = d.gradient_of_scan;
    graph.node_count = gradient.turn;
    graph.argument_count = 0;
    for (int v = 0; v < gradient.turn; ++v) {
      graph.nodes[v] = gradient.nodes[v];
      if (graph.nodes[v].result_index == 0) graph.argument_count += graph.op(v).argument_count;
    }
    for (int i = 0; i < graph.argument_count; ++i) graph.arguments[i] = gradient.arguments[i];
  }

  constexpr void run() {
    choose_types();
    find_floats();
    find_parameter_functions();
    for (int v = 0; v < d.node_count; v += form[v]->result_count) {
      if (v == d.turn) out.gradient.turn = out.gradient.node_count;
      append_operation(v);
    }
    if (d.turn == d.node_count) out.gradient.turn = out.gradient.node_count;
    renumber();
  }
};
}  // namespace detail

/// Returns the graph and its gradient with the types in which values are stored.
template <class Graph, class Gradient>
constexpr auto store(const Graph& g, const Gradient& d) {
  detail::storer<Graph, Gradient> s{g, d};
  s.run();
  return s.out;
}

/// A graph and its gradient as they are stored. If no value can be bf16, they are the given ones.
template <const auto& Lowered, const auto& Differentiated>
struct stored {
  static constexpr const auto& graph = Lowered;
  static constexpr const auto& gradient = Differentiated;
};
template <const auto& Lowered, const auto& Differentiated>
  requires(may_store_bf16(Differentiated))
struct stored<Lowered, Differentiated> {
  static constexpr auto both = store(Lowered, Differentiated);
  static constexpr const auto& graph = both.graph;
  static constexpr const auto& gradient = both.gradient;
};

}  // namespace cairn::plans
