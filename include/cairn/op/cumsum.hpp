// Running sums along an axis.
#pragma once

#include "cairn/op/reduce.hpp"

namespace cairn::lang {

/// Computes for each element the sum of this element and of all elements before it along an axis. If FromEnd is true,
/// computes the sum of the element and of all elements after it. Either operation is the gradient of the other.
template <int Axis, bool FromEnd>
struct cumsum_op : op {
  static constexpr fixed_string name = "cumsum";
  using rule = misuse::axes_exist;
  using asked = fact::axes<Axis>;
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true, .overwrites = 0}; }
  static constexpr shape result(const shape& x) { return Axis < x.rank && Axis >= -x.rank ? x : no_shape; }
  static constexpr bool keeps_rows(int, const shape& x) { return axis_bit(x, Axis) % 2 == 0; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<cumsum_op<Axis, !FromEnd>>(g)); }
};

template <int... Axes>
struct cumsum_form : unfit_form<"cumsum"> {};
template <int Axis>
struct cumsum_form<Axis> : form_applying<cumsum_op<Axis, false>, form_of_one<"cumsum">> {};

/// Computes the running sums along an axis, as torch.cumsum does: `cumsum<-1>(x)`. Each result is the sum of an element
/// and of all elements before it. Rejects: an axis that does not exist.
template <int... Axes, an_operand X, class... Surplus>
constexpr applied<cumsum_form<Axes...>, X, Surplus...> cumsum(X, Surplus...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::cumsum;
}  // namespace cairn
