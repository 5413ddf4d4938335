// Computes activation functions on registers. The limits keep results finite where minus infinity times 0 or the square
// of a huge number would make NaN. They are so far out that no other result depends on them.
#pragma once

#include "cairn/kernel/elementwise.hpp"
#include "cairn/op/activation.hpp"

namespace cairn::kernels {
/// Returns A + C B a^2 with the constants A and B of gelu_tanh, for C = 1 and C = 3. The first one times a is the
/// argument of the sigmoid in gelu_tanh, and the second one is the derivative of this argument.
template <int C, class V>
[[gnu::always_inline]] inline V gelu_tanh_factor(V a) {
  return fused(a * a, all<V>(C * lang::gelu_tanh_constants[1]), all<V>(lang::gelu_tanh_constants[0]));
}
/// Returns y = tanh(softplus(a)) and 1 - y. With e = exp(a), y is (e^2 + 2 e) / (e^2 + 2 e + 2). For positive a, both
/// parts of the quotient are divided by e^2, so that they do not overflow.
template <class V>
[[gnu::always_inline]] inline std::array<V, 2> tanh_of_softplus(V a) {
  const V e = exp(-abs(a)), squared = e * e;
  const auto negative = greater(all<V>(0), a);
  const V most = e + e + select(negative, squared, all<V>(1)), least = select(negative, all<V>(2), squared + squared);
  return {most / (most + least), least / (most + least)};
}
}  // namespace cairn::kernels

namespace cairn::lang {

template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_tanh_op, V a) {
  using kernels::sigmoid;
  const V near = kernels::within(a, 22);
  return kernels::at_least(a, -22) * sigmoid(near * kernels::gelu_tanh_factor<1>(near));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_tanh_slope_op, V a) {
  using kernels::fused;
  const V near = kernels::within(a, 22);
  const auto [y, other] = kernels::sigmoids_of_both(near * kernels::gelu_tanh_factor<1>(near));
  return fused(y * other * near, kernels::gelu_tanh_factor<3>(near), y);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(hardswish_op, V a) {
  return kernels::at_least(a, -3) * ((kernels::within(a, 3) + kernels::all<V>(3)) / kernels::all<V>(6));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(hardswish_slope_op, V a) {
  using kernels::abs, kernels::greater, kernels::select;
  const V three = kernels::all<V>(3), inside = select(greater(three, abs(a)), a, kernels::all<V>(0));
  return (kernels::within(a, 3) + three + inside) / kernels::all<V>(6);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(mish_op, V a) {
  return kernels::at_least(a, -1000) * kernels::tanh_of_softplus(a)[0];
}
template <class V>
[[gnu::always_inline]] inline V lanewise(mish_slope_op, V a) {
  using kernels::fused;
  const auto [y, rest] = kernels::tanh_of_softplus(a);
  const V s = kernels::sigmoids_of_both(a)[0];
  return fused(kernels::within(a, 1000) * s, rest * (kernels::all<V>(1) + y), y);
}

}  // namespace cairn::lang
