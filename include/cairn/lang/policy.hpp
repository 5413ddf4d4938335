// Policies say which values of its interior a segment may store, in addition to its boundaries. The segment stores a
// value only if a policy allows it and the backward pass reads the value.
#pragma once

#include "cairn/lang/apply.hpp"
#include "cairn/lang/options.hpp"

namespace cairn {
/// A value that is computed inside the segment, and that a policy decides about.
struct saveable {
  std::string_view operation;  ///< the name of the operation that computes the value, for example "matmul"
  cairn::shape shape;
  std::int64_t flops = 0;    ///< floating-point operations to recompute the value
  bool contraction = false;  ///< the operation is a matrix product or a similar contraction
  bool batched = false;      ///< the first two arguments of the operation have more than two axes each
};
}  // namespace cairn

namespace cairn::lang {

/// P is a policy of the user: a function object without state, with `constexpr bool operator()(const saveable&) const`.
template <class P>
concept a_predicate = std::is_empty_v<P> && std::default_initializable<P> && requires(const saveable& v) {
  { P{}(v) } -> std::same_as<bool>;
  typename std::bool_constant<(static_cast<void>(P{}(saveable{})), true)>;  // the call must be a constant expression
};

}  // namespace cairn::lang

namespace cairn {
/// Policy: the segment may store the values that have one of these tags.
template <fixed_string... Name>
  requires(sizeof...(Name) > 0)
struct save {};
/// Policy: the segment may store all values except the values that have one of these tags.
template <fixed_string... Name>
  requires(sizeof...(Name) > 0)
struct save_all_but {};
/// Policy: the segment may store the results of matrix products and other contractions (JAX's dots_saveable).
struct save_matmuls {
  constexpr bool operator()(const saveable& v) const { return v.contraction; }
};
/// Policy: the segment may store the results of products with weights, but not of products of two batches of matrices,
/// which attention computes (JAX's dots_with_no_batch_dims_saveable).
struct save_unbatched_matmuls {
  constexpr bool operator()(const saveable& v) const { return v.contraction && !v.batched; }
};
/// Policy: the segment stores all values of its interior that the backward pass needs. This includes values that a
/// block would recompute because they are cheap. As with allow_useless, the segment may be useless.
struct save_everything {
  constexpr bool operator()(const saveable&) const { return true; }
};
/// Policy: the segment stores no value of its interior, as without a policy.
struct save_nothing {};
/// Policy: suppresses two errors. The segment may then free no more bytes than it stores, or contain nothing that needs
/// a gradient.
struct allow_useless {};

/// Stands before policies: `ckpt<"block", boundaries<bf16>>(f)` stores half the bytes at the boundary. Real numbers
/// that enter the segment as arguments, parameters as well, are rounded to T, and are converted back to their own type
/// inside. The gradients of these arguments are rounded to T as they leave the segment, and are summed in T. With the
/// option `plain` the same rounding is done, so the bits are the same. Over doubles nothing is rounded to bf16.
template <class T>
struct boundaries {};
}  // namespace cairn

namespace cairn::lang {

template <class P>
inline constexpr bool names_tags = false;
template <fixed_string... Name>
inline constexpr bool names_tags<save<Name...>> = true;
template <fixed_string... Name>
inline constexpr bool names_tags<save_all_but<Name...>> = true;

template <class P>
concept a_policy = names_tags<P> || a_predicate<P> || std::same_as<P, save_nothing> || std::same_as<P, allow_useless>;

/// Is true if policy P contradicts policy Q. There are three cases:
/// - P is save_nothing or save_everything, so that Q has nothing left to decide.
/// - P is a `save` and Q a `save_all_but` with a tag in common.
/// - P and Q are `save_all_but` with different tags.
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

/// The first of these with a `type` that is not void, or the last one.
template <class First, class... Rest>
struct first_mistake : First {};
template <class First, class... Rest>
  requires(std::is_void_v<typename First::type> && sizeof...(Rest) > 0)
struct first_mistake<First, Rest...> : first_mistake<Rest...> {};

/// The mistake of giving P as a policy of a segment, or void.
template <class P>
struct wrong_policy {
  static constexpr bool is_scan_policy = requires { P::stores_iterations; };
  using what = std::conditional_t<option_settings<P>::known, misuse::option_for_policy,
                                  std::conditional_t<is_scan_policy, misuse::policy_of_scan, misuse::no_policy>>;
  using type = std::conditional_t<a_policy<P>, void, mistake<what, top_scope, fact::given<P>>>;
};
/// The mistake of giving policies P and Q to one segment, or void.
template <class P, class Q>
struct contradiction {
  using type = std::conditional_t<contradicting<P, Q> || contradicting<Q, P>,
                                  mistake<misuse::contradicting_policies, top_scope, fact::policies<P, Q>>, void>;
};
/// The first mistake in the policies of a segment, or void.
template <class... P>
struct wrong_policies {
  using type = void;
};
template <class P, class... Q>
struct wrong_policies<P, Q...> : first_mistake<wrong_policy<P>, contradiction<P, Q>..., wrong_policies<Q...>> {};

/// Value X with a tag, by which policies select it.
template <fixed_string Name, an_expression X>
struct tagged : expression {
  using owner = typename X::owner;
  static constexpr cairn::shape shape = X::shape;
  static constexpr element_type element = X::element;
  static constexpr expression_traits traits = merged_traits({X::traits});
};

template <fixed_string Name, class X>
struct axes_origin<tagged<Name, X>> : axes_origin<X> {};

template <fixed_string Name>
struct tag_form : form_of_one<"tag"> {
  template <an_expression X>
  static constexpr auto of(X x) {
    if constexpr (wrong<X>) return x;
    else return shortened<tagged<Name, X>>{};
  }
};

/// Gives a value a tag for the policies of the segments around it (JAX's checkpoint_name):
/// `tag<"scores">(matmul(q, k))`. The value and its gradient do not change, and the tag costs nothing. Blocks add no
/// prefix to a tag. In a gradient rule a tag has no effect.
template <fixed_string Name, an_operand X>
constexpr applied<tag_form<Name>, X> tag(X) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::a_policy, lang::a_predicate, lang::tag;
}  // namespace cairn
