// A scan is a loop over iterations. Its body is planned and compiled once, and runs many times.
#pragma once

#include "cairn/base/reversal.hpp"
#include "cairn/lang/checkpoint.hpp"
#include "cairn/lang/gradient.hpp"

namespace cairn::lang {

/// The values that `carried(...)` returns as one argument of `scan`.
template <an_operand... A>
struct carried_values {};
/// The values that `each(...)` returns as one argument of `scan`.
template <an_operand... A>
struct each_values {};

/// Gives the values with which the first iteration of a scan begins. Each iteration carries its values on to the next
/// one.
template <an_operand... A>
constexpr carried_values<A...> carried(A...) {
  return {};
}
/// Gives the values of which each iteration of a scan reads its own slice, along the first axis.
template <an_operand... A>
constexpr each_values<A...> each(A...) {
  return {};
}

template <class... A>
struct showing<carried_values<A...>> {
  using type = fact::carried<typename showing<A>::type...>;
  using owner = typename owner_among<showing<A>...>::type;
};
template <class... A>
struct showing<each_values<A...>> {
  using type = fact::each<typename showing<A>::type...>;
  using owner = typename owner_among<showing<A>...>::type;
};
template <class E, std::size_t... Axis>
tensor<E::element, E::shape.extent[Axis + 1]...> slice_of(std::index_sequence<Axis...>);
/// The tensor of the slice of E that one iteration reads. It is E without the first axis.
template <class E>
using iteration_slice = decltype(slice_of<E>(std::make_index_sequence<static_cast<std::size_t>(E::shape.rank - 1)>{}));

/// The facts about a policy for a scan of T iterations: whether it is a policy of scans (`known`), whether it fits T
/// iterations, and whether its snapshots lie outside of the arena. A policy says what is stored for the backward pass:
/// see base/reversal.hpp. `fit<Bytes>` becomes one of the policies there as soon as the body has a plan.
template <class Policy, int T>
struct scan_policy {
  static constexpr bool known = requires {
    { Policy::stores_iterations } -> std::convertible_to<bool>;
  };
  static constexpr bool fits = [] {
    if constexpr (known) return Policy::template fits<T>;
    else return false;
  }();
  static constexpr bool snapshots_in_user_memory = [] {
    if constexpr (known) return Policy::snapshots_in_user_memory;
    else return false;
  }();
};
template <std::int64_t Bytes, int T>
struct scan_policy<fit<Bytes>, T> {
  static constexpr bool known = true, fits = Bytes >= 0, snapshots_in_user_memory = false;
};

/// T applications of the body F, as one node of the type. The parameters of the body get the prefix `Name.`, and all
/// iterations share them.
template <int T, fixed_string Name, class Policy, class F, class Carried, class Each, class... Same>
struct scanned;
template <int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
struct scanned<T, Name, Policy, F, carried_values<C...>, each_values<E...>, Same...> : expression {
  using owner = owner_of<C..., E..., Same...>;
  using policy = Policy;
  using mark = block_mark<Name>;
  static constexpr int iterations = T;
  static constexpr fixed_string name = Name;
  /// True if iterations are groups of rows (lang/tiled.hpp).
  static constexpr bool cuts_rows = false;
  static constexpr int level = merged_traits({C::traits..., E::traits..., Same::traits...}).level;
  using body = call<mark, F, stage_input<level, tensor_of<C>>..., stage_input<level, iteration_slice<E>>...,
                    stage_input<level, tensor_of<Same>>...>;
  using arguments = std::tuple<C..., E..., Same...>;
  /// The tensors of one iteration, in the order of the body's arguments.
  using tensors = std::tuple<tensor_of<C>..., iteration_slice<E>..., tensor_of<Same>...>;
  static constexpr int carried_count = sizeof...(C), each_count = sizeof...(E), same_count = sizeof...(Same);
  static constexpr int result_count = static_cast<int>(body::results.size());

  /// The tensors of the results: first the values that the last iteration carries on, then the collected values.
  static constexpr auto results = [] {
    auto out = body::results;
    for (int r = carried_count; r < result_count; ++r) {
      tensor_type& made = out[static_cast<std::size_t>(r)];
      const tensor_type one = made;
      made.rank = one.rank + 1;
      made.extent[0] = T;
      for (int axis = 0; axis + 1 < std::min(made.rank, max_rank); ++axis) made.extent[axis + 1] = one.extent[axis];
    }
    return out;
  }();
  static constexpr cairn::shape shape = results[0];
  static constexpr element_type element = results[0].element;
  static constexpr expression_traits traits = [] {
    expression_traits out =
        traits_of_call(merged_traits({C::traits..., E::traits..., Same::traits...}, false,
                                     (captured<owner, C> || ... || false) || (captured<owner, E> || ... || false) ||
                                         (captured<owner, Same> || ... || false)),
                       body::inside, 1);
    out.snapshots_in_user_memory |= scan_policy<Policy, T>::snapshots_in_user_memory;
    return out;
  }();
};

template <class Owner, int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
struct subexpressions_of<Owner, scanned<T, Name, Policy, F, carried_values<C...>, each_values<E...>, Same...>> {
  using scan_type = scanned<T, Name, Policy, F, carried_values<C...>, each_values<E...>, Same...>;
  using type = std::tuple<seen_from<Owner, C>..., seen_from<Owner, E>..., seen_from<Owner, Same>...,
                          seen_from<Owner, typename scan_type::body>>;
};
template <int T, fixed_string Name, class... Rest>
inline constexpr auto known_as<scanned<T, Name, Rest...>> = Name;

/// Returns the only result of a scan, or a tuple of its results.
template <class Scan>
constexpr auto results_of_scan() {
  if constexpr (Scan::result_count == 1) return under_short_name<Scan>{};
  else return picks<Scan>(std::make_index_sequence<Scan::result_count>{});
}

/// Returns the index of the first carried value that the body returns with another tensor; -1: none.
template <class Scan, class... C>
constexpr int first_changed() {
  int i = 0, changed = -1;
  for (const tensor_type& begun : {tensor_type{C::shape, C::element}...}) {
    const tensor_type& made = Scan::results[static_cast<std::size_t>(i)];
    if (changed < 0 && (made != begun || made.element != begun.element)) changed = i;
    ++i;
  }
  return changed;
}

/// Is true if the body of a scan is a mistake.
template <class T>
inline constexpr bool wrong_body = wrong<T>;
template <class First, class... Rest>
inline constexpr bool wrong_body<std::tuple<First, Rest...>> = wrong<First>;
template <an_expression E>
constexpr E first_value(E e) {
  return e;
}
template <class First, class... Rest>
constexpr First first_value(std::tuple<First, Rest...>) {
  return {};
}
/// Returns the mistake in the body of a scan, or `sound`. `Once` is what the body returns for the arguments of one
/// iteration.
template <class Scan, fixed_string Name, class Owner, class Once, class... C>
constexpr auto problem_of_iterations(Once once, carried_values<C...>) {
  using name = fact::in<Name>;
  using carries = fact::carried<tensor_fact<C>...>;
  if constexpr (wrong_body<Once>) {
    return pass_on<Owner>(first_value(once));
  } else if constexpr (body_size<Once> < sizeof...(C)) {
    return mistake<misuse::too_few_in_scan, Owner, name, carries>{};
  } else if constexpr (constexpr int changed = first_changed<Scan, C...>(); changed >= 0) {
    return mistake<misuse::changed_in_scan, Owner, name, carries, fact::argument<changed>,
                   fact::got<tensor_fact<pick<changed, typename Scan::body>>>>{};
  } else if constexpr (Scan::body::inside.recomputes_outside_value) {
    using bodies = std::type_identity<typename Scan::body::bodies>;
    return leave_call<block_mark<Name>, Owner>(capture_among<typename Scan::body::inner_owner, Owner>(bodies{}));
  } else if constexpr (Scan::body::inside.snapshots_in_user_memory) {
    return mistake<misuse::snapshots_in_scan, Owner, name>{};
  } else if constexpr (std::ranges::any_of(Scan::results, [](const shape& made) { return made.rank > max_rank; })) {
    return mistake<misuse::one_axis_more, Owner, name>{};
  } else if constexpr (Scan::traits.height > max_height) {
    return mistake<misuse::expression_too_large, Owner, name, fact::height<Scan::traits.height>>{};
  } else {
    return sound{};
  }
}

/// The form of `scan`. After the body, the arguments are carried(...), then each(...) if the scan reads slices, then
/// values that are the same in all iterations.
template <int T, fixed_string Name, class Policy>
struct scan_form : free_form<"scan", misuse::scan_of_values> {
  template <class F, an_expression... C, an_expression... Same>
    requires(!an_expression<F> && sizeof...(C) > 0)
  static constexpr auto of(F f, carried_values<C...> carried, Same... same) {
    return of(f, carried, each_values<>{}, same...);
  }
  template <class F, an_expression... C, an_expression... E, an_expression... Same>
    requires(!an_expression<F> && sizeof...(C) > 0)
  static constexpr auto of(F, carried_values<C...>, each_values<E...>, Same...) {
    using owner = owner_of<C..., E..., Same...>;
    using what = fact::operation<"scan", typename showing<C>::type..., typename showing<E>::type...,
                                 typename showing<Same>::type...>;
    if constexpr ((wrong<C> || ...) || (wrong<E> || ... || false) || (wrong<Same> || ... || false)) {
      return pass_on<owner>(C{}..., E{}..., Same{}...);
    } else if constexpr (std::same_as<owner, mixed_scopes>) {
      return mistake<misuse::captured_value, owner, fact::in<Name>, what>{};
    } else if constexpr (T < 1) {
      return mistake<misuse::scan_without_iterations, owner, fact::in<Name>, what, fact::iterations<T>>{};
    } else if constexpr (!scan_policy<Policy, std::max(T, 1)>::known) {
      return mistake<misuse::no_policy_of_scan, owner, fact::in<Name>, what, fact::given<Policy>>{};
    } else if constexpr (!scan_policy<Policy, std::max(T, 1)>::fits) {
      return mistake<misuse::snapshots_of_iterations, owner, fact::in<Name>, fact::given<Policy>,
                     fact::iterations<T>>{};
    } else if constexpr (!((E::shape.rank > 0 && E::shape[0] == T) && ... && true)) {
      return mistake<misuse::steps_along_first_axis, owner, fact::in<Name>, fact::each<tensor_fact<E>...>,
                     fact::iterations<T>>{};
    } else {
      constexpr int level = merged_traits({C::traits..., E::traits..., Same::traits...}).level;
      const auto once = call_form<block_mark<Name>, F>::of(stage_input<level, tensor_of<C>>{}...,
                                                           stage_input<level, iteration_slice<E>>{}...,
                                                           stage_input<level, tensor_of<Same>>{}...);
      using made = scanned<T, Name, Policy, F, carried_values<C...>, each_values<E...>, Same...>;
      using problem = decltype(problem_of_iterations<made, Name, owner>(once, carried_values<C...>{}));
      if constexpr (std::same_as<problem, sound>) return results_of_scan<made>();
      else return in_place_of_results<body_size<std::remove_const_t<decltype(once)>>>(problem{});
    }
  }
};

/// A scan of T iterations: `auto [h, ys] = scan<T, "step">(body, carried(h0), each(xs), a)`.
///
/// The body is called as body(h, c, x_t, y_t, a, b). Its arguments are
/// - first the carried values;
/// - then the slices of the values in each(...) for this iteration. A slice is taken along the first axis, which has
///   the extent T. each(arange<T>) gives the index of the iteration;
/// - then values that are the same in all iterations.
///
/// The body returns a std::tuple: first the values that are carried on, then values that are collected along a new
/// first axis. The result of the scan is a tuple as well: the last carried values, then the collected values. A body
/// with one result may return the value itself. If there is only one result, the scan returns the value itself and no
/// tuple.
///
/// Parameters in the body have the prefix `Name.`, and all iterations share them. The gradients of these parameters,
/// and the gradients of values that are the same in all iterations, are summed from the last iteration to the first. A
/// state that the body updates is carried as well. It begins with its value at the start of the training step. Random
/// operations draw in iteration t the same numbers as in iteration t of `repeat<T, Name>`.
///
/// The policy says what is stored for the backward pass: store_all, segment_every<P>, revolve<S>, two_level<P, S>, or
/// fit<Bytes>. fit<Bytes> is store_all if that policy stores at most this number of bytes. Otherwise it is revolve<S>
/// with as many snapshots as these bytes hold, in addition to the first snapshot, which is an argument.
///
/// Rejects a scan with snapshots outside of the arena inside another scan.
template <int T, fixed_string Name, class Policy = store_all, class F, class... A>
constexpr applied<scan_form<T, Name, Policy>, F, A...> scan(F, A...) {
  return {};
}

/// Reports that the name is missing.
template <int T, class... A>
constexpr misused<misuse::no_name, "scan", A...> scan(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::carried, lang::each, lang::scan;
}  // namespace cairn
