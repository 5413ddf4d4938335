// Roll and shift: a tensor is moved along an axis, so that each element meets its neighbours, as in stencils. The moved
// tensor is read in place where that is possible.
#pragma once

#include "cairn/op/slice.hpp"

namespace cairn::lang {

/// Base of both operations: elements move By positions further along an axis.
template <int Axis, int By, nn::edge Outside>
struct moved_op : op {
  using rule = misuse::axes_exist;
  using asked = fact::axes<Axis>;
  static constexpr bool mapped = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& x) {
    return Axis >= 0 && Axis < x.rank ? x : tensor_type{no_shape};
  }
  static constexpr axis_map map(const shape&, int axis) {
    if (axis != Axis) return {};
    return {.begin = -By, .outside = Outside};
  }
  static constexpr std::int64_t flops(auto) { return 0; }
};

/// Moves elements cyclically: elements that leave the axis at one end enter it at the opposite end.
template <int Axis, int By>
struct roll_op : moved_op<Axis, By, nn::edge::wrap> {
  static constexpr fixed_string name = "roll";
  static constexpr auto vjp(auto g, auto, auto x) {
    return gradients(make<roll_op<Axis, decltype(x)::shape[Axis] - By>>(g));
  }
};

/// Moves elements while zeros enter at one end, or copies of the element at the edge. The number of elements that enter
/// is at most the extent of the axis.
template <int Axis, int By, nn::edge Outside>
struct shift_op : moved_op<Axis, By, Outside> {
  static constexpr fixed_string name = "shift";
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr int extent = decltype(x)::shape[Axis], entering = By < 0 ? -By : By;
    const auto back = make<shift_op<Axis, -By, nn::edge::zero>>(g);
    if constexpr (Outside == nn::edge::zero || entering == 0) {
      return gradients(back);
    } else {
      constexpr int begin = By < 0 ? extent - entering : 0, at_edge = By < 0 ? extent - 1 : 0;
      const auto of_edge =
          make<sum_op<detail::axis_set{1} << Axis, true>>(make<slice_op<Axis, begin, begin + entering>>(g));
      return gradients(back + make<pad_op<Axis, at_edge, extent>>(of_edge));
    }
  }
};

/// Index of an axis, counted from the first axis, and a distance along this axis in elements.
struct axis_shift {
  int axis, by;
};
constexpr axis_shift normalized_shift(const shape& s, int axis, int by, nn::edge outside) {
  const int extent = extent_along(s, axis);
  if (extent == 0) return {axis, by};
  return {axis < 0 ? s.rank + axis : axis,
          outside == nn::edge::wrap ? (by % extent + extent) % extent : std::clamp(by, -extent, extent)};
}

template <int... Numbers>
struct roll_form : unfit_form<"roll"> {};
template <int Axis, int By>
struct roll_form<Axis, By> : form_of_one<"roll"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr axis_shift along = normalized_shift(X::shape, Axis, By, nn::edge::wrap);
    return make<roll_op<along.axis, along.by>>(x);
  }
};

template <auto... Numbers>
struct shift_form : unfit_form<"shift"> {};
template <int Axis, int By, nn::edge Outside>
  requires(Outside == nn::edge::zero || Outside == nn::edge::nearest)
struct shift_form<Axis, By, Outside> : form_of_one<"shift"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr axis_shift along = normalized_shift(X::shape, Axis, By, Outside);
    return make<shift_op<along.axis, along.by, Outside>>(x);
  }
};
template <int Axis, int By>
struct shift_form<Axis, By> : shift_form<Axis, By, nn::edge::zero> {};

/// Moves elements By positions further along an axis and cyclically around its end, as torch.roll does:
/// `roll<0, 1>(x)`. By may be negative, and may exceed the extent of the axis. To move along several axes, call roll
/// several times. Rejects: an axis that does not exist.
template <int... Numbers, an_operand X, class... Surplus>
constexpr applied<roll_form<Numbers...>, X, Surplus...> roll(X, Surplus...) {
  return {};
}
}  // namespace cairn::lang

namespace cairn::nn {
// `shift` is in nn, because models use this name for a value that is added to a normalized value.
/// Moves elements By positions further along an axis, as roll does, but not cyclically. Zeros enter, as in
/// `nn::shift<0, 1>(x)`, or copies of the element at the edge, as in `nn::shift<0, -1, nn::edge::nearest>(x)`.
/// Rejects: an axis that does not exist; another edge.
template <auto... Numbers, an_operand X, class... Surplus>
constexpr lang::applied<lang::shift_form<Numbers...>, X, Surplus...> shift(X, Surplus...) {
  return {};
}
}  // namespace cairn::nn

namespace cairn {
using lang::roll;
}  // namespace cairn
