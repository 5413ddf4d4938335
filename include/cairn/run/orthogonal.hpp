// Draws orthogonal matrices, with which parameters can start.
#pragma once

#include "cairn/run/machine.hpp"

#include <algorithm>
#include <vector>

namespace cairn::detail {

/// Computes the scalar product of two rows. There are eight sums, so that the compiler can use vector registers.
template <class Real>
Real product_of_rows(const Real* a, const Real* b, std::int64_t columns) {
  Real sums[8] = {};
  std::int64_t j = 0;
  for (; j + 8 <= columns; j += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += a[j + k] * b[j + k];
  }
  for (; j < columns; ++j) sums[0] += a[j] * b[j];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
/// Subtracts from `row` its projection on the row `other` of length 1.
template <class Real>
void remove_projection(Real* row, const Real* other, std::int64_t columns) {
  const Real share = product_of_rows(other, row, columns);
  for (std::int64_t j = 0; j < columns; ++j) row[j] -= share * other[j];
}

/// Makes the rows from `first` on orthogonal to each other and to the rows before `first`, which are orthonormal (Gram
/// and Schmidt), and divides them by their lengths. Returns the least of these lengths.
///
/// The rows before `first` are in the outer loop, so that each of them is read from memory once for all rows from
/// `first` on, which stay in the cache.
template <class Real>
Real orthonormalize(Real* all, std::int64_t first, std::int64_t last, std::int64_t columns) {
  for (std::int64_t before = 0; before < first; ++before) {
    for (std::int64_t i = first; i < last; ++i) remove_projection(all + i * columns, all + before * columns, columns);
  }
  Real least = 1;
  for (std::int64_t i = first; i < last; ++i) {
    Real* const row = all + i * columns;
    for (std::int64_t before = first; before < i; ++before) remove_projection(row, all + before * columns, columns);
    const Real length = std::sqrt(product_of_rows(row, row, columns));
    least = std::min(length, least);
    for (std::int64_t j = 0; j < columns; ++j) row[j] /= length;
  }
  return least;
}

/// Draws a matrix with orthonormal rows. It has at most as many rows as columns.
///
/// The rows of a matrix of normal numbers are made orthonormal, 16 at a time. The result is the Q in the QR
/// decomposition of the transposed matrix for which the diagonal of R is positive. All matrices with orthonormal rows
/// are therefore equally likely (Mezzadri, 2007).
///
/// After one pass, rounding leaves products of rows that grow with the condition of the matrix. A second pass removes
/// them (Giraud et al., 2005). If the second pass shortens a row much, then rounding has determined the direction of
/// the row, and 16 other rows are drawn.
template <class Real>
std::vector<Real> draw_orthonormal_rows(std::int64_t rows, std::int64_t columns, random_sequence& draw) {
  std::vector<Real> all(static_cast<std::size_t>(rows * columns));
  for (std::int64_t first = 0; first < rows; first += 16) {
    const std::int64_t last = std::min(rows, first + 16);
    do {
      for (std::int64_t i = first * columns; i < last * columns; ++i)
        all[static_cast<std::size_t>(i)] = draw_normal(draw);
      orthonormalize(all.data(), first, last, columns);
    } while (!(orthonormalize(all.data(), first, last, columns) > Real{0.5}));
  }
  return all;
}

/// Draws a matrix {rows, columns}. Its rows are orthonormal, or its columns if they are fewer.
template <class Real>
std::vector<Real> draw_orthogonal(std::int64_t rows, std::int64_t columns, random_sequence& draw) {
  if (rows <= columns) return draw_orthonormal_rows<Real>(rows, columns, draw);
  const std::vector<Real> transposed = draw_orthonormal_rows<Real>(columns, rows, draw);
  std::vector<Real> out;
  out.reserve(transposed.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out.push_back(transposed[static_cast<std::size_t>(j * rows + i)]);
  }
  return out;
}

}  // namespace cairn::detail
