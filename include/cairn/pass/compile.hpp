// The list of the passes, in order. Each is evaluated into a constant of its own, which keeps every
// evaluation within the compilers' default limits and lets a reader print any of them.
#pragma once

#include "cairn/pass/arena.hpp"

#include <limits>

namespace cairn {

/// The outputs of a program as one thing; the first is differentiated.
template <an_expression... E>
struct output_list {};

namespace detail {
/// The report of a mistake in place of N outputs, of which a program can be asked.
template <class Report, std::size_t N>
struct reported_outputs : Report {};

/// What outputs(...) returns.
template <class First, class... Rest>
struct listing {
  using shown = fact::operation<"outputs", typename showing<First>::type, typename showing<Rest>::type...>;
  using found = surfaced<mistake<layer_for_expression, top_scope, shown>>;
  using type = reported_outputs<found, 1 + sizeof...(Rest)>;
};
template <an_expression First, an_expression... Rest>
struct listing<First, Rest...> {
  using type = output_list<First, Rest...>;
};
}  // namespace detail

/// Several results of a program: `outputs(loss, accuracy(logits, classes))`. The first, a scalar, is
/// differentiated. At most eight.
template <an_operand... E>
  requires(sizeof...(E) > 0 && sizeof...(E) <= ir::max_outputs)
constexpr typename detail::listing<E...>::type outputs(E...) {
  return {};
}

namespace pass {

inline constexpr int all_blocks = std::numeric_limits<int>::max();

/// Names given as an option.
template <fixed_string... Name>
struct name_list {};

/// What a program asks of backward, if it wants any. Inputs: those that get a gradient, too. Cotangent: the name of the
/// first output's gradient where it is given. Accumulates: adds to the gradients of the steps before.
template <bool Wanted, class Inputs = name_list<>, class Cotangent = name_list<>, bool Accumulates = false>
struct backward {
  static constexpr bool wanted = Wanted, accumulates = Wanted && Accumulates;
  using inputs = Inputs;
  using cotangent = std::conditional_t<Wanted, Cotangent, name_list<>>;
};

/// The leaf of an output's gradient, if that has a name.
template <class Output>
constexpr ir::no_leaf cotangent_of(name_list<>) {
  return {};
}
template <class Output, fixed_string Name>
constexpr auto cotangent_of(name_list<Name>) {
  return []<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return input_leaf<Name, Output::shape.extent[Axis]...>{};
  }(std::make_index_sequence<static_cast<std::size_t>(Output::shape.rank)>{});
}

/// What a program asks of the passes. Blocks: how many of the segments around each other are blocks instead, from
/// outside. Unknown: options that are none.
template <class Real, class Backward, int Blocks, int Threads, class Frozen, class... Unknown>
struct request {
  using real = Real;
  using backward = Backward;
  static constexpr bool gradient = Backward::wanted;
  static constexpr int blocks = Blocks, threads = Threads;
  using frozen = Frozen;
};

/// Whether `name` is `wanted` or lies in the block `wanted`.
constexpr bool names(std::string_view wanted, std::string_view name) {
  return name.starts_with(wanted) && (name.size() == wanted.size() || name[wanted.size()] == '.');
}

/// The leaves that a program trains, and those of which it wants the gradient: these, and inputs.
template <class Graph, fixed_string... Frozen, fixed_string... Input>
constexpr auto asked_leaves(const Graph& g, name_list<Frozen...>, name_list<Input...>) {
  struct {
    bool trained[Graph::capacity.leaves + 1] = {}, wanted[Graph::capacity.leaves + 1] = {};
  } out;
  for (int i = 0; i < g.leaf_count; ++i) {
    const ir::operation& leaf = *g.nodes[g.leaves[i].node].op;
    out.trained[i] = leaf.trainable && !(names(Frozen, g.name(g.leaves[i])) || ...);
    const bool named = ((g.name(g.leaves[i]) == std::string_view(Input)) || ...);
    out.wanted[i] = out.trained[i] || (named && leaf.what == ir::role::input && leaf.element == kind::real);
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
    out.of[i] = *Graph.nodes[Graph.leaves[i].node].op;
    out.of[i].name = "gradient so far";
    out.of[i].what = ir::role::gradient;
  }
  return out;
}();

template <class Request, class Outputs>
struct compiled;
template <class Request, class First, class... Rest>
struct compiled<Request, output_list<First, Rest...>> {
  using request = Request;
  using real = typename Request::real;
  /// How many gradients the model takes of each other.
  static constexpr int order = std::max({First::facts.order, Rest::facts.order...});
  using target = ir::target<real, order + (Request::gradient ? 1 : 0), Request::gradient>;

  using cotangent = decltype(cotangent_of<First>(typename Request::backward::cotangent{}));

  static constexpr auto graph = ir::build<target, Request::blocks, cotangent, First, Rest...>();
  static constexpr auto asked = asked_leaves(graph, typename Request::frozen{}, typename Request::backward::inputs{});
  static constexpr auto gradient = [] {
    constexpr const ir::operation* one = &ir::leaf_operation<constant_leaf<1.0>, real>;
    if constexpr (Request::backward::accumulates) {
      constexpr const ir::operation* add =
          &ir::operation_of<add_op, ir::target<real, 0, true>, tensor_of<First>, tensor_of<First>>;
      return differentiate<gradient_capacity(graph) + graph.leaf_count + 1>(graph, asked.wanted, one,
                                                                            earlier_gradients<graph>.of, add);
    } else if constexpr (Request::gradient) {
      return differentiate<gradient_capacity(graph)>(graph, asked.wanted, one);
    } else {
      return undifferentiated(graph);
    }
  }();
  static constexpr auto needs = find_needs(graph, gradient);
  static constexpr auto schedule =
      rematerialize<schedule_capacity(graph, gradient, order)>(graph, gradient, needs, order);
  static constexpr auto readers = find_readers(schedule);
  static constexpr auto steps = fuse(schedule, readers);
  static constexpr auto loops = write_loops(schedule, steps);
  static constexpr auto ranges = liveness(schedule, steps, loops);
  static constexpr auto places = place_fixed(graph, schedule, steps, loops, ranges);
  static constexpr auto slots =
      share_slots<steps.member_count + steps.step_count + 1>(schedule, steps, loops, ranges, places, Request::threads);
  static constexpr const auto& packing = pack<slots>();
  static constexpr auto layout = place_values(schedule, steps, places, slots, packing);
};

}  // namespace pass
}  // namespace cairn
