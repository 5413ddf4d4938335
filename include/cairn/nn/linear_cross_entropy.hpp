// A linear layer that is followed by a cross entropy, without storing the logits.
#pragma once

#include "cairn/lang/options.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/op/linear_cross_entropy.hpp"

namespace cairn::nn {

/// A pass of a training step.
enum class pass : std::uint8_t { forward, backward };

/// Options of linear_cross_entropy. The first two options are also options of cross_entropy.
struct linear_cross_entropy_options {
  int ignore_index = -100;
  double label_smoothing = 0;
  /// The pass that makes the gradient of the weight. In the forward pass, all gradients together take three products,
  /// and this gradient is stored until the backward pass has used it. In the backward pass it takes a fourth product,
  /// which computes the logits a second time, and nothing of its size is stored. The gradient of h is always made in
  /// the forward pass.
  pass weight_gradient_in = pass::forward;
  /// Bytes of the logits in the workspace. The first block of rows keeps its logits in the gradient of the weight. Of
  /// the other rows, a smaller workspace holds fewer, or computes the logits of a section of classes twice.
  std::int64_t workspace = 32_MiB;

  friend constexpr bool operator==(const linear_cross_entropy_options&, const linear_cross_entropy_options&) = default;
};

}  // namespace cairn::nn

namespace cairn::lang {

/// The form of a linear layer that is followed by a cross entropy. Name is the name of the layer, or of its weight if
/// the weight is the parameter of another layer (Tied).
template <fixed_string Name, int Classes, nn::linear_cross_entropy_options O, bool Tied, initial... Start>
struct linear_cross_entropy_form : form_of<"linear_cross_entropy", 2, misuse::two_arguments> {
  static constexpr nn::cross_entropy_options of_labels{O.ignore_index, O.label_smoothing};
  using counting = labels_that_count<of_labels, Classes>;
  using one = typename counting::one;
  template <class... A>
  static constexpr bool fits = sizeof...(A) >= 2 && sizeof...(A) <= 4;

  template <class H>
  static constexpr auto weight_of() {
    constexpr int features = H::shape[-1];
    if constexpr (Tied) return param<Name, Classes, features>;
    else
      return param_from<Name + fixed_string{".weight"}, nn::detail::start_of_weight(fan_in(features), Start...),
                        Classes, features>;
  }

  /// The cross entropy of the dense logits has the same mistakes, so it is formed, but not used.
  template <an_expression H, an_expression Labels, an_expression... Weights>
  static constexpr auto body(H h, Labels labels, Weights... weights) {
    const auto dense = cross_entropy_form<of_labels>::body(matmul(h, transpose(weight_of<H>())), labels, weights...);
    if constexpr (wrong<decltype(dense)>) return dense;
    else return weighted(h, labels, weights...);
  }

 private:
  template <class H, class Labels, class ByClass = one, class ByRow = one>
  static constexpr auto weighted(H h, Labels labels, ByClass by_class = {}, ByRow by_row = {}) {
    const auto weight = weight_of<H>();
    const auto classes = counting::classes_of(labels);
    const auto of_label = counting::weights_at(labels, by_class);
    const auto counted = [&](auto x) { return counting::unless_ignored(labels, counting::multiplied(x, by_row)); };
    const auto denominator = counting::denominator(labels, by_class, by_row);
    if constexpr (O.label_smoothing == 0) {
      return mean_of<Labels>(denominator,
                             sum_of_losses(h, weight, classes, counted(of_label), quiet<constant_leaf<0.0>>{}));
    } else {
      // The loss of a row is `w[label] (1 - s) (logsumexp(x) - x[label]) + s mean(w (logsumexp(x) - x))`. The mean of
      // w x is the product of h with the mean of w times the rows of the weight.
      constexpr quiet<constant_leaf<O.label_smoothing>> share{};
      const auto spread = [&] {
        if constexpr (ByClass::shape.rank == 0) return counting::multiplied(share, by_class);
        else return lang::mean(by_class) * share;
      }();
      const auto mean_row = [&] {
        if constexpr (ByClass::shape.rank == 0) return counting::multiplied(lang::mean<0>(weight), by_class);
        else return lang::mean<0>(weight * reshape<Classes, 1>(by_class));
      }();
      const auto of_rows = counted(counting::multiplied(lang::sum<-1>(h * mean_row), share));
      const auto losses = sum_of_losses(
          h, weight, classes, counted(counting::multiplied(constant<1 - O.label_smoothing>, of_label) + spread),
          counted(spread));
      return mean_of<Labels>(denominator, losses - lang::sum(of_rows));
    }
  }
  /// Divides a sum over the rows by the denominator. If no row counts, the denominator is 0 and the mean is NaN. Its
  /// gradient is 0 then, as in cross_entropy, so 0 does not divide the cotangent.
  template <class Labels>
  static constexpr auto mean_of(auto denominator, auto sum) {
    if constexpr (!counting::template any_ignored<Labels>) {
      return sum / denominator;
    } else {
      constexpr auto not_a_number = constant<std::numeric_limits<double>::quiet_NaN()>;
      const auto none_counts = denominator == 0_c;
      return lang::where(none_counts, not_a_number, sum / lang::where(none_counts, 1_c, denominator));
    }
  }
  static constexpr auto sum_of_losses(auto... arguments) {
    if constexpr (O.weight_gradient_in == nn::pass::forward)
      return std::get<0>(make<linear_cross_entropy_op<O.workspace>>(arguments...));
    else return std::get<0>(make<linear_cross_entropy_loss_op<O.workspace>>(arguments...));
  }
};

}  // namespace cairn::lang

namespace cairn::nn {

namespace detail {
template <std::int64_t Workspace>
struct block_settings {
  static constexpr std::array<setting, 1> all{setting::not_negative("workspace", static_cast<double>(Workspace))};
};
template <fixed_string Name, std::int64_t Classes, linear_cross_entropy_options O, bool Tied, initial... Start>
class head_layer {
  static constexpr auto problem_of(auto) { return lang::sound{}; }
  static constexpr auto problem_of(an_expression auto h) {
    using linear =
        std::conditional_t<Tied, tied_linear_layer<Name, Classes>, linear_layer<Name, Classes, false, Start...>>;
    using problem = decltype(linear::problem(h));
    if constexpr (!std::same_as<problem, lang::sound>) return problem{};
    else return problem_of_features<"linear_cross_entropy", Name, block_settings<O.workspace>>(h);
  }
  /// Returns the loss, or the mistake. Reports nothing.
  template <class H, class... More>
  static constexpr auto result_of() {
    using problem = decltype(problem_of(std::declval<H>()));
    if constexpr (!std::same_as<problem, lang::sound>) {
      return problem{};
    } else {
      using form = lang::linear_cross_entropy_form<Name, static_cast<int>(Classes), O, Tied, Start...>;
      using loss = decltype(lang::result_of_form<form, H, More...>());
      if constexpr (Tied || lang::wrong<loss>) return loss{};
      else return lang::result_of_layer<Name>(form::template weight_of<H>(), loss{});
    }
  }

 public:
  template <class H, class... More>
    requires lang::some_operands<H, More...>
  constexpr lang::surfaced<decltype(result_of<H, More...>())> operator()(H, More...) const {
    return {};
  }
};
}  // namespace detail

/// Computes cross_entropy(h W^T, labels) for h {..., rows, features} and labels {..., rows}. W {Classes, features} is
/// the parameter `Name.weight`, as in linear_without_bias. The logits h W^T are never stored, neither in the forward
/// pass nor in the backward pass, because they are computed block by block.
///
/// Weights by class and weights by row may follow, as in cross_entropy. The options are the options of cross_entropy,
/// the pass that makes the gradient of the weight, and the size of a block:
/// `nn::linear_cross_entropy<"head", 50257, nn::linear_cross_entropy_options{.workspace = 8_MiB}>(h, labels)`.
/// A row of weight 0 adds nothing to the loss. Gradients of gradients store the logits. After the options, Start says
/// how W starts, as in nn::linear.
///
/// Rejects: what linear and cross_entropy reject.
template <fixed_string Name, std::int64_t Classes, linear_cross_entropy_options O = linear_cross_entropy_options{},
          initial... Start>
  requires(sizeof...(Start) <= 1)
inline constexpr detail::head_layer<Name, Classes, O, false, Start...> linear_cross_entropy{};

/// Computes linear_cross_entropy with the parameter of another layer as the weight, for example of an embedding with
/// Classes rows: `nn::tied_linear_cross_entropy<"/wte.weight", 50257>(h, labels)`.
/// Rejects: what linear_cross_entropy rejects, and a name that does not start with /, as tied_linear does.
template <fixed_string Weight, std::int64_t Classes, linear_cross_entropy_options O = linear_cross_entropy_options{}>
inline constexpr detail::head_layer<Weight, Classes, O, true> tied_linear_cross_entropy{};

}  // namespace cairn::nn
