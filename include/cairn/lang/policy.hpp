// Policies: what a segment keeps of its interior, beside its boundaries. A policy says what may be stored; of that,
// backward's own reads decide what is.
#pragma once

#include "cairn/lang/apply.hpp"
#include "cairn/lang/options.hpp"

namespace cairn {

/// What a policy is asked about: a value computed inside of the segment.
struct saveable {
  std::string_view operation;  ///< that computes it, such as "matmul"
  cairn::shape shape;
  std::int64_t flops = 0;    ///< to compute it again
  bool contraction = false;  ///< the operation is a matrix product or the like
  bool batched = false;      ///< two arguments of the operation have leading axes
};

/// A policy of the user's: a stateless function object, `constexpr bool operator()(const saveable&) const`.
template <class P>
concept a_predicate = std::is_empty_v<P> && std::default_initializable<P> && requires(const saveable& v) {
  { P{}(v) } -> std::same_as<bool>;
  typename std::bool_constant<(static_cast<void>(P{}(saveable{})), true)>;  // a constant expression
};

/// Policy: keeps the values that have one of these tags.
template <fixed_string... Name>
  requires(sizeof...(Name) > 0)
struct save {};
/// Policy: keeps all values but those that have one of these tags.
template <fixed_string... Name>
  requires(sizeof...(Name) > 0)
struct save_all_but {};
/// Policy: keeps the results of matrix products and other contractions (JAX's dots_saveable).
struct save_matmuls {
  constexpr bool operator()(const saveable& v) const { return v.contraction; }
};
/// Policy: keeps products with weights, and not those of two batches of matrices, as in attention (JAX's
/// dots_with_no_batch_dims_saveable).
struct save_unbatched_matmuls {
  constexpr bool operator()(const saveable& v) const { return v.contraction && !v.batched; }
};
/// Policy: keeps all of the inside that backward needs, even what a block would make again of few operations.
struct save_everything {
  constexpr bool operator()(const saveable&) const { return true; }
};
/// Policy: keeps nothing, as without a policy.
struct save_nothing {};
/// Policy: no error where the segment frees no more than it keeps, or where nothing in it needs a gradient.
struct allow_useless {};

/// Before policies: `ckpt<"block", boundaries<bf16>>(f)` stores half the bytes at its boundary. Real numbers that enter
/// the segment, parameters too, are rounded to T, and have their own type again inside. Their gradients are rounded as
/// they leave it, and added up in T. With `plain` all of this is done, too, so the bits are the same.
template <class T>
struct boundaries {};

namespace detail {
template <class P>
inline constexpr bool names_tags = false;
template <fixed_string... Name>
inline constexpr bool names_tags<save<Name...>> = true;
template <fixed_string... Name>
inline constexpr bool names_tags<save_all_but<Name...>> = true;
}  // namespace detail

template <class P>
concept a_policy =
    detail::names_tags<P> || a_predicate<P> || std::same_as<P, save_nothing> || std::same_as<P, allow_useless>;

namespace detail {
/// Whether one policy keeps what the other does not.
template <class P, class Q>
inline constexpr bool contradicting = false;
template <class P, class Q>
  requires(!std::same_as<P, Q> && (std::same_as<P, save_nothing> || std::same_as<P, save_everything>) &&
           !std::same_as<Q, allow_useless>)
inline constexpr bool contradicting<P, Q> = true;
template <fixed_string Name, fixed_string... Other>
inline constexpr bool is_among = ((std::string_view(Name) == std::string_view(Other)) || ...);
template <fixed_string... Name, fixed_string... Other>
inline constexpr bool contradicting<save<Name...>, save_all_but<Other...>> = (is_among<Name, Other...> || ...);
template <fixed_string... Name, fixed_string... Other>
inline constexpr bool contradicting<save_all_but<Name...>, save_all_but<Other...>> =
    !((is_among<Name, Other...> && ...) && (is_among<Other, Name...> && ...));

template <class First, class... Rest>
struct first_mistake : First {};
template <class First, class... Rest>
  requires(std::is_void_v<typename First::type> && sizeof...(Rest) > 0)
struct first_mistake<First, Rest...> : first_mistake<Rest...> {};

template <class P>
struct wrong_policy {
  static constexpr bool of_loop = requires { P::keeps_steps; };
  using what = std::conditional_t<said_by<P>::known, option_for_policy,
                                  std::conditional_t<of_loop, policy_of_loop, no_policy>>;
  using type = std::conditional_t<a_policy<P>, void, mistake<what, top_scope, fact::given<P>>>;
};
template <class P, class Q>
struct contradiction {
  using type = std::conditional_t<contradicting<P, Q> || contradicting<Q, P>,
                                  mistake<contradicting_policies, top_scope, fact::policies<P, Q>>, void>;
};
/// The first mistake in the policies of a segment, or void.
template <class... P>
struct wrong_policies {
  using type = void;
};
template <class P, class... Q>
struct wrong_policies<P, Q...> : first_mistake<wrong_policy<P>, contradiction<P, Q>..., wrong_policies<Q...>> {};
}  // namespace detail

/// A value under a name that policies ask for.
template <fixed_string Name, an_expression X>
struct tagged : expression {
  using owner = typename X::owner;
  static constexpr cairn::shape shape = X::shape;
  static constexpr element_type element = X::element;
  static constexpr expression_traits traits = merged({X::traits});
};

namespace detail {
template <fixed_string Name, class X>
struct rank_from<tagged<Name, X>> : rank_from<X> {};

template <fixed_string Name>
struct tag_form : form_of_one<"tag"> {
  template <class X>
  static constexpr auto of(X x) {
    if constexpr (wrong<X>) return x;
    else return shortened<tagged<Name, X>>{};
  }
};
}  // namespace detail

/// Names a value for the policies of the segments around it (JAX's checkpoint_name): `tag<"scores">(matmul(q, k))`. The
/// value and its gradient stay as they are, at no cost. Blocks add nothing to the name. In a vjp it names nothing.
template <fixed_string Name, an_operand X>
constexpr applied<detail::tag_form<Name>, X> tag(X) {
  return {};
}

}  // namespace cairn
