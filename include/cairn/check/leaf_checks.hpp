// Checks of the leaves of a whole program: names, random keys, states and caches. Each check returns `sound` or a
// mistake.
#pragma once

#include "cairn/check/names.hpp"

namespace cairn::detail {

/// Rejects one name for two leaves.
struct names_are_one_leaf {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.wrong.conflict == graphs::none) {
      return sound{};
    } else {
      using leaf = shown_leaf<Compiled, g.wrong.conflict>;
      constexpr auto name = leaf_name<Compiled, g.wrong.conflict>;
      constexpr bool is_parameter = leaf::op.what == graphs::role::parameter;
      using named = std::conditional_t<is_parameter, about<fact::parameter, name>, about<fact::input, name>>;
      return conflict_of<named, leaf, shown_result<*g.wrong.rival>>{};
    }
  }
};

/// Returns the first leaf without a name of its own, or none. The full name of such a leaf is empty or ends with a dot.
template <class Graph>
constexpr int find_empty_name(const Graph& g) {
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaf_op(i).what > graphs::role::random) continue;  // other leaves have no names
    const std::string_view name = g.name(g.leaves[i]);
    if (name.empty() || name.back() == '.') return i;
  }
  return graphs::none;
}
/// Rejects an empty name of a leaf, and one name for two leaves. The leaves in the body of a scan are checked in the
/// graph around the scan, because the graph of the body has leaves without names for the arguments of the body.
struct leaves_have_own_names {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int nameless = find_empty_name(Compiled::graph);
    if constexpr (nameless == graphs::none) return names_are_one_leaf::of<Compiled>();
    else
      return mistake<misuse::empty_name, top_scope, about<fact::in, leaf_name<Compiled, nameless>>,
                     fact::given<tensor_fact<shown_leaf<Compiled, nameless>>>>{};
  }
};

/// Rejects two layers with the same full name, of which neither is shared.
struct layers_have_own_names {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& wrong = Compiled::graph.wrong;
    if constexpr (wrong.applied_twice == graphs::none) {
      return sound{};
    } else {
      constexpr bool is_random = Compiled::graph.leaf_op(wrong.applied_twice).what == graphs::role::random;
      constexpr auto name = leaf_name<Compiled, wrong.applied_twice>;
      using rule = std::conditional_t<is_random, misuse::same_random_key, misuse::same_layer_name>;
      using named = std::conditional_t<is_random, about<fact::key, name>, about<fact::parameter, name>>;
      return mistake<rule, top_scope, named, fact::given<tensor_fact<shown_value<Compiled, wrong.first_layer>>>,
                     fact::given<tensor_fact<shown_value<Compiled, wrong.second_layer>>>>{};
    }
  }
};

/// Two operations that draw from one key, and the key; none if there are no such operations.
struct same_key {
  int key = graphs::none, one = graphs::none, other = graphs::none;
};
template <class Graph>
constexpr same_key find_same_key(const Graph& g) {
  bool random = false;
  for (int i = 0; i < g.leaf_count; ++i) random |= g.leaf_op(i).what == graphs::role::random;
  if (!random) return {};
  int readers[Graph::capacity] = {};  // by key: 1 + the first value that is drawn from it, or 0
  for (int v = 0; v < g.node_count; ++v) {
    const graphs::node& n = g.nodes[v];
    if (n.order > 0 || n.result_index > 0) continue;  // a gradient may repeat the draw of its operation
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int key = g.argument(v, i);
      if (g.op(key).what != graphs::role::random) continue;
      const int first = readers[key] == 0 ? v : readers[key] - 1;
      bool same = same_address(g.nodes[first].op, n.op);
      for (int k = 0; same && k < n.op->argument_count; ++k) same = g.argument(first, k) == g.argument(v, k);
      if (!same) return {key, first, v};
      readers[key] = first + 1;
    }
  }
  return {};
}
struct keys_are_drawn_from_once {
  template <class Compiled>
  static constexpr auto of() {
    constexpr same_key twice = find_same_key(Compiled::graph);
    if constexpr (twice.key == graphs::none) return sound{};
    else
      return mistake<misuse::same_random_key, top_scope, about<fact::key, node_name<Compiled, twice.key>>,
                     fact::given<tensor_fact<shown_value<Compiled, twice.one>>>,
                     fact::given<tensor_fact<shown_value<Compiled, twice.other>>>>{};
  }
};

/// Rejects a state that would get two different new values.
struct states_become_one_value {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int state = Compiled::graph.wrong.updated_twice;
    if constexpr (state == graphs::none) return sound{};
    else return mistake<misuse::two_updates, top_scope, about<fact::state, leaf_name<Compiled, state>>>{};
  }
};

/// A batch norm over one row, and the first state that it updates; none if there is no such norm. A synchronized batch
/// norm has a row of each shard.
struct one_row {
  int norm = graphs::none, state = graphs::none;
};
template <class Graph>
constexpr one_row find_one_row(const Graph& g) {
  one_row found;
  bool depends[Graph::capacity] = {}, averaged[Graph::capacity] = {};
  for (int v = 0; v < g.node_count; ++v) {
    if (g.op(v).averages_over_shards) averaged[g.head(g.argument(v, 0))] = true;
  }
  for (int v = 0; v < g.node_count; ++v) {
    if (found.norm == graphs::none && g.op(v).of_single_numbers && !averaged[v]) found.norm = v;
    depends[v] = found.norm != graphs::none && g.head(v) == found.norm;
    for (int i = 0; i < g.op(v).argument_count; ++i) depends[v] |= depends[g.argument(v, i)];
  }
  for (int i = g.leaf_count; i-- > 0;) {
    if (g.leaves[i].next_value != graphs::none && depends[g.leaves[i].next_value]) found.state = i;
  }
  return found;
}
struct batches_have_rows {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr one_row found = find_one_row(g);
    if constexpr (found.state == graphs::none) return sound{};
    else
      return mistake<misuse::one_row_batch_norm, top_scope, about<fact::state, leaf_name<Compiled, found.state>>,
                     fact::given<tensor_fact<shown_value<Compiled, g.argument(found.norm, 0)>>>>{};
  }
};

/// Rejects a cache in a program: only predictors have caches.
struct caches_are_of_predictors {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int cache = [] {
      int i = 0;
      while (i < g.leaf_count && g.leaf_op(i).what != graphs::role::cache) ++i;
      return i;
    }();
    if constexpr (cache == g.leaf_count) return sound{};
    else return mistake<misuse::cache_in_program, top_scope, about<fact::state, leaf_name<Compiled, cache>>>{};
  }
};

/// Rejects random values in a predictor. A predictor draws nothing, so the program's random values must be replaced
/// there.
struct nothing_is_random {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int drawn = [] {
      constexpr const auto& s = Compiled::schedule;
      for (int v = 0; v < s.node_count; ++v) {
        if (s.op(v).what == graphs::role::random) return s.origin[v];
      }
      return graphs::none;
    }();
    if constexpr (drawn == graphs::none) return sound{};
    else return mistake<misuse::random_in_predictor, top_scope, about<fact::key, node_name<Compiled, drawn>>>{};
  }
};

}  // namespace cairn::detail
