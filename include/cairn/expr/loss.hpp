// Losses: scalars, averaged over the batch.
#pragma once

#include "cairn/expr/comparison.hpp"
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
/// The mean of a loss of two elements. Where one argument is a number, it is beside each element of the other.
template <class Loss>
struct pairwise_form : form_of_two<Loss::name> {
  using rule = rule::equal_shapes;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  template <an_expression A, an_expression B>
  static constexpr auto of(A a, B b) {
    if constexpr (wrong<A> || wrong<B> || A::shape == B::shape || A::shape.rank == 0 || B::shape.rank == 0)
      return averaged<false>(Loss::of(a, b));
    else return wrong_shapes<pairwise_form, owner_of<A, B>, A, B>(std::index_sequence_for<A, B>{});
  }
};
struct mse_loss {
  static constexpr fixed_string name = "mse";
  static constexpr auto of(auto a, auto b) { return made_silently<square_op>(made_silently<sub_op>(a, b)); }
};
struct l1_loss {
  static constexpr fixed_string name = "l1";
  static constexpr auto of(auto a, auto b) { return made_silently<abs_op>(made_silently<sub_op>(a, b)); }
};
template <double Delta>
struct huber_loss {
  static constexpr fixed_string name = "huber";
  /// c (d - c / 2) of the difference d, where c is d clamped: the slope is c.
  static constexpr auto of(auto a, auto b) {
    const auto difference = made_silently<sub_op>(a, b);
    const auto clamped = clamp_form::of(difference, constant<-Delta>, constant<Delta>);
    return made_silently<mul_op>(clamped, made_silently<sub_op>(difference, made_silently<mul_op>(half, clamped)));
  }
};
struct binary_cross_entropy_loss {
  static constexpr fixed_string name = "binary_cross_entropy_with_logits";
  static constexpr auto of(auto x, auto target) {
    return made_silently<sub_op>(made_silently<softplus_op>(x), made_silently<mul_op>(x, target));
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

// Means over all elements of equal shapes, or of one shape and one number: {8, 1} and {8} would broadcast to {8, 8}.

/// Of squared differences, as F.mse_loss.
template <class... A>
  requires some_operands<A...>
constexpr applied<detail::pairwise_form<detail::mse_loss>, A...> mse(A...) {
  return {};
}

/// Of absolute differences, as F.l1_loss.
template <class... A>
  requires some_operands<A...>
constexpr applied<detail::pairwise_form<detail::l1_loss>, A...> l1(A...) {
  return {};
}

/// As F.huber_loss: half the square of a difference up to Delta, Delta (|difference| - Delta / 2) above.
template <double Delta = 1.0, class... A>
  requires(Delta > 0) && some_operands<A...>
constexpr applied<detail::pairwise_form<detail::huber_loss<Delta>>, A...> huber(A...) {
  return {};
}

/// As F.binary_cross_entropy_with_logits, of logits and targets from 0 to 1; large logits do not overflow.
template <class... A>
  requires some_operands<A...>
constexpr applied<detail::pairwise_form<detail::binary_cross_entropy_loss>, A...> binary_cross_entropy_with_logits(
    A...) {
  return {};
}

}  // namespace cairn
