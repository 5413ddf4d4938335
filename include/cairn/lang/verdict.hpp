// Judges the arguments of an operation, and describes what is wrong with them.
#pragma once

#include "cairn/lang/application.hpp"

namespace cairn::lang {

/// Is true if Op has a kernel that computes. The arguments of such an operation have no rounded types, except bf16 if
/// `accepts_bf16` is true: only fused loops convert the types of users, and few kernels know bf16.
template <class Op>
inline constexpr bool has_kernel = !Op::elementwise && !Op::view && !Op::mapped && Op::stands_for(true) < 0;

/// Is true if the kernel of Op accepts arguments A as bf16 that the user asked for with `as<bf16>`. A kernel does not
/// accept bf16 here if a result is a sum or a statistic, because sums and statistics are float32.
template <class Op, class... A>
constexpr bool accepts_bf16() {
  bool accepts = Op::reads(0, tensor_type{A::shape, A::element}...).numbers == reading::as_stored;
  for (int r = 0; r < static_cast<int>(result_count<Op, A...>); ++r)
    accepts &= !Op::makes(r, static_cast<int>(sizeof(bf16)), tensor_type{A::shape, A::element}...).is_statistic;
  return accepts;
}

/// The demands of an operation on its arguments, which do not depend on the arguments of one application.
struct demands {
  kind (*argument_kind)(int);
  next_state (*becomes)(int);
  // `rounded_types`: real numbers may have any rounded type, which is bf16 or a type of a user.
  // `accepts_bf16`: real numbers may be bf16.
  bool rounded_types, accepts_bf16;
};
/// Returns the type that argument number i must have. If the argument has this type already, the argument is sound.
///
/// The arguments that may be of any kind (`kind::any`) must all have the type of the first of them that is no constant.
/// A constant fits if that type is real.
constexpr dtype required_type(const argument_facts* arguments, int count, int i, const demands& wanted) {
  const dtype type = arguments[i].element.type;
  const kind wanted_kind = wanted.argument_kind(i);
  if (wanted_kind == kind::any) {
    for (int k = 0; k < count; ++k) {
      if (wanted.argument_kind(k) != kind::any || arguments[k].is_constant) continue;
      const dtype first = arguments[k].element.type;
      return arguments[i].is_constant && kind_of(first) == kind::real ? type : first;
    }
    return type;
  }
  const bool known = !is_rounded(type) || wanted.rounded_types || (type == dtype::bf16 && wanted.accepts_bf16);
  return wanted_kind == kind_of(type) && known ? type
         : wanted_kind == kind::whole          ? dtype::i32
         : wanted_kind == kind::key            ? dtype::key
                                               : dtype::real;
}

/// What is wrong with the arguments of an operation, and the index of the argument that is wrong.
struct verdict {
  enum : std::uint8_t { sound, kinds, types, states, shapes, index_bounds, rounded_types } fault = sound;
  int argument = 0;
};
/// Judges everything that does not depend on shapes: kinds, then types, then states.
constexpr verdict judge_arguments(const argument_facts* arguments, int count, const demands& wanted) {
  for (int i = 0; i < count; ++i) {
    if (required_type(arguments, count, i, wanted) != arguments[i].element.type) return {verdict::kinds, i};
  }
  if (!find_common_type(arguments, static_cast<std::size_t>(count)).agree) return {verdict::types};
  for (int i = 0; i < count; ++i) {
    const next_state next = wanted.becomes(i);
    if (!arguments[i].is_updatable && (next.result >= 0 || next.argument >= 0)) return {verdict::states, i};
  }
  return {};
}
// Loops, because std::ranges::any_of would instantiate hundreds of templates in every program.
constexpr bool any_is_whole(std::initializer_list<dtype> types) {
  for (const dtype type : types) {
    if (kind_of(type) == kind::whole) return true;
  }
  return false;
}
constexpr bool any_is_bf16(std::initializer_list<dtype> types) {
  for (const dtype type : types) {
    if (type == dtype::bf16) return true;
  }
  return false;
}
template <class Op, bool AcceptsBf16>
inline constexpr demands demands_of{&Op::argument_kind, &Op::becomes, !has_kernel<Op>, AcceptsBf16};
/// Judges kinds, types and states, then shapes, then the bounds of indices. Whether a kernel accepts bf16 is judged
/// last, because the operation is only asked about arguments that fit.
template <class Op, class... A>
constexpr verdict judge_application() {
  constexpr auto& arguments = facts_of<A...>;
  constexpr verdict first = judge_arguments(arguments, sizeof...(A), demands_of<Op, true>);
  if constexpr (first.fault == verdict::sound) {
    for (const tensor_type& result : results_of<Op, A...>) {
      if (!result.valid()) return {verdict::shapes};
    }
    if constexpr (any_is_whole({A::element.type...})) {
      for (int i = 0; i < static_cast<int>(sizeof...(A)); ++i) {
        if (kind_of(arguments[i].element.type) != kind::whole) continue;
        const int extent = Op::extent_indexed(i, tensor_type{A::shape, A::element}...),
                  bound = arguments[i].element.bound;
        if (extent > 0 && (bound < 1 || bound > extent)) return {verdict::index_bounds, i};
      }
    }
    if constexpr (has_kernel<Op> && any_is_bf16({A::element.type...})) {
      const verdict last = judge_arguments(arguments, sizeof...(A), demands_of<Op, false>);
      if (last.fault != verdict::sound && !accepts_bf16<Op, A...>()) return {verdict::rounded_types, last.argument};
    }
  }
  return first;
}
template <class Op, class... A>
inline constexpr verdict verdict_of = judge_application<Op, A...>();

template <class Op, class Owner, bool AcceptsBf16, class... A, std::size_t... I>
constexpr auto wrong_kinds(std::index_sequence<I...>) {
  constexpr const demands& wanted = demands_of<Op, AcceptsBf16>;
  return mistake<
      misuse::kind_mismatch, Owner, fact::operation<Op::name, tensor_fact<A>...>,
      fact::takes<typename shown_element<required_type(facts_of<A...>, sizeof...(A), I, wanted)>::type...>>{};
}

/// Argument number I with the shape that the user wrote.
template <class Op, class A, std::size_t I>
struct shown_argument {
  static constexpr cairn::shape shape = Op::shown(I, A::shape);
  static constexpr element_type element = A::element;
};
template <class Op, class Owner, int I, class... A>
constexpr auto index_out_of_bounds() {
  constexpr int bound = std::array{A::element.bound...}[I];
  return mistake<misuse::bound_above_extent, Owner, fact::operation<Op::name, tensor_fact<A>...>, fact::bound<bound>>{};
}

/// Returns a fact that a message shows in addition to the arguments that have wrong shapes, or an empty tuple. The fact
/// is what the operation asks for (`Op::asked`). Without `Op::asked`, if the arguments have different numbers of axes,
/// the fact names the leaf or the operation from which the additional axes come.
template <class Op, class... A>
constexpr auto reason_of_shapes() {
  using widest = typename with_most_axes<A...>::type;
  if constexpr (requires { typename Op::asked; }) return std::tuple<std::type_identity<typename Op::asked>>{};
  else if constexpr (!axes_origin<widest>::is_leaf && ((widest::shape.rank > A::shape.rank) || ...))
    return std::tuple<std::type_identity<typename axes_origin<widest>::type>>{};
  else return std::tuple<>{};
}
/// The misuse that is reported if the shapes of the arguments do not fit.
template <class Op>
struct shape_rule_of {
  using type = misuse::unsaid;
};
template <class Op>
  requires requires { typename Op::rule; }
struct shape_rule_of<Op> {
  using type = typename Op::rule;
};
template <class Op, class Owner, class... A, std::size_t... I>
constexpr auto wrong_shapes(std::index_sequence<I...>) {
  using what = fact::operation<application_text<Op, A...>(), tensor_fact<shown_argument<Op, A, I>>...>;
  return []<class... Reason>(std::tuple<std::type_identity<Reason>...>) {
    return mistake<typename shape_rule_of<Op>::type, Owner, what, Reason...>{};
  }(reason_of_shapes<Op, A...>());
}

template <class Op, class Owner, verdict Found, class... A>
constexpr auto mistake_found() {
  using what = fact::operation<Op::name, tensor_fact<A>...>;
  constexpr std::index_sequence_for<A...> each;
  if constexpr (Found.fault == verdict::kinds) return wrong_kinds<Op, Owner, true, A...>(each);
  else if constexpr (Found.fault == verdict::rounded_types) return wrong_kinds<Op, Owner, false, A...>(each);
  else if constexpr (Found.fault == verdict::types) return mistake<misuse::different_types, Owner, what>{};
  else if constexpr (Found.fault == verdict::states) return mistake<misuse::no_state, Owner, what>{};
  else if constexpr (Found.fault == verdict::shapes) return wrong_shapes<Op, Owner, A...>(each);
  else return index_out_of_bounds<Op, Owner, Found.argument, A...>();
}

}  // namespace cairn::lang
