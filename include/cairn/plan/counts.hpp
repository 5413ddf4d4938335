// The counts of a whole batch. A program that divides its batch computes the arguments of `over_parts` for all
// microbatches before the first of them runs. They have a small plan of their own, which shares the leaves and the
// arena of the program.
#pragma once

#include "cairn/plan/compile.hpp"

namespace cairn::plans {

/// Returns how many values of a graph are averaged over the microbatches.
template <class Graph>
constexpr int number_of_counts(const Graph& g) {
  int n = 0;
  for (int i = 0; i < g.leaf_count; ++i) n += g.leaves[i].mean_of != none;
  return n;
}

/// The part of a model that computes its counts. Its outputs are the counts, in the order of their leaves.
template <class Model>
struct counting_model {
  using numbers = typename Model::numbers;
  using purpose = plans::purpose<numbers, false, false, lang::name_list<>, lang::name_list<>, lang::name_list<>>;
  using real = typename Model::real;
  static constexpr int order = Model::order;
  static constexpr result_bases bases_of_results = result_bases::together;

  static constexpr auto graph = [] {
    auto g = Model::graph;
    g.output_count = 0;
    for (int i = 0; i < g.leaf_count; ++i) {
      g.leaves[i].next_value = none;
      if (g.leaves[i].mean_of != none) g.outputs[g.output_count++] = g.leaves[i].mean_of;
    }
    g.result_count = g.output_count;
    return g;
  }();
  static constexpr auto gradient = undifferentiated<gradient_size(graph)>(graph);
  static constexpr auto chosen = choose_leaves<purpose>(graph);
};

/// The plan of a program's counts.
template <class Compiled>
using counts_of = compiled<counting_model<typename Compiled::model>, all_levels, Compiled::threads>;

}  // namespace cairn::plans
