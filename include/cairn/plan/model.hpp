// A model and its gradient: what all forms of a program share, checkpointed and plain, on one thread and on several.
#pragma once

#include "cairn/op/update.hpp"
#include "cairn/plan/differentiate.hpp"

namespace cairn::pass {

/// Where results and gradients of a plan belong: in its arena and in a block; or, of the body of a loop, each at a base
/// of its own, for they lie elsewhere in each step. What its backward reads may also lie apart from the arena.
enum class placing : std::uint8_t { together, apart, apart_and_kept };

/// What a model is lowered for.
template <class Numbers, bool Trains, bool Accumulates, class Frozen, class Wanted, class Cotangent,
          class Updates = cairn::detail::no_rules>
struct purpose {
  using numbers = Numbers;
  using frozen = Frozen;
  using wanted = Wanted;                    ///< inputs that get a gradient, too
  using cotangent = Cotangent;              ///< the name of the first output's gradient where it is given
  using updates = typename Updates::rules;  ///< rules by which the step changes parameters itself, and of which
  static constexpr auto clip = Updates::clip;
  static constexpr bool updates_parameters = updates::count > 0;
  /// Whether gradients of parameters are there after a step.
  static constexpr bool keeps_gradients = !updates_parameters || clip.how == cairn::detail::clipping::norm;
  static constexpr bool trains = Trains, accumulates = Accumulates;
};

/// The leaf of an output's gradient, if that has a name.
template <class Output>
constexpr ir::no_leaf cotangent_of(cairn::detail::name_list<>) {
  return {};
}
template <class Output, fixed_string Name, fixed_string... Others>
constexpr ir::cotangent_leaf<Name, tensor_of<Output>> cotangent_of(cairn::detail::name_list<Name, Others...>) {
  return {};
}

/// The leaves that a program trains, and those of which it wants the gradient: these, and inputs.
template <class Purpose, class Graph>
constexpr auto choose_leaves(const Graph& g) {
  struct {
    bool trained[Graph::size.leaves + 1] = {}, wanted[Graph::size.leaves + 1] = {};
  } out;
  for (int i = 0; i < g.leaf_count; ++i) {
    const ir::operation& leaf = g.leaf_op(i);
    const std::string_view name = g.name(g.leaves[i]);
    out.trained[i] = leaf.trainable && !Purpose::frozen::cover(name);
    const bool asked = leaf.what == ir::role::input && kind_of(leaf.made->element.type) == kind::real;
    out.wanted[i] = out.trained[i] || (asked && Purpose::wanted::contain(name));
  }
  return out;
}

/// The leaves' gradients of the steps before.
template <const auto& Graph>
inline constexpr auto earlier_gradients = [] {
  struct {
    ir::operation of[Graph.leaf_count + 1] = {};
  } out;
  for (int i = 0; i < Graph.leaf_count; ++i) {
    out.of[i] = Graph.leaf_op(i);
    out.of[i].name = "gradient so far";
    out.of[i].what = ir::role::earlier;
    out.of[i].made = &Graph.leaf_op(i).made->in_floats();
  }
  return out;
}();

/// The rule by which each leaf is updated, or none: the last that is for it.
template <class Graph, class Chosen, class... Names, auto... Rule>
constexpr auto choose_rules(const Graph& g, const Chosen& chosen,
                            cairn::detail::rule_list<cairn::detail::named_rule<Names, Rule>...>) {
  struct {
    int of[Graph::size.leaves + 1] = {};
  } out;
  for (int i = 0; i < g.leaf_count; ++i) {
    out.of[i] = none;
    [[maybe_unused]] int rule = 0;
    ((chosen.trained[i] && (Names::count == 0 || Names::cover(g.name(g.leaves[i]))) ? out.of[i] = rule++ : rule++),
     ...);
  }
  return out;
}

/// About how large a model is, before it is lowered: its gradient counts as many nodes as it has itself.
template <class Purpose, class Outputs>
inline constexpr ir::sizes counted{};
template <class Purpose, class First, class... Rest>
inline constexpr ir::sizes counted<Purpose, output_list<First, Rest...>> = [](ir::sizes size) {
  size.nodes *= 1 + std::max({First::traits.order, Rest::traits.order...});
  return size;
}(ir::counted<First, Rest..., decltype(cotangent_of<First>(typename Purpose::cotangent{}))>);

/// The graph of a model, which of its leaves are trained, and its gradient: a constant each.
template <class Purpose, class Outputs>
struct model;
template <class Purpose, class First, class... Rest>
struct model<Purpose, output_list<First, Rest...>> {
  using purpose = Purpose;
  using numbers = typename Purpose::numbers;
  using real = cairn::detail::real_type_of<numbers>;
  using outputs = output_list<First, Rest...>;
  /// How many gradients the model takes of each other.
  static constexpr int order = std::max({First::traits.order, Rest::traits.order...});
  using target = ir::target<numbers, order + (Purpose::trains ? 1 : 0), Purpose::trains,
                            (Purpose::wanted::count > 0 || order > 0)>;
  using cotangent = decltype(cotangent_of<First>(typename Purpose::cotangent{}));
  static constexpr placing placed = placing::together;

  static constexpr auto graph = ir::build<target, Purpose::updates_parameters, cotangent, First, Rest...>();
  static constexpr auto chosen = choose_leaves<Purpose>(graph);
  static constexpr auto rules = choose_rules(graph, chosen, typename Purpose::updates{});
  static constexpr auto gradient = [] {
    constexpr ir::sizes size = gradient_size(graph);
    constexpr const ir::operation* one = &ir::leaf_operation<constant_leaf<1.0>, numbers, tensor<First::element>>;
    constexpr start from{graph.outputs[0], graph.cotangent,
                         &ir::sum_of_two<ir::target<numbers, 0, true>, tensor_of<First>>};
    if constexpr (Purpose::accumulates) {
      constexpr ir::sizes more = [](ir::sizes s, int leaves) {
        s.nodes += leaves + 1;
        s.arguments += 2;
        return s;
      }(size, graph.leaf_count);
      return differentiate<more>(graph, chosen.wanted, &from, 1, one, chosen.wanted, earlier_gradients<graph>.of);
    } else if constexpr (Purpose::trains) {
      return differentiate<size>(graph, chosen.wanted, &from, 1, one);
    } else {
      return undifferentiated<size>(graph);
    }
  }();
};

}  // namespace cairn::pass
