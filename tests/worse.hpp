// How far off something is at most, where no number is as wrong as can be.
#pragma once

#include <cmath>
#include <limits>

/// The larger of two errors. std::max(most, error) would pass over one that is no number.
inline double worse(double most, double error) {
  if (std::isnan(error)) return std::numeric_limits<double>::infinity();
  return error > most ? error : most;
}
