// A loop whose body is planned and compiled once, and runs many times.
#pragma once

#include "cairn/core/reversal.hpp"
#include "cairn/expr/checkpoint.hpp"

namespace cairn {

/// What a loop carries from step to step, by what it begins with.
template <an_operand... A>
struct carried_values {};
/// What each step of a loop reads its own slice of.
template <an_operand... A>
struct step_values {};

template <an_operand... A>
constexpr carried_values<A...> carried(A...) {
  return {};
}
template <an_operand... A>
constexpr step_values<A...> each(A...) {
  return {};
}

namespace detail {
template <class E, std::size_t... Axis>
tensor<E::element, E::shape.extent[Axis + 1]...> slice_of(std::index_sequence<Axis...>);
/// What one step reads of E, along its first axis.
template <class E>
using step_slice = decltype(slice_of<E>(std::make_index_sequence<static_cast<std::size_t>(E::shape.rank - 1)>{}));
}  // namespace detail

/// T applications of the body F, one node of the type; its parameters get the prefix `Name.` and are those of all steps.
template <int T, fixed_string Name, class Policy, class F, class Carried, class Each, class... Same>
struct scanned;
template <int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
struct scanned<T, Name, Policy, F, carried_values<C...>, step_values<E...>, Same...> : expression {
  using owner = owner_of<C..., E..., Same...>;
  using policy = Policy;
  static constexpr int steps = T;
  static constexpr fixed_string name = Name;
  static constexpr int level = merged({C::traits..., E::traits..., Same::traits...}).level;
  using body =
      call<block_mark<Name>, F, detail::stage_input<level, tensor_of<C>>...,
           detail::stage_input<level, detail::step_slice<E>>..., detail::stage_input<level, tensor_of<Same>>...>;
  using arguments = std::tuple<C..., E..., Same...>;
  /// Of one step, in the order of the body's arguments.
  using tensors = std::tuple<tensor_of<C>..., detail::step_slice<E>..., tensor_of<Same>...>;
  static constexpr int carried_count = sizeof...(C), each_count = sizeof...(E), same_count = sizeof...(Same);
  static constexpr int result_count = static_cast<int>(body::results.size());

  /// The last states, then what is collected.
  static constexpr auto results = [] {
    auto out = body::results;
    for (int r = carried_count; r < result_count; ++r) {
      tensor_type& made = out[static_cast<std::size_t>(r)];
      const tensor_type one = made;
      made.rank = one.rank + 1;
      made.extent[0] = T;
      for (int axis = 0; axis < one.rank; ++axis) made.extent[axis + 1] = one.extent[axis];
    }
    return out;
  }();
  static constexpr cairn::shape shape = results[0];
  static constexpr element_type element = results[0].element;
  static constexpr expression_traits traits =
      detail::around(merged({C::traits..., E::traits..., Same::traits...}, false,
                            (captured<owner, C> || ... || false) || (captured<owner, E> || ... || false) ||
                                (captured<owner, Same> || ... || false)),
                     body::inside);
};

namespace detail {
template <class Owner, int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
struct parts_of<Owner, scanned<T, Name, Policy, F, carried_values<C...>, step_values<E...>, Same...>> {
  using loop = scanned<T, Name, Policy, F, carried_values<C...>, step_values<E...>, Same...>;
  using type = std::tuple<seen_from<Owner, C>..., seen_from<Owner, E>..., seen_from<Owner, Same>...,
                          seen_from<Owner, typename loop::body>>;
};
template <int T, fixed_string Name, class... Rest>
inline constexpr auto known_as<scanned<T, Name, Rest...>> = Name;

template <class Loop>
constexpr auto results_of_loop() {
  if constexpr (Loop::result_count == 1) return by_other_name<Loop>{};
  else return picks<Loop>(std::make_index_sequence<Loop::result_count>{});
}

template <int T, class E>
inline constexpr bool is_for_steps = E::shape.rank > 0 && E::shape[0] == T;

/// Whether what is carried has in all steps the tensor with which it begins.
template <class Loop, class... C, std::size_t... I>
constexpr int first_changed(std::index_sequence<I...>) {
  int changed = -1;
  ((changed = changed < 0 && (Loop::results[I] != C::shape || Loop::results[I].element != C::element)
                  ? static_cast<int>(I)
                  : changed),
   ...);
  return changed;
}

/// The loop, or the mistake in it.
template <int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
constexpr auto scanned_silently(carried_values<C...>, step_values<E...>, Same...) {
  using owner = owner_of<C..., E..., Same...>;
  if constexpr ((wrong<C> || ... || false) || (wrong<E> || ... || false) || (wrong<Same> || ... || false)) {
    return pass_on<owner>(C{}..., E{}..., Same{}...);
  } else if constexpr (T < 1) {
    return mistake<no_iterations, owner, fact::in<Name>, fact::iterations<T>>{};
  } else {
    using loop = scanned<T, Name, Policy, F, carried_values<C...>, step_values<E...>, Same...>;
    return results_of_loop<loop>();
  }
}

template <int T, fixed_string Name, class Policy, class F, class... A>
struct scanning {};
template <int T, fixed_string Name, class Policy, class F, class... C, class... Same>
struct scanning<T, Name, Policy, F, carried_values<C...>, Same...> {
  using type =
      surfaced<decltype(scanned_silently<T, Name, Policy, F>(carried_values<C...>{}, step_values<>{}, Same{}...))>;
};
template <int T, fixed_string Name, class Policy, class F, class... C, class... E, class... Same>
struct scanning<T, Name, Policy, F, carried_values<C...>, step_values<E...>, Same...> {
  using type =
      surfaced<decltype(scanned_silently<T, Name, Policy, F>(carried_values<C...>{}, step_values<E...>{}, Same{}...))>;
};
}  // namespace detail

/// A loop of T steps. body(h, c, x_t, y_t, a, b) gets what is carried, then the step's slices of what stands in
/// each(...), along their first axis, which has the extent T, then what is the same in all steps; it returns a
/// std::tuple: what is carried on, then what is collected along a new first axis. The result is a tuple of the same:
/// `auto [h, ys] = scan<T, "step">(body, carried(h0), each(xs), a)`; or the one value where there is one.
/// each(arange<T>) is the index of the step. Parameters in the body have the prefix `Name.` and are those of all steps;
/// their gradients, and those of a, are summed from the last step to the first. A state that the body updates is
/// carried, too: it begins as the step of the program finds it. Random operations draw in step t what they draw in step
/// t of `repeat<T, Name>`. Policy: store_all, revolve<S> or two_level<P, S>: what is kept for backward.
template <int T, fixed_string Name, class Policy = store_all, class F, class... A>
constexpr typename detail::scanning<T, Name, Policy, F, A...>::type scan(F, A...) {
  return {};
}

}  // namespace cairn
