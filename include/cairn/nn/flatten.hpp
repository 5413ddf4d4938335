// Flattens images to rows of features.
#pragma once

#include "cairn/lang/shared.hpp"
#include "cairn/lang/view.hpp"
#include "cairn/nn/features.hpp"
#include "cairn/op/transpose.hpp"

namespace cairn::nn {

namespace detail {
struct flatten_layer : checked_layer<flatten_layer> {
  static constexpr fixed_string name = "flatten";
  static constexpr auto problem(auto x) { return problem_of_features<"flatten", "flatten">(x); }
  template <class X>
  static constexpr auto apply(X x) {
    if constexpr (X::shape.rank == 2) return x;
    else return in_rows(x, std::make_integer_sequence<int, X::shape.rank - 2>{});
  }

 private:
  template <class X, int... Axis>
  static constexpr auto in_rows(X x, std::integer_sequence<int, Axis...>) {
    return reshape<X::shape[0], -1>(transpose<0, X::shape.rank - 1, Axis + 1 ...>(x));
  }
};
}  // namespace detail

/// Flattens {N, ..., channels} to {N, channels * ...} and copies the elements. The features have the order in which
/// nn.Flatten puts PyTorch's images, which have the channels first. The weights of a linear layer that follows
/// therefore have the same order as in PyTorch. Rejects: fewer than two axes.
inline constexpr detail::flatten_layer flatten{};

}  // namespace cairn::nn
