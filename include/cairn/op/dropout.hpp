// Random operations. Each random operation draws its random numbers from a key of its own. The full name of the key
// begins with the names of the blocks around the operation.
#pragma once

#include "cairn/lang/leaf.hpp"

namespace cairn::lang {

/// Computes x / (1 - P), or 0 with probability P, by random numbers that are drawn from the key. The gradient rule
/// draws the same numbers a second time and drops the same elements of the cotangent, so no draws are stored. `Forward`
/// is true for dropout that the user wrote: a predictor replaces it by x. `Forward` is false for dropout in a gradient.
template <double P, bool Forward>
struct dropout_op : op {
  static constexpr fixed_string name = "dropout";
  using rule = misuse::probability_below_one;
  using asked = fact::probability<P>;
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 0 ? reading::as_stored : reading::as_float};
  }
  static constexpr making makes(int, int, const auto&...) { return {.rounds = true, .overwrites = 0}; }
  static constexpr int stands_for(bool training) { return Forward && !training ? 0 : -1; }
  static constexpr bool keeps_rows(int i, const shape& x, const shape&) { return i == 0 && x.rank > 0; }
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::key : kind::real; }
  static constexpr shape result(const shape& x, const shape&) { return P >= 0 && P < 1 ? x : no_shape; }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto, auto key) {
    return gradients(make<dropout_op<P, false>>(g, key), no_gradient{});
  }
};

/// Sets each element of x to 0 with probability P and divides the remaining elements by 1 - P, as F.dropout does:
/// `dropout<"d1", 0.1>(x)`. Which elements are dropped depends only on the seed given to init, on the number of the
/// training step and on the full name ("block.3.d1"). No mask is stored, because the backward pass and recomputation
/// draw the same numbers again. A predictor uses x unchanged, at no cost.
/// Rejects: a probability outside of [0, 1); in a program, one full name for two different random operations.
template <fixed_string Name, auto P = 0.5, an_operand X>
constexpr made<dropout_op<static_cast<double>(P), true>, X, random_key_leaf<Name>> dropout(X) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::dropout;
}  // namespace cairn
