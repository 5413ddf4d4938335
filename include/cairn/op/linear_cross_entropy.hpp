// A linear layer that is followed by a cross entropy, as one operation that never stores all logits.
#pragma once

#include "cairn/cost/linear_cross_entropy.hpp"
#include "cairn/op/loss.hpp"

namespace cairn::lang {

/// Base of the operations that compute the cross entropy of the logits `x = h weight'`. The arguments are:
/// - h {..., features} and the weight {classes, features}
/// - one label for each row of h, {...}
/// - the weight of each row, w, and the weight of each label, v; both are {...}, or one number for all rows
///
/// The loss is the sum over the rows of `w (logsumexp(x) - x[label]) + v x[label]`. If w and v of a row are 0, the row
/// adds nothing to the loss. Two further results are needed for the gradients of w and v. They are {...}: for each row
/// `logsumexp(x) - x[label]`, and `x[label]`.
///
/// Workspace is the size of a block of logits in bytes.
template <std::int64_t Workspace>
struct linear_cross_entropy_base : op {
  static constexpr fixed_string name = "linear_cross_entropy";
  using rule = misuse::one_label_per_row;
  static constexpr kind argument_kind(int i) { return i == 2 ? kind::whole : kind::real; }
  static constexpr int extent_indexed(int i, const shape&, const shape& weight, const auto&...) {
    return i == 2 ? weight[0] : 0;
  }
  static constexpr bool fits(const shape& h, const shape& weight, const shape& labels, const shape& w, const shape& v) {
    const auto one_or_each = [&labels](const shape& s) { return s.rank == 0 || s == labels; };
    return h.rank > 0 && weight.rank == 2 && weight[1] == h[-1] &&
           reduced(h, detail::axis_set{1} << (h.rank - 1), false) == labels && one_or_each(w) && one_or_each(v);
  }
  static constexpr std::int64_t product_flops(const shape& h, const shape& weight) { return 2 * h.count() * weight[0]; }
  static constexpr costs::linear_loss_blocks blocks(int bytes, const shape& h, const shape& weight) {
    return {h.count() / h[-1], weight[0], weight[1], bytes, Workspace};
  }
  static constexpr workspace scratch(int bytes, const shape& h, const shape& weight, const auto&...) {
    return blocks(bytes, h, weight).needed(bytes);
  }
};

/// Computes the loss, its gradients with respect to h and to the weight, and the two numbers for each row. The
/// gradients are gradients of the sum. They are made block by block, while the logits of the block are in the
/// workspace, so the whole operation takes three products.
template <std::int64_t Workspace>
struct linear_cross_entropy_op : linear_cross_entropy_base<Workspace> {
  using base = linear_cross_entropy_base<Workspace>;
  static constexpr making makes(int result, int, const auto&...) { return {.is_statistic = result != 1}; }
  static constexpr std::array<shape, 5> result(const shape& h, const shape& weight, const shape& labels, const shape& w,
                                               const shape& v) {
    return {base::fits(h, weight, labels, w, v) ? shape{} : no_shape, h, weight, labels, labels};
  }
  static constexpr std::int64_t flops(const shape& h, const shape& weight, const auto&...) {
    return 3 * base::product_flops(h, weight);
  }
  static constexpr auto vjp(auto g, auto, auto of_h, auto of_weight, auto row_losses, auto label_logits, auto, auto,
                            auto, auto, auto) {
    return gradients(g * of_h, g * of_weight, no_gradient{}, g * row_losses, g * label_logits);
  }
  /// Gradient rule for gradients of gradients. It stores all logits. Let e be the gradient of the logits, p their
  /// softmax, and t the gradient of e, which the cotangents of the two gradients make. Then the gradient of the logits
  /// through e is `w p (t - sum(p t))`.
  static constexpr auto vjp(auto g, auto of_of_h, auto of_of_weight, auto of_row_losses, auto of_label_logits, auto,
                            auto, auto, auto row_losses, auto label_logits, auto h, auto weight, auto labels, auto w,
                            auto v) {
    constexpr auto column = []<class X>(X x) {
      if constexpr (X::shape.rank == 0) return x;
      else return reshape<-1, 1>(x);
    };
    constexpr int features = decltype(weight)::shape[1], classes = decltype(weight)::shape[0];
    const auto [loss, of_h, of_weight, losses, logits_at_label] =
        make<linear_cross_entropy_op>(h, weight, labels, w * g + of_row_losses, v * g + of_label_logits);
    const auto rows = reshape<-1, features>(h);
    const auto b = reshape<-1, features>(of_of_h);
    const auto p = softmax(matmul(rows, transpose(weight)));
    const auto at_label = where(column(make<as_op<dtype::i32>>(labels)) == arange<classes>, constant<1>, constant<0>);
    const auto e = column(w) * (p - at_label) + column(v) * at_label;
    const auto t = matmul(b, transpose(weight)) + matmul(rows, transpose(of_of_weight));
    const auto d = column(w) * p * (t - sum<-1>(p * t, keepdim));
    const auto as_labels = [](auto x) { return make<reshape_op<decltype(labels)::shape>>(x); };
    return gradients(of_h + make<reshape_op<decltype(h)::shape>>(matmul(d, weight) + matmul(e, of_of_weight)),
                     of_weight + matmul(transpose(d), rows) + matmul(transpose(e), b), no_gradient{},
                     g * row_losses + as_labels(sum<-1>((p - at_label) * t)),
                     g * label_logits + as_labels(sum<-1>(at_label * t)));
  }
};

/// Computes the loss and the two numbers for each row. The backward pass makes the gradients, and it recomputes the
/// logits for them.
template <std::int64_t Workspace>
struct linear_cross_entropy_loss_op : linear_cross_entropy_base<Workspace> {
  using base = linear_cross_entropy_base<Workspace>;
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true}; }
  static constexpr std::array<shape, 3> result(const shape& h, const shape& weight, const shape& labels, const shape& w,
                                               const shape& v) {
    return {base::fits(h, weight, labels, w, v) ? shape{} : no_shape, labels, labels};
  }
  static constexpr std::int64_t flops(const shape& h, const shape& weight, const auto&...) {
    return base::product_flops(h, weight);
  }
  static constexpr auto vjp(auto g, auto, auto row_losses, auto label_logits, auto h, auto weight, auto labels, auto w,
                            auto v) {
    return of_scaled(g, w * g, v * g, row_losses, label_logits, h, weight, labels);
  }
  /// Gradient rule for the case that other operations read the numbers of the rows. The numbers are the gradients of
  /// the loss with respect to w and v, so their cotangents are further weights.
  static constexpr auto vjp(auto g, auto of_row_losses, auto of_label_logits, auto, auto row_losses, auto label_logits,
                            auto h, auto weight, auto labels, auto w, auto v) {
    return of_scaled(g, w * g + of_row_losses, v * g + of_label_logits, row_losses, label_logits, h, weight, labels);
  }

 private:
  static constexpr auto of_scaled(auto g, auto w, auto v, auto row_losses, auto label_logits, auto h, auto weight,
                                  auto labels) {
    const auto [loss, of_h, of_weight, losses, logits_at_label] =
        make<linear_cross_entropy_op<Workspace>>(h, weight, labels, w, v);
    return gradients(of_h, of_weight, no_gradient{}, g * row_losses, g * label_logits);
  }
};

}  // namespace cairn::lang
