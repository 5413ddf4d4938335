// Gather, scatter-add and one-hot: operations that read a table, or add to a table, at given indices.
#pragma once

#include "cairn/lang/convert.hpp"
#include "cairn/lang/view.hpp"
#include "cairn/op/comparison.hpp"
#include "cairn/op/slice.hpp"

namespace cairn::lang {

/// Returns the shape `s`, in which `count` axes, from axis number `at` on, are replaced by the axes of `by`. Returns
/// no_shape if the result would have more than max_rank axes.
constexpr shape with_axes_replaced(const shape& s, int at, int count, const shape& by) {
  if (s.rank - count + by.rank > max_rank) return no_shape;
  shape out;
  for (int axis = 0; axis < at; ++axis) out.extent[out.rank++] = s.extent[axis];
  for (int axis = 0; axis < by.rank; ++axis) out.extent[out.rank++] = by.extent[axis];
  for (int axis = at + count; axis < s.rank; ++axis) out.extent[out.rank++] = s.extent[axis];
  return out;
}

/// Adds each part of x to the position along an axis to which the index of this part points. The axes of the indices
/// are replaced by an axis of extent Extent. Parts with the index Padding are left out.
template <int Axis, int Extent, int Padding = -1>
struct scatter_add_op;
/// Computes `table + scatter_add(x, indices)`. If nothing else reads the table, the parts are added in place.
template <int Axis, int Extent, int Padding>
struct scatter_add_onto_op;

/// Reads the parts of a table at some positions along an axis. The part at position Padding gets no gradient.
template <int Axis, int Padding = -1>
struct gather_op : op {
  static constexpr fixed_string name = "gather";
  using rule = misuse::indices_for_axis;
  using asked = fact::axes<Axis>;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::any; }
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 0 ? reading::as_parameter : reading::as_float};
  }
  static constexpr making makes(int, int, const auto&...) { return {.rounds = true}; }
  static constexpr int extent_indexed(int i, const shape& table, const shape&) { return i == 1 ? table[Axis] : 0; }
  static constexpr int axis_of(const shape& table) { return Axis < 0 ? table.rank + Axis : Axis; }
  static constexpr tensor_type result(const tensor_type& table, const shape& indices) {
    if (extent_along(table, Axis) == 0) return no_shape;
    return {with_axes_replaced(table, axis_of(table), 1, indices), table.element};
  }
  static constexpr bool keeps_rows(int i, const shape& table, const shape& indices) {
    return axis_of(table) == 0 ? i == 1 && indices.rank > 0 : i == 0;
  }
  static constexpr std::int64_t flops(const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto table, auto indices) {
    constexpr shape from = decltype(table)::shape;
    using added = scatter_add_op<axis_of(from), from[Axis], Padding>;
    return gradients(make<added>(in_reals(g), indices), no_gradient{});
  }
};

template <int Axis, int Extent, int Padding>
struct scatter_add_op : op {
  static constexpr fixed_string name = "scatter_add";
  using rule = misuse::indices_for_axis;
  using asked = fact::axes<Axis>;
  using onto = scatter_add_onto_op<Axis, Extent, Padding>;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 0 ? reading::as_stored : reading::as_float};
  }
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true}; }
  static constexpr int extent_indexed(int i, const shape&, const shape&) { return i == 1 ? Extent : 0; }
  static constexpr shape result(const shape& x, const shape& indices) {
    const bool fits = x.rank >= Axis + indices.rank && with_axes_replaced(x, Axis, indices.rank, indices) == x;
    return fits ? with_axes_replaced(x, Axis, indices.rank, shape{Extent}) : no_shape;
  }
  /// Returns the workspace, in which each entry takes 4 bytes. It holds the indices, ordered by the positions to which
  /// they point, and the ends of buckets of positions. There are at most as many buckets as indices.
  static constexpr workspace scratch(int bytes, const shape&, const shape& indices) {
    const std::int64_t count = indices.count();
    return {(4 * (count + std::min<std::int64_t>(count, Extent)) + bytes - 1) / bytes};
  }
  static constexpr std::int64_t flops(const shape& x, const shape&) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto x, auto indices) {
    return gradients(read_back(g, x, indices), no_gradient{});
  }
  /// Returns the gradient of x: the parts of `g` at the indices, and 0 for parts that are left out.
  static constexpr auto read_back(auto g, auto x, auto indices) {
    const auto found = make<gather_op<Axis>>(g, indices);
    if constexpr (Padding < 0) {
      return found;
    } else {
      constexpr detail::axis_set of_indices = ((detail::axis_set{1} << decltype(indices)::shape.rank) - 1) << Axis;
      constexpr shape broadcast_shape = reduced(decltype(x)::shape, ~of_indices, true);
      const auto counts = make<reshape_op<broadcast_shape>>(indices) != constant<Padding>;
      return where(counts, found, constant<0>);
    }
  }
};

template <int Axis, int Extent, int Padding>
struct scatter_add_onto_op : op {
  using added = scatter_add_op<Axis, Extent, Padding>;
  static constexpr fixed_string name = "scatter_add_onto";
  using rule = misuse::indices_for_axis;
  using asked = fact::axes<Axis>;
  static constexpr kind argument_kind(int i) { return i == 2 ? kind::whole : kind::real; }
  static constexpr reading reads(int i, const auto&...) {
    return {.numbers = i == 1 ? reading::as_stored : reading::as_float};
  }
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true, .overwrites = 0}; }
  static constexpr int extent_indexed(int i, const shape&, const shape&, const shape&) { return i == 2 ? Extent : 0; }
  static constexpr shape result(const shape& table, const shape& x, const shape& indices) {
    return added::result(x, indices) == table ? table : no_shape;
  }
  static constexpr workspace scratch(int bytes, const shape&, const shape& x, const shape& indices) {
    return added::scratch(bytes, x, indices);
  }
  static constexpr std::int64_t flops(const shape&, const shape& x, const shape&) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto, auto x, auto indices) {
    return gradients(g, added::read_back(g, x, indices), no_gradient{});
  }
};

/// Computes rows of zeros, with a one at the index of each row.
struct one_hot_op : op {
  static constexpr fixed_string name = "one_hot";
  using rule = misuse::bound_as_extent;
  static constexpr kind argument_kind(int) { return kind::whole; }
  static constexpr making makes(int, int, const auto&...) { return {.rounds = true}; }
  static constexpr shape result(const tensor_type& indices) {
    const int bound = indices.element.bound;
    return bound > 0 ? with_axes_replaced(indices, indices.rank, 0, shape{bound}) : no_shape;
  }
  static constexpr bool keeps_rows(int, const shape& indices) { return indices.rank > 0; }
  static constexpr std::int64_t flops(const shape&) { return 0; }
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};

template <int... Axes>
struct gather_form : unfit_form<"gather"> {};
template <int Axis>
struct gather_form<Axis> : form_applying<gather_op<Axis>, form_of_two<"gather">> {};

/// Reads the parts of a table at indices along an axis, as numpy.take does. The result has the shape of the table, in
/// which the axes of the indices replace the given axis. `gather<0>(table, tokens)` looks up rows. The bound of the
/// indices must not exceed the extent of the axis.
template <int... Axes, class... A>
  requires some_operands<A...>
constexpr applied<gather_form<Axes...>, A...> gather(A...) {
  return {};
}

/// Computes real numbers {..., bound}: 1 at each index, else 0. Rejects: indices without a bound.
template <an_operand X>
constexpr made<one_hot_op, X> one_hot(X) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::gather, lang::one_hot;
}  // namespace cairn
