// What only a whole program can show to be wrong: checks, each of which answers `sound` or with a mistake.
#pragma once

#include "cairn/check/figures.hpp"
#include "cairn/check/names.hpp"

namespace cairn::detail {

/// One name for two leaves.
struct names_are_one_leaf {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.wrong.conflict == ir::none) {
      return sound{};
    } else {
      using leaf = leaf_value<Compiled, g.wrong.conflict>;
      constexpr auto name = leaf_name<Compiled, g.wrong.conflict>;
      constexpr bool is_parameter = leaf::op.what == ir::role::parameter;
      using named = std::conditional_t<is_parameter, about<fact::parameter, name>, about<fact::input, name>>;
      return conflict_of<named, leaf, result_of<*g.wrong.rival>>{};
    }
  }
};

/// Two layers of one full name, of which neither is shared.
struct layers_have_own_names {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& wrong = Compiled::graph.wrong;
    if constexpr (wrong.applied_twice == ir::none) {
      return sound{};
    } else {
      return mistake<same_layer_name, top_scope, about<fact::parameter, leaf_name<Compiled, wrong.applied_twice>>,
                     fact::given<tensor_fact<value_of<Compiled, wrong.first_layer>>>,
                     fact::given<tensor_fact<value_of<Compiled, wrong.second_layer>>>>{};
    }
  }
};

/// Two operations that draw from one key, and the key; none where there are none.
struct same_key {
  int key = ir::none, one = ir::none, other = ir::none;
};
template <class Graph>
constexpr same_key find_same_key(const Graph& g) {
  bool random = false;
  for (int i = 0; i < g.leaf_count; ++i) random |= g.leaf_op(i).what == ir::role::random;
  if (!random) return {};
  int readers[Graph::capacity] = {};  // by key: one more than the first value drawn from it
  for (int v = 0; v < g.node_count; ++v) {
    const ir::node& n = g.nodes[v];
    // A gradient draws again what its operation drew, and so does a value that is computed in float a second time.
    if (n.order > 0 || n.number > 0 || n.copy_of != ir::none) continue;
    for (int i = 0; i < n.op->arguments; ++i) {
      const int key = g.argument(v, i);
      if (g.op(key).what != ir::role::random) continue;
      const int first = readers[key] == 0 ? v : readers[key] - 1;
      bool same = same_address(g.nodes[first].op, n.op);
      for (int k = 0; same && k < n.op->arguments; ++k) same = g.argument(first, k) == g.argument(v, k);
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
    if constexpr (twice.key == ir::none) return sound{};
    else
      return mistake<same_random_key, top_scope, about<fact::key, node_name<Compiled, twice.key>>,
                     fact::given<tensor_fact<value_of<Compiled, twice.one>>>,
                     fact::given<tensor_fact<value_of<Compiled, twice.other>>>>{};
  }
};

/// A gradient by a value on which the scalar does not depend; or of a gradient of a loop.
struct gradients_depend {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int by = g.wrong.independent;
    if constexpr (g.wrong.gradient_of_loop != ir::none || Compiled::gradient.gradient_of_loop != ir::none) {
      return mistake<loop_differentiated_twice, top_scope>{};
    } else if constexpr (by == ir::none) {
      return sound{};
    } else {
      using given = fact::given<tensor_fact<value_of<Compiled, by>>>;
      if constexpr (g.op(by).what != ir::role::parameter) return mistake<zero_grad_argument, top_scope, given>{};
      else return mistake<zero_grad_argument, top_scope, given, about<fact::parameter, node_name<Compiled, by>>>{};
    }
  }
};

/// A policy that fits nothing in its segment.
struct policies_fit {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr ir::misfit wrong = g.wrong.policy;
    if constexpr (wrong.region == 0) {
      return sound{};
    } else {
      using where = about<fact::segment, region_name<Compiled, wrong.region>>;
      if constexpr (wrong.name_length == 0) {
        return mistake<idle_policy, top_scope, where, fact::policy<wrong.policy>>{};
      } else {
        constexpr auto wanted = copied<[] { return g.name(g.wrong.policy); }>;
        constexpr int known = nearest(g.tag_count, wanted, [=](int i) {
          const std::string_view name = g.name(g.tags[i]);
          return name == std::string_view(wanted) ? std::string_view{} : name;  // it lies outside of the segment
        });
        if constexpr (known == ir::none) return mistake<unknown_tag, top_scope, where, about<fact::tag, wanted>>{};
        else
          return mistake<unknown_tag, top_scope, where, about<fact::tag, wanted>,
                         about<fact::nearest, tag_name<Compiled, known>>>{};
      }
    }
  }
};

/// A state that is to become two different values.
struct states_become_one_value {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int state = Compiled::graph.wrong.updated_twice;
    if constexpr (state == ir::none) return sound{};
    else return mistake<two_updates, top_scope, about<fact::state, leaf_name<Compiled, state>>>{};
  }
};

/// A batch norm over one row, and the first state that it updates; none where there is none.
struct one_row {
  int norm = ir::none, state = ir::none;
};
template <class Graph>
constexpr one_row find_one_row(const Graph& g) {
  one_row found;
  bool depends[Graph::capacity] = {};
  for (int v = 0; v < g.node_count; ++v) {
    if (found.norm == ir::none && g.op(v).of_single_numbers) found.norm = v;
    depends[v] = found.norm != ir::none && g.head(v) == found.norm;
    for (int i = 0; i < g.op(v).arguments; ++i) depends[v] |= depends[g.argument(v, i)];
  }
  for (int i = g.leaf_count; i-- > 0;) {
    if (g.leaves[i].after != ir::none && depends[g.leaves[i].after]) found.state = i;
  }
  return found;
}
struct batches_have_rows {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr one_row found = find_one_row(g);
    if constexpr (found.state == ir::none) return sound{};
    else
      return mistake<one_row_batch_norm, top_scope, about<fact::state, leaf_name<Compiled, found.state>>,
                     fact::given<tensor_fact<value_of<Compiled, g.argument(found.norm, 0)>>>>{};
  }
};

/// The first problem that a check finds with one of the names in a list.
template <class Compiled, class Check, fixed_string... Name>
constexpr auto first_problem_with(name_list<Name...>) {
  return first_problem(Check::template judge<Compiled, Name>()...);
}

template <class... Names, auto... Rule>
constexpr auto names_of_rules(rule_list<named_rule<Names, Rule>...>) {
  return (name_list<>{} + ... + Names{});
}

/// A name of freeze<...> or update<...> that stands for no parameter.
struct option_names_are_known {
  template <class Compiled, fixed_string Name>
  static constexpr auto judge() {
    constexpr const auto& g = Compiled::graph;
    constexpr bool known = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (g.leaf_op(i).what == ir::role::parameter && name_list<Name>::cover(g.name(g.leaves[i]))) return true;
      }
      return false;
    }();
    if constexpr (known) return sound{};
    else return not_found<Compiled, ir::role::parameter, fact::parameter, Name, unknown_in_option>();
  }
  template <class Compiled>
  static constexpr auto of() {
    using purpose = typename Compiled::model::purpose;
    using names = decltype(typename purpose::frozen{} + names_of_rules(typename purpose::updates{}));
    return first_problem_with<Compiled, option_names_are_known>(names{});
  }
};

/// A given gradient of the first output, which is lowered last, that has the name of an input.
struct cotangent_has_a_name {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.cotangent == ir::none || g.cotangent == g.node_count - 1) return sound{};
    else return mistake<parameter_conflict, top_scope, about<fact::input, node_name<Compiled, g.cotangent>>>{};
  }
};

/// A first output that is differentiated, and neither a scalar nor given a gradient.
struct loss_is_scalar {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.cotangent != ir::none || g.made(g.outputs[0]).extents.rank == 0) return sound{};
    else return mistake<loss_not_scalar, top_scope, fact::got<tensor_fact<value_of<Compiled, g.outputs[0]>>>>{};
  }
};

/// An input whose gradient cannot be asked for.
struct wanted_inputs_have_gradients {
  template <class Compiled, fixed_string Name>
  static constexpr auto judge() {
    constexpr const auto& g = Compiled::graph;
    constexpr int i = g.find(ir::role::input, Name);
    constexpr bool is_parameter = g.find(ir::role::parameter, Name) != ir::none;
    using name = about<fact::input, Name>;
    if constexpr (i == ir::none && is_parameter) {
      return mistake<parameter_as_input, top_scope, about<fact::parameter, Name>>{};
    } else if constexpr (i == ir::none) {
      return not_found<Compiled, ir::role::input, fact::input, Name>();
    } else if constexpr (is_parameter) {
      return mistake<parameter_conflict, top_scope, name, about<fact::parameter, Name>>{};
    } else if constexpr (!Compiled::model::chosen.wanted[i]) {
      return mistake<gradient_of_indices, top_scope, name, fact::given<tensor_fact<leaf_value<Compiled, i>>>>{};
    } else if constexpr (Compiled::gradient.gradient[i] == ir::none) {
      return mistake<zero_grad_input, top_scope, name>{};
    } else {
      return sound{};
    }
  }
  template <class Compiled>
  static constexpr auto of() {
    return first_problem_with<Compiled, wanted_inputs_have_gradients>(typename Compiled::model::purpose::wanted{});
  }
};

/// The last operation that keeps the loss from every leaf whose gradient is wanted, or none.
template <class Graph>
constexpr int cut_of(const Graph& g, const bool* wanted) {
  bool reached[Graph::capacity] = {}, depends[Graph::capacity] = {};
  for (int i = 0; i < g.leaf_count; ++i) depends[g.leaves[i].node] = wanted[i];
  for (int v = 0; v < g.node_count; ++v) {
    for (int i = 0; i < g.op(v).arguments; ++i) depends[v] |= depends[g.argument(v, i)];
  }
  reached[g.outputs[0]] = true;
  for (int v = g.outputs[0]; v >= 0; --v) {
    if (!reached[v] || !depends[v]) continue;
    if (same_address(g.op(v).vjp, nullptr) && !g.op(v).converts) return v;
    for (int i = 0; i < g.op(v).arguments; ++i) reached[g.argument(v, i)] = true;
  }
  return ir::none;
}
/// A loss without a gradient for anybody.
struct gradients_flow {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr bool flows = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (Compiled::gradient.gradient[i] != ir::none) return true;
      }
      return false;
    }();
    if constexpr (flows) {
      return sound{};
    } else {
      constexpr int cut = cut_of(g, Compiled::model::chosen.wanted);
      if constexpr (cut == ir::none) return mistake<nothing_trained, top_scope>{};
      else return mistake<zero_grad_output, top_scope, fact::operation<copied<[] { return g.op(cut).name; }>>>{};
    }
  }
};

/// A segment in which nothing needs a gradient.
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
    else return mistake<zero_grad_segment, top_scope, about<fact::segment, region_name<Compiled, region>>>{};
  }
};

/// A parameter that is trained and gets no gradient.
struct parameters_have_gradients {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int leaf = [] {
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::chosen.trained[i] && Compiled::gradient.gradient[i] == ir::none) return i;
      }
      return ir::none;
    }();
    if constexpr (leaf == ir::none) return sound{};
    else return mistake<zero_grad_parameter, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
  }
};

/// A trained parameter in a program that updates others, that no rule is for.
struct rules_are_for_parameters {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int leaf = [] {
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::chosen.trained[i] && Compiled::model::rules.of[i] == ir::none) return i;
      }
      return ir::none;
    }();
    if constexpr (Compiled::model::purpose::updates::count == 0 || leaf == ir::none) return sound{};
    else return mistake<without_rule, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
  }
};

/// A rule that is for no parameter, because later ones go before it.
struct rules_are_used {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int idle = [] {
      constexpr int rules = Compiled::model::purpose::updates::count;
      bool used[rules + 1] = {};
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::rules.of[i] != ir::none) used[Compiled::model::rules.of[i]] = true;
      }
      for (int r = 0; r < rules; ++r) {
        if (!used[r]) return r;
      }
      return ir::none;
    }();
    if constexpr (idle == ir::none) return sound{};
    else return mistake<idle_rule, top_scope, fact::argument<idle>>{};
  }
};

/// The first segment that frees no more than it costs, though nobody allowed it to; 0 if there is none. One of which
/// the forward pass computes something again, for a gradient that is a part of it, frees bytes there: not judged.
template <class Compiled>
inline constexpr int useless_segment_of = [] {
  constexpr const auto& in = Compiled::segments;
  constexpr const auto& s = Compiled::schedule;
  bool of_use[in.count] = {};
  for (int v = 0; v < s.turn; ++v) of_use[s.segment[v]] |= s.again[v] > 0;
  for (int i = 1; i < in.count; ++i) {
    of_use[i] |= in.all[i].placed || Compiled::graph.regions[in.all[i].region].may_be_useless;
    if (!of_use[i] && Compiled::costs.interior_bytes[i] <= Compiled::costs.only_bytes[i]) return i;
  }
  return 0;
}();
/// A plan in which nothing is frozen.
template <class Compiled>
struct unfrozen;
template <class Real, bool Trains, bool Accumulates, class Frozen, class Wanted, class Cotangent, class Updates,
          class Outputs, int Blocks, int Threads, class Placed>
struct unfrozen<
    pass::compiled<pass::model<pass::purpose<Real, Trains, Accumulates, Frozen, Wanted, Cotangent, Updates>, Outputs>,
                   Blocks, Threads, Placed>> {
  using purpose = pass::purpose<Real, Trains, Accumulates, name_list<>, Wanted, Cotangent>;
  using type = pass::compiled<pass::model<purpose, Outputs>, Blocks, Threads, Placed>;
};
/// A useless segment: where something is frozen, one that is so without that, too, for another program may train it.
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
      return mistake<useless_segment, top_scope, about<fact::segment, path>,
                     fact::frees<Compiled::costs.interior_bytes[useless]>,
                     fact::keeps<Compiled::costs.only_bytes[useless]>>{};
    }
  }
};

/// The only outermost segment, where it reads every parameter, of more than one layer, and nothing computed; 0 if there
/// is none.
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
    for (int i = 0; i < g.op(v).arguments; ++i) {
      const int a = g.argument(v, i);
      const bool parameter = g.op(a).what == ir::role::parameter;
      const bool computed = !ir::is_leaf(g.op(a).what) && in.of[a] == 0;
      if (in.of[v] == 0 ? parameter : computed) return 0;
    }
  }
  int parameters = 0;
  for (int i = 0; i < g.leaf_count; ++i) parameters += g.leaf_op(i).what == ir::role::parameter;
  return g.regions[in.all[outermost].region].may_be_useless || parameters <= 2 ? 0 : outermost;
}
/// A segment that is the whole model, whose arena is no smaller than without it.
struct segments_are_parts {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int whole = whole_model_of(Compiled::graph, Compiled::segments);
    if constexpr (whole == 0) {
      return sound{};
    } else {
      using peeled = pass::compiled<typename Compiled::model, 1, Compiled::threads>;
      if constexpr (peeled::layout.peak_bytes > Compiled::layout.peak_bytes) return sound{};
      else
        return mistake<whole_model_in_segment, top_scope,
                       about<fact::segment, region_name<Compiled, Compiled::segments.all[whole].region>>,
                       fact::peak_bytes<Compiled::layout.peak_bytes>, fact::as_block<peeled::layout.peak_bytes>>{};
    }
  }
};

/// What a program has of a predictor.
struct caches_are_of_predictors {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int cache = [] {
      int i = 0;
      while (i < g.leaf_count && g.leaf_op(i).what != ir::role::cache) ++i;
      return i;
    }();
    if constexpr (cache == g.leaf_count) return sound{};
    else return mistake<cache_in_program, top_scope, about<fact::state, leaf_name<Compiled, cache>>>{};
  }
};

/// A predictor draws nothing: what is random in a program has to be something else there.
struct nothing_is_random {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int drawn = [] {
      constexpr const auto& s = Compiled::schedule;
      for (int v = 0; v < s.node_count; ++v) {
        if (s.op(v).what == ir::role::random) return s.origin[v];
      }
      return ir::none;
    }();
    if constexpr (drawn == ir::none) return sound{};
    else return mistake<random_in_predictor, top_scope, about<fact::key, node_name<Compiled, drawn>>>{};
  }
};

}  // namespace cairn::detail
