// Activation checkpoints: segments whose interior is recomputed in backward instead of stored.
// Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
#pragma once

#include "cairn/lang/convert.hpp"
#include "cairn/lang/repeat.hpp"

namespace cairn {

namespace detail {
template <class OpaqueMark, class Opaque>
struct segment_layer : layer_base {
  static constexpr auto name = revealed<OpaqueMark>::name;
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr called<revealed<OpaqueMark>, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};

template <fixed_string Name, class... Policy>
struct segment_form {
  static constexpr fixed_string name = "ckpt";
  using mark = segment_mark<Name, Policy...>;
  template <class F, class... A>
  using call = called<mark, F, A...>;
  template <class F>
  using layer = segment_layer<opaque<mark>, opaque<F>>;
};

template <dtype To, class A>
constexpr auto real_as(A a) {
  if constexpr (wrong<A> || kind_of(A::element.type) != kind::real || A::element.type == To) return a;
  else return make<as_op<To>>(a);
}
/// A body whose arguments come from boundaries of another type, and have their own again.
template <class F, dtype... Own>
struct from_boundaries {
  template <an_expression... A>
    requires(sizeof...(A) == sizeof...(Own) && can_be_called<F, decltype(real_as<Own>(A{}))...>)
  constexpr auto operator()(A... a) const {
    return F{}(real_as<Own>(a)...);
  }
};
/// A segment whose boundaries are of type T. A body with captures is a mistake as it is.
template <class T, class Mark, class F, class... A>
using rounding_call = called<Mark, std::conditional_t<std::is_empty_v<F>, from_boundaries<F, A::element.type...>, F>,
                             decltype(real_as<dtype_of<T>>(A{}))...>;
template <class T, class OpaqueMark, class Opaque>
struct rounding_layer : layer_base {
  static constexpr auto name = revealed<OpaqueMark>::name;
  template <an_expression... A>
    requires(sizeof...(A) > 0)
  constexpr rounding_call<T, revealed<OpaqueMark>, revealed<Opaque>, A...> operator()(A...) const {
    return {};
  }
};
template <fixed_string Name, a_real_element T, class... Policy>
struct segment_form<Name, boundaries<T>, Policy...> : segment_form<Name, Policy...> {
  using mark = segment_mark<Name, Policy...>;
  template <class F, class... A>
  using call = rounding_call<T, mark, F, A...>;
  template <class F>
  using layer = rounding_layer<T, opaque<mark>, opaque<F>>;
};
}  // namespace detail

/// A segment: f applied to boundaries, as in torch.utils.checkpoint.checkpoint(f, a, b). The forward pass
/// stores the boundaries; backward recomputes from them what it reads of the interior. `auto [h, c] =
/// ckpt<"cell">(lstm, x, h0, c0)` where f returns a std::tuple. Policies say what else is kept: `ckpt<"attention",
/// save<"scores">>(f, x)`; several keep what any of them keeps. See lang/policy.hpp. `boundaries<bf16>` before them
/// stores the boundaries in half the bytes.
/// Rejects: detach inside, values of other bodies or computed from inputs outside, arguments that f never reads, bodies
/// with captures, policies that contradict each other; and in a program, segments without a gradient, those that keep
/// no less than they free, and policies that fit nothing.
template <fixed_string Name, class... Policy, class F, class... A>
  requires(sizeof...(A) > 0)
constexpr typename detail::calling_as<detail::segment_form<Name, Policy...>, F, A...>::type ckpt(F, A...) {
  return {};
}

/// A layer made into a checkpointed layer; or, where f takes no arguments, a segment of parameters only.
template <fixed_string Name, class... Policy, class F>
constexpr typename detail::calling_as<detail::segment_form<Name, Policy...>, F>::type ckpt(F) {
  return {};
}

template <class... A>
constexpr nameless<"ckpt", A...> ckpt(A...) {
  return {};
}

}  // namespace cairn
