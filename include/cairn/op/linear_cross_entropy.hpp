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
/// Workspace is the size of the logits in the workspace in bytes.
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
  /// The blocks differ if the gradient of the weight is not made.
  static constexpr costs::linear_loss_blocks blocks(int bytes, const shape& h, const shape& weight, bool has_gradient) {
    return {h.count() / h[-1], weight[0], weight[1], bytes, Workspace, has_gradient};
  }
  static constexpr workspace scratch(int bytes, const shape& h, const shape& weight, const auto&...) {
    const workspace a = blocks(bytes, h, weight, true).needed(bytes), b = blocks(bytes, h, weight, false).needed(bytes);
    return {
        .each = std::max(a.each, b.each), .parts = std::max(a.parts, b.parts), .shared = std::max(a.shared, b.shared)};
  }
};

template <std::int64_t Workspace>
struct linear_cross_entropy_op;

/// Returns the gradients of h, of the weight, of the labels, of w and of v, where the loss, its gradients and the
/// numbers of the rows have cotangents: g, of_of_h, of_of_weight, of_row_losses and of_label_logits. It stores all
/// logits. Let e be the gradient of the logits, p their softmax, and t the gradient of e, which the cotangents of the
/// two gradients make. Then the gradient of the logits through e is `w p (t - sum(p t))`.
template <std::int64_t Workspace>
constexpr auto gradients_of_gradients(auto g, auto of_of_h, auto of_of_weight, auto of_row_losses, auto of_label_logits,
                                      auto h, auto weight, auto labels, auto w, auto v) {
  constexpr auto column = []<class X>(X x) {
    if constexpr (X::shape.rank == 0) return x;
    else return reshape<-1, 1>(x);
  };
  constexpr int features = decltype(weight)::shape[1], classes = decltype(weight)::shape[0];
  const auto [loss, of_h, of_weight, row_losses, label_logits] =
      make<linear_cross_entropy_op<Workspace>>(h, weight, labels, w * g + of_row_losses, v * g + of_label_logits);
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
  static constexpr auto vjp(auto g, auto of_of_h, auto of_of_weight, auto of_row_losses, auto of_label_logits, auto,
                            auto, auto, auto, auto, auto h, auto weight, auto labels, auto w, auto v) {
    return gradients_of_gradients<Workspace>(g, of_of_h, of_of_weight, of_row_losses, of_label_logits, h, weight,
                                             labels, w, v);
  }
};

/// Computes the gradient of the loss with respect to the weight. It computes the logits for this, which takes a product
/// more than if linear_cross_entropy_op makes all gradients.
template <std::int64_t Workspace>
struct linear_cross_entropy_weight_op : linear_cross_entropy_base<Workspace> {
  using base = linear_cross_entropy_base<Workspace>;
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true}; }
  static constexpr shape result(const shape& h, const shape& weight, const shape& labels, const shape& w,
                                const shape& v) {
    return base::fits(h, weight, labels, w, v) ? weight : no_shape;
  }
  static constexpr std::int64_t flops(const shape& h, const shape& weight, const auto&...) {
    return 2 * base::product_flops(h, weight);
  }
  static constexpr auto vjp(auto g, auto, auto h, auto weight, auto labels, auto w, auto v) {
    constexpr auto none = constant<0>;
    return gradients_of_gradients<Workspace>(none, make<expand_op<decltype(h)::shape>>(none), g, none, none, h, weight,
                                             labels, w, v);
  }
};

/// Computes the loss, its gradient with respect to h, and the two numbers for each row. The backward pass makes the
/// gradient of the weight right before it is read, so that this gradient is never stored.
template <std::int64_t Workspace>
struct linear_cross_entropy_loss_op : linear_cross_entropy_base<Workspace> {
  using base = linear_cross_entropy_base<Workspace>;
  static constexpr making makes(int result, int, const auto&...) { return {.is_statistic = result != 1}; }
  static constexpr std::array<shape, 4> result(const shape& h, const shape& weight, const shape& labels, const shape& w,
                                               const shape& v) {
    return {base::fits(h, weight, labels, w, v) ? shape{} : no_shape, h, labels, labels};
  }
  static constexpr std::int64_t flops(const shape& h, const shape& weight, const auto&...) {
    return 2 * base::product_flops(h, weight);
  }
  static constexpr auto vjp(auto g, auto, auto of_h, auto row_losses, auto label_logits, auto h, auto weight,
                            auto labels, auto w, auto v) {
    return gradients(g * of_h, make<linear_cross_entropy_weight_op<Workspace>>(h, weight, labels, w * g, v * g),
                     no_gradient{}, g * row_losses, g * label_logits);
  }
  static constexpr auto vjp(auto g, auto of_of_h, auto of_row_losses, auto of_label_logits, auto, auto, auto, auto,
                            auto h, auto weight, auto labels, auto w, auto v) {
    const auto of_of_weight = make<expand_op<decltype(weight)::shape>>(constant<0>);
    return gradients_of_gradients<Workspace>(g, of_of_h, of_of_weight, of_row_losses, of_label_logits, h, weight,
                                             labels, w, v);
  }
};

}  // namespace cairn::lang
