// Losses of probabilities and of log-probabilities.
#pragma once

#include "cairn/op/loss.hpp"

namespace cairn::nn {

/// Options of nll_loss, with PyTorch's names and defaults.
struct nll_loss_options {
  /// Rows with this label do not count. If ignore_index is larger than all classes, labels may be up to ignore_index.
  int ignore_index = -100;

  friend constexpr bool operator==(const nll_loss_options&, const nll_loss_options&) = default;
};

}  // namespace cairn::nn

namespace cairn::lang {

/// The form of the mean over the rows of a loss that compares two arrays {..., classes} of equal shape.
template <class Loss>
struct compared_rows_form : form_of_two<Loss::name> {
  using rule = misuse::two_rows_of_classes;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  template <an_expression A, an_expression B>
  static constexpr auto body(A a, B b) {
    using owner = owner_of<A, B>;
    if constexpr (wrong<A> || wrong<B>) return pass_on<owner>(a, b);
    else if constexpr (is_whole<A> || is_whole<B>)
      return mistake<misuse::kind_mismatch, owner, fact::operation<Loss::name, tensor_fact<A>, tensor_fact<B>>,
                     fact::takes<float, float>>{};
    else if constexpr (A::shape != B::shape || A::shape.rank == 0)
      return wrong_shapes<compared_rows_form, owner, A, B>(std::index_sequence_for<A, B>{});
    else {
      constexpr double rows = static_cast<double>(A::shape.count() / A::shape[-1]);
      return lang::sum(Loss::of(a, b)) * constant<1 / rows>;
    }
  }
};
struct soft_cross_entropy_loss {
  static constexpr fixed_string name = "soft_cross_entropy";
  static constexpr auto of(auto logits, auto probabilities) { return -(probabilities * lang::log_softmax(logits)); }
};
struct kl_div_loss {
  static constexpr fixed_string name = "kl_div";
  /// Computes `p (log p - log q)`. The logarithm of p = 0 is replaced by that of 1, so that the product and its slopes
  /// are finite.
  static constexpr auto of(auto log_q, auto p) { return p * (lang::log(lang::where(p == 0_c, 1_c, p)) - log_q); }
};

/// Computes for each row the log-probability at the label. Messages show the name of the loss.
struct nll_loss_op : label_logit_op {
  static constexpr fixed_string name = "nll_loss";
};
/// The form of nll_loss. The options and the weights mean the same as in cross_entropy.
template <nn::nll_loss_options... Given>
struct nll_loss_form : form_of<"nll_loss", 2, misuse::two_arguments> {
  static constexpr nn::nll_loss_options O{Given...};
  using one = quiet<constant_leaf<1.0>>;
  using rule = misuse::weights_of_classes_and_rows;
  static constexpr shape shown(std::size_t, const shape& s) { return s; }
  template <class... A>
  static constexpr bool fits = sizeof...(A) >= 2 && sizeof...(A) <= 4;

  template <an_expression X, an_expression Labels, an_expression ByClass = one, an_expression ByRow = one>
  static constexpr auto body(X log_probabilities, Labels labels, ByClass by_class = {}, ByRow by_row = {}) {
    using owner = owner_of<X, Labels, ByClass, ByRow>;
    constexpr int classes = X::shape.rank == 0 ? 0 : X::shape[-1];
    using counting = labels_that_count<nn::cross_entropy_options{.ignore_index = O.ignore_index}, classes>;
    const auto at_label = make<nll_loss_op>(log_probabilities, counting::classes_of(labels));
    if constexpr (wrong<decltype(at_label)> || wrong<ByClass> || wrong<ByRow>) {
      return pass_on<owner>(at_label, by_class, by_row);
    } else if constexpr (!counting::weights_fit(Labels::shape, ByClass::shape, ByRow::shape)) {
      return wrong_shapes<nll_loss_form, owner, X, Labels, ByClass, ByRow>(std::make_index_sequence<4>{});
    } else {
      const auto weight = counting::multiplied(counting::weights_at(labels, by_class), by_row);
      return counting::mean_of_rows(labels, counting::multiplied(-at_label, weight), by_class, by_row);
    }
  }
};

/// Computes the mean over the rows of `-sum(p * log_softmax(logits))`, as F.cross_entropy does for targets that are
/// probabilities p. Logits and probabilities are {..., classes}. The probabilities get a gradient, too. If a logit is
/// minus infinity, the loss is NaN, as in PyTorch, even where the probability is 0.
/// Rejects: other shapes; labels in place of probabilities.
template <class... A>
  requires some_operands<A...>
constexpr applied<compared_rows_form<soft_cross_entropy_loss>, A...> soft_cross_entropy(A...) {
  return {};
}

/// Computes the mean over the rows of the Kullback-Leibler divergence `sum(p (log p - log q))`, from log q and p, which
/// are {..., classes}. If there is one axis of rows, this is F.kl_div(log_q, p, reduction="batchmean"). A class with
/// p = 0 adds nothing, unless log q is infinite, which makes the loss NaN.
/// Rejects: what soft_cross_entropy rejects.
template <class... A>
  requires some_operands<A...>
constexpr applied<compared_rows_form<kl_div_loss>, A...> kl_div(A...) {
  return {};
}

/// Computes the mean over the rows of minus the log-probability at the label, as F.nll_loss does. Log-probabilities are
/// {..., classes}, and labels are {...}. Weights by class may follow, and then weights by row, as in cross_entropy. A
/// label can be ignored: `nll_loss<nn::nll_loss_options{.ignore_index = 255}>(log_probabilities, labels)`.
/// Rejects: labels with a bound above the number of classes, except for an ignored label; other shapes.
template <class... A>
  requires some_operands<A...>
constexpr applied<nll_loss_form<>, A...> nll_loss(A...) {
  return {};
}
template <nn::nll_loss_options O, class... A>
  requires some_operands<A...>
constexpr applied<nll_loss_form<O>, A...> nll_loss(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::kl_div, lang::nll_loss, lang::soft_cross_entropy;
}  // namespace cairn
