// Other shapes of the same elements: reshape and detach cost nothing, transpose moves data.
#pragma once

#include "cairn/expr/operation.hpp"

#include <array>

namespace cairn {

template <shape To>
struct reshape_op : op {
  static constexpr fixed_string name = "reshape";
  using rule = rule::same_number_of_elements;
  struct wanted {
    static constexpr cairn::shape shape = To;
    static constexpr kind element = kind::real;
  };
  using asked = fact::result<tensor_fact<wanted>>;
  static constexpr bool view = true;
  static constexpr shape result(const shape& from) {
    for (int axis = 0; axis < To.rank; ++axis) {
      if (To.extent[axis] < 1) return no_shape;
    }
    return from.count() == To.count() ? To : no_shape;
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto x, auto, auto g) { return gradients(make<reshape_op<decltype(x)::shape>>(g)); }
};

namespace detail {
/// The shape of an expression, or of a layer, which has none.
template <class X>
inline constexpr shape shape_of{};
template <an_expression X>
inline constexpr shape shape_of<X> = X::shape;

/// The given extents, one of -1 replaced by what the number of elements demands.
template <shape From, int... Extents>
constexpr shape inferred() {
  shape to;
  std::int64_t known = 1;
  ((to.extent[to.rank++] = Extents, known *= Extents == -1 ? 1 : Extents), ...);
  for (int axis = 0; axis < to.rank; ++axis) {
    if (to.extent[axis] == -1 && known > 0) to.extent[axis] = static_cast<int>(From.count() / known);
  }
  return to;
}
}  // namespace detail

/// The same elements in another shape; one extent may be -1. Moves no data.
template <int... Extents, an_operand X>
constexpr made<reshape_op<detail::inferred<detail::shape_of<X>, Extents...>()>, X> reshape(X) {
  return {};
}
template <int... Extents, an_operand X, class... Surplus>
  requires(sizeof...(Surplus) > 0)
constexpr misused<axes_as_arguments, "reshape", X, Surplus...> reshape(X, Surplus...) {
  return {};
}

namespace detail {
template <auto Permutation, std::size_t... Axis>
fact::axes<Permutation[Axis]...> axes_of_permutation(std::index_sequence<Axis...>);
}  // namespace detail

/// Result axis i is argument axis Permutation[i].
template <auto Permutation>
struct transpose_op : op {
  static constexpr fixed_string name = "transpose";
  using rule = rule::axes_exist;
  using asked = decltype(detail::axes_of_permutation<Permutation>(std::make_index_sequence<Permutation.size()>{}));
  static constexpr shape result(const shape& from) {
    shape to;
    to.rank = from.rank;
    if (from.rank != static_cast<int>(Permutation.size())) return no_shape;
    axis_set seen = 0;
    for (int axis = 0; axis < to.rank; ++axis) {
      const int source = Permutation[static_cast<std::size_t>(axis)];
      if (source < 0 || source >= from.rank) return no_shape;
      seen |= axis_set{1} << source;
      to.extent[axis] = from.extent[source];
    }
    return seen + 1 == axis_set{1} << to.rank ? to : no_shape;
  }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto inverse = [] {
    auto back = Permutation;
    for (std::size_t axis = 0; axis < Permutation.size(); ++axis) {
      if (Permutation[axis] >= 0 && Permutation[axis] < static_cast<int>(Permutation.size()))
        back[static_cast<std::size_t>(Permutation[axis])] = static_cast<int>(axis);
    }
    return back;
  }();
  static constexpr auto vjp(auto, auto, auto g) { return gradients(make<transpose_op<inverse>>(g)); }
};

namespace detail {
template <int Rank>
constexpr auto swap_last_two() {
  std::array<int, static_cast<std::size_t>(std::max(Rank, 2))> axes{};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = static_cast<int>(axis);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes;
}
template <int Rank, int... Axes>
constexpr auto permutation() {
  if constexpr (sizeof...(Axes) > 0) return std::array{Axes...};
  else return swap_last_two<Rank>();
}
}  // namespace detail

/// Permutes axes: `transpose<1, 0, 2>(x)`; without a list swaps the last two (a matrix product folds that in).
template <int... Axes, an_operand X>
constexpr made<transpose_op<detail::permutation<detail::shape_of<X>.rank, Axes...>()>, X> transpose(X) {
  return {};
}
template <int... Axes, an_operand X, class... Surplus>
  requires(sizeof...(Surplus) > 0)
constexpr misused<axes_as_arguments, "transpose", X, Surplus...> transpose(X, Surplus...) {
  return {};
}

struct detach_op : op {
  static constexpr fixed_string name = "detach";
  using rule = rule::equal_shapes;
  static constexpr bool view = true, detaches = true;
  static constexpr shape result(const shape& x) { return x; }
  static constexpr std::int64_t flops(auto) { return 0; }
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

/// The same value, through which no gradient flows. Outside segments only.
template <an_operand X>
constexpr made<detach_op, X> detach(X) {
  return {};
}

}  // namespace cairn
