// Checks of what a whole program differentiates and trains. Each check returns `sound` or a mistake.
#pragma once

#include "cairn/check/names.hpp"

namespace cairn::detail {

/// Rejects a gradient with respect to a value on which the scalar does not depend, and a gradient of a gradient of a
/// scan.
struct gradients_depend {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr int value = g.wrong.independent;
    if constexpr (g.wrong.gradient_of_scan != graphs::none || Compiled::gradient.gradient_of_scan != graphs::none) {
      return mistake<misuse::scan_differentiated_twice, top_scope>{};
    } else if constexpr (value == graphs::none) {
      return sound{};
    } else {
      using given = fact::given<tensor_fact<shown_value<Compiled, value>>>;
      if constexpr (g.op(value).what != graphs::role::parameter)
        return mistake<misuse::zero_grad_argument, top_scope, given>{};
      else
        return mistake<misuse::zero_grad_argument, top_scope, given,
                       about<fact::parameter, node_name<Compiled, value>>>{};
    }
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
        if (g.leaf_op(i).what == graphs::role::parameter && name_list<Name>::cover(g.name(g.leaves[i]))) return true;
      }
      return false;
    }();
    if constexpr (known) return sound{};
    else return not_found<Compiled, graphs::role::parameter, fact::parameter, Name, misuse::unknown_in_option>();
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
    if constexpr (g.cotangent == graphs::none || g.cotangent == g.node_count - 1) return sound{};
    else return mistake<misuse::parameter_conflict, top_scope, about<fact::input, node_name<Compiled, g.cotangent>>>{};
  }
};

/// Rejects a first output that is differentiated without being a scalar and without a given cotangent.
struct loss_is_scalar {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    if constexpr (g.cotangent != graphs::none || g.result(g.outputs[0]).extents.rank == 0) return sound{};
    else
      return mistake<misuse::loss_not_scalar, top_scope, fact::got<tensor_fact<shown_value<Compiled, g.outputs[0]>>>>{};
  }
};

/// Rejects a request for the gradient of an input that cannot have one.
struct wanted_inputs_have_gradients {
  template <class Compiled, fixed_string Name>
  static constexpr auto judge() {
    constexpr const auto& g = Compiled::graph;
    constexpr int i = g.find(graphs::role::input, Name);
    constexpr bool is_parameter = g.find(graphs::role::parameter, Name) != graphs::none;
    using name = about<fact::input, Name>;
    if constexpr (i == graphs::none && is_parameter) {
      return mistake<misuse::parameter_as_input, top_scope, about<fact::parameter, Name>>{};
    } else if constexpr (i == graphs::none) {
      return not_found<Compiled, graphs::role::input, fact::input, Name>();
    } else if constexpr (is_parameter) {
      return mistake<misuse::parameter_conflict, top_scope, name, about<fact::parameter, Name>>{};
    } else if constexpr (!Compiled::model::chosen.wanted[i]) {
      return mistake<misuse::gradient_of_indices, top_scope, name, fact::given<tensor_fact<shown_leaf<Compiled, i>>>>{};
    } else if constexpr (Compiled::gradient.gradient[i] == graphs::none) {
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
  return graphs::none;
}
/// Rejects a loss that has no gradient with respect to any leaf.
struct gradients_flow {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const auto& g = Compiled::graph;
    constexpr bool flows = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (Compiled::gradient.gradient[i] != graphs::none) return true;
      }
      return false;
    }();
    if constexpr (flows) {
      return sound{};
    } else {
      constexpr int cut = last_separating_operation(g, Compiled::model::chosen.wanted);
      if constexpr (cut == graphs::none) return mistake<misuse::nothing_trained, top_scope>{};
      else
        return mistake<misuse::zero_grad_output, top_scope,
                       fact::operation<text_of_name<[] { return g.op(cut).name; }>>>{};
    }
  }
};

/// Rejects a parameter that is trained and gets no gradient.
struct parameters_have_gradients {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int leaf = [] {
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::chosen.trained[i] && Compiled::gradient.gradient[i] == graphs::none) return i;
      }
      return graphs::none;
    }();
    if constexpr (leaf == graphs::none) return sound{};
    else return mistake<misuse::zero_grad_parameter, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
  }
};

/// In a program with update rules, rejects a trained parameter for which there is no rule.
struct rules_are_for_parameters {
  template <class Compiled>
  static constexpr auto of() {
    constexpr int leaf = [] {
      for (int i = 0; i < Compiled::graph.leaf_count; ++i) {
        if (Compiled::model::chosen.trained[i] && Compiled::model::rules.of[i] == graphs::none) return i;
      }
      return graphs::none;
    }();
    if constexpr (Compiled::model::purpose::updates::count == 0 || leaf == graphs::none) return sound{};
    else return mistake<misuse::without_rule, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
  }
};

/// Rejects a rule of whole tensors that cannot update one of its parameters.
struct whole_rules_fit {
  template <class Compiled, int Leaf>
  static constexpr auto of_leaf() {
    using model = typename Compiled::model;
    if constexpr (model::rules.of[Leaf] == graphs::none) {
      return sound{};
    } else {
      constexpr auto rule = graphs::rule_number_of<model::rules.of[Leaf]>(typename model::purpose::updates{});
      using type = std::remove_const_t<decltype(rule)>;
      if constexpr (!reads_whole_tensors<type>) return sound{};
      else {
        constexpr shape extents = Compiled::graph.leaf_op(Leaf).results[0].extents;
        return problem_of_whole_rule<type, moments_of(rule, extents), model::purpose::clip.how, extents,
                                     leaf_name<Compiled, Leaf>>();
      }
    }
  }
  template <class Compiled>
  static constexpr auto of() {
    if constexpr (!graphs::any_reads_whole_tensors(typename Compiled::model::purpose::updates{})) return sound{};
    else
      return []<int... Leaf>(std::integer_sequence<int, Leaf...>) {
        return first_problem(of_leaf<Compiled, Leaf>()...);
      }(std::make_integer_sequence<int, Compiled::graph.leaf_count>{});
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
        if (Compiled::model::rules.of[i] != graphs::none) used[Compiled::model::rules.of[i]] = true;
      }
      for (int r = 0; r < rules; ++r) {
        if (!used[r]) return r;
      }
      return graphs::none;
    }();
    if constexpr (idle == graphs::none) return sound{};
    else return mistake<misuse::idle_rule, top_scope, fact::argument<idle>>{};
  }
};

}  // namespace cairn::detail
