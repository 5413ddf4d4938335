// Builds the graph of a model.
#pragma once

#include "cairn/graph/gradient.hpp"

namespace cairn::graphs {

/// Stands for a leaf that a model does not have.
struct no_leaf {
  static constexpr lang::expression_traits traits{};
};
template <>
struct lowering<no_leaf> {
  static constexpr void count(counter&) {}
  template <class Target>
  static constexpr int into(builder&) {
    return none;
  }
};

/// An input that is the gradient of an output, if the user gives one. It has the output's shape and elements.
template <fixed_string Name, class Tensor>
struct cotangent_leaf : Tensor {
  static constexpr lang::expression_traits traits{};
};
template <fixed_string Name, class Tensor>
struct lowering<cotangent_leaf<Name, Tensor>> : named_leaf<cotangent_leaf<Name, Tensor>, Name, false> {
  static constexpr void describe(operation& o) { o.what = role::input; }
};

/// The most that lowering appends, without the gradients that the model itself takes.
template <class... Outputs>
inline constexpr sizes counted_sizes = [](int copies) {
  counter c;
  (lowering<Outputs>::count(c), ...);
  c.total += {.nodes = copies, .arguments = copies, .regions = 1};
  return c.total;
}(static_cast<int>(sizeof...(Outputs)));

/// Returns the most that lowering appends, including gradients that the model itself takes. How much these gradients
/// append is only known after they were lowered, so a model with gradients is lowered twice.
template <class Target, class... Outputs>
constexpr sizes size_of() {
  constexpr int outputs = static_cast<int>(sizeof...(Outputs));
  constexpr sizes size = with_conversions<Target>(counted_sizes<Outputs...>);
  if constexpr (((Outputs::traits.order == 0) && ...)) {
    return size;
  } else {
    graph<size> g;
    builder b;
    b.write_to(g);
    b.write_apart(size);
    (static_cast<void>(lowering<Outputs>::template into<Target>(b)), ...);
    sizes grown = size;
    grown.nodes = b.node_count + outputs;
    grown.arguments = b.argument_count + outputs;
    grown = with_conversions<Target>(grown);
    return grown;
  }
}

/// Returns what a program returns for `result`: the value itself, or a copy of it. A copy is needed in two cases:
/// - The value is a leaf that the training step changes before the caller reads it. This is a state or, if the step
///   `Updates` parameters, a parameter.
/// - The value is an input. A view of it would be a writable view of the caller's array, which may not live as long.
template <class Target, class Output, bool Updates>
constexpr int returned_value(builder& b, int result) {
  const int root = b.root(result);
  const operation& op = *b.nodes[root].op;
  bool copied = (Updates && op.trainable) || (op.what == role::input && Output::shape.rank > 0);
  for (int i = 0; i < b.leaf_count; ++i) copied |= b.leaves[i].node == root && b.leaves[i].next_value != none;
  return copied ? b.append(&copy_of<Target, lang::tensor_of<Output>>, &result) : result;
}

/// Copies the sizes of all tables to the graph, and adds the next values of states to its outputs.
constexpr void finish(auto& g, const builder& b) {
  g.node_count = b.node_count;
  g.argument_count = b.argument_count;
  g.leaf_count = b.leaf_count;
  g.region_count = b.region_count;
  g.stored_value_count = b.stored_value_count;
  g.tag_count = b.tag_count;
  g.character_count = b.character_count;
  g.most_groups = b.most_groups;
  g.wrong = b.wrong;
  for (int i = 0; i < b.gradient_pairs.count(); ++i) g.gradient_pairs[g.gradient_pair_count++] = b.gradient_pairs[i];
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaves[i].next_value != none) g.outputs[g.output_count++] = g.leaves[i].next_value;
  }
}

/// Lowers the outputs of a model, and the leaf that is the gradient of the first output, or no_leaf.
template <class Target, bool Updates, class Cotangent, class... Outputs>
constexpr auto build() {
  graph<size_of<Target, Outputs..., Cotangent>()> g;
  builder b;
  b.write_to(g);
  ((g.outputs[g.output_count++] = lowering<Outputs>::template into<Target>(b)), ...);
  g.result_count = g.output_count;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((g.outputs[I] = returned_value<Target, Outputs, Updates>(b, g.outputs[I])), ...);
  }(std::index_sequence_for<Outputs...>{});
  g.cotangent = lowering<Cotangent>::template into<Target>(b);
  finish(g, b);
  return g;
}

}  // namespace cairn::graphs
