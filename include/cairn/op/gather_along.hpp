// Operations that read or add single elements along an axis, at an index for each of them.
#pragma once

#include "cairn/op/reduce.hpp"
#include "cairn/op/slice.hpp"

namespace cairn::lang {

/// Returns true if indices have the extents of x on all axes except the given one.
constexpr bool index_along(const shape& x, int axis, const shape& indices) {
  const int count = extent_along(indices, axis);
  return count > 0 && x.rank == indices.rank && with_extent(x, axis, count) == indices;
}

/// Adds elements to a table. The index of each element is the position along an axis to which the element is added. The
/// element has its own position along all other axes.
template <int Axis>
struct scatter_add_along_op;

/// Reads elements of a table. The index of each element is its position along an axis of the table.
template <int Axis>
struct gather_along_op : op {
  static constexpr fixed_string name = "gather_along";
  using rule = misuse::indices_along_axis;
  using asked = fact::axes<Axis>;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::any; }
  static constexpr reading reads(int i, const auto&...) {
    if (i == 1) return {};
    return {.numbers = reading::as_stored, .decides_precision = true};
  }
  static constexpr int extent_indexed(int i, const shape& table, const shape&) { return i == 1 ? table[Axis] : 0; }
  static constexpr tensor_type result(const tensor_type& table, const shape& indices) {
    return {index_along(table, Axis, indices) ? indices : no_shape, table.element};
  }
  static constexpr bool keeps_rows(int, const shape& table, const shape&) { return axis_bit(table, Axis) % 2 == 0; }
  static constexpr std::int64_t flops(const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto table, auto indices) {
    const auto terms = in_reals(g);
    const auto zeros = in_type_of<decltype(terms)>(make<expand_op<decltype(table)::shape>>(constant<0>));
    return gradients(make<scatter_add_along_op<Axis>>(zeros, indices, terms), no_gradient{});
  }
};

template <int Axis>
struct scatter_add_along_op : op {
  static constexpr fixed_string name = "scatter_add_along";
  using rule = misuse::indices_along_axis;
  using asked = fact::axes<Axis>;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::real; }
  static constexpr making makes(int, int, const auto&...) { return {.is_statistic = true, .overwrites = 0}; }
  static constexpr int extent_indexed(int i, const shape& table, const shape&, const shape&) {
    return i == 1 ? table[Axis] : 0;
  }
  static constexpr shape result(const shape& table, const shape& indices, const shape& values) {
    return index_along(table, Axis, indices) && indices == values ? table : no_shape;
  }
  /// Returns the workspace. If there may be long sums, it holds for each sum what rounding has taken from it.
  static constexpr workspace scratch(int, const shape& table, const shape& indices, const shape&) {
    return {indices[Axis] > costs::section_terms ? table.count() : 0};
  }
  static constexpr bool keeps_rows(int, const shape& table, const shape&, const shape&) {
    return axis_bit(table, Axis) % 2 == 0;
  }
  static constexpr std::int64_t flops(const shape&, const shape&, const shape& values) { return values.count(); }
  static constexpr auto vjp(auto g, auto, auto, auto indices, auto) {
    return gradients(g, no_gradient{}, make<gather_along_op<Axis>>(g, indices));
  }
};

template <int... Axes>
struct gather_along_form : unfit_form<"gather_along"> {};
template <int Axis>
struct gather_along_form<Axis> : form_applying<gather_along_op<Axis>, form_of_two<"gather_along">> {};
template <int... Axes>
struct scatter_add_along_form : unfit_form<"scatter_add_along"> {};
template <int Axis>
struct scatter_add_along_form<Axis>
    : form_applying<scatter_add_along_op<Axis>, form_of<"scatter_add_along", 3, misuse::table_index_and_rows>> {};

/// Reads elements at indices along an axis, as torch.gather does: `gather_along<-1>(x, indices)`. The result has the
/// shape of the indices. Element {i, j} of `gather_along<1>(x, indices)` is x[i][indices[i][j]].
/// Rejects: indices with another extent than x along another axis; a bound above the extent of the axis.
template <int... Axes, class... A>
  requires some_operands<A...>
constexpr applied<gather_along_form<Axes...>, A...> gather_along(A...) {
  return {};
}

/// Returns x with values added at indices along an axis, as torch.scatter_add does:
/// `scatter_add_along<-1>(x, indices, values)`. Values and indices have the same shape. `scatter_add_along<1>` adds
/// values[i][j] to x[i][indices[i][j]].
/// Rejects: what gather_along rejects; values with another shape than the indices.
template <int... Axes, class... A>
  requires some_operands<A...>
constexpr applied<scatter_add_along_form<Axes...>, A...> scatter_add_along(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::gather_along, lang::scatter_add_along;
}  // namespace cairn
