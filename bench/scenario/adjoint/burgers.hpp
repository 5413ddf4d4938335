// The equation that all contestants step, and the code that the peers with tapes share.
#pragma once

#include <cstddef>
#include <vector>

#include "contestant.hpp"

namespace burgers {

constexpr int points = 1024, steps = 2000;
constexpr double speed = 0.005, nu = 0.01;

inline std::vector<double> start(const contestant::arguments& given) {
  const auto u0 = given.tensor<float>("u0", points);
  std::vector<double> out(u0.begin(), u0.end());
  out.push_back(nu);
  return out;
}

/// Returns the slope of the loss along all parameters, which are u0 and nu.
inline double slope(const auto& gradient, const std::vector<double>& parameters) {
  double sum = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) sum += gradient[i] * parameters[i];
  return sum;
}

/// Returns the sum of squares after the last step. The last parameter is nu.
template <class Real>
Real loss(const std::vector<Real>& parameters) {
  std::vector<Real> u(parameters.begin(), parameters.end() - 1), next(u.size());
  const std::size_t last = u.size() - 1;
  for (int t = 0; t < steps; ++t) {
    for (std::size_t i = 0; i <= last; ++i) {
      const Real &left = u[i == 0 ? last : i - 1], &right = u[i == last ? 0 : i + 1];
      next[i] = u[i] - u[i] * (right - left) * speed + (right + left - u[i] * 2) * parameters.back();
    }
    u.swap(next);
  }
  Real sum = 0;
  for (const Real& x : u) sum += x * x;
  return sum;
}

}  // namespace burgers
