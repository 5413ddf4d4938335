// The larger of two errors. NaN counts as an infinite error.
#pragma once

#include <cmath>
#include <limits>

/// Returns the larger of two errors. std::max(most, error) would ignore an error that is NaN.
inline double worse(double most, double error) {
  if (std::isnan(error)) return std::numeric_limits<double>::infinity();
  return error > most ? error : most;
}
