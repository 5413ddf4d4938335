// These kernels copy rows into a table at an index, and copy rows out of a table at an index. For each index of the
// axes before the table's axis, the rows are one run of consecutive bytes.
#pragma once

#include "cairn/kernel/gather.hpp"
#include "cairn/op/placed.hpp"

#include <cstring>

namespace cairn::kernels {

/// The position of rows in a table, in bytes.
struct rows_in_table {
  std::int64_t runs, step;    ///< the number of runs, and the distance between two runs in the table
  std::int64_t begin, bytes;  ///< the offset of the rows in a run of the table, and the bytes of the rows in a run
};
template <int Axis, class Number, class Table, class At>
rows_in_table rows_at(const void* index, int rows) {
  constexpr around_axis table = around(Table::shape, Axis);
  constexpr std::int64_t row = table.inner * std::int64_t{sizeof(Number)};
  return {table.outer, table.extent * row, *static_cast<const index_of<At>*>(index) * row, rows * row};
}

/// Copies the rows into the table, run by run.
[[gnu::noinline]] inline void lay_rows(const rows_in_table& at, const std::byte* rows, std::byte* table) {
  for (std::int64_t run = 0; run < at.runs; ++run)
    std::memcpy(table + run * at.step + at.begin, rows + run * at.bytes, static_cast<std::size_t>(at.bytes));
}
/// Copies the rows out of the table, run by run.
[[gnu::noinline]] inline void find_rows(const rows_in_table& at, const std::byte* table, std::byte* rows) {
  for (std::int64_t run = 0; run < at.runs; ++run)
    std::memcpy(rows + run * at.bytes, table + run * at.step + at.begin, static_cast<std::size_t>(at.bytes));
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Axis, class Real, class Table, class At, class Rows>
void compute(placed_op<Axis>, signature<Real, Table, At, Rows>, void* const* p, const kernels::launch&) {
  using number = stored_as<Table::element.type, Real>;
  constexpr std::size_t bytes = static_cast<std::size_t>(Table::shape.count()) * sizeof(number);
  if (p[0] != p[1]) std::memcpy(p[0], p[1], bytes);
  kernels::lay_rows(kernels::rows_at<Axis, number, Table, At>(p[2], Rows::shape[Axis]),
                    static_cast<const std::byte*>(p[3]), static_cast<std::byte*>(p[0]));
}
template <int Axis, int Rows, class Real, class Table, class At>
void compute(rows_at_op<Axis, Rows>, signature<Real, Table, At>, void* const* p, const kernels::launch&) {
  using number = stored_as<Table::element.type, Real>;
  kernels::find_rows(kernels::rows_at<Axis, number, Table, At>(p[2], Rows), static_cast<const std::byte*>(p[1]),
                     static_cast<std::byte*>(p[0]));
}

}  // namespace cairn::lang
