// Losses. A loss is a scalar, averaged over the batch.
#pragma once

#include "cairn/lang/generated.hpp"
#include "cairn/lang/state.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/gather.hpp"
#include "cairn/op/softmax.hpp"

namespace cairn::nn {

/// Options of cross_entropy, with PyTorch's names and defaults.
struct cross_entropy_options {
  /// Rows with this label do not count. If ignore_index is larger than all classes, labels may be up to ignore_index.
  int ignore_index = -100;
  /// Share of each row's target that is spread evenly over all classes, from 0 to 1.
  double label_smoothing = 0;

  friend constexpr bool operator==(const cross_entropy_options&, const cross_entropy_options&) = default;
};

}  // namespace cairn::nn

namespace cairn::lang {

/// Base of operations on logits {..., classes} and labels {...}, one label for each row of logits.
struct labelled : op {
  using rule = misuse::one_label_per_row;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr int extent_indexed(int i, const shape& logits, const shape&) { return i == 1 ? logits[-1] : 0; }
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 0 ? reading::as_stored : reading::as_float, .rows_from_loop = i == 0};
  }
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true}; }
  static constexpr bool fits(const shape& logits, const shape& labels) {
    return logits.rank > 0 && reduced(logits, detail::axis_set{1} << (logits.rank - 1), false) == labels;
  }
  static constexpr shape result(const shape& logits, const shape& labels) {
    return fits(logits, labels) ? shape{} : no_shape;
  }
  static constexpr std::int64_t flops(const shape& logits, const shape&) { return 5 * logits.count(); }
};

/// Computes softmax(logits), minus 1 at the label. This is the gradient of a row's cross entropy.
struct softmax_error_op : labelled {
  static constexpr fixed_string name = "softmax_error";
  static constexpr making makes(int, int, const auto&...) { return {.rounds = true, .overwrites = 0}; }
  static constexpr shape result(const shape& logits, const shape& labels) {
    return fits(logits, labels) ? logits : no_shape;
  }
  static constexpr bool keeps_rows(int, const shape& logits, const shape&) { return logits.rank > 1; }
  static constexpr auto vjp(auto g, auto, auto logits, auto) {
    return gradients(make<softmax_slope_op<-1, false>>(g, softmax(logits)), no_gradient{});
  }
};
struct cross_entropy_op : labelled {
  static constexpr fixed_string name = "cross_entropy";
  static constexpr auto vjp(auto g, auto, auto logits, auto labels) {
    constexpr double rows = static_cast<double>(decltype(labels)::shape.count());
    return gradients(make<softmax_error_op>(logits, labels) * (g * constant<1 / rows>), no_gradient{});
  }
};
/// Base of operations on logits and labels that compute one number for each row.
struct labelled_row : labelled {
  static constexpr bool keeps_rows(int, const shape& logits, const shape&) { return logits.rank > 1; }
  static constexpr shape result(const shape& logits, const shape& labels) {
    return fits(logits, labels) ? labels : no_shape;
  }
  /// Reshapes one number for each row, {...}, to {..., 1}, so that the numbers broadcast to the logits.
  template <class Logits>
  using column_reshape = reshape_op<reduced(Logits::shape, detail::axis_set{1} << (Logits::shape.rank - 1), true)>;
};

/// Computes the cross entropy of each row.
struct row_cross_entropy_op : labelled_row {
  static constexpr fixed_string name = "cross_entropy";
  static constexpr auto vjp(auto g, auto, auto logits, auto labels) {
    return gradients(make<softmax_error_op>(logits, labels) * make<column_reshape<decltype(logits)>>(g), no_gradient{});
  }
};
/// Computes for each row the logit at the label.
struct label_logit_op : labelled_row {
  static constexpr fixed_string name = "label_logit";
  // The kernel reads only one number of each row, so no fused loop computes the rows for it.
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 0 ? reading::as_stored : reading::as_float};
  }
  static constexpr std::int64_t flops(const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto logits, auto labels) {
    using row = column_reshape<decltype(logits)>;
    const auto here = make<as_op<dtype::i32>>(make<row>(labels)) == arange<decltype(logits)::shape[-1]>;
    return gradients(where(here, make<row>(g), constant<0>), no_gradient{});
  }
};
/// Turns labels that are at most Last into class indices. A label that is not a class becomes the last class.
template <int Classes, int Last>
struct capped_label_op : elementwise_op {
  static constexpr fixed_string name = "cross_entropy";  // the name in messages about rejected labels
  static constexpr kind argument_kind(int) { return kind::whole; }
  static constexpr int extent_indexed(int, const auto&) { return Last + 1; }
  static constexpr tensor_type result(const tensor_type& labels) { return {labels, {labels.element.type, Classes}}; }
};
struct accuracy_op : labelled {
  static constexpr fixed_string name = "accuracy";
  /// One label more than there are classes is allowed, for rows that pad a batch.
  static constexpr int extent_indexed(int i, const shape& logits, const shape&) { return i == 1 ? logits[-1] + 1 : 0; }
  static constexpr bool detaches = true;
  static constexpr auto vjp(auto, auto, auto, auto) { return gradients(no_gradient{}, no_gradient{}); }
};

/// The labels of a cross entropy over `Classes` classes with the options O: which labels count, and with which weights.
/// Weights by class are {Classes} or one number, and weights by row have the shape of the labels or are one number.
template <nn::cross_entropy_options O, int Classes>
struct labels_that_count {
  using one = quiet<constant_leaf<1.0>>;

  /// True if a label that is not a class is ignored. Labels with such a bound are refused otherwise.
  template <class Labels>
  static constexpr bool can_exceed_classes = [] {
    if constexpr (!is_whole<Labels>) return false;
    else return O.ignore_index >= Classes && O.ignore_index < Labels::element.bound;
  }();
  template <class Labels>
  static constexpr bool any_ignored = O.ignore_index >= 0 && O.ignore_index < Labels::element.bound;

  /// Returns the labels as class indices. A label that is not a class becomes the last class.
  template <class Labels>
  static constexpr auto classes_of(Labels labels) {
    if constexpr (can_exceed_classes<Labels>) return make<capped_label_op<Classes, O.ignore_index>>(labels);
    else return labels;
  }
  /// Returns the weight by class of each row's label.
  template <class Labels, class ByClass>
  static constexpr auto weights_at(Labels labels, ByClass by_class) {
    if constexpr (ByClass::shape.rank == 0) return by_class;
    else return lang::gather<0>(by_class, classes_of(labels));
  }
  template <class X, class Weight>
  static constexpr auto multiplied(X x, Weight weight) {
    if constexpr (std::same_as<Weight, one>) return x;
    else if constexpr (std::same_as<X, one>) return weight;
    else return x * weight;
  }
  /// Returns x, but 0 where the label is ignored, and NaN where the label is not a class.
  template <class Labels>
  static constexpr auto unless_ignored(Labels labels, auto x) {
    if constexpr (!any_ignored<Labels>) {
      return x;
    } else {
      const auto ignored = labels == constant<O.ignore_index>;
      if constexpr (can_exceed_classes<Labels>) {
        constexpr auto not_a_number = constant<std::numeric_limits<double>::quiet_NaN()>;
        return lang::where(ignored, 0_c, lang::where(labels < constant<Classes>, x, not_a_number));
      } else {
        return lang::where(ignored, 0_c, x);
      }
    }
  }
  /// Returns the mean of a single weight over the microbatches. A constant is its own mean.
  template <class Weight>
  static constexpr auto of_batch(Weight weight) {
    if constexpr (is_constant<Weight>) return weight;
    else return over_parts(weight);
  }
  /// Returns the denominator of a mean over the rows: the sum of the weights of the labels that count, in the whole
  /// batch.
  template <class Labels>
  static constexpr auto denominator(Labels labels, auto by_class, auto by_row) {
    const auto weights = unless_ignored(labels, multiplied(weights_at(labels, by_class), by_row));
    if constexpr (decltype(weights)::shape.rank > 0) return over_parts(lang::sum(weights));
    else return multiplied(of_batch(weights), constant<static_cast<double>(Labels::shape.count())>);
  }
  /// Returns the sum of the weighted losses of the rows that count, divided by the sum of the weights of these rows.
  template <class Labels>
  static constexpr auto mean_of_rows(Labels labels, auto weighted_loss, auto by_class, auto by_row) {
    const auto weight = multiplied(weights_at(labels, by_class), by_row);
    if constexpr (any_ignored<Labels> || decltype(weight)::shape.rank > 0)
      return lang::sum(unless_ignored(labels, weighted_loss)) / denominator(labels, by_class, by_row);
    else if constexpr (std::same_as<decltype(weight), const one>) return lang::mean(weighted_loss);
    else return lang::mean(weighted_loss) / of_batch(weight);
  }
  /// Returns true if weights by class and weights by row have the right shapes. Each may also be one number.
  static constexpr bool weights_fit(const shape& labels, const shape& by_class, const shape& by_row) {
    return (by_class == shape{Classes} || by_class.rank == 0) && (by_row == labels || by_row.rank == 0);
  }
};

/// The form of cross entropy with options and weights. If rows have weights, the result is the sum of the weighted
/// losses, divided by the sum of the weights.
template <nn::cross_entropy_options... Given>
struct cross_entropy_form : form_of<"cross_entropy", 2, misuse::two_arguments> {
  static constexpr nn::cross_entropy_options O{Given...};
  using one = quiet<constant_leaf<1.0>>;
  using rule = misuse::weights_of_classes_and_rows;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  template <class... A>
  static constexpr bool fits = sizeof...(A) >= 2 && sizeof...(A) <= 4;

  template <an_expression Logits, an_expression Labels>
  static constexpr auto body(Logits logits, Labels labels) {
    if constexpr (are_soft<Logits, Labels>) return refused_targets(logits, labels);
    else if constexpr (O == nn::cross_entropy_options{}) return make<cross_entropy_op>(logits, labels);
    else return body(logits, labels, one{});
  }
  template <an_expression Logits, an_expression Labels, an_expression ByClass, an_expression ByRow = one>
  static constexpr auto body(Logits logits, Labels labels, ByClass by_class, ByRow by_row = {}) {
    if constexpr (are_soft<Logits, Labels>) return refused_targets(logits, labels);
    else return of_classes(logits, labels, by_class, by_row);
  }

 private:
  /// True if the labels are one real number for each class, in place of class indices.
  template <class Logits, class Labels>
  static constexpr bool are_soft = !wrong<Logits> && !wrong<Labels> && kind_of(Logits::element.type) == kind::real &&
                                   kind_of(Labels::element.type) == kind::real && Logits::shape == Labels::shape;
  template <class Logits, class Labels>
  static constexpr auto refused_targets(Logits, Labels) {
    return mistake<misuse::soft_targets, owner_of<Logits, Labels>,
                   fact::operation<"cross_entropy", tensor_fact<Logits>, tensor_fact<Labels>>>{};
  }
  template <class Logits>
  using counting = labels_that_count<O, Logits::shape.rank == 0 ? 0 : Logits::shape[-1]>;

  template <class Logits, class Labels, class ByClass, class ByRow>
  static constexpr auto of_classes(Logits logits, Labels labels, ByClass by_class, ByRow by_row) {
    using owner = owner_of<Logits, Labels, ByClass, ByRow>;
    const auto loss = make<row_cross_entropy_op>(logits, counting<Logits>::classes_of(labels));
    if constexpr (wrong<decltype(loss)> || wrong<ByClass> || wrong<ByRow>)
      return pass_on<owner>(loss, by_class, by_row);
    else if constexpr (!(O.label_smoothing >= 0 && O.label_smoothing <= 1))
      return mistake<misuse::share_of_classes, owner,
                     fact::operation<"cross_entropy", tensor_fact<Logits>, tensor_fact<Labels>>,
                     fact::label_smoothing<O.label_smoothing>>{};
    else if constexpr (counting<Logits>::weights_fit(Labels::shape, ByClass::shape, ByRow::shape))
      return weighted_mean(logits, labels, loss, by_class, by_row);
    else return wrong_shapes<cross_entropy_form, owner, Logits, Labels, ByClass, ByRow>(std::make_index_sequence<4>{});
  }

  template <class Logits>
  static constexpr auto weighted_mean(Logits logits, auto labels, auto loss, auto by_class, auto by_row) {
    using of_labels = counting<Logits>;
    const auto of_label = of_labels::weights_at(labels, by_class);
    const auto of_class = smoothed_loss(logits, of_labels::classes_of(labels), loss, by_class, of_label);
    return of_labels::mean_of_rows(labels, of_labels::multiplied(of_class, by_row), by_class, by_row);
  }

  /// Computes for each row `loss (w[label] (1 - s) + s mean(w)) + s mean(w (x[label] - x))`, where x are the logits, w
  /// are the weights by class, and s is label_smoothing. The loss is the last term of the sum. The backward pass
  /// therefore computes the gradient of the loss first, and adds the other gradients to it in one fused loop.
  template <class Logits>
  static constexpr auto smoothed_loss(Logits logits, auto classes, auto loss, auto by_class, auto of_label) {
    using of_labels = counting<Logits>;
    if constexpr (O.label_smoothing == 0) {
      return of_labels::multiplied(loss, of_label);
    } else {
      constexpr quiet<constant_leaf<O.label_smoothing>> share{};
      const auto at_label = make<labelled_row::column_reshape<Logits>>(make<label_logit_op>(logits, classes));
      const auto others = lang::mean<-1>(of_labels::multiplied(at_label - logits, by_class));
      const auto weight = [&] {
        if constexpr (decltype(by_class)::shape.rank == 0) return of_label;
        else return of_label * constant<1 - O.label_smoothing> + of_labels::multiplied(lang::mean(by_class), share);
      }();
      return of_labels::multiplied(others, share) + of_labels::multiplied(loss, weight);
    }
  }
};
/// The form of the mean of a loss that compares two elements. If one argument is a single number, this number is
/// compared with each element of the tensor.
template <class Loss>
struct pairwise_form : form_of_two<Loss::name> {
  using rule = misuse::equal_shapes;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  template <an_expression A, an_expression B>
  static constexpr auto body(A a, B b) {
    if constexpr (wrong<A> || wrong<B> || A::shape == B::shape || A::shape.rank == 0 || B::shape.rank == 0)
      return lang::mean(Loss::of(a, b));
    else return wrong_shapes<pairwise_form, owner_of<A, B>, A, B>(std::index_sequence_for<A, B>{});
  }
};
struct mse_loss {
  static constexpr fixed_string name = "mse";
  static constexpr auto of(auto a, auto b) { return lang::square(a - b); }
};
struct l1_loss {
  static constexpr fixed_string name = "l1";
  static constexpr auto of(auto a, auto b) { return lang::abs(a - b); }
};
template <double Delta>
struct huber_loss {
  static constexpr fixed_string name = "huber";
  /// Computes `c (d - c / 2)`, where d is the difference and c is d, clamped to [-Delta, Delta]. The slope of the loss
  /// is c.
  static constexpr auto of(auto a, auto b) {
    const auto difference = a - b;
    const auto clamped = lang::clamp(difference, constant<-Delta>, constant<Delta>);
    return clamped * (difference - 0.5_c * clamped);
  }
};
template <double Delta>
struct huber_form : pairwise_form<huber_loss<Delta>> {
  template <an_expression A, an_expression B>
  static constexpr auto body(A a, B b) {
    if constexpr (wrong<A> || wrong<B> || Delta >= std::numeric_limits<float>::min())
      return pairwise_form<huber_loss<Delta>>::body(a, b);
    else
      return mistake<misuse::delta_of_huber, owner_of<A, B>, fact::operation<"huber", tensor_fact<A>, tensor_fact<B>>,
                     fact::delta<Delta>>{};
  }
};
struct binary_cross_entropy_loss {
  static constexpr fixed_string name = "binary_cross_entropy_with_logits";
  /// Computes `t softplus(-x) + (1 - t) softplus(x)`, where t is the target. The shorter `softplus(x) - t x` would lose
  /// all digits if x is large and the prediction is right.
  static constexpr auto of(auto x, auto target) {
    return target * lang::softplus(-x) + (1_c - target) * lang::softplus(x);
  }
};

/// Computes the mean over the rows of `-log(softmax(logits)[label])`, as F.cross_entropy does. Logits are
/// {..., classes}, and labels are {...}.
///
/// Weights by class {classes} may follow, and then weights by row {...}. Where only weights by row are wanted, 1_c
/// stands for the weights by class. The sum of the weighted losses is divided by the sum of the weights of the labels
/// that count.
///
/// A label can be ignored: `cross_entropy<nn::cross_entropy_options{.ignore_index = 255}>(logits, labels)` with
/// labels<"y", 256, ...>. Another label that is not a class makes the loss NaN.
///
/// Rejects:
/// - labels with a bound above the number of classes; if ignore_index is larger than all classes, the bound may be up
///   to ignore_index + 1
/// - a real number for each class in place of labels, which soft_cross_entropy takes
/// - other shapes
/// - label_smoothing outside of [0, 1]
template <class... A>
  requires some_operands<A...>
constexpr applied<cross_entropy_form<>, A...> cross_entropy(A...) {
  return {};
}
template <nn::cross_entropy_options O, class... A>
  requires some_operands<A...>
constexpr applied<cross_entropy_form<O>, A...> cross_entropy(A...) {
  return {};
}

/// Computes the fraction of rows in which the largest logit is at the label. If several logits are equally large, the
/// first one counts. A row whose label is the number of classes, as data::last_batch::padded has it, is not right. The
/// result has no gradient.
template <class... A>
  requires some_operands<A...>
constexpr applied<form_applying<accuracy_op, form_of_two<accuracy_op::name>>, A...> accuracy(A...) {
  return {};
}

// The losses below are means over all elements. Their two arguments have equal shapes, or one argument is a single
// number. Other shapes are rejected even if they broadcast, because {8, 1} and {8} would broadcast to {8, 8}.

/// Computes the mean of squared differences, as F.mse_loss does.
template <class... A>
  requires some_operands<A...>
constexpr applied<pairwise_form<mse_loss>, A...> mse(A...) {
  return {};
}
}  // namespace cairn::lang

namespace cairn::nn {
// `l1` is in nn, because models use this name for layers.
/// Computes the mean of absolute differences, as F.l1_loss does.
template <class... A>
  requires lang::some_operands<A...>
constexpr lang::applied<lang::pairwise_form<lang::l1_loss>, A...> l1(A...) {
  return {};
}
}  // namespace cairn::nn

namespace cairn::lang {

/// Computes the mean of Huber losses, as F.huber_loss does. The loss of a difference d is `d^2 / 2` if |d| is at most
/// Delta, and `Delta (|d| - Delta / 2)` if |d| is larger.
/// Rejects: what mse rejects; a Delta that is not above 0.
template <auto Delta = 1.0, class... A>
  requires some_operands<A...>
constexpr applied<huber_form<static_cast<double>(Delta)>, A...> huber(A...) {
  return {};
}

/// Computes the mean binary cross entropy of logits and of targets from 0 to 1, as F.binary_cross_entropy_with_logits
/// does. Large logits do not overflow.
template <class... A>
  requires some_operands<A...>
constexpr applied<pairwise_form<binary_cross_entropy_loss>, A...> binary_cross_entropy_with_logits(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::accuracy, lang::binary_cross_entropy_with_logits, lang::cross_entropy, lang::huber, lang::mse;
}  // namespace cairn
