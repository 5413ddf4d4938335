// What only a whole program can show to be wrong.
#pragma once

#include "cairn/exec/bind.hpp"
#include "cairn/exec/names.hpp"

namespace cairn::detail {

template <class Graph>
constexpr bool has_parameters(const Graph& g, std::string_view name) {
  for (int i = 0; i < g.leaf_count; ++i) {
    const bool parameter = g.nodes[g.leaves[i].node].op->what == ir::role::parameter;
    if (parameter && pass::names(name, g.name(g.leaves[i]))) return true;
  }
  return false;
}
/// The place of the first name of freeze<...> that stands for no parameter, or the number of names.
template <class Compiled, fixed_string... Name>
constexpr std::size_t first_unknown(pass::name_list<Name...>) {
  std::size_t n = 0;
  static_cast<void>(((has_parameters(Compiled::graph, Name) && ++n > 0) && ...));
  return n;
}
template <std::size_t I, fixed_string First, fixed_string... Name>
constexpr auto name_at(pass::name_list<First, Name...>) {
  if constexpr (I == 0) return First;
  else return name_at<I - 1>(pass::name_list<Name...>{});
}
template <fixed_string... Name>
constexpr std::size_t count_of(pass::name_list<Name...>) {
  return sizeof...(Name);
}

/// The mistake of asking for the gradient of an input, or sound.
template <class Compiled, fixed_string Name>
constexpr auto problem_of_wanted() {
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
  } else if constexpr (!Compiled::asked.wanted[i]) {
    using given = tensor_fact<value_of<Compiled, g.leaves[i].node>>;
    return mistake<gradient_of_indices, top_scope, name, fact::given<given>>{};
  } else if constexpr (Compiled::gradient.gradient[i] == ir::none) {
    return mistake<zero_grad_input, top_scope, name>{};
  } else {
    return sound{};
  }
}
template <class Compiled, fixed_string... Name>
constexpr auto problem_of_all_wanted(pass::name_list<Name...>) {
  return first_problem(problem_of_wanted<Compiled, Name>()...);
}

/// Whether the gradient of the first output, which is lowered last, has the name of an input.
template <class Graph>
constexpr bool takes_name(const Graph& g) {
  return g.cotangent != ir::none && g.cotangent != g.node_count - 1;
}

/// A node whose labels may name a class without a logit, or none.
template <class Graph>
constexpr int too_few_logits(const Graph& g) {
  for (int v = 0; v < g.node_count; ++v) {
    const ir::node& n = g.nodes[v];
    const int classes = n.op->arguments > 1 ? g.nodes[n.argument[1]].op->classes : 0;
    if (classes > 0 && classes > g.nodes[n.argument[0]].op->result[-1]) return v;
  }
  return ir::none;
}

/// Two operations that draw from one key, and the key; none where there are none.
struct same_key {
  int key = ir::none, one = ir::none, other = ir::none;
};
template <class Graph>
constexpr same_key find_same_key(const Graph& g) {
  bool random = false;
  for (int i = 0; i < g.leaf_count; ++i) random |= g.nodes[g.leaves[i].node].op->what == ir::role::random;
  if (!random) return {};
  int readers[Graph::capacity.nodes + 1] = {};  // by key: one more than the first value drawn from it
  for (int v = 0; v < g.node_count; ++v) {
    const ir::node& n = g.nodes[v];
    if (n.order > 0) continue;  // a gradient draws again what its operation drew
    for (int i = 0; i < n.op->arguments; ++i) {
      const int key = n.argument[i];
      if (g.nodes[key].op->what != ir::role::random) continue;
      const ir::node& first = g.nodes[readers[key] == 0 ? v : readers[key] - 1];
      if (first.op != n.op || !std::equal(n.argument, n.argument + n.op->arguments, first.argument))
        return {key, readers[key] - 1, v};
      if (readers[key] == 0) readers[key] = v + 1;
    }
  }
  return {};
}

/// The last operation that keeps the loss from every leaf whose gradient is wanted, or none.
template <class Graph>
constexpr int cut_of(const Graph& g, const bool* wanted) {
  bool reached[Graph::capacity.nodes + 1] = {}, asked[Graph::capacity.nodes + 1] = {};
  for (int i = 0; i < g.leaf_count; ++i) asked[g.leaves[i].node] = wanted[i];
  for (int v = 0; v < g.node_count; ++v) {
    for (int i = 0; i < g.nodes[v].op->arguments; ++i) asked[v] |= asked[g.nodes[v].argument[i]];
  }
  reached[g.outputs[0]] = true;
  for (int v = g.outputs[0]; v >= 0; --v) {
    const ir::node& n = g.nodes[v];
    if (!reached[v] || !asked[v]) continue;
    if (n.op->vjp == nullptr) return v;
    for (int i = 0; i < n.op->arguments; ++i) reached[n.argument[i]] = true;
  }
  return ir::none;
}

/// The first segment that frees no more than it costs, though nobody allowed it to; 0 if there is none. Not where some
/// of the model is frozen, for what is useless then is not in another program, nor where gradients are parts of it.
template <class Graph, class Schedule>
constexpr int useless_segment_of(const Graph& g, const Schedule& s) {
  for (int i = 1; i < g.segment_count; ++i) {
    if (!g.segments[i].may_be_useless && s.interior_bytes[i] <= s.only_bytes[i]) return i;
  }
  return 0;
}

/// The only outermost segment, where it reads every parameter, of more than one layer, and nothing computed; 0 if there
/// is none.
template <class Graph>
constexpr int whole_model_of(const Graph& g) {
  int outermost = 0;
  for (int i = 1; i < g.segment_count; ++i) {
    if (g.segments[i].parent != 0) continue;
    if (outermost != 0) return 0;
    outermost = i;
  }
  for (int v = 0; v < g.node_count; ++v) {
    const ir::node& n = g.nodes[v];
    for (int i = 0; i < n.op->arguments; ++i) {
      const ir::node& a = g.nodes[n.argument[i]];
      const bool parameter = a.op->what == ir::role::parameter;
      const bool computed = a.op->arguments > 0 && a.segment == 0;
      if (n.segment == 0 ? parameter : computed) return 0;
    }
  }
  int parameters = 0;
  for (int i = 0; i < g.leaf_count; ++i) parameters += g.nodes[g.leaves[i].node].op->what == ir::role::parameter;
  return g.segments[outermost].may_be_useless || parameters <= 2 ? 0 : outermost;
}

/// The same model with its outermost segments as blocks.
template <class Compiled>
struct peeling;
template <class R, class G, int T, class F, class... E>
struct peeling<pass::compiled<pass::request<R, G, 0, T, F>, output_list<E...>>> {
  using type = pass::compiled<pass::request<R, G, 1, T, F>, output_list<E...>>;
};
template <class Compiled>
using peeled = typename peeling<Compiled>::type;

/// What no program can be asked for: an option that is none, or an output made in a body and smuggled out of
/// it, or of class indices.
template <class Compiled>
struct asked;
template <class R, class G, int P, int T, class F, class Unknown, class... More, class... E>
struct asked<pass::compiled<pass::request<R, G, P, T, F, Unknown, More...>, output_list<E...>>> {
  static constexpr auto problem() { return mistake<unknown_option, top_scope, fact::given<Unknown>>{}; }
};
template <class Request, class... E>
struct asked<pass::compiled<Request, output_list<E...>>> {
  using what = fact::operation<"outputs", tensor_fact<E>...>;
  static constexpr auto problem() {
    if constexpr (!(std::same_as<typename E::owner, top_scope> && ...)) {
      return mistake<captured_value, top_scope, what>{};
    } else if constexpr (!((E::element == kind::real) && ...)) {
      return mistake<kind_mismatch, top_scope, what, fact::takes<float>>{};
    } else {
      return sound{};
    }
  }
};

/// What a segment frees and costs.
template <class Compiled>
constexpr auto problem_in_segments() {
  constexpr const auto& g = Compiled::graph;
  constexpr const auto& s = Compiled::schedule;
  constexpr bool judged = count_of(typename Compiled::request::frozen{}) == 0 && Compiled::order == 0;
  constexpr int useless = judged ? useless_segment_of(g, s) : 0;
  constexpr int whole = whole_model_of(g);
  if constexpr (useless != 0) {
    return mistake<useless_segment, top_scope, about<fact::segment, segment_name<Compiled, useless>>,
                   fact::frees<s.interior_bytes[useless]>, fact::keeps<s.only_bytes[useless]>>{};
  } else if constexpr (whole == 0) {
    return sound{};
  } else if constexpr (Compiled::layout.peak_bytes < peeled<Compiled>::layout.peak_bytes) {
    return sound{};
  } else {
    return mistake<whole_model_in_segment, top_scope, about<fact::segment, segment_name<Compiled, whole>>,
                   fact::peak_bytes<Compiled::layout.peak_bytes>,
                   fact::as_block<peeled<Compiled>::layout.peak_bytes>>{};
  }
}

/// A policy that fits nothing in its segment.
template <class Compiled>
constexpr auto problem_in_policy() {
  constexpr const auto& g = Compiled::graph;
  using where = about<fact::segment, segment_name<Compiled, g.wrong_policy.segment>>;
  if constexpr (g.wrong_policy.name_length == 0) {
    return mistake<idle_policy, top_scope, where, fact::policy<g.wrong_policy.policy>>{};
  } else {
    constexpr auto wanted = copied<[] { return g.name(g.wrong_policy); }>;
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

/// What only the whole program can show to be wrong: the first mistake, or sound.
template <class Compiled>
constexpr auto problem_in_graph() {
  constexpr const auto& g = Compiled::graph;
  constexpr const auto& d = Compiled::gradient;
  constexpr typename Compiled::request::frozen frozen{};
  constexpr std::size_t unknown = first_unknown<Compiled>(frozen);
  constexpr int short_of_logits = too_few_logits(g);
  constexpr same_key drawn_twice = find_same_key(g);
  using wanted = decltype(problem_of_all_wanted<Compiled>(typename Compiled::request::backward::inputs{}));
  if constexpr (g.conflict != ir::none) {
    using one = value_of<Compiled, g.leaves[g.conflict].node>;
    constexpr auto name = leaf_name<Compiled, g.conflict>;
    constexpr bool is_parameter = one::op.what == ir::role::parameter;
    using named = std::conditional_t<is_parameter, about<fact::parameter, name>, about<fact::input, name>>;
    return conflict_of<named, one, result_of<*g.rival>>{};
  } else if constexpr (short_of_logits != ir::none) {
    constexpr const ir::node& n = g.nodes[short_of_logits];
    return mistake<too_many_classes, top_scope, about<fact::input, node_name<Compiled, n.argument[1]>>,
                   fact::expected<fact::classes<g.nodes[n.argument[0]].op->result[-1]>>,
                   fact::got<fact::classes<g.nodes[n.argument[1]].op->classes>>>{};
  } else if constexpr (drawn_twice.key != ir::none) {
    return mistake<same_random_key, top_scope, about<fact::key, node_name<Compiled, drawn_twice.key>>,
                   fact::given<tensor_fact<value_of<Compiled, drawn_twice.one>>>,
                   fact::given<tensor_fact<value_of<Compiled, drawn_twice.other>>>>{};
  } else if constexpr (g.independent != ir::none) {
    using given = fact::given<tensor_fact<value_of<Compiled, g.independent>>>;
    if constexpr (g.nodes[g.independent].op->what != ir::role::parameter) {
      return mistake<zero_grad_argument, top_scope, given>{};
    } else {
      return mistake<zero_grad_argument, top_scope, given,
                     about<fact::parameter, node_name<Compiled, g.independent>>>{};
    }
  } else if constexpr (g.wrong_policy.segment != 0) {
    return problem_in_policy<Compiled>();
  } else if constexpr (g.updated_twice != ir::none) {
    return mistake<two_updates, top_scope, about<fact::state, leaf_name<Compiled, g.updated_twice>>>{};
  } else if constexpr (unknown < count_of(frozen)) {
    return not_found<Compiled, ir::role::parameter, fact::parameter, name_at<unknown>(frozen)>();
  } else if constexpr (!Compiled::request::gradient) {
    return sound{};
  } else if constexpr (takes_name(g)) {
    return mistake<parameter_conflict, top_scope, about<fact::input, node_name<Compiled, g.cotangent>>>{};
  } else if constexpr (g.cotangent == ir::none && g.nodes[g.outputs[0]].op->result.rank != 0) {
    return mistake<loss_not_scalar, top_scope, fact::got<tensor_fact<value_of<Compiled, g.outputs[0]>>>>{};
  } else if constexpr (!std::same_as<wanted, sound>) {
    return wanted{};
  } else {
    constexpr bool flows = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (d.gradient[i] != ir::none) return true;
      }
      return false;
    }();
    constexpr int segment = [] {
      for (int s = 1; s < g.segment_count; ++s) {
        if (!d.reached[s] && !g.segments[s].may_be_useless) return s;
      }
      return 0;
    }();
    constexpr int leaf = [] {
      for (int i = 0; i < g.leaf_count; ++i) {
        if (Compiled::asked.trained[i] && d.gradient[i] == ir::none) return i;
      }
      return ir::none;
    }();
    if constexpr (!flows) {
      constexpr int cut = cut_of(g, Compiled::asked.wanted);
      if constexpr (cut == ir::none) return mistake<zero_grad_output, top_scope>{};
      else return mistake<zero_grad_output, top_scope, fact::operation<copied<[] { return g.nodes[cut].op->name; }>>>{};
    } else if constexpr (segment != 0) {
      return mistake<zero_grad_segment, top_scope, about<fact::segment, segment_name<Compiled, segment>>>{};
    } else if constexpr (leaf != ir::none) {
      return mistake<zero_grad_parameter, top_scope, about<fact::parameter, leaf_name<Compiled, leaf>>>{};
    } else if constexpr (g.segment_count > 1) {
      return problem_in_segments<Compiled>();
    } else {
      return sound{};
    }
  }
}
template <class Compiled>
constexpr auto problem_of() {
  using problem = decltype(asked<Compiled>::problem());
  if constexpr (std::same_as<problem, sound>) return problem_in_graph<Compiled>();
  else return problem{};
}
template <class Compiled>
using problem_in = decltype(problem_of<Compiled>());

}  // namespace cairn::detail
