// Gradients as values of a model. They are used for penalties on gradients and for products with a Hessian.
#pragma once

#include "cairn/lang/captured.hpp"

namespace cairn::lang {

/// Returns the traits of a gradient of an expression with the traits `t`.
constexpr expression_traits traits_of_gradient(expression_traits t) {
  ++t.order;
  t.has_model_parts = true;
  return with_computation(t);
}

/// The gradient of the scalar F with respect to number I of X.
template <int I, class F, class... X>
struct derivative : expression {
  using by = std::tuple_element_t<static_cast<std::size_t>(I), std::tuple<X...>>;
  using owner = typename owner_among<F, X...>::type;
  static constexpr cairn::shape shape = by::shape;
  static constexpr element_type element = by::element;
  static constexpr expression_traits traits = traits_of_gradient(merged_traits({F::traits, X::traits...}));
};

template <class Owner, int I, class F, class... X>
struct subexpressions_of<Owner, derivative<I, F, X...>> {
  using type = std::tuple<seen_from<Owner, F>, seen_from<Owner, X>...>;
};
/// Returns the mistake in `grad(F, X...)`, or `sound`.
template <class F, class... X>
constexpr auto problem_of_gradient_of() {
  using owner = typename owner_among<F, X...>::type;
  using what = fact::operation<"grad", tensor_fact<F>, tensor_fact<X>...>;
  if constexpr (wrong<F> || (wrong<X> || ...)) {
    return pass_on<owner>(F{}, X{}...);
  } else if constexpr (std::same_as<owner, mixed_scopes>) {
    return mistake<misuse::captured_value, owner, what>{};
  } else if constexpr (kind_of(F::element.type) != kind::real || ((kind_of(X::element.type) != kind::real) || ...)) {
    return mistake<misuse::kind_mismatch, owner, what, fact::takes<float, decltype(X::element, float{})...>>{};
  } else if constexpr (F::shape.rank != 0) {
    return mistake<misuse::scalar_first, owner, what>{};
  } else {
    return sound{};
  }
}
struct gradient_form {
  static constexpr fixed_string name = "grad";
  template <class... A>
  static constexpr bool fits = true;
  template <an_expression F, an_expression... X>
  static constexpr auto of(F, X...) {
    using problem = decltype(problem_of_gradient_of<F, X...>());
    if constexpr (!std::same_as<problem, sound>) {
      return in_place_of_results<sizeof...(X)>(problem{});
    } else if constexpr (sizeof...(X) == 1) {
      return shortened<derivative<0, F, X...>>{};
    } else {
      return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple{shortened<derivative<static_cast<int>(I), F, X...>>{}...};
      }(std::index_sequence_for<X...>{});
    }
  }
};

/// The gradient of a scalar with respect to x, as torch.autograd.grad with create_graph:
/// `loss + sum(square(grad(loss, x)))`. x is a leaf, or any value from which the scalar is computed. For several x the
/// result is a tuple: `auto [gx, gy] = grad(f, x, y)`. Segments apply here, too: the values of their interior that this
/// gradient reads are recomputed.
///
/// Rejects a first argument that is no scalar, and arguments that are not real numbers. A program rejects a scalar that
/// does not depend on x.
template <an_operand F, an_operand... X>
  requires(sizeof...(X) > 0)
constexpr applied<gradient_form, F, X...> grad(F, X...) {
  return {};
}
/// Reports that the name of a leaf was given in place of the leaf.
template <an_operand F, std::size_t N>
constexpr misused<misuse::name_for_leaf, "grad", F> grad(F, const char (&)[N]) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::grad;
}  // namespace cairn
