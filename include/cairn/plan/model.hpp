// A model and its gradient. All forms of a program share them: checkpointed and plain, on one thread and on several.
#pragma once

#include "cairn/op/update.hpp"
#include "cairn/plan/store.hpp"

namespace cairn::plans {

/// Where the results and gradients of a plan lie.
/// - `together`: in the arena and in one block of gradients.
/// - `apart`: each at a base of its own. The body of a scan uses this, because results and gradients have other
///   addresses in each iteration.
/// - `apart_and_stored`: as `apart`. The values that the backward pass reads lie outside the arena, too.
enum class result_bases : std::uint8_t { together, apart, apart_and_stored };

/// The purpose for which a model is lowered.
template <class Numbers, bool Trains, bool Accumulates, class Frozen, class Wanted, class Cotangent,
          class Updates = lang::no_rules, class Division = lang::undivided, int Groups = 1>
struct purpose {
  using numbers = Numbers;
  using frozen = Frozen;
  using wanted = Wanted;        ///< inputs that get a gradient in addition to the parameters
  using cotangent = Cotangent;  ///< the name of the first output's cotangent, if the caller gives it
  /// update rules that the training step applies itself, each with the parameters that it is for
  using updates = typename Updates::rules;
  static constexpr auto clip = Updates::clip;
  static constexpr bool updates_parameters = updates::count > 0;
  /// True if the gradients of parameters are still in memory after a training step.
  static constexpr bool keeps_gradients =
      !updates_parameters || clip.how == lang::clipping::norm || Division::into.divides();
  /// True if the user of a program can read these gradients. With sharded_moments, a process has the sums of a part.
  static constexpr bool shows_gradients = keeps_gradients && !Division::into.shards_moments;
  static constexpr bool trains = Trains, accumulates = Accumulates;
  /// How a training step divides its batch. The plan is that of one microbatch. It adds to the gradients of the
  /// microbatches before it, and updates wait until the last microbatch has run.
  static constexpr lang::division division = Division::into;
  /// The most groups of rows on which a layer in nn::tiled<up_to<N>> runs.
  static constexpr int groups = Groups;
  template <int Others>
  using with_groups = purpose<Numbers, Trains, Accumulates, Frozen, Wanted, Cotangent, Updates, Division, Others>;
};

/// The leaf for the share of one microbatch in the loss, 1 / n, if their number n is given at run time.
struct share_of_microbatch : lang::tensor<element_type{}> {
  static constexpr lang::expression_traits traits{};
};
}  // namespace cairn::plans

namespace cairn::graphs {
template <>
struct lowering<plans::share_of_microbatch> {
  static constexpr void describe(operation& o) {
    o.what = role::number;
    o.name = "share of a microbatch";
  }
  static constexpr void count(counter& c) { c.total += {.nodes = 1, .leaves = 1}; }
  template <class Target>
  static constexpr int into(builder& b) {
    return b.leaves[b.nameless_leaf(&leaf_operation<plans::share_of_microbatch, typename Target::numbers>)].node;
  }
};
}  // namespace cairn::graphs

namespace cairn::plans {

/// Returns the leaf for the cotangent of an output, if the cotangent has a name.
template <class Output>
constexpr graphs::no_leaf cotangent_of(lang::name_list<>) {
  return {};
}
template <class Output, fixed_string Name, fixed_string... Others>
constexpr graphs::cotangent_leaf<Name, lang::tensor_of<Output>> cotangent_of(lang::name_list<Name, Others...>) {
  return {};
}

/// The leaf at which the backward pass starts, or no_leaf if it starts at a constant.
template <class Purpose, class Output>
using start_leaf = std::conditional_t<Purpose::division.varies, share_of_microbatch,
                                      decltype(cotangent_of<Output>(typename Purpose::cotangent{}))>;

/// Returns which leaves a program trains, and which leaves get a gradient. The latter are the trained leaves and the
/// wanted inputs of real type.
template <class Purpose, class Graph>
constexpr auto choose_leaves(const Graph& g) {
  struct {
    bool trained[Graph::size.leaves + 1] = {}, wanted[Graph::size.leaves + 1] = {};
  } out;
  for (int i = 0; i < g.leaf_count; ++i) {
    const graphs::operation& leaf = g.leaf_op(i);
    const std::string_view name = g.name(g.leaves[i]);
    out.trained[i] = leaf.trainable && !Purpose::frozen::cover(name);
    const bool is_real_input = leaf.what == graphs::role::input && kind_of(leaf.results[0].element.type) == kind::real;
    out.wanted[i] = out.trained[i] || (is_real_input && Purpose::wanted::contain(name));
  }
  return out;
}

/// Leaf operations for the gradients that earlier training steps have accumulated, by leaf of the graph. The gradient
/// of a bf16 leaf is float32.
template <const auto& Graph>
inline constexpr auto earlier_gradients = [] {
  struct {
    graphs::operation of[Graph.leaf_count + 1] = {};
  } out;
  for (int i = 0; i < Graph.leaf_count; ++i) {
    out.of[i] = Graph.leaf_op(i);
    out.of[i].name = "gradient so far";
    out.of[i].what = graphs::role::accumulated;
    out.of[i].results = &Graph.leaf_op(i).results[0].as_float();
  }
  return out;
}();

/// Returns the index of the update rule of each leaf, or none. If several rules are for a leaf, the last one counts.
template <class Graph, class Chosen, class... Names, auto... Rule>
constexpr auto choose_rules(const Graph& g, const Chosen& chosen, lang::rule_list<lang::named_rule<Names, Rule>...>) {
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

/// An estimate of a model's size before the model is lowered. It is not a bound: each level of nested gradients in the
/// model counts as many nodes as the model has without gradients.
template <class Purpose, class Outputs>
inline constexpr graphs::sizes counted{};
template <class Purpose, class First, class... Rest>
inline constexpr graphs::sizes counted<Purpose, lang::output_list<First, Rest...>> = [](graphs::sizes size) {
  size.nodes *= 1 + std::max({First::traits.order, Rest::traits.order...});
  return size;
}(graphs::counted_sizes<First, Rest..., start_leaf<Purpose, First>>);

/// A model: its graph, its trained leaves and its gradient, each a constant of its own.
template <class Purpose, class Outputs>
struct model;
template <class Purpose, class First, class... Rest>
struct model<Purpose, lang::output_list<First, Rest...>> {
  using purpose = Purpose;
  using numbers = typename Purpose::numbers;
  using real = cairn::detail::real_type_of<numbers>;
  using outputs = lang::output_list<First, Rest...>;
  /// How many times the model itself differentiates: 0 without a gradient in the model, 2 for a gradient of a gradient.
  static constexpr int order = std::max({First::traits.order, Rest::traits.order...});
  using target = graphs::target<numbers, order + (Purpose::trains ? 1 : 0), Purpose::trains,
                                (Purpose::wanted::count > 0 || order > 0), Purpose::division.divides(), Purpose::groups,
                                Purpose::division.shards>;
  using cotangent = start_leaf<Purpose, First>;
  static constexpr result_bases bases_of_results = result_bases::together;

  /// A model that differs only in the groups of rows on which layers in nn::tiled<up_to<N>> may run.
  template <int Groups>
  using with_groups = model<typename Purpose::template with_groups<Groups>, lang::output_list<First, Rest...>>;

  static constexpr auto lowered = graphs::build<target, Purpose::updates_parameters, cotangent, First, Rest...>();
  static constexpr auto chosen = choose_leaves<Purpose>(lowered);
  /// The most groups of rows that can be chosen. A tiled layer has first gradients only, so in a model that
  /// differentiates itself the layers stay as they are.
  static constexpr int most_groups = order > 0 ? 1 : lowered.most_groups;
  static constexpr auto rules = choose_rules(lowered, chosen, typename Purpose::updates{});
  static constexpr auto differentiated = [] {
    constexpr const auto& graph = lowered;
    constexpr graphs::sizes size = gradient_size(graph);
    // The loss of a training step is the mean of the losses of its microbatches.
    constexpr const graphs::operation* one =
        &graphs::leaf_operation<lang::constant_leaf<1.0 / Purpose::division.count()>, numbers,
                                lang::tensor<First::element>>;
    constexpr start from{graph.outputs[0], graph.cotangent,
                         &graphs::sum_of_two<graphs::target<numbers, 0, true>, lang::tensor_of<First>>};
    if constexpr (Purpose::accumulates || Purpose::division.divides()) {
      constexpr graphs::sizes more = [](graphs::sizes s, int leaves) {
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
  using stored = plans::stored<lowered, differentiated>;
  static constexpr const auto& graph = stored::graph;
  static constexpr const auto& gradient = stored::gradient;
};

}  // namespace cairn::plans
