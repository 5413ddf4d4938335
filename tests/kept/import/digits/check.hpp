// Compares arrays with those that PyTorch computed.
#pragma once

#include <cairn/data/safetensors.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

/// The largest deviation of an array from PyTorch's, the largest number of PyTorch's array, and the deviation that the
/// array may have.
struct deviation {
  std::string name;
  double value, size, limit;
};

inline int arrays = 0, far_arrays = 0;  // all arrays, and those that are not close

inline double largest(const auto& array) {
  double out = 0;
  for (const double x : array) out = std::isfinite(x) ? std::max(out, std::abs(x)) : out;
  return out;
}

inline std::vector<double> of_pytorch(const std::string& kind, const std::string& name) {
  return cairn::data::read_safetensors<double>("numbers.safetensors", kind + "/" + name).values;
}

/// Compares an array with PyTorch's. The limit is `tolerance` times the largest number of PyTorch's array, or `least`.
inline deviation compared(const std::string& kind, const std::string& name, const auto& array, double tolerance,
                          double least = 0) {
  const std::vector<double> expected = of_pytorch(kind, name);
  double value = expected.size() == std::size(array) ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(expected.size(), std::size(array)); ++i) {
    const double x = array.data()[i];
    const double difference = x == expected[i] ? 0 : std::abs(x - expected[i]);
    value = std::isnan(difference) ? INFINITY : std::max(value, difference);
  }
  const double size = largest(expected);
  return {name, value, size, std::max(tolerance * size, least)};
}

/// Prints a line for arrays of one kind, with the deviation that is nearest to its limit. Prints another line for each
/// array that is not close.
inline void report(const std::string& what, const std::vector<deviation>& all) {
  const deviation& worst = *std::max_element(all.begin(), all.end(), [](const deviation& a, const deviation& b) {
    return a.value * b.limit < b.value * a.limit;
  });
  std::printf("%s: ", what.c_str());
  if (all.size() == 1) std::printf("deviation %.1e of %.1e\n", worst.value, worst.size);
  else std::printf("largest deviation %.1e of %.1e, in %s\n", worst.value, worst.size, worst.name.c_str());
  for (const auto& [name, value, size, limit] : all) {
    ++arrays;
    if (value <= limit) continue;
    ++far_arrays;
    std::printf("  NOT CLOSE: %s, deviation %.1e of %.1e, limit %.1e\n", name.c_str(), value, size, limit);
  }
}

/// Compares gradients and training steps. The function is in check_training.cpp.
void check_training();
