// Random operations. Each draws from a key of its own, whose name has the names of the blocks around it before it.
#pragma once

#include "cairn/lang/leaf.hpp"

namespace cairn {

/// x / (1 - P), or 0 with probability P, drawn from the key. Backward drops the same of the gradient: it draws again
/// instead of keeping what was drawn.
template <double P, bool Forward>
struct dropout_op : op {
  static constexpr fixed_string name = "dropout";
  using rule = rule::probability_below_one;
  using asked = fact::probability<P>;
  static constexpr int overwrites(int) { return 0; }
  static constexpr bool takes_bf16(int i) { return i == 0; }
  static constexpr bool makes_bf16(int, const shape&, const shape&) { return true; }
  static constexpr int stands_for(bool training) { return Forward && !training ? 0 : -1; }
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::key : kind::real; }
  static constexpr shape result(const shape& x, const shape&) { return P >= 0 && P < 1 ? x : no_shape; }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto, auto key) {
    return gradients(make<dropout_op<P, false>>(g, key), no_gradient{});
  }
};

/// x with each element 0 with probability P, and the others divided by 1 - P; as F.dropout. `dropout<"d1", 0.1>(x)`.
/// What is dropped depends on the seed of init, the number of the step and the full name ("block.3.d1") alone. No mask
/// is stored: backward and recomputation draw the same again. A predictor takes x as it is, at no cost.
/// Rejects (in a program): one full name for two different random operations.
template <fixed_string Name, auto P = 0.5, an_operand X>
constexpr made<dropout_op<static_cast<double>(P), true>, X, random_key_leaf<Name>> dropout(X) {
  return {};
}

}  // namespace cairn
