// Checks how a program is used. Mistakes are names that the program does not have, inputs that are not bound exactly
// once, and parameters of another program.
#pragma once

#include "cairn/check/model.hpp"

#include <concepts>
#include <tuple>
#include <utility>

namespace cairn::detail {

/// Returns the mistake of requesting a parameter that does not exist, or sound.
template <class Compiled, fixed_string Name>
constexpr auto problem_of_parameter() {
  if constexpr (Compiled::graph.find(graphs::role::parameter, Name) != graphs::none) return sound{};
  else return not_found<Compiled, graphs::role::parameter, fact::parameter, Name>();
}

/// Returns the mistake of requesting a cache that does not exist, or sound.
template <class Compiled, fixed_string Name>
constexpr auto problem_of_cache() {
  if constexpr (Compiled::graph.find(graphs::role::cache, Name) != graphs::none) return sound{};
  else return not_found<Compiled, graphs::role::cache, fact::state, Name>();
}
/// By leaf: true if it is a cache with one of the names, or in a block with one of the names. Without names, true for
/// all caches.
template <class Compiled, fixed_string... Name>
inline constexpr auto caches_named = [] {
  constexpr const auto& g = Compiled::graph;
  std::array<bool, static_cast<std::size_t>(g.leaf_count) + 1> out{};
  for (int i = 0; i < g.leaf_count; ++i)
    out[static_cast<std::size_t>(i)] = g.leaf_op(i).what == graphs::role::cache &&
                                       (sizeof...(Name) == 0 || name_list<Name...>::cover(g.name(g.leaves[i])));
  return out;
}();
/// Returns the mistake of a name that is neither a cache nor a block with a cache, or sound.
template <class Compiled, fixed_string Name>
constexpr auto problem_of_caches() {
  if constexpr (std::ranges::count(caches_named<Compiled, Name>, true) > 0) return sound{};
  else return not_found<Compiled, graphs::role::cache, fact::state, Name>();
}

/// The parameter with the name; if there is none, the input with the name, or none.
template <class Compiled, fixed_string Name>
inline constexpr int gradient_leaf = [] {
  const int parameter = Compiled::graph.find(graphs::role::parameter, Name);
  return parameter != graphs::none ? parameter : Compiled::graph.find(graphs::role::input, Name);
}();

/// The sentence for requesting gradients of a program that updates its parameters and does not show the gradients.
template <class Compiled>
using hidden_gradients = std::conditional_t<Compiled::model::purpose::division.shards_moments, misuse::moments_in_parts,
                                            misuse::updates_itself>;

/// Returns the mistake of requesting a gradient that does not exist, or sound.
template <class Compiled, fixed_string Name>
constexpr auto problem_of_gradient() {
  constexpr int i = gradient_leaf<Compiled, Name>;
  using purpose = typename Compiled::model::purpose;
  if constexpr (i == graphs::none) {
    return problem_of_parameter<Compiled, Name>();
  } else if constexpr (Compiled::model::chosen.trained[i] && !purpose::shows_gradients) {
    return mistake<hidden_gradients<Compiled>, top_scope, about<fact::parameter, Name>>{};
  } else if constexpr (Compiled::model::chosen.wanted[i]) {
    return sound{};
  } else if constexpr (Compiled::graph.find(graphs::role::parameter, Name) != graphs::none) {
    return mistake<misuse::frozen_parameter, top_scope, about<fact::parameter, Name>>{};
  } else {
    return mistake<misuse::input_without_gradient, top_scope, about<fact::input, Name>>{};
  }
}

/// The input to which an array is bound.
template <class Compiled, class Bound>
inline constexpr int bound_leaf = Compiled::graph.find(graphs::role::input, Bound::name);
template <class Compiled, class Bound>
using input_of = shown_leaf<Compiled, bound_leaf<Compiled, Bound>>;

/// Returns the first input that is not bound exactly once, or none.
template <class Compiled, class... Bound>
constexpr int find_misbound_input() {
  constexpr const auto& g = Compiled::graph;
  for (int i = 0; i < g.leaf_count; ++i) {
    const int times = (0 + ... + (bound_leaf<Compiled, Bound> == i ? 1 : 0));
    if (g.leaf_op(i).what == graphs::role::input && times != 1) return i;
  }
  return graphs::none;
}
template <class Compiled, class Bound>
constexpr auto problem_of_name() {
  if constexpr (bound_leaf<Compiled, Bound> != graphs::none) return sound{};
  else return not_found<Compiled, graphs::role::input, fact::input, Bound::name>();
}

/// The input of a program, with the shape that an array for the whole batch has.
template <class Wanted, int Count>
struct whole_batch : Wanted {
  static constexpr cairn::shape shape = whole_batch_of(Wanted::shape, Count);
};
/// Returns the number of microbatches that an array of an input holds for `shards` shards, or 0 if the array does not
/// hold from 1 to `most` microbatches for each shard.
constexpr int microbatches_in(const array_extents& given, const shape& one, int most, int shards) {
  for (int count = shards; count <= most * shards; count += shards) {
    if (extents_fit(given, whole_batch_of(one, count))) return count;
  }
  return 0;
}

/// T has its elements elsewhere in memory, as a std::vector has. The elements of a std::array lie in the array itself.
template <class T>
concept a_container = requires(const T& a) { a.begin(); } && !requires { std::tuple_size<T>::value; };

/// Returns the mistake of binding an array to `Wanted`, which is an input or a parameter of a program over `Real`, or
/// sound.
template <class Real, class Wanted, class Bound, template <fixed_string...> class Fact = fact::input>
constexpr auto problem_of_bound() {
  using name = about<Fact, Bound::name>;
  using stored = stored_as<Wanted::element.type, Real>;
  // A parameter that is stored as bf16 can be written from an array of Real, or from an array of bf16.
  constexpr bool rounded = Wanted::op.what == graphs::role::parameter && is_rounded(Wanted::element.type);
  using element = std::conditional_t<rounded, Real, stored>;
  using given = typename Bound::element;
  if constexpr (!std::is_same_v<given, element> && !std::is_same_v<given, stored>) {
    using found = std::conditional_t<a_container<given>, misuse::no_array, misuse::bound_kind_mismatch>;
    return mistake<found, top_scope, name, fact::expected<element>, fact::got<given>>{};
  } else if constexpr (!Bound::dynamic && !extents_fit(Bound::static_extents, Wanted::shape)) {
    return mistake<misuse::bound_shape_mismatch, top_scope, name, fact::expected<tensor_fact<Wanted>>,
                   fact::got<typename Bound::array>>{};
  } else {
    return sound{};
  }
}

/// Returns how many microbatches an array should hold if a batch is divided so. If the number varies, it is the number
/// that the array holds, or else the largest.
template <class Bound>
constexpr int microbatches_wanted(const lang::division& division, const shape& one) {
  if (!division.varies || Bound::dynamic) return division.count();
  const int found = microbatches_in(Bound::static_extents, one, division.microbatches, division.shards);
  return found > 0 ? found : division.count();
}
/// The input to which an array is bound, with the shape that the array must have.
template <class Wanted, lang::division Division, class Bound>
using batch_of = whole_batch<Wanted, microbatches_wanted<Bound>(Division, Wanted::shape)>;

/// Returns the mistake of binding these named arrays for a training step, or sound. The arrays hold a batch that is
/// divided so.
template <class Compiled, lang::division Division, class... Bound>
constexpr auto problem_of_bindings() {
  constexpr int bad = find_misbound_input<Compiled, Bound...>();
  using unknown = decltype(first_problem(problem_of_name<Compiled, Bound>()...));
  if constexpr (!std::same_as<unknown, sound>) {
    return unknown{};
  } else if constexpr (bad != graphs::none) {
    constexpr bool given = ((bound_leaf<Compiled, Bound> == bad) || ...);
    using what = std::conditional_t<given, misuse::duplicate_input, misuse::missing_input>;
    return mistake<what, top_scope, about<fact::input, leaf_name<Compiled, bad>>>{};
  } else {
    return first_problem(
        problem_of_bound<typename Compiled::real, batch_of<input_of<Compiled, Bound>, Division, Bound>, Bound>()...);
  }
}

/// An array with the name of an input: the result of bind.
template <class T>
concept a_binding = requires {
  T::name;
  T::static_extents;
  typename T::element;
};
template <class First, class... Rest>
constexpr auto first_nameless_array() {
  if constexpr (a_binding<First>) return first_nameless_array<Rest...>();
  else return std::type_identity<First>{};
}

/// Returns the mistake of binding these arguments for a training step, or sound. An argument may be no named array. The
/// arrays hold a batch that is divided so.
template <class Compiled, lang::division Division, class... Bound>
constexpr auto problem_of_inputs() {
  if constexpr ((wrong<Bound> || ...)) {
    return rejected{};
  } else if constexpr (!(a_binding<Bound> && ...)) {
    return mistake<misuse::array_without_name, top_scope,
                   fact::given<typename decltype(first_nameless_array<Bound...>())::type>>{};
  } else {
    return problem_of_bindings<Compiled, Division, Bound...>();
  }
}
template <class Compiled, class... Bound>
constexpr auto problem_of_inputs() {
  return problem_of_inputs<Compiled, lang::division{}, Bound...>();
}

}  // namespace cairn::detail

namespace cairn {
/// The arrays of one microbatch: what the callback of a program that divides its batch returns.
template <class... Bound>
struct microbatch_inputs {
  std::tuple<Bound...> bound;
};
/// Returns the arrays of one microbatch: `[&](int part) { return inputs(bind<"x">(x[part]), bind<"y">(y[part])); }`.
/// The arrays must live until the training step ends. Temporary containers are moved into the result. The callback is
/// called twice for a microbatch if the model counts over the batch (see `over_parts`), and must give equal arrays. A
/// debug build throws program_error if it does not.
template <class... Bound>
microbatch_inputs<std::remove_cvref_t<Bound>...> inputs(Bound&&... bound) {
  return {{std::forward<Bound>(bound)...}};
}
/// The number of microbatches of a training step, for programs with microbatch<up_to<N>>:
/// `step.train({.lr = rate}, parts{3}, callback)`.
struct parts {
  int count;
};
}  // namespace cairn

namespace cairn::detail {

/// A callback that gives the arrays of one microbatch. It may be called twice for a microbatch, so a call does not
/// change it.
template <class F>
concept a_callback = std::invocable<const F&, int>;

/// A function object that stands where a callback may stand.
template <class F>
concept a_function = !wrong<F> && (std::invocable<F&, int> || requires { &F::operator(); });

/// True if a training step is given the arrays of its microbatches by a callback. The callback follows parts{n} if the
/// number of microbatches varies.
template <lang::division Division, class... Given>
inline constexpr bool gives_callback = false;
template <lang::division Division, a_callback F>
  requires(Division.divides() && !Division.varies)
inline constexpr bool gives_callback<Division, F> = true;
template <lang::division Division, a_callback F>
  requires(Division.varies)
inline constexpr bool gives_callback<Division, parts, F> = true;

/// Returns the mistake of a callback that does not return the arrays of a microbatch, or sound.
template <class Compiled, class Returned>
struct callback_result {
  static constexpr auto problem() {
    return mistake<misuse::callback_without_inputs, top_scope, fact::returned<typename showing<Returned>::type>>{};
  }
};
template <class Compiled, class... Bound>
struct callback_result<Compiled, microbatch_inputs<Bound...>> {
  static constexpr auto problem() { return problem_of_inputs<Compiled, Bound...>(); }
};

/// Returns the mistake of what the user gives a training step for its inputs, or sound. A program that divides its
/// batch takes arrays of the whole batch, or a callback.
template <class Compiled, class... Given>
constexpr auto problem_of_given() {
  constexpr lang::division division = Compiled::model::purpose::division;
  if constexpr (gives_callback<division, Given...>) {
    using callback = std::tuple_element_t<sizeof...(Given) - 1, std::tuple<Given...>>;
    return callback_result<Compiled, std::remove_cvref_t<std::invoke_result_t<const callback&, int>>>::problem();
  } else if constexpr (division.divides() && (a_function<Given> || ...)) {
    return mistake<misuse::callback_without_inputs, top_scope, fact::arguments<typename showing<Given>::type...>>{};
  } else if constexpr (division.divides() && (std::same_as<Given, parts> || ...)) {
    return mistake<misuse::parts_of_arrays, top_scope, fact::arguments<typename showing<Given>::type...>>{};
  } else if constexpr (((a_function<Given> || std::same_as<Given, parts>) || ...)) {
    return mistake<misuse::callback_of_whole_batch, top_scope, fact::arguments<typename showing<Given>::type...>>{};
  } else {
    return problem_of_inputs<Compiled, division, Given...>();
  }
}

/// Returns the mistake of running a training step with these arrays, or sound. `Trains` is false for value_and_grad,
/// and true for train, which changes the parameters.
template <class Compiled, bool Trains, class... Bound>
constexpr auto problem_of_step() {
  if constexpr (Trains && ((std::is_arithmetic_v<Bound> || std::same_as<Bound, train_options>) || ...))
    return mistake<misuse::rate_without_braces, top_scope,
                   fact::given<typename decltype(first_nameless_array<Bound...>())::type>>{};
  else if constexpr (Compiled::model::purpose::updates_parameters == Trains)
    return problem_of_given<Compiled, Bound...>();
  else if constexpr (Trains) return mistake<misuse::no_update, top_scope, fact::operation<"train">>{};
  else return mistake<misuse::updates_itself, top_scope, fact::operation<"value_and_grad">>{};
}

/// The parameter into which an array is written.
template <class Compiled, class Bound>
inline constexpr int written_leaf = Compiled::graph.find(graphs::role::parameter, Bound::name);
template <class Compiled, class Bound>
constexpr auto problem_of_written() {
  if constexpr (written_leaf<Compiled, Bound> == graphs::none) {
    return problem_of_parameter<Compiled, Bound::name>();
  } else {
    using wanted = shown_leaf<Compiled, written_leaf<Compiled, Bound>>;
    return problem_of_bound<typename Compiled::real, wanted, Bound, fact::parameter>();
  }
}
/// Returns the mistake of a name that is bound twice, or sound.
template <class... Last>
  requires(sizeof...(Last) < 2)
constexpr auto problem_of_repeated_name() {
  return sound{};
}
template <class First, class Second, class... Rest>
constexpr auto problem_of_repeated_name() {
  constexpr std::string_view name = First::name;
  if constexpr (name == std::string_view(Second::name) || ((name == std::string_view(Rest::name)) || ...)) {
    return mistake<misuse::duplicate_input, top_scope, about<fact::parameter, First::name>>{};
  } else {
    return problem_of_repeated_name<Second, Rest...>();
  }
}
/// Returns the mistake of writing these arrays into parameters, or sound.
template <class Compiled, class... Bound>
constexpr auto problem_of_writing() {
  if constexpr ((wrong<Bound> || ...)) {
    return rejected{};
  } else if constexpr (!(a_binding<Bound> && ...)) {
    return mistake<misuse::array_without_name, top_scope,
                   fact::given<typename decltype(first_nameless_array<Bound...>())::type>>{};
  } else {
    return first_problem(problem_of_written<Compiled, Bound>()..., problem_of_repeated_name<Bound...>());
  }
}

/// Returns the mistake that two models which share parameters compute in different types, or store parameters in
/// different types, or sound.
template <class Compiled, class Owner>
constexpr auto problem_of_shared_numbers() {
  using element = typename Compiled::real;
  using element_there = typename Owner::real;
  constexpr bool rounded = rounds_parameters<typename Compiled::model::numbers>,
                 rounded_there = rounds_parameters<typename Owner::model::numbers>;
  if constexpr (!std::same_as<element, element_there>) {
    return mistake<misuse::other_element, top_scope, fact::given<element>, fact::expected<element_there>>{};
  } else if constexpr (rounded != rounded_there) {
    return mistake<misuse::other_storage, top_scope, fact::given<std::conditional_t<rounded, bf16, element>>,
                   fact::expected<std::conditional_t<rounded_there, bf16, element>>>{};
  } else {
    return sound{};
  }
}

/// Returns the mistake of running one model with the parameters of another model, or sound. The other model must have
/// all parameters of the first model, with the same extents, the same type and the same storage.
template <class Compiled, class Owner>
constexpr auto problem_of_sharing() {
  using numbers = decltype(problem_of_shared_numbers<Compiled, Owner>());
  constexpr const auto& g = Compiled::graph;
  constexpr const auto& other = Owner::graph;
  constexpr int i = [] {
    for (int leaf = 0; leaf < g.leaf_count; ++leaf) {
      const graphs::operation& wanted = g.leaf_op(leaf);
      if (wanted.what != graphs::role::parameter) continue;
      const int found = other.find(graphs::role::parameter, g.name(g.leaves[leaf]));
      if (found == graphs::none || other.leaf_op(found).results[0].extents != wanted.results[0].extents) return leaf;
    }
    return graphs::none;
  }();
  if constexpr (!std::same_as<numbers, sound>) {
    return numbers{};
  } else if constexpr (i == graphs::none) {
    return sound{};
  } else {
    constexpr auto name = leaf_name<Compiled, i>;
    constexpr int there = other.find(graphs::role::parameter, name);
    if constexpr (there == graphs::none) {
      return not_found<Owner, graphs::role::parameter, fact::parameter, name>();
    } else {
      return conflict_of<about<fact::parameter, name>, shown_leaf<Compiled, i>, shown_leaf<Owner, there>>{};
    }
  }
}

}  // namespace cairn::detail
