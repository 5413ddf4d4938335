// Hands parameters, gradients, results and arrays of one or two axes to Eigen.
#pragma once

#include "cairn/base/macros_aside.hpp"

// cairn.hpp explains why these warnings are off.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/run/static_view.hpp"
#pragma GCC diagnostic pop

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#else
#include <eigen3/Eigen/Core>
#endif

namespace cairn {

/// Returns an Eigen::Map of the same memory: a matrix {rows, columns}, or a column {rows}. It does not own the numbers.
/// Example: `as_eigen(step.param<"fc1.weight">()).norm()`
template <std::ranges::contiguous_range View>
auto as_eigen(const View& view) {
  return detail::adapted<2>(view, []<int Rows = 1, int Columns = 1>(auto* numbers) {
    using number = std::remove_pointer_t<decltype(numbers)>;
    // Eigen stores a column in the order of columns only, which is the same order.
    using matrix =
        Eigen::Matrix<std::remove_const_t<number>, Rows, Columns, Columns == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
    return Eigen::Map<std::conditional_t<std::is_const_v<number>, const matrix, matrix>>(numbers);
  });
}

}  // namespace cairn

#include "cairn/base/macros_back.hpp"
