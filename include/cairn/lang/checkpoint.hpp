// Activation checkpoints. The interior of a segment is recomputed in the backward pass instead of stored.
// Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
#pragma once

#include "cairn/lang/convert.hpp"
#include "cairn/lang/repeat.hpp"

namespace cairn::lang {

/// Converts real numbers to the type `To`. Mistakes, indices and values that have this type already stay as they are.
template <dtype To, class A>
constexpr auto real_as(A a) {
  if constexpr (wrong<A> || kind_of(A::element.type) != kind::real || A::element.type == To) return a;
  else return make<as_op<To>>(a);
}
/// The body of a segment with boundaries of another type. Each argument arrives in the type of the boundary, and is
/// converted back to its own type before F uses it.
template <class F, dtype... Own>
struct from_boundaries {
  template <an_expression... A>
    requires(sizeof...(A) == sizeof...(Own) && can_be_called<F, decltype(real_as<Own>(A{}))...>)
  constexpr auto operator()(A... a) const {
    return F{}(real_as<Own>(a)...);
  }
};
/// The mark of a segment with boundaries of type T. If F has captures, F itself is the body, so that the message about
/// captures shows F.
template <class T, class Mark>
struct rounding_mark : Mark {};
template <class T, class Mark, class F>
struct call_form<rounding_mark<T, Mark>, F> : free_form<"ckpt", misuse::not_callable> {
  template <an_expression... A>
  static constexpr auto of(A... args) {
    using body = std::conditional_t<std::is_empty_v<F>, from_boundaries<F, A::element.type...>, F>;
    return call_form<Mark, body>::of(real_as<dtype_of<T>>(args)...);
  }
};
template <fixed_string Name, class... Policy>
struct mark_of_segment {
  using type = segment_mark<Name, Policy...>;
};
template <fixed_string Name, a_real_element T, class... Policy>
struct mark_of_segment<Name, boundaries<T>, Policy...> {
  using type = rounding_mark<T, segment_mark<Name, Policy...>>;
};
template <fixed_string Name, class... Policy>
using segment_form = block_form<typename mark_of_segment<Name, Policy...>::type>;

/// A segment: f applied to boundaries, as in torch.utils.checkpoint.checkpoint(f, a, b). The forward pass stores the
/// boundaries. The backward pass recomputes from them the values of the interior that it reads. If f returns a
/// std::tuple, so does ckpt: `auto [h, c] = ckpt<"cell">(lstm, x, h0, c0)`.
///
/// Policies say which values of the interior may be stored in addition: `ckpt<"attention", save<"scores">>(f, x)`. A
/// value may be stored if any of several policies allows it. See lang/policy.hpp. `boundaries<bf16>` in front of the
/// policies stores the boundaries in half the bytes.
///
/// Rejects
/// - detach inside the segment,
/// - values of other bodies, and values computed outside from inputs of the program,
/// - arguments that f never reads,
/// - bodies with captures,
/// - policies that contradict each other.
///
/// A program rejects in addition
/// - segments in which nothing needs a gradient,
/// - segments that store at least as many bytes as they free,
/// - policies that fit no value of the segment.
template <fixed_string Name, class... Policy, class F, class... A>
  requires(sizeof...(A) > 0)
constexpr applied<segment_form<Name, Policy...>, F, A...> ckpt(F, A...) {
  return {};
}

/// Makes a checkpointed layer of a layer. If f takes no arguments, returns the value of a segment that reads parameters
/// only.
template <fixed_string Name, class... Policy, class F>
constexpr applied<segment_form<Name, Policy...>, F> ckpt(F) {
  return {};
}

/// Reports that the name is missing.
template <class... A>
constexpr nameless<"ckpt", A...> ckpt(A...) {
  return {};
}
/// Reports a policy that is a value.
template <fixed_string Name, auto Policy, auto... More, class... A>
constexpr mistaken_layer_call<misuse::policy_out_of_place, "ckpt", A...> ckpt(A...) {
  return {};
}
/// Reports a policy before the name.
template <class Policy, fixed_string Name, class... A>
constexpr mistaken_layer_call<misuse::policy_out_of_place, "ckpt", A...> ckpt(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::ckpt;
}  // namespace cairn
