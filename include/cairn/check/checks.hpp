// Checks of a whole program. They find mistakes that a single expression cannot show. Each check returns `sound` or a
// mistake.
#pragma once

#include "cairn/check/figures.hpp"
#include "cairn/check/names.hpp"

namespace cairn::detail {

/// Rejects one name for two leaves.
struct names_are_one_leaf {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.wrong.conflict == graph::none) {
      return sound{};
    } else {
      using leaf = shown_leaf<Compiled, g.wrong.conflict>;
      constexpr auto name = leaf_name<Compiled, g.wrong.conflict>;
      constexpr bool is_parameter = leaf::op.what == graph::role::parameter;
      using named = std::conditional_t<is_parameter, about<fact::parameter, name>, about<fact::input, name>>;
      return conflict_of<named, leaf, shown_result<*g.wrong.rival>>{};
    }
  }
};

/// Rejects two layers with the same full name, of which neither is shared.
struct layers_have_own_names {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& wrong = Compiled::graph.wrong;
    if constexpr (wrong.applied_twice == graph::none) {
      return sound{};
    } else {
      return mistake<misuse::same_layer_name, top_scope,
                     about<fact::parameter, leaf_name<Compiled, wrong.applied_twice>>,
                     fact::given<tensor_fact<shown_value<Compiled, wrong.first_layer>>>,
                     fact::given<tensor_fact<shown_value<Compiled, wrong.second_layer>>>>{};
    }
  }
};

/// Two operations that draw from one key, and the key; none if there are no such operations.
struct same_key {
  int key = graph::none, one = graph::none, other = graph::none;
};
template <class Graph>
constexpr same_key find_same_key(const Graph& g) {
  bool random = false;
  for (int i = 0; i < g.leaf_count; ++i) random |= g.leaf_op(i).what == graph::role::random;
  if (!random) return {};
  int readers[Graph::capacity] = {};  // by key: 1 + the first value that is drawn from it, or 0
  for (int v = 0; v < g.node_count; ++v) {
    const graph::node& n = g.nodes[v];
    // Two kinds of values may repeat a draw: a gradient repeats the draw of its operation, and a value may be
    // recomputed in float32.
    if (n.order > 0 || n.result_index > 0 || n.float_version_of != graph::none) continue;
    for (int i = 0; i < n.op->argument_count; ++i) {
      const int key = g.argument(v, i);
      if (g.op(key).what != graph::role::random) continue;
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
    if constexpr (twice.key == graph::none) return sound{};
    else
      return mistake<misuse::same_random_key, top_scope, about<fact::key, node_name<Compiled, twice.key>>,
                     fact::given<tensor_fact<shown_value<Compiled, twice.one>>>,
                     fact::given<tensor_fact<shown_value<Compiled, twice.other>>>>{};
  }
};

/// Rejects a gradient with respect to a value on which the scalar does not depend, and a gradient of a gradient of a
/// scan.
struct gradients_depend {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int value = g.wrong.independent;
    if constexpr (g.wrong.gradient_of_scan != graph::none || Compiled::gradient.gradient_of_scan != graph::none) {
      return mistake<misuse::loop_differentiated_twice, top_scope>{};
    } else if constexpr (value == graph::none) {
      return sound{};
    } else {
      using given = fact::given<tensor_fact<shown_value<Compiled, value>>>;
      if constexpr (g.op(value).what != graph::role::parameter)
        return mistake<misuse::zero_grad_argument, top_scope, given>{};
      else
        return mistake<misuse::zero_grad_argument, top_scope, given,
                       about<fact::parameter, node_name<Compiled, value>>>{};
    }
  }
};

/// Rejects a policy that fits nothing in its segment.
struct policies_fit {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr graph::misfit wrong = g.wrong.policy;
    if constexpr (wrong.region == 0) {
      return sound{};
    } else {
      using where = about<fact::segment, region_name<Compiled, wrong.region>>;
      if constexpr (wrong.name_length == 0) {
        return mistake<misuse::idle_policy, top_scope, where, fact::policy<wrong.policy>>{};
      } else {
        constexpr auto wanted = text_of_name<[] { return g.name(g.wrong.policy); }>;
        constexpr int known = nearest(g.tag_count, wanted, [=](int i) {
          const std::string_view name = g.name(g.tags[i]);
          // the tag exists, but outside of the segment
          return name == std::string_view(wanted) ? std::string_view{} : name;
        });
        if constexpr (known == graph::none)
          return mistake<misuse::unknown_tag, top_scope, where, about<fact::tag, wanted>>{};
        else
          return mistake<misuse::unknown_tag, top_scope, where, about<fact::tag, wanted>,
                         about<fact::nearest, tag_name<Compiled, known>>>{};
      }
    }
  }
};

/// Rejects a state that would get two different new values.
struct states_become_one_value {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int state = Compiled::graph.wrong.updated_twice;
    if constexpr (state == graph::none) return sound{};
    else return mistake<misuse::two_updates, top_scope, about<fact::state, leaf_name<Compiled, state>>>{};
  }
};

/// A batch norm over one row, and the first state that it updates; none if there is no such norm.
struct one_row {
  int norm = graph::none, state = graph::none;
};
template <class Graph>
constexpr one_row find_one_row(const Graph& g) {
  one_row found;
  bool depends[Graph::capacity] = {};
  for (int v = 0; v < g.node_count; ++v) {
    if (found.norm == graph::none && g.op(v).of_single_numbers) found.norm = v;
    depends[v] = found.norm != graph::none && g.head(v) == found.norm;
    for (int i = 0; i < g.op(v).argument_count; ++i) depends[v] |= depends[g.argument(v, i)];
  }
  for (int i = g.leaf_count; i-- > 0;) {
    if (g.leaves[i].next_value != graph::none && depends[g.leaves[i].next_value]) found.state = i;
  }
  return found;
}
struct batches_have_rows {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr one_row found = find_one_row(g);
    if constexpr (found.state == graph::none) return sound{};
    else
      return mistake<misuse::one_row_batch_norm, top_scope, about<fact::state, leaf_name<Compiled, found.state>>,
                     fact::given<tensor_fact<shown_value<Compiled, g.argument(found.norm, 0)>>>>{};
  }
};

/// Returns the first problem that a check finds with one of the names in a list.
template <class Compiled, class Check, fixed_string... Name>
constexpr auto first_problem_with(name_list<Name...>) {
  return first_problem(Check::template judge<Compiled, Name>()...);
}

template <class... Names, auto... Rule>
constexpr auto names_of_rules(rule_list<named_rule<Names, Rule>...>) {
  return (name_list<>{} + ... + Names{});
}

/// Rejects a name in freeze<...> or update<...> that stands for no parameter.
struct option_names_are_known {
  template <class Compiled, fixed_string Name>
  static constexpr auto judge() {
    constexpr const auto& g = Compiled::graph;
    constexpr bool known = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (g.leaf_op(i).what == graph::role::parameter && name_list<Name>::cover(g.name(g.leaves[i]))) return true;
      }
      return false;
    }();
    if constexpr (known) return sound{};
    else return not_found<Compiled, graph::role::parameter, fact::parameter, Name, misuse::unknown_in_option>();
  }
  template <class Compiled>
  static constexpr auto of() {
    using purpose = typename Compiled::model::purpose;
    using names = decltype(typename purpose::frozen{} + names_of_rules(typename purpose::updates{}));
    return first_problem_with<Compiled, option_names_are_known>(names{});
  }
};

/// Rejects a given cotangent of the first output that has the name of an input. The cotangent is lowered last, so it
/// must be the last node.
struct cotangent_has_a_name {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.cotangent == graph::none || g.cotangent == g.node_count - 1) return sound{};
    else return mistake<misuse::parameter_conflict, top_scope, about<fact::input, node_name<Compiled, g.cotangent>>>{};
  }
};

/// Rejects a first output that is differentiated without being a scalar and without a given cotangent.
struct loss_is_scalar {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.cotangent != graph::none || g.result(g.outputs[0]).extents.rank == 0) return sound{};
    else
      return mistake<misuse::loss_not_scalar, top_scope, fact::got<tensor_fact<shown_value<Compiled, g.outputs[0]>>>>{};
  }
};

/// Rejects a request for the gradient of an input that cannot have one.
struct wanted_inputs_have_gradients {
  template <class Compiled, fixed_string Name>
  static constexpr auto judge() {
    constexpr const auto& g = Compiled::graph;
    constexpr int i = g.find(graph::role::input, Name);
    constexpr bool is_parameter = g.find(graph::role::parameter, Name) != graph::none;
    using name = about<fact::input, Name>;
    if constexpr (i == graph::none && is_parameter) {
      return mistake<misuse::parameter_as_input, top_scope, about<fact::parameter, Name>>{};
    } else if constexpr (i == graph::none) {
      return not_found<Compiled, graph::role::input, fact::input, Name>();
    } else if constexpr (is_parameter) {
      return mistake<misuse::parameter_conflict, top_scope, name, about<fact::parameter, Name>>{};
    } else if constexpr (!Compiled::model::chosen.wanted[i]) {
      return mistake<misuse::gradient_of_indices, top_scope, name, fact::given<tensor_fact<shown_leaf<Compiled, i>>>>{};
    } else if constexpr (Compiled::gradient.gradient[i] == graph::none) {
      return mistake<misuse::zero_grad_input, top_scope, name>{};
    } else {
      return sound{};
    }
  }
  template <class Compiled>
  static constexpr auto of() {
    return first_problem_with<Compiled, wanted_inputs_have_gradients>(typename Compiled::model::purpose::wanted{});
  }
};

/// Returns the last operation that separates the loss from every leaf whose gradient is wanted, or none.
template <class Graph>
constexpr int last_separating_operation(const Graph& g, const bool* wanted) {
  bool reached[Graph::capacity] = {}, depends[Graph::capacity] = {};
  for (int i = 0; i < g.leaf_count; ++i) depends[g.leaves[i].node] = wanted[i];
  for (int v = 0; v < g.node_count; ++v) {
    for (int i = 0; i < g.op(v).argument_count; ++i) depends[v] |= depends[g.argument(v, i)];
  }
  reached[g.outputs[0]] = true;
  for (int v = g.outputs[0]; v >= 0; --v) {
    if (!reached[v] || !depends[v]) continue;
    if (same_address(g.op(v).vjp, nullptr) && !g.op(v).converts) return v;
    for (int i = 0; i < g.op(v).argument_count; ++i) reached[g.argument(v, i)] = true;
  }
  return graph::none;
}
/// Rejects a loss that has no gradient with respect to any leaf.
struct gradients_flow {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr bool flows = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (Compiled::gradient.gradient[i] != graph::none) return true;
      }
      return false;
    }();
    if constexpr (flows) {
      return sound{};
    } else {
      constexpr int cut = last_separating_operation(g, Compiled::model::chosen.wanted);
      if constexpr (cut == graph::none) return mistake<misuse::nothing_trained, top_scope>{};
      else
        return mistake<misuse::zero_grad_output, top_scope,
                       fact::operation<text_of_name<[] { return g.op(cut).name; }>>>{};
    }
  }
};

/// Rejects a segment in which nothing needs a gradient.
struct segments_are_differentiated {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int region = [] {
      for (int i = 1; i < Compiled::segments.count; ++i) {
        const int r = Compiled::segments.all[i].region;
        if (!Compiled::segments.all[i].placed && !Compiled::gradient.reached[r] &&
            !Compiled::graph.regions[r].may_be_useless)
          return r;
      }
      return 0;
    }();
    if constexpr (region == 0) return sound{};
    else return mistake<misuse::zero_grad_segment, top_scope, about<fact::segment, region_name<Compiled, region>>>{};
  }
};

/// Rejects a parameter that is trained and gets no gradient.
struct parameters_have_gradients {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int leaf = [] {
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::chosen.trained[i] && Compiled::gradient.gradient[i] == graph::none) return i;
      }
      return graph::none;
    }();
    if constexpr (leaf == graph::none) return sound{};
    else return mistake<misuse::zero_grad_parameter, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
  }
};

/// In a program with update rules, rejects a trained parameter for which there is no rule.
struct rules_are_for_parameters {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int leaf = [] {
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::chosen.trained[i] && Compiled::model::rules.of[i] == graph::none) return i;
      }
      return graph::none;
    }();
    if constexpr (Compiled::model::purpose::updates::count == 0 || leaf == graph::none) return sound{};
    else return mistake<misuse::without_rule, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
  }
};

/// Rejects an update rule that is for no parameter, because later rules replace it.
struct rules_are_used {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int idle = [] {
      constexpr int rules = Compiled::model::purpose::updates::count;
      bool used[rules + 1] = {};
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::rules.of[i] != graph::none) used[Compiled::model::rules.of[i]] = true;
      }
      for (int r = 0; r < rules; ++r) {
        if (!used[r]) return r;
      }
      return graph::none;
    }();
    if constexpr (idle == graph::none) return sound{};
    else return mistake<misuse::idle_rule, top_scope, fact::argument<idle>>{};
  }
};

/// The first segment that frees no more bytes than it costs, unless the user allowed the segment to be useless; 0 if
/// there is none. A segment is not judged if the forward pass recomputes one of its values for a gradient in the
/// forward pass: the segment then frees bytes there.
template <class Compiled>
inline constexpr int useless_segment_of = [] {
  constexpr const auto& in = Compiled::segments;
  constexpr const auto& s = Compiled::schedule;
  bool of_use[in.count] = {};
  for (int v = 0; v < s.turn; ++v) of_use[s.segment[v]] |= s.recomputes[v] != graph::none;
  for (int i = 1; i < in.count; ++i) {
    of_use[i] |= in.all[i].placed || Compiled::graph.regions[in.all[i].region].may_be_useless;
    if (!of_use[i] && Compiled::costs.interior_bytes[i] <= Compiled::costs.extra_bytes[i]) return i;
  }
  return 0;
}();
/// The same plan, without frozen parameters.
template <class Compiled>
struct unfrozen;
template <class Real, bool Trains, bool Accumulates, class Frozen, class Wanted, class Cotangent, class Updates,
          class Outputs, int BlockLevels, int Threads, class Placed>
struct unfrozen<
    plan::compiled<plan::model<plan::purpose<Real, Trains, Accumulates, Frozen, Wanted, Cotangent, Updates>, Outputs>,
                   BlockLevels, Threads, Placed>> {
  using purpose = plan::purpose<Real, Trains, Accumulates, name_list<>, Wanted, Cotangent>;
  using type = plan::compiled<plan::model<purpose, Outputs>, BlockLevels, Threads, Placed>;
};
/// Rejects a useless segment. If parameters are frozen, the segment must also be useless without freezing, because
/// another program may train these parameters.
struct segments_are_of_use {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int useless = useless_segment_of<Compiled>;
    if constexpr (useless == 0) {
      return sound{};
    } else if constexpr (Compiled::model::purpose::frozen::count > 0) {
      return of<typename unfrozen<Compiled>::type>();
    } else {
      constexpr auto path = region_name<Compiled, Compiled::segments.all[useless].region>;
      return mistake<misuse::useless_segment, top_scope, about<fact::segment, path>,
                     fact::frees<Compiled::costs.interior_bytes[useless]>,
                     fact::keeps<Compiled::costs.extra_bytes[useless]>>{};
    }
  }
};

/// Returns the outermost segment if it is the whole model, or 0. The segment must be the only outermost one. It must
/// read all parameters, of more than one layer, and no computed values.
template <class Graph, class Segments>
constexpr int whole_model_of(const Graph& g, const Segments& in) {
  int outermost = 0;
  for (int i = 1; i < in.count; ++i) {
    if (in.all[i].parent != 0) continue;
    if (outermost != 0) return 0;
    outermost = i;
  }
  if (outermost == 0 || in.all[outermost].placed) return 0;
  for (int v = 0; v < g.node_count; ++v) {
    for (int i = 0; i < g.op(v).argument_count; ++i) {
      const int a = g.argument(v, i);
      const bool parameter = g.op(a).what == graph::role::parameter;
      const bool computed = !graph::is_leaf(g.op(a).what) && in.of[a] == 0;
      if (in.of[v] == 0 ? parameter : computed) return 0;
    }
  }
  int parameters = 0;
  for (int i = 0; i < g.leaf_count; ++i) parameters += g.leaf_op(i).what == graph::role::parameter;
  return g.regions[in.all[outermost].region].may_be_useless || parameters <= 2 ? 0 : outermost;
}
/// Rejects a segment that is the whole model, if the arena is no smaller than without the segment.
struct segments_are_parts {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int whole = whole_model_of(Compiled::graph, Compiled::segments);
    if constexpr (whole == 0) {
      return sound{};
    } else {
      using peeled = plan::compiled<typename Compiled::model, 1, Compiled::threads>;
      if constexpr (peeled::layout.peak_bytes > Compiled::layout.peak_bytes) return sound{};
      else
        return mistake<misuse::whole_model_in_segment, top_scope,
                       about<fact::segment, region_name<Compiled, Compiled::segments.all[whole].region>>,
                       fact::peak_bytes<Compiled::layout.peak_bytes>, fact::as_block<peeled::layout.peak_bytes>>{};
    }
  }
};

/// Rejects a cache in a program: only predictors have caches.
struct caches_are_of_predictors {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int cache = [] {
      int i = 0;
      while (i < g.leaf_count && g.leaf_op(i).what != graph::role::cache) ++i;
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
        if (s.op(v).what == graph::role::random) return s.origin[v];
      }
      return graph::none;
    }();
    if constexpr (drawn == graph::none) return sound{};
    else return mistake<misuse::random_in_predictor, top_scope, about<fact::key, node_name<Compiled, drawn>>>{};
  }
};

}  // namespace cairn::detail
