// Losses: scalars, averaged over the batch.
#pragma once

#include "cairn/expr/softmax.hpp"

namespace cairn {

namespace detail {
/// Operations on logits {..., classes} and one label {...} for each row of them.
struct labelled : op {
  using rule = rule::one_label_per_row;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr int extent_indexed(int i, const shape& logits, const shape&) { return i == 1 ? logits[-1] : 0; }
  static constexpr bool takes_rows(const shape&, const shape&) { return true; }
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
  static constexpr int overwrites(int) { return 0; }
  static constexpr shape result(const shape& logits, const shape& labels) {
    return fits(logits, labels) ? logits : no_shape;
  }
  static constexpr auto vjp(auto g, auto, auto logits, auto) {
    const auto p = softmax(logits);
    return gradients((g - sum<-1>(g * p, keepdim)) * p, no_gradient{});
  }
};
struct cross_entropy_op : detail::labelled {
  static constexpr fixed_string name = "cross_entropy";
  static constexpr auto vjp(auto g, auto, auto logits, auto labels) {
    constexpr double rows = static_cast<double>(decltype(labels)::shape.count());
    return gradients(make<softmax_error_op>(logits, labels) * (g * constant<1 / rows>), no_gradient{});
  }
};
struct accuracy_op : detail::labelled {
  static constexpr fixed_string name = "accuracy";
  static constexpr bool detaches = true;
  static constexpr auto vjp(auto, auto, auto, auto) { return gradients(no_gradient{}, no_gradient{}); }
};

namespace detail {
template <class Op>
struct labelled_form : form_of_two<Op::name> {
  template <an_expression Logits, an_expression Labels>
  static constexpr auto of(Logits logits, Labels labels) {
    return made_silently<Op>(logits, labels);
  }
};
struct mse_form : form_of_two<"mse"> {
  using rule = rule::equal_shapes;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  template <an_expression A, an_expression B>
  static constexpr auto of(A, B) {
    if constexpr (wrong<A> || wrong<B> || A::shape == B::shape || A::shape.rank == 0 || B::shape.rank == 0)
      return averaged<false>(unreported<square_op, unreported<sub_op, A, B>>{});
    else return wrong_shapes<mse_form, owner_of<A, B>, A, B>(std::index_sequence_for<A, B>{});
  }
};
}  // namespace detail

/// Mean over the rows of -log(softmax(logits)[label]). Logits {..., classes}, labels {...}.
template <class... A>
  requires some_operands<A...>
constexpr applied<detail::labelled_form<cross_entropy_op>, A...> cross_entropy(A...) {
  return {};
}

/// The fraction of rows whose largest logit stands at the label; has no gradient.
template <class... A>
  requires some_operands<A...>
constexpr applied<detail::labelled_form<accuracy_op>, A...> accuracy(A...) {
  return {};
}

/// Mean of squared differences of equal shapes, or to one number: {8, 1} and {8} would broadcast to {8, 8}.
template <class... A>
  requires some_operands<A...>
constexpr applied<detail::mse_form, A...> mse(A...) {
  return {};
}

}  // namespace cairn
