// Checks whether a program can be made of a model. The checks run in order.
#pragma once

#include "cairn/check/figures.hpp"
#include "cairn/check/gradient_checks.hpp"
#include "cairn/check/leaf_checks.hpp"
#include "cairn/check/part_checks.hpp"
#include "cairn/check/rows.hpp"
#include "cairn/check/segment_checks.hpp"
#include "cairn/search/fit.hpp"

namespace cairn::detail {

/// The first mistake that a list of checks finds, or sound. Checks behind it do not run.
template <class Compiled, class... Checks>
struct first_fault {
  static constexpr sound of() { return {}; }
};
template <class Compiled, class Check, class... Rest>
struct first_fault<Compiled, Check, Rest...> {
  static constexpr auto of() {
    using found = decltype(Check::template of<Compiled>());
    if constexpr (std::same_as<found, sound>) return first_fault<Compiled, Rest...>::of();
    else return found{};
  }
};

/// Returns the mistake in a compiled model, or sound.
template <class Compiled>
constexpr auto problem_of() {
  // Mistakes in the body of a scan are found while the graph is made. The graph is made here, because g++ tells all
  // functions that need the graph, and the functions below have long types.
  static_assert(Compiled::graph.node_count > 0);
  using problem = decltype(first_fault<Compiled, rows_are_independent, leaves_have_own_names, layers_have_own_names,
                                       keys_are_drawn_from_once, gradients_depend, policies_fit,
                                       states_become_one_value, option_names_are_known>::of());
  if constexpr (!std::same_as<problem, sound>) return problem{};
  else if constexpr (!Compiled::model::purpose::trains) return nothing_is_random::of<Compiled>();
  else
    return first_fault<Compiled, caches_are_of_predictors, batches_have_rows, cotangent_has_a_name, loss_is_scalar,
                       wanted_inputs_have_gradients, gradients_flow, segments_are_differentiated,
                       parameters_have_gradients, rules_are_for_parameters, whole_rules_fit, rules_are_used,
                       whole_batch_is_tensor, outputs_have_means, counts_depend_on_inputs, states_are_joined,
                       no_microbatch_averages_over_shards, segments_are_of_use, segments_are_parts>::of();
}
template <class Compiled>
using problem_in = decltype(problem_of<Compiled>());

// The types below make a model and its plan from options.

template <class Request, bool Trains>
using purpose_of =
    plans::purpose<typename Request::numbers, Trains, Trains && Request::template has<accumulate_gradients>,
                   typename Request::frozen, typename Request::wanted,
                   std::conditional_t<Trains, typename Request::cotangent, name_list<>>,
                   std::conditional_t<Trains && Request::updates::count != 0,
                                      updating<typename Request::updates, Request::clip>, no_rules>,
                   std::conditional_t<Trains && Request::division.divides(), divided<Request::division>, undivided>>;
template <auto Output, bool Trains, class... Options>
using model_of = plans::model<purpose_of<request<Options...>, Trains>, decltype(as_outputs(Output))>;
template <class... Options>
inline constexpr int blocks_in = request<Options...>::template has<plain> ? plans::all_levels : 0;

/// A plan with the marked segments, and with the segments that fit<...> places.
template <class Model, int BlockLevels, class Request, bool Fits = Request::fits>
struct planned {
  using type = plans::compiled<Model, BlockLevels, Request::threads>;
};
template <class Model, int BlockLevels, class Request>
struct planned<Model, BlockLevels, Request, true> {
  using type = typename plans::search::fitted_in_groups<Model, BlockLevels, Request::threads, Request::fit>::type;
};
template <auto Output, bool Trains, class... Options>
using compiled_of =
    typename planned<model_of<Output, Trains, Options...>, blocks_in<Options...>, request<Options...>>::type;

template <class Option, class... Rest>
constexpr auto first_unknown_option() {
  if constexpr (option_settings<Option>::known) return first_unknown_option<Rest...>();
  else return std::type_identity<Option>{};
}

/// Returns the first option that is there a second time, or void if there is none.
template <unsigned Said>
constexpr std::type_identity<void> first_repeated_option() {
  return {};
}
template <unsigned Said, class Option, class... Rest>
constexpr auto first_repeated_option() {
  constexpr unsigned single = option_settings<Option>::single;
  if constexpr ((Said & single) == 0) return first_repeated_option<Said | single, Rest...>();
  else return std::type_identity<Option>{};
}

/// Returns the first option that goes with no division of the batch, or void if there is none.
template <class... Options>
  requires(sizeof...(Options) == 0)
constexpr std::type_identity<void> first_undivided_option() {
  return {};
}
template <class Option, class... Rest>
constexpr auto first_undivided_option() {
  if constexpr (!option_settings<Option>::undivided) return first_undivided_option<Rest...>();
  else return std::type_identity<Option>{};
}
template <class... Options>
using undivided_option_of = typename decltype(first_undivided_option<Options...>())::type;

template <class... Options>
using repeated_option_of = typename decltype(first_repeated_option<0, Options...>())::type;

/// Returns the problem of the first rule in the list that is no update rule or has a setting without a meaning, or
/// sound.
template <class... Names, auto... Rule>
constexpr auto problem_of_rules(rule_list<named_rule<Names, Rule>...>) {
  return first_problem([] {
    using rule = std::remove_const_t<decltype(Rule)>;
    using problem = decltype(problem_of_rule<rule, moments_if_rule<Rule>()>());
    if constexpr (!std::same_as<problem, sound>) return problem{};
    else return problem_of_settings<rule_settings<Rule>, top_scope, fact::in<>, fact::given<rule>>();
  }()...);
}
/// Returns a mistake for the first update rule that reads more values than a fused loop can hold, or sound.
template <clipping Clip, bool Stochastic, class... Names, auto... Rule>
constexpr auto problem_of_size(rule_list<named_rule<Names, Rule>...>) {
  return first_problem([] {
    using rule = std::remove_const_t<decltype(Rule)>;
    constexpr int drawn = Stochastic ? stochastic_argument_count : 0;
    constexpr int values = 2 + numbers_of<rule> + moments_of(Rule) + (Clip != clipping::off) + drawn;
    if constexpr (values <= plans::max_loop_inputs || reads_whole_tensors<rule>) return sound{};
    else return mistake<misuse::too_many_numbers, top_scope, fact::given<rule>, fact::iterations<values>>{};
  }()...);
}
/// Returns a mistake for the first rule of whole tensors, or sound.
template <class Option, class... Names, auto... Rule>
constexpr auto problem_of_whole_rules(rule_list<named_rule<Names, Rule>...>) {
  return first_problem([] {
    using rule = std::remove_const_t<decltype(Rule)>;
    if constexpr (!reads_whole_tensors<rule>) return sound{};
    else return mistake<misuse::whole_rule_with, top_scope, fact::given<rule>, fact::given<Option>>{};
  }()...);
}
/// Returns a mistake for options that contradict each other, and for problems of update rules, or sound.
template <class Request>
constexpr auto problem_of_updates() {
  if constexpr (Request::updates::count == 0 && Request::clip.how != clipping::off) {
    return mistake<misuse::clip_without_update, top_scope, fact::operation<"clip">>{};
  } else if constexpr (Request::updates::count > 0 && Request::template has<accumulate_gradients>) {
    return mistake<misuse::update_of_sums, top_scope, fact::given<accumulate_gradients>>{};
  } else if constexpr (!std::same_as<decltype(problem_of_rules(typename Request::updates{})), sound>) {
    return problem_of_rules(typename Request::updates{});
  } else if constexpr (Request::division.shards_moments &&
                       graphs::any_reads_whole_tensors(typename Request::updates{})) {
    return problem_of_whole_rules<sharded_moments>(typename Request::updates{});
  } else if constexpr (Request::rounds_parameters && graphs::any_reads_whole_tensors(typename Request::updates{})) {
    return problem_of_whole_rules<stochastic_rounding>(typename Request::updates{});
  } else {
    return problem_of_size<Request::clip.how, Request::rounds_parameters>(typename Request::updates{});
  }
}

/// Returns the mistake of requesting a placement, or sound.
template <class Fitted, std::int64_t Bytes>
constexpr auto problem_of_fit() {
  if constexpr (Fitted::placeable == 0) return mistake<misuse::nothing_to_place, top_scope>{};
  else if constexpr (arena_bytes<typename Fitted::type>() > Bytes)
    return mistake<misuse::over_least, top_scope, fact::budget_bytes<Bytes>,
                   fact::least_bytes<Fitted::least_bytes()>>{};
  else return sound{};
}

/// True if an output stands for a mistake.
template <class Output>
inline constexpr bool mistaken = wrong<Output>;
template <class... E>
inline constexpr bool mistaken<output_list<E...>> = (wrong<E> || ...);
template <class Output>
inline constexpr bool mistaken<const Output> = mistaken<Output>;

/// Returns the mistake that outputs stand for, if it is not reported yet, or sound. This happens for a constant array
/// that is no part of an expression.
template <class... E>
constexpr auto unreported_in(output_list<E...>) {
  return first_problem(std::conditional_t<is_poison<std::remove_const_t<E>>, E, sound>{}...);
}

/// Returns the mistake that a program was made of something that is no output.
template <class Other>
constexpr auto problem_of_no_outputs() {
  using found = std::conditional_t<a_layer<Other>, misuse::layer_for_expression, misuse::no_outputs>;
  return mistake<found, top_scope, fact::given<Other>>{};
}

/// Returns a mistake for three kinds of outputs, or sound:
/// - an output that was computed in a body and captured outside of it;
/// - an output that does not consist of numbers;
/// - an output of indices that is to be differentiated.
template <bool Trains, class First, class... More>
constexpr auto problem_of_outputs(output_list<First, More...>) {
  using what = fact::operation<"outputs", tensor_fact<First>, tensor_fact<More>...>;
  constexpr auto of_numbers = [](kind k) { return k == kind::real || k == kind::whole; };
  constexpr kind first = kind_of(First::element.type);
  if constexpr (!(std::same_as<typename First::owner, top_scope> && ... &&
                  std::same_as<typename More::owner, top_scope>)) {
    return mistake<misuse::captured_value, top_scope, what>{};
  } else if constexpr (!((Trains ? first == kind::real : of_numbers(first)) && ... &&
                         of_numbers(kind_of(More::element.type)))) {
    return mistake<misuse::kind_mismatch, top_scope, what, fact::takes<float>>{};
  } else {
    return sound{};
  }
}

/// Returns true if a model may take more than the steps that compilers allow for one constant by default. Lowering
/// takes as many steps for a node as for eight characters of names. Later passes take up to twice as many steps for a
/// node, and none for names. The limits were measured with g++ 12 and clang 19. Every model that bench/compile.py
/// compiles is accepted.
constexpr bool too_large(const graphs::sizes& model) {
#if defined(__clang__)
  constexpr int most = 5400, most_lowered = 8400;
#else
  constexpr int most = 9500, most_lowered = 18000;
#endif
  return model.nodes > most || model.nodes + model.characters / 8 > most_lowered;
}

/// Returns the mistake of a plan, or sound. The model is checked with its marked segments first, then the requests on
/// the arena.
template <auto Output, bool Trains, class... Options>
constexpr auto problem_of_plan() {
  using options = request<Options...>;
  using model = model_of<Output, Trains, Options...>;
  using marked = plans::compiled<model, blocks_in<Options...>, options::threads>;
  if constexpr (!std::same_as<problem_in<marked>, sound>) {
    return problem_in<marked>{};
  } else if constexpr (options::fits) {
    return problem_of_fit<plans::search::fitted_in_groups<model, blocks_in<Options...>, options::threads, options::fit>,
                          options::fit>();
  } else if constexpr (options::budget == default_settings::budget) {
    return sound{};
  } else if constexpr (arena_bytes<marked>() > options::budget) {
    return mistake<misuse::over_budget, top_scope, fact::budget_bytes<options::budget>,
                   fact::peak_bytes<arena_bytes<marked>()>>{};
  } else {
    return sound{};
  }
}

/// Returns the first input of a microbatch that the whole batch has not, or has in another shape, or none.
template <class Compiled, class Whole>
constexpr int find_other_input() {
  constexpr const auto& g = Compiled::graph;
  for (int i = 0; i < g.leaf_count; ++i) {
    if (g.leaf_op(i).what != graphs::role::input) continue;
    const int there = Whole::graph.find(graphs::role::input, g.name(g.leaves[i]));
    const shape wanted = whole_batch_of(g.leaf_op(i).results[0].extents, Compiled::model::purpose::division.count());
    if (there == graphs::none || Whole::graph.leaf_op(there).results[0].extents != wanted) return i;
  }
  return graphs::none;
}
/// Returns the mistake of microbatches that save no bytes, compared with a program of the whole batch, or sound.
template <class Compiled, class Whole>
constexpr auto problem_of_microbatches() {
  constexpr int other = find_other_input<Compiled, Whole>();
  if constexpr (other != graphs::none) {
    return mistake<misuse::other_whole, top_scope, about<fact::input, leaf_name<Compiled, other>>>{};
  } else {
    constexpr std::int64_t divided = memory_in<Compiled>.total_bytes(), whole = memory_in<Whole>.total_bytes();
    if constexpr (divided < whole) return sound{};
    else
      return mistake<misuse::useless_microbatch, top_scope, fact::divided_bytes<divided>, fact::whole_bytes<whole>>{};
  }
}
/// An option of a program of the whole batch: the option itself, or any_size in place of a division, which changes
/// nothing there.
template <class Option>
using undivided_option = std::conditional_t<option_settings<Option>::division.divides(), any_size, Option>;
template <class Compiled, class... Options, auto Whole>
constexpr auto problem_of_whole(of<Whole>) {
  return problem_of_microbatches<Compiled, compiled_of<Whole, true, undivided_option<Options>...>>();
}

/// Returns the mistake in a model or in its options. Returns sound if there is no mistake, or if the model's mistake is
/// already reported.
template <auto Output, bool Trains, class... Options>
constexpr auto problem_of_program() {
  using options = request<Options...>;
  if constexpr (mistaken<decltype(Output)>) {
    return unreported_in(decltype(as_outputs(Output)){});
  } else if constexpr (mistaken<decltype(as_outputs(Output))>) {
    return problem_of_no_outputs<std::remove_const_t<decltype(Output)>>();
  } else if constexpr (!options::known) {
    using unknown = typename decltype(first_unknown_option<Options...>())::type;
    return mistake<typename option_settings<unknown>::reported, top_scope, fact::given<unknown>>{};
  } else if constexpr (!std::is_void_v<repeated_option_of<Options...>>) {
    return mistake<misuse::repeated_option, top_scope, fact::given<repeated_option_of<Options...>>>{};
  } else if constexpr (options::division.divides() && !std::is_void_v<undivided_option_of<Options...>>) {
    return mistake<misuse::divided_with, top_scope, fact::given<undivided_option_of<Options...>>>{};
  } else if constexpr (options::division.shards_moments &&
                       (options::division.shards == 1 || options::updates::count == 0)) {
    return mistake<misuse::moments_without_shards, top_scope, fact::given<sharded_moments>>{};
  } else if constexpr (options::fits && options::budget != default_settings::budget) {
    return mistake<misuse::fit_and_budget, top_scope>{};
  } else if constexpr (options::mixes && std::same_as<typename options::numbers, typename options::real>) {
    return mistake<misuse::mixed_over_double, top_scope, fact::given<typename options::real>>{};
  } else if constexpr (!std::same_as<decltype(problem_of_updates<options>()), sound>) {
    return problem_of_updates<options>();
  } else if constexpr (!std::same_as<decltype(problem_of_outputs<Trains>(as_outputs(Output))), sound>) {
    return problem_of_outputs<Trains>(as_outputs(Output));
  } else {
    constexpr const graphs::sizes& size = plans::counted<purpose_of<options, Trains>, decltype(as_outputs(Output))>;
    if constexpr (too_large(size) && !options::template has<any_size>) {
      return mistake<misuse::model_too_large, top_scope, fact::nodes<size.nodes>>{};
    } else if constexpr (!std::same_as<decltype(problem_of_plan<Output, Trains, Options...>()), sound>) {
      return problem_of_plan<Output, Trains, Options...>();
    } else if constexpr (Trains && !std::is_void_v<typename options::whole>) {
      return problem_of_whole<compiled_of<Output, true, Options...>, Options...>(typename options::whole{});
    } else {
      return sound{};
    }
  }
}
template <auto Output, bool Trains, class... Options>
inline constexpr bool runs =
    !mistaken<decltype(Output)> && std::same_as<decltype(problem_of_program<Output, Trains, Options...>()), sound>;

/// Returns true if a program can be made of `Output`; otherwise reports the mistake. The check needs no kernels.
template <auto Output, class... Options>
constexpr bool checked() {
  return report_of<decltype(problem_of_program<Output, true, Options...>())>{}.shown;
}

}  // namespace cairn::detail
