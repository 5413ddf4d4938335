// Losses: scalars, averaged over the batch.
#pragma once

#include "cairn/expr/norm.hpp"

namespace cairn {

namespace detail {
/// Operations on logits {..., classes} and one label {...} for each row of them.
struct labelled : op {
  using rule = rule::one_label_per_row;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::index : kind::real; }
  static constexpr bool fits(const shape& logits, const shape& labels) {
    return logits.rank > 0 && reduced(logits, axis_set{1} << (logits.rank - 1), false) == labels;
  }
  static constexpr shape result(const shape& logits, const shape& labels) {
    return fits(logits, labels) ? shape{} : no_shape;
  }
  static constexpr std::int64_t flops(const shape& logits, const shape&) { return 5 * logits.count(); }
};
}  // namespace detail

/// softmax(logits) minus 1 at the label: the gradient of a row's cross entropy.
struct softmax_error_op : detail::labelled {
  static constexpr fixed_string name = "softmax_error";
  static constexpr bool in_place = true;
  static constexpr shape result(const shape& logits, const shape& labels) {
    return fits(logits, labels) ? logits : no_shape;
  }
  static constexpr auto vjp(auto logits, auto, auto, auto g) {
    const auto p = softmax(logits);
    return gradients((g - sum<-1>(g * p, keepdim)) * p, no_gradient{});
  }
};
struct cross_entropy_op : detail::labelled {
  static constexpr fixed_string name = "cross_entropy";
  static constexpr auto vjp(auto logits, auto labels, auto, auto g) {
    constexpr double rows = static_cast<double>(decltype(labels)::shape.count());
    return gradients(make<softmax_error_op>(logits, labels) * (g * constant<1 / rows>), no_gradient{});
  }
};
struct accuracy_op : detail::labelled {
  static constexpr fixed_string name = "accuracy";
  static constexpr auto vjp(auto, auto, auto, auto) { return gradients(no_gradient{}, no_gradient{}); }
};

/// Mean over the rows of -log(softmax(logits)[label]). Logits {..., classes}, labels {...}.
template <an_operand Logits, an_operand Labels>
constexpr made<cross_entropy_op, Logits, Labels> cross_entropy(Logits, Labels) {
  return {};
}
template <an_operand A, class... Others>
  requires(sizeof...(Others) != 1)
constexpr misused<two_arguments, "cross_entropy", A, Others...> cross_entropy(A, Others...) {
  return {};
}

/// The fraction of rows whose largest logit stands at the label; has no gradient.
template <an_operand Logits, an_operand Labels>
constexpr made<accuracy_op, Logits, Labels> accuracy(Logits, Labels) {
  return {};
}
template <an_operand A, class... Others>
  requires(sizeof...(Others) != 1)
constexpr misused<two_arguments, "accuracy", A, Others...> accuracy(A, Others...) {
  return {};
}

namespace detail {
template <class A, class B>
struct squared_error {};
template <an_expression A, an_expression B>
struct squared_error<A, B> {
  using type = surfaced<decltype(averaged<false>(part<square_op, part<sub_op, A, B>>{}))>;
};
template <an_operand A, an_operand B>
  requires(a_layer<A> || a_layer<B>)
struct squared_error<A, B> {
  using type = misused<layer_for_expression, "mse", A, B>;
};
}  // namespace detail

/// Mean of squared differences.
template <an_operand A, an_operand B>
constexpr typename detail::squared_error<A, B>::type mse(A, B) {
  return {};
}
template <an_operand A, class... Others>
  requires(sizeof...(Others) != 1)
constexpr misused<two_arguments, "mse", A, Others...> mse(A, Others...) {
  return {};
}

}  // namespace cairn
