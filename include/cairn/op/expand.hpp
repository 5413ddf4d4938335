// Axes of extent 1 that are added, removed or stretched, and axes that are repeated.
#pragma once

#include "cairn/op/concatenate.hpp"

namespace cairn::lang {

template <int... Axes>
struct unsqueeze_form : unfit_form<"unsqueeze"> {};
template <int Axis>
struct unsqueeze_form<Axis> : form_of_one<"unsqueeze"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr shape to = with_axis(X::shape, Axis);
    using what = fact::operation<"unsqueeze", tensor_fact<X>>;
    if constexpr (wrong<X> || to.valid()) return make<reshape_op<to>>(x);
    else return mistake<misuse::new_axis, typename X::owner, what, fact::axes<Axis>>{};
  }
};

template <int... Axes>
struct squeeze_form : unfit_form<"squeeze"> {};
template <int First, int... More>
struct squeeze_form<First, More...> : form_of_one<"squeeze"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    constexpr shape from = X::shape, to = reduced(from, axes_of<from, First, More...>(), false);
    constexpr bool fits = extent_along(from, First) == 1 && ((extent_along(from, More) == 1) && ...);
    using what = fact::operation<"squeeze", tensor_fact<X>>;
    if constexpr (wrong<X> || fits) return make<reshape_op<to>>(x);
    else return mistake<misuse::axes_of_extent_one, typename X::owner, what, fact::axes<First, More...>>{};
  }
};

/// Returns the shape with these extents, aligned at the last axis of `from`. An extent of -1 is replaced by the extent
/// of `from`. Returns no_shape if `from` has no such axis, or if no tensor has these extents.
template <std::int64_t... Extents>
constexpr shape expanded(const shape& from) {
  shape to;
  if (!detail::can_be_shape<(Extents == -1 ? 1 : Extents)...>) return no_shape;
  ((to.extent[to.rank++] = static_cast<int>(Extents)), ...);
  std::int64_t left = std::int64_t{1} << 60;
  for (int axis = 0; axis < to.rank; ++axis) {
    const int own = axis - (to.rank - from.rank);
    if (to.extent[axis] == -1) to.extent[axis] = own < 0 ? 0 : from.extent[own];
    if (to.extent[axis] < 1) return no_shape;
    left /= to.extent[axis];
  }
  return left > 0 && broadcast(from, to) == to ? to : no_shape;
}
template <std::int64_t... Extents>
struct expand_form : unfit_form<"expand"> {};
template <std::int64_t First, std::int64_t... More>
struct expand_form<First, More...> : form_of_one<"expand"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using what = fact::operation<"expand", tensor_fact<X>>;
    if constexpr (wrong<X>) {
      return pass_on<typename X::owner>(x);
    } else if constexpr (constexpr shape to = expanded<First, More...>(X::shape); !to.valid()) {
      return mistake<misuse::extents_of_expand, typename X::owner, what, fact::extents<First, More...>>{};
    } else if constexpr (to == X::shape) {
      return x;
    } else {
      return make<expand_op<to>>(x);
    }
  }
};

/// Returns the shape that a tensor of shape `from` has after its axes are repeated. The numbers of repetitions are
/// aligned at the last axis. Returns no_shape if a number is below 1, or if no tensor has the new extents. If there are
/// six axes already, no axis can be repeated, because `repeated_along` needs another one.
template <int... Times>
constexpr shape tiled_shape(const shape& from) {
  constexpr int count = sizeof...(Times);
  if (count > max_rank || ((Times < 1) || ...)) return no_shape;
  const int times[]{Times...};
  shape to;
  std::int64_t left = std::int64_t{1} << 60;
  to.rank = std::max(from.rank, count);
  for (int axis = 0; axis < to.rank; ++axis) {
    const int own = axis - (to.rank - from.rank), given = axis - (to.rank - count);
    const std::int64_t extent = std::int64_t{own < 0 ? 1 : from.extent[own]} * (given < 0 ? 1 : times[given]);
    left /= extent;
    if (!detail::is_extent(extent)) return no_shape;
    to.extent[axis] = static_cast<int>(extent);
  }
  return left > 0 && (to.rank < max_rank || to.count() == from.count()) ? to : no_shape;
}
/// Returns x with one axis repeated: a new axis in front of this axis is stretched.
template <int Axis, int Times, class X>
constexpr auto repeated_along(X x) {
  if constexpr (Times == 1) {
    return x;
  } else {
    constexpr shape apart = with_axis(X::shape, Axis);
    constexpr shape stretched = with_extent(apart, Axis, Times);
    constexpr shape together = with_extent(X::shape, Axis, X::shape[Axis] * Times);
    return make<reshape_op<together>>(make<expand_op<stretched>>(make<reshape_op<apart>>(x)));
  }
}
/// Repeats the axes of x from number Axis on until x has the shape To.
template <shape To, int Axis, class X>
constexpr auto tiled_from(X x) {
  if constexpr (Axis == To.rank) return x;
  else return tiled_from<To, Axis + 1>(repeated_along<Axis, To.extent[Axis] / X::shape.extent[Axis]>(x));
}
template <int... Times>
struct tile_form : unfit_form<"tile"> {};
template <int First, int... More>
struct tile_form<First, More...> : form_of_one<"tile"> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using what = fact::operation<"tile", tensor_fact<X>>;
    if constexpr (wrong<X>) {
      return pass_on<typename X::owner>(x);
    } else if constexpr (constexpr shape to = tiled_shape<First, More...>(X::shape); !to.valid()) {
      return mistake<misuse::repetitions_of_axes, typename X::owner, what, fact::extents<First, More...>>{};
    } else if constexpr (to.rank == X::shape.rank) {
      return tiled_from<to, 0>(x);
    } else {
      constexpr shape with_new_axes = [] {
        shape s = X::shape;
        while (s.rank < to.rank) s = with_axis(s, 0);
        return s;
      }();
      return tiled_from<to, 0>(make<reshape_op<with_new_axes>>(x));
    }
  }
};

/// Adds an axis of extent 1, as torch.unsqueeze does, without moving data: `unsqueeze<0>(x)`. A negative axis counts
/// from the last axis of the result. Rejects: an axis that the result cannot have.
template <int... Axes, an_operand X, class... Surplus>
constexpr applied<unsqueeze_form<Axes...>, X, Surplus...> unsqueeze(X, Surplus...) {
  return {};
}

/// Removes one or more axes of extent 1, as torch.squeeze does, without moving data: `squeeze<1>(x)`.
/// Rejects: axes that do not exist, and axes of another extent. PyTorch keeps an axis of another extent.
template <int... Axes, an_operand X, class... Surplus>
constexpr applied<squeeze_form<Axes...>, X, Surplus...> squeeze(X, Surplus...) {
  return {};
}

/// Stretches axes of extent 1, as torch.expand does: `expand<8, 3, -1>(x)`. An extent of -1 keeps the extent of an
/// axis. Additional extents in front make new axes. Rejects: an extent to which an axis cannot be stretched.
template <std::int64_t... Extents, an_operand X, class... Surplus>
constexpr applied<expand_form<Extents...>, X, Surplus...> expand(X, Surplus...) {
  return {};
}

/// Repeats x along its axes, as torch.tile does: `tile<2, 3>(x)` has twice the rows of x and three times its columns.
/// The last number belongs to the last axis. Additional numbers in front make new axes.
/// Rejects: numbers below 1; a result that no tensor can be; six axes.
template <int... Times, an_operand X, class... Surplus>
constexpr applied<tile_form<Times...>, X, Surplus...> tile(X, Surplus...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::expand, lang::squeeze, lang::tile, lang::unsqueeze;
}  // namespace cairn
