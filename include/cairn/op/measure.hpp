// Measures of classifiers. They have no gradients.
#pragma once

#include "cairn/op/extremum.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/op/matmul.hpp"
#include "cairn/op/transpose.hpp"

namespace cairn::lang {

/// Checks logits and labels by the rules of accuracy. Messages show the name of the measure.
template <fixed_string Name>
struct measure_op : accuracy_op {
  static constexpr fixed_string name = Name;
};

template <int K, int Classes>
struct count_of_top {
  static constexpr std::array all{setting("k", K, K >= 1 && K <= Classes, "from 1 to the number of classes")};
};
template <int K>
struct top_k_accuracy_form : form_of_two<"top_k_accuracy"> {
  template <an_expression Logits, an_expression Labels>
  static constexpr auto body(Logits logits, Labels labels) {
    using checked = decltype(make<measure_op<"top_k_accuracy">>(logits, labels));
    if constexpr (wrong<checked>) {
      return checked{};
    } else {
      constexpr int classes = Logits::shape[-1];
      using what = fact::operation<"top_k_accuracy">;
      using problem =
          decltype(problem_of_settings<count_of_top<K, classes>, owner_of<Logits, Labels>, fact::in<>, what>());
      if constexpr (std::same_as<problem, sound>) return share_of_top<classes>(logits, labels);
      else return problem{};
    }
  }

 private:
  template <int Classes, class Logits>
  static constexpr auto share_of_top(Logits logits, auto labels) {
    using counting = labels_that_count<nn::cross_entropy_options{.ignore_index = Classes}, Classes>;
    const auto at_label = make<label_logit_op>(logits, counting::classes_of(labels));
    // NaN is not less than or equal to any number, so it counts as larger, as in torch.topk.
    const auto is_larger = lang::where(logits <= make<labelled_row::column_reshape<Logits>>(at_label), 0_c, 1_c);
    const auto is_right = lang::where(lang::sum<-1>(is_larger) < constant<K>, 1_c, 0_c);
    return lang::mean(counting::unless_ignored(labels, is_right));
  }
};

template <fixed_string Name>
struct confusion_matrix_form : form_of_two<Name> {
  template <an_expression Logits, an_expression Labels>
  static constexpr auto body(Logits logits, Labels labels) {
    using checked = decltype(make<measure_op<Name>>(logits, labels));
    if constexpr (wrong<checked>) {
      return checked{};
    } else {
      constexpr int classes = Logits::shape[-1], rows = static_cast<int>(Labels::shape.count());
      const auto column = make<as_op<dtype::i32>>(make<reshape_op<shape{rows, 1}>>(labels));
      const auto predicted = make<reshape_op<shape{rows, classes}>>(lang::one_hot(lang::argmax<-1>(logits)));
      return lang::matmul(lang::transpose(lang::as_real(column == arange<classes>)), predicted);
    }
  }
};

/// Computes the fraction of rows in which fewer than K logits are larger than the logit at the label. Logits that equal
/// the logit at the label are not larger, so a tie counts as right. A logit that is NaN is larger than all numbers. If
/// the label of a row is the number of classes, as data::last_batch::padded has it, the row is not right. The result
/// has no gradient.
/// Rejects: a K that is not from 1 to the number of classes; what accuracy rejects.
template <int K, class... A>
  requires some_operands<A...>
constexpr applied<top_k_accuracy_form<K>, A...> top_k_accuracy(A...) {
  return {};
}

/// Counts rows by label and by prediction. Element {i, j} is the number of rows that have the label i and their largest
/// logit at j. If several logits are equally large, the first one counts. If the label of a row is the number of
/// classes, as data::last_batch::padded has it, the row is not counted. The result {classes, classes} has no gradient.
template <class... A>
  requires some_operands<A...>
constexpr applied<confusion_matrix_form<"confusion_matrix">, A...> confusion_matrix(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::confusion_matrix, lang::top_k_accuracy;
}  // namespace cairn
