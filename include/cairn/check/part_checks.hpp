// Checks of programs that divide their batch. Each check returns `sound` or a mistake.
#pragma once

#include "cairn/check/names.hpp"

namespace cairn::detail {

/// Returns the shape of an array that holds `count` microbatches of an input, one behind another along the first axis.
constexpr shape whole_batch_of(shape one, int count) {
  if (one.rank == 0) return count == 1 ? one : shape{count};
  one.extent[0] *= count;
  return one;
}
/// Returns the first extent of an array that holds all microbatches of an input. A tensor may not have an extent as
/// large.
constexpr std::int64_t rows_of_whole_batch(const shape& one, const lang::division& division) {
  return division.parts() * (one.rank == 0 ? 1 : one.extent[0]);
}
/// Returns the first input of which the array of the whole batch would be too large for a tensor, or none.
template <class Graph>
constexpr int find_too_large_input(const Graph& g, const lang::division& division) {
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaf_op(i).what != graphs::role::input) continue;
    const shape one = g.leaf_op(i).results[0].extents;
    const std::int64_t row = one.count() / (one.rank == 0 ? 1 : one.extent[0]);
    const std::int64_t rows = rows_of_whole_batch(one, division);
    if (!is_extent(rows) || !can_be_counted(rows, row)) return i;
  }
  return graphs::none;
}
/// Rejects a division by which the array of the whole batch would be too large for a tensor.
struct whole_batch_is_tensor {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr lang::division division = Compiled::model::purpose::division;
    constexpr int i = division.divides() ? find_too_large_input(g, division) : graphs::none;
    if constexpr (i == graphs::none) {
      return sound{};
    } else {
      constexpr std::int64_t rows = rows_of_whole_batch(g.leaf_op(i).results[0].extents, division);
      return mistake<misuse::positive_extents, top_scope, about<fact::input, leaf_name<Compiled, i>>,
                     fact::operation<"the whole batch">, fact::extents<rows>>{};
    }
  }
};
/// Rejects `over_parts` in the body of a scan: each iteration would have a mean of its own.
struct nothing_averages_over_parts {
  template <class Compiled>
  static constexpr auto of() {
    constexpr bool any = [] {
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::graph.leaves[i].mean_of != graphs::none) return true;
      }
      return false;
    }();
    if constexpr (any) return mistake<misuse::over_parts_in_scan, top_scope, fact::operation<"over_parts">>{};
    else return sound{};
  }
};

/// Returns true if an operation takes the mean over all shards.
template <class Graph>
constexpr bool averages_over_shards(const Graph& g) {
  bool any = false;
  for (int v = 0; v < g.node_count; ++v) any |= g.op(v).averages_over_shards;
  return any;
}
/// Rejects a mean over all shards in the body of a scan: a loop is one plan step, and cannot wait for other shards.
struct no_iteration_averages_over_shards {
  template <class Compiled>
  static constexpr auto of() {
    if constexpr (!averages_over_shards(Compiled::graph)) return sound{};
    else return mistake<misuse::synchronized_in_scan, top_scope, fact::operation<"scan">>{};
  }
};
/// Rejects a mean over all shards in a program whose shards run several microbatches one after another.
struct no_microbatch_averages_over_shards {
  template <class Compiled>
  static constexpr auto of() {
    constexpr lang::division division = Compiled::model::purpose::division;
    if constexpr (division.microbatches == 1 || !averages_over_shards(Compiled::graph)) return sound{};
    else return mistake<misuse::synchronized_microbatches, top_scope, fact::operation<"microbatch">>{};
  }
};

/// Rejects an output that is no single real number, because outputs become means over the microbatches.
struct outputs_have_means {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int other = [] {
      for (int i = 0; i < g.result_count; ++i) {
        const graphs::result_info& made = g.result(g.outputs[i]);
        if (made.extents.rank > 0 || made.element.type != dtype::real) return g.outputs[i];
      }
      return graphs::none;
    }();
    if constexpr (!Compiled::model::purpose::division.divides() || other == graphs::none) return sound{};
    else return mistake<misuse::output_without_mean, top_scope, fact::got<tensor_fact<shown_value<Compiled, other>>>>{};
  }
};

/// Returns a leaf that does not come with the batch and on which an argument of `over_parts` depends, or none.
template <class Graph>
constexpr int other_leaf_of_counts(const Graph& g) {
  bool counted[Graph::capacity] = {};
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaves[i].mean_of != graphs::none) counted[g.leaves[i].mean_of] = true;
  }
  for (int v = g.node_count; v-- > 0;) {
    if (!counted[v]) continue;
    for (int i = 0; i < g.op(v).argument_count; ++i) counted[g.argument(v, i)] = true;
  }
  for (int i = 0; i < g.leaf_count; ++i) {
    if (counted[g.leaves[i].node] && g.leaf_op(i).what != graphs::role::input) return i;
  }
  return graphs::none;
}
/// Rejects a count of the whole batch that depends on more than inputs. Counts are computed before the first
/// microbatch runs.
struct counts_depend_on_inputs {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int leaf = other_leaf_of_counts(Compiled::graph);
    if constexpr (leaf == graphs::none) return sound{};
    else
      return mistake<misuse::denominator_of_parameters, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
  }
};

/// Rejects a state in a program with shards, if the model does not say how the states of the shards are joined.
struct states_are_joined {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int state = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (g.leaves[i].next_value != graphs::none && g.leaves[i].join == shard_join::unsaid) return i;
      }
      return graphs::none;
    }();
    if constexpr (Compiled::model::purpose::division.shards == 1 || state == graphs::none) return sound{};
    else return mistake<misuse::state_in_shards, top_scope, about<fact::state, leaf_name<Compiled, state>>>{};
  }
};

}  // namespace cairn::detail
