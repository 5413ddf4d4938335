// Sums of many terms, judged by sums in a wider type.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace long_sums {

/// Terms that are all the same, of either sign, or of one size.
enum class terms { constant, random, large_mean };
inline constexpr terms sorts[]{terms::constant, terms::random, terms::large_mean};

template <class Real>
std::vector<Real> numbers(std::int64_t n, terms sort) {
  std::mt19937 draw(1);
  std::vector<Real> out(static_cast<std::size_t>(n));
  for (Real& x : out) {
    const Real some = static_cast<Real>(draw()) / static_cast<Real>(1U << 31) - 1;
    x = sort == terms::constant ? static_cast<Real>(0.1) : sort == terms::random ? some : 1000 + some;
  }
  return out;
}

/// Bound of the error of a sum, relative to the sum of the sizes of its terms: sections of 32 terms lose 16 roundings
/// on average at most, and a few follow.
template <class Real>
inline constexpr double bound = 18 * std::numeric_limits<Real>::epsilon() / 2;

/// How far `sum` is off that of n terms, `apart` from each other, times `scale`; as a part of the bound.
template <class Real>
double error(Real sum, const Real* first, std::int64_t n, std::int64_t apart = 1, long double scale = 1) {
  long double exact = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    exact += first[i * apart];
    size += std::abs(first[i * apart]);
  }
  return static_cast<double>(std::abs(sum - exact * scale) / (size * scale)) / bound<Real>;
}

}  // namespace long_sums
