// Rows that are written into a table at an index, and rows that are read from a table at an index.
#pragma once

#include "cairn/lang/convert.hpp"
#include "cairn/op/slice.hpp"

namespace cairn::lang {

/// Returns zeros with the shape and the element type of a tensor.
template <class Tensor>
constexpr auto zeros_like(Tensor) {
  constexpr auto number = constant<0>;
  if constexpr (Tensor::element.type == dtype::real) return make<expand_op<Tensor::shape>>(number);
  else return make<expand_op<Tensor::shape>>(make<as_op<Tensor::element.type>>(number));
}

/// Returns a table in which rows along an axis, from an index on, are replaced by other rows.
template <int Axis>
struct placed_op;

/// Reads Rows rows of a table along an axis, from an index on.
template <int Axis, int Rows>
struct rows_at_op : op {
  static constexpr fixed_string name = "rows_at";
  using rule = misuse::rows_of_table;
  using asked = fact::axes<Axis>;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::any; }
  static constexpr int extent_indexed(int i, const shape& table, const shape&) {
    return i == 1 ? table[Axis] - Rows + 1 : 0;
  }
  static constexpr tensor_type result(const tensor_type& table, const shape& at) {
    const bool fits = at.count() == 1 && extent_along(table, Axis) >= Rows;
    return fits ? with_extent(table, Axis, Rows) : no_shape;
  }
  static constexpr std::int64_t flops(const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto table, auto at) {
    return gradients(make<placed_op<Axis>>(zeros_like(table), at, g), no_gradient{});
  }
};

template <int Axis>
struct placed_op : op {
  static constexpr fixed_string name = "placed";
  using rule = misuse::rows_of_table;
  using asked = fact::axes<Axis>;
  static constexpr kind argument_kind(int i) { return i == 1 ? kind::whole : kind::any; }
  static constexpr int extent_indexed(int i, const shape& table, const shape&, const shape& rows) {
    return i == 1 ? table[Axis] - rows[Axis] + 1 : 0;
  }
  static constexpr making makes(int, int, const auto&...) { return {.overwrites = 0}; }
  static constexpr tensor_type result(const tensor_type& table, const shape& at, const tensor_type& rows) {
    const int some = extent_along(rows, Axis);
    const bool fits = at.count() == 1 && some > 0 && some <= extent_along(table, Axis) &&
                      with_extent(table, Axis, some) == rows && table.element.type == rows.element.type;
    return {fits ? table : no_shape, detail::joined_elements(table.element, rows.element)};
  }
  static constexpr std::int64_t flops(const shape&, const shape&, const shape&) { return 0; }
  static constexpr auto vjp(auto g, auto, auto, auto at, auto rows) {
    constexpr int some = decltype(rows)::shape[Axis];
    return gradients(make<placed_op>(g, at, zeros_like(rows)), no_gradient{}, make<rows_at_op<Axis, some>>(g, at));
  }
};

template <int... Axes>
struct placed_form : unfit_form<"placed"> {};
template <int Axis>
struct placed_form<Axis> : form_applying<placed_op<Axis>, form_of<"placed", 3, misuse::table_index_and_rows>> {};

/// Returns a table in which `rows` replace the table's own rows along an axis, from an index on:
/// `placed<0>(table, at, row)`, as JAX's dynamic_update_slice does. The index must leave room for the rows. Table and
/// rows both hold real numbers of one type, or both hold indices. If a cache becomes the result, the rows are written
/// into the cache in place.
template <int... Axes, class... A>
  requires some_operands<A...>
constexpr applied<placed_form<Axes...>, A...> placed(A...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::placed;
}  // namespace cairn
