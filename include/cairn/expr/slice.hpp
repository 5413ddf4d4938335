// Parts of tensors, and tensors between zeros: read where they lie.
#pragma once

#include "cairn/expr/apply.hpp"

namespace cairn {

namespace detail {
/// The extent of an axis, where negative ones count from the last; 0 where there is none.
constexpr int extent_along(const shape& s, int axis) { return axis < s.rank && axis >= -s.rank ? s[axis] : 0; }
constexpr tensor_type with_extent(tensor_type t, int axis, int extent) {
  t.extent[axis < 0 ? t.rank + axis : axis] = extent;
  return t;
}
/// Whether `axis` is axis number `at` of a tensor, counted from either end.
constexpr bool is_axis(const shape& s, int axis, int at) { return (axis < 0 ? s.rank + axis : axis) == at; }
}  // namespace detail

/// The argument between zeros: it begins at Begin of an axis of Extent.
template <int Axis, int Begin, int Extent>
struct pad_op;

/// Elements [Begin, End) along an axis; negative bounds count from the end.
template <int Axis, int Begin, int End>
struct slice_op : op {
  static constexpr fixed_string name = "slice";
  using rule = rule::part_of_axis;
  using asked = fact::slice<Axis, Begin, End>;
  static constexpr bool mapped = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr int begin(const shape& x) { return Begin < 0 ? detail::extent_along(x, Axis) + Begin : Begin; }
  static constexpr int end(const shape& x) { return End < 0 ? detail::extent_along(x, Axis) + End : End; }
  static constexpr tensor_type result(const tensor_type& x) {
    const bool fits = begin(x) >= 0 && begin(x) < end(x) && end(x) <= detail::extent_along(x, Axis);
    return fits ? detail::with_extent(x, Axis, end(x) - begin(x)) : no_shape;
  }
  static constexpr axis_map map(const shape& x, int axis) {
    return {.begin = detail::is_axis(x, Axis, axis) ? begin(x) : 0};
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr shape from = decltype(x)::shape;
    return gradients(make<pad_op<Axis, begin(from), from[Axis]>>(g));
  }
};

template <int Axis, int Begin, int Extent>
struct pad_op : op {
  static constexpr fixed_string name = "pad";
  using rule = rule::part_of_axis;
  static constexpr bool mapped = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& x) { return detail::with_extent(x, Axis, Extent); }
  static constexpr axis_map map(const shape& x, int axis) {
    if (!detail::is_axis(x, Axis, axis)) return {};
    return {.begin = -Begin, .outside = edge::zero};
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x) {
    return gradients(make<slice_op<Axis, Begin, Begin + decltype(x)::shape[Axis]>>(g));
  }
};

namespace detail {
template <int... Bounds>
struct slice_form : unfit_form<"slice"> {};
template <int Axis, int Begin, int End>
struct slice_form<Axis, Begin, End> : form_of_one<"slice"> {
  template <class X>
  static constexpr auto of(X x) {
    return made_silently<slice_op<Axis, Begin, End>>(x);
  }
};
template <int Axis, int Begin>
struct slice_form<Axis, Begin> : form_of_one<"slice"> {
  template <class X>
  static constexpr auto of(X x) {
    return made_silently<slice_op<Axis, Begin, extent_along(X::shape, Axis)>>(x);
  }
};
}  // namespace detail

/// Elements [Begin, End) along an axis, as x[:, Begin:End] in Python: `slice<1, 0, 4>(x)`; without an end from Begin
/// on, as x[:, Begin:]. A negative axis counts from the last, negative bounds from the end.
template <int... Bounds, an_operand X, class... Surplus>
constexpr applied<detail::slice_form<Bounds...>, X, Surplus...> slice(X, Surplus...) {
  return {};
}

}  // namespace cairn
