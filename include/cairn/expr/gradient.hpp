// Gradients as values of a model: for penalties on them, and for products with a Hessian.
#pragma once

#include "cairn/expr/operation.hpp"

namespace cairn {

namespace detail {
/// owner_of, for g++ 12 takes no pack there that is not all of its arguments.
template <class... A>
struct owning {
  using type = owner_of<A...>;
};
}  // namespace detail

/// The gradient of the scalar F with respect to number I of X.
template <int I, class F, class... X>
struct derivative : expression {
  using by = std::tuple_element_t<static_cast<std::size_t>(I), std::tuple<X...>>;
  using owner = typename detail::owning<F, X...>::type;
  static constexpr cairn::shape shape = by::shape;
  static constexpr kind element = kind::real;
  static constexpr cairn::facts facts = [] {
    cairn::facts f = made_of({F::facts, X::facts...});
    ++f.order;
    return f;
  }();
};

namespace detail {
template <class F, class... X>
constexpr auto differentiated_silently() {
  using owner = typename owning<F, X...>::type;
  using what = fact::operation<"grad", tensor_fact<F>, tensor_fact<X>...>;
  if constexpr (wrong<F> || (wrong<X> || ...)) {
    return pass_on<owner>(F{}, X{}...);
  } else if constexpr (std::same_as<owner, mixed_scopes>) {
    return mistake<captured_value, owner, what>{};
  } else if constexpr (F::element != kind::real || ((X::element != kind::real) || ...)) {
    return mistake<kind_mismatch, owner, what, fact::takes<float, decltype(X::element, float{})...>>{};
  } else if constexpr (F::shape.rank != 0) {
    return mistake<rule::scalar_first, owner, what>{};
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{shortened<derivative<static_cast<int>(I), F, X...>>{}...};
    }(std::index_sequence_for<X...>{});
  }
}

/// One gradient, or a tuple of several; for a mistake as many values, of which the first reports it.
template <class F, class... X>
struct differentiating {
  using found = decltype(differentiated_silently<F, X...>());
  static constexpr auto each() {
    if constexpr (!wrong<found>) return found{};
    else return std::tuple<found, std::conditional_t<true, rejected, X>...>{};
  }
  template <class Tuple, std::size_t... I>
  static std::tuple<std::tuple_element_t<I, Tuple>...> first_of(std::index_sequence<I...>);
  using all = decltype(first_of<decltype(each())>(std::index_sequence_for<X...>{}));
  using type = surfaced<std::conditional_t<sizeof...(X) == 1, std::tuple_element_t<0, all>, all>>;
};
template <class F, class... X>
  requires(a_layer<F> || (a_layer<X> || ...))
struct differentiating<F, X...> {
  using type = misused<layer_for_expression, "grad", F, X...>;
};
}  // namespace detail

/// The gradient of a scalar with respect to x, a leaf or any value that it is computed from, as torch.autograd.grad
/// with create_graph: `loss + sum(square(grad(loss, x)))`. For several a tuple: `auto [gx, gy] = grad(f, x, y)`.
/// Segments hold: what this gradient reads of them is recomputed, too. Rejects: a first argument that is no scalar; in
/// a program, one that does not depend on x.
template <an_operand F, an_operand... X>
  requires(sizeof...(X) > 0)
constexpr typename detail::differentiating<F, X...>::type grad(F, X...) {
  return {};
}

}  // namespace cairn
