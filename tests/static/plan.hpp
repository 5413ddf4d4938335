// Helpers of the static suite. They return the graph of a model as a formula, how often an operation runs, and what is
// stored.
#pragma once

#include "cairn/check/model.hpp"

namespace cairn::test {

/// The plan of a model's forward pass. The result may have any shape.
template <auto Model, class... Options>
using forward_of = detail::compiled_of<Model, false, Options...>;
/// The plan of a training step.
template <auto Loss, class... Options>
using step_of = detail::compiled_of<Loss, true, Options...>;

constexpr bool is_leaf(const graphs::node& n) { return graphs::is_leaf(n.op->what); }
constexpr bool is_view(const graphs::node& n) { return n.op->what == graphs::role::view; }

/// Counts the plan steps that copy tensors for a concatenation.
template <class Plan>
constexpr int copies = [] {
  int n = 0;
  for (int i = 0; i < Plan::steps.step_count; ++i) {
    const int kernel = Plan::steps.steps[i].kernel;
    n += kernel != graphs::none && Plan::schedule.op(kernel).name == "concatenate";
  }
  return n;
}();

/// The computation of a value as text: "mul(gelu(x), tanh(x))".
struct formula {
  char text[1000] = {};
  std::size_t length = 0;

  constexpr void write(std::string_view more) {
    for (char c : more) text[length++] = c;
  }
  constexpr void write_number(std::int64_t n) {
    if (n >= 10) write_number(n / 10);
    text[length++] = static_cast<char>('0' + n % 10);
  }
  template <class Graph>
  constexpr void write(const Graph& g, const auto& values, int v) {
    const graphs::operation& op = values.op(v);
    for (int i = 0; i < g.leaf_count; ++i) {
      if (&g.leaf_op(i) == &op && g.leaves[i].node == v) return write(g.name(g.leaves[i]));
    }
    write(op.name);
    if (op.result_count > 1) {
      write(".");
      write_number(values.nodes[v].result_index);
    }
    for (int i = 0; i < op.argument_count; ++i) {
      write(i == 0 ? "(" : ", ");
      write(g, values, values.argument(v, i));
    }
    if (op.argument_count > 0) write(")");
  }
  constexpr int count(char wanted) const {
    int n = 0;
    for (std::size_t i = 0; i < length; ++i) n += text[i] == wanted;
    return n;
  }
  friend constexpr bool operator==(const formula& a, std::string_view b) {
    return std::string_view(a.text, a.length) == b;
  }
};

/// The plan steps in order. Fused loops stand in brackets, and `|` marks the turn: "[exp add] softmax | [mul]".
/// Operations with several results are named once.
template <class Plan>
constexpr formula steps = [] {
  constexpr const auto& f = Plan::steps;
  formula out;
  for (int i = 0; i < f.step_count; ++i) {
    if (i > 0) out.write(i == f.turn ? " | " : " ");
    if (f.steps[i].has_loop()) out.write("[");
    bool first = true;
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      const graphs::node& n = Plan::schedule.nodes[f.members[m]];
      if (n.result_index > 0) continue;
      if (!first) out.write(" ");
      out.write(n.op->name);
      first = false;
    }
    if (f.steps[i].has_loop()) out.write("]");
  }
  return out;
}();
template <auto Model>
constexpr formula steps_of = steps<forward_of<Model>>;

/// The formula of a model's result.
template <auto Model>
constexpr formula written = [] {
  constexpr const auto& g = forward_of<Model>::graph;
  formula f;
  f.write(g, g, g.outputs[0]);
  return f;
}();

/// The formula of a parameter's gradient, before anything is recomputed.
template <class Step>
constexpr formula gradient_of(std::string_view parameter) {
  formula f;
  f.write(Step::graph, Step::gradient, Step::gradient.gradient[Step::graph.find(graphs::role::parameter, parameter)]);
  return f;
}

/// Counts the operations of a model. With a name, only the operations of this name are counted. Leaves are not
/// operations.
template <auto Model>
constexpr int operations(std::string_view name = {}) {
  constexpr const auto& g = forward_of<Model>::graph;
  int n = 0;
  for (int v = 0; v < g.node_count; ++v)
    n += !is_leaf(g.nodes[v]) && g.nodes[v].result_index == 0 && (name.empty() || g.op(v).name == name);
  return n;
}

/// How often the operations of one name run in a training step: in the forward pass, and in the backward pass including
/// recomputation.
struct runs {
  int forward = 0, backward = 0;
  friend constexpr bool operator==(const runs&, const runs&) = default;
};
template <class Step>
constexpr runs runs_of(std::string_view name) {
  constexpr const auto& s = Step::schedule;
  runs n;
  for (int v = 0; v < s.node_count; ++v) {
    if (s.nodes[v].result_index == 0) (v < s.turn ? n.forward : n.backward) += s.op(v).name == name;
  }
  return n;
}

/// Returns true if the backward pass reads a value that this operation computed in the forward pass.
template <class Step>
constexpr bool reads(std::string_view name) {
  constexpr const auto& s = Step::schedule;
  for (int v = s.turn; v < s.node_count; ++v) {
    for (int i = 0; i < s.op(v).argument_count; ++i) {
      const int a = s.root(s.argument(v, i));
      if (a < s.turn && !is_leaf(s.nodes[a]) && s.op(a).name == name) return true;
    }
  }
  return false;
}

template <class Step>
constexpr std::int64_t stored = detail::memory_in<Step>.stored_bytes;
template <class Step>
constexpr std::int64_t peak = detail::memory_in<Step>.peak_bytes;

/// Returns the segment with this path.
template <class Step>
constexpr segment_plan segment(std::string_view path) {
  segment_plan found{};
  for (const segment_plan& s : detail::segments_in<Step>) {
    if (s.path == path) found = s;
  }
  return found;
}
template <class Step>
constexpr int recomputed(std::string_view path) {
  return segment<Step>(path).recomputed_operations;
}

}  // namespace cairn::test
