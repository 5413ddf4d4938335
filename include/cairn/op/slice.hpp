// Slices, zero padding and reversed axes. Their elements are read in place where that is possible.
#pragma once

#include "cairn/op/reduce.hpp"

namespace cairn::lang {

/// Returns the extent of an axis, or 0 if the axis does not exist. A negative axis counts from the last axis.
constexpr int extent_along(const shape& s, int axis) { return axis < s.rank && axis >= -s.rank ? s[axis] : 0; }
constexpr tensor_type with_extent(tensor_type t, int axis, int extent) {
  t.extent[axis < 0 ? t.rank + axis : axis] = extent;
  return t;
}
/// Returns true if `axis` is axis number `at` of a tensor. A negative `axis` counts from the last axis.
constexpr bool is_axis(const shape& s, int axis, int at) { return (axis < 0 ? s.rank + axis : axis) == at; }

/// Puts zeros before and after the argument along an axis. The result has extent Extent along this axis, and the
/// argument begins at index Begin.
template <int Axis, int Begin, int Extent>
struct pad_op;

/// Takes the elements [Begin, End) along an axis. Negative bounds count from the end of the axis.
template <int Axis, int Begin, int End>
struct slice_op : op {
  static constexpr fixed_string name = "slice";
  using rule = misuse::part_of_axis;
  using asked = fact::slice<Axis, Begin, End>;
  static constexpr bool mapped = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr int begin(const shape& x) { return Begin < 0 ? extent_along(x, Axis) + Begin : Begin; }
  static constexpr int end(const shape& x) { return End < 0 ? extent_along(x, Axis) + End : End; }
  static constexpr tensor_type result(const tensor_type& x) {
    const bool fits = begin(x) >= 0 && begin(x) < end(x) && end(x) <= extent_along(x, Axis);
    return fits ? with_extent(x, Axis, end(x) - begin(x)) : no_shape;
  }
  static constexpr axis_map map(const shape& x, int axis) { return {.begin = is_axis(x, Axis, axis) ? begin(x) : 0}; }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr shape from = decltype(x)::shape;
    return gradients(make<pad_op<Axis, begin(from), from[Axis]>>(g));
  }
};

template <int Axis, int Begin, int Extent>
struct pad_op : op {
  static constexpr fixed_string name = "pad";
  using rule = misuse::part_of_axis;
  static constexpr bool mapped = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& x) {
    const int extent = extent_along(x, Axis);
    return extent > 0 && Begin >= 0 && Begin + extent <= Extent ? with_extent(x, Axis, Extent) : no_shape;
  }
  static constexpr axis_map map(const shape& x, int axis) {
    if (!is_axis(x, Axis, axis)) return {};
    return {.begin = -Begin, .outside = nn::edge::zero};
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto g, auto, auto x) {
    return gradients(make<slice_op<Axis, Begin, Begin + decltype(x)::shape[Axis]>>(g));
  }
};

/// Reverses the order of the elements along each of the axes.
template <detail::axis_set Axes>
struct flip_op : op {
  static constexpr fixed_string name = "flip";
  using rule = misuse::axes_exist;
  static constexpr bool mapped = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const tensor_type& x) { return Axes >> x.rank == 0 ? x : no_shape; }
  static constexpr axis_map map(const shape& x, int axis) {
    if ((Axes >> axis & 1U) == 0) return {};
    return {.begin = x[axis] - 1, .step = -1};
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto g, auto, auto) { return gradients(make<flip_op>(g)); }
};

template <int... Bounds>
struct slice_form : unfit_form<"slice"> {};
template <int Axis, int Begin, int End>
struct slice_form<Axis, Begin, End> : form_applying<slice_op<Axis, Begin, End>, form_of_one<"slice">> {};
template <int Axis, int Begin>
struct slice_form<Axis, Begin> : form_of_one<"slice"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    return make<slice_op<Axis, Begin, extent_along(X::shape, Axis)>>(x);
  }
};

template <int... Numbers>
struct split_form : unfit_form<"split"> {};
template <int Axis, int Parts>
struct split_form<Axis, Parts> : form_of_one<"split"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr std::size_t parts = Parts > 0 ? Parts : 1;
    constexpr int extent = extent_along(X::shape, Axis);
    if constexpr (wrong<X>) {
      return in_place_of_results<parts>(pass_on<typename X::owner>(x));
    } else if constexpr (extent == 0 || Parts < 1 || extent % static_cast<int>(parts) != 0) {
      using what = fact::operation<"split", tensor_fact<X>>;
      return in_place_of_results<parts>(
          mistake<misuse::equal_parts, typename X::owner, what, fact::axes<Axis>, fact::parts<Parts>>{});
    } else {
      constexpr int each = extent / Parts;
      return [=]<int... I>(std::integer_sequence<int, I...>) {
        return std::tuple{make<slice_op<Axis, I * each, (I + 1) * each>>(x)...};
      }(std::make_integer_sequence<int, Parts>{});
    }
  }
};

template <int... Numbers>
struct pad_form : unfit_form<"pad"> {};
template <int Axis, int Before, int After>
struct pad_form<Axis, Before, After> : form_of_one<"pad"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr int extent = extent_along(X::shape, Axis);
    constexpr std::int64_t whole = std::int64_t{Before} + extent + After;
    if constexpr (wrong<X> || (extent > 0 && Before >= 0 && After >= 0 && detail::is_extent(whole))) {
      return make<pad_op<Axis, Before, static_cast<int>(whole)>>(x);
    } else {
      using what = fact::operation<"pad", tensor_fact<X>>;
      return mistake<misuse::zeros_around_axis, typename X::owner, what, fact::pad<Axis, Before, After>>{};
    }
  }
};

template <int... Axes>
struct flip_form : unfit_form<"flip"> {};
template <int First, int... More>
struct flip_form<First, More...> : form_of_one<"flip"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr detail::axis_set axes = axes_of<X::shape, First, More...>();
    if constexpr (wrong<X> || axes >> X::shape.rank == 0) {
      return make<flip_op<axes>>(x);
    } else {
      using what = fact::operation<"flip", tensor_fact<X>>;
      return mistake<misuse::axes_exist, typename X::owner, what, fact::axes<First, More...>>{};
    }
  }
};

/// Takes the elements [Begin, End) along an axis, as x[:, Begin:End] in Python: `slice<1, 0, 4>(x)`. Without End, takes
/// all elements from Begin on, as x[:, Begin:]. A negative axis counts from the last axis. Negative bounds count from
/// the end of the axis.
template <int... Bounds, an_operand X, class... Surplus>
constexpr applied<slice_form<Bounds...>, X, Surplus...> slice(X, Surplus...) {
  return {};
}

/// Splits an axis into equal parts, as torch.chunk does, and returns a tuple of slices:
/// `auto [q, k, v] = split<-1, 3>(x);`.
/// Rejects: an axis that does not exist; an extent that is not a multiple of the number of parts.
template <int... Numbers, an_operand X, class... Surplus>
constexpr applied<split_form<Numbers...>, X, Surplus...> split(X, Surplus...) {
  return {};
}

/// Puts zeros before and after the elements along an axis, as F.pad does: `pad<1, 2, 0>(x)` puts two zeros before the
/// elements of axis 1. To pad several axes, call pad several times.
/// Rejects: an axis that does not exist; negative numbers of zeros.
template <int... Numbers, an_operand X, class... Surplus>
constexpr applied<pad_form<Numbers...>, X, Surplus...> pad(X, Surplus...) {
  return {};
}

/// Reverses the order of the elements along one or more axes, as torch.flip does: `flip<1>(x)`. Rejects: axes that do
/// not exist.
template <int... Axes, an_operand X, class... Surplus>
constexpr applied<flip_form<Axes...>, X, Surplus...> flip(X, Surplus...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::flip, lang::pad, lang::slice, lang::split;
}  // namespace cairn
