// Measures the errors of functions on SIMD registers, in units in the last place. The reference is std in double
// precision.
#pragma once

#include <algorithm>
#include <bit>
#include <cairn/kernel/elementwise.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace function_error {

/// Returns the distance between y and `right` in units in the last place of a float. Returns infinity if only one of
/// both is infinite or NaN.
inline double units_off(float y, double right) {
  const auto nearest = static_cast<float>(right);
  if (std::isnan(right)) return std::isnan(y) ? 0 : std::numeric_limits<double>::infinity();
  if (y == nearest) return 0;
  if (!std::isfinite(y)) return std::isinf(y) && std::abs(nearest) == std::numeric_limits<float>::max() ? 1 : INFINITY;
  const double within = std::min(std::abs(right), double{std::numeric_limits<float>::max()});
  const int exponent = std::max(within > 0 ? std::ilogb(within) : -149, -126);
  return std::abs(double{y} - std::copysign(within, right)) / std::ldexp(1.0, exponent - 23);
}

/// Returns the largest error over every `step`-th float from number `first` to `end`. The number of a float is its bit
/// pattern, so that `end` is 2^32 for all floats.
template <class Function, class Right>
double worst(Function function, Right right, std::uint64_t first, std::uint64_t end, std::uint64_t step) {
  using V = cairn::kernels::lanes<float>;
  double most = 0;
  for (std::uint64_t number = first; number < end; number += step * V::width) {
    float x[V::width], y[V::width];
    for (std::uint64_t i = 0; i < V::width; ++i)
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(number + i * step));
    function(V::load(x)).store(y);
    for (int i = 0; i < V::width; ++i) most = std::max(most, units_off(y[i], right(double{x[i]})));
  }
  return most;
}

inline double normal_share(double x) { return std::erfc(-x * std::sqrt(0.5)) / 2; }

/// Calls judge(name, function of a register, function of a double) for each function.
template <class Judge>
void for_each_function(Judge judge) {
  using namespace cairn::kernels;
  using V = lanes<float>;
  judge("exp", [](V x) { return exp(x); }, [](double x) { return std::exp(x); });
  judge("log", [](V x) { return log(x); }, [](double x) { return std::log(x); });
  judge("log1p", [](V x) { return log1p(x); }, [](double x) { return std::log1p(x); });
  judge("tanh", [](V x) { return tanh(x); }, [](double x) { return std::tanh(x); });
  judge("sigmoid", [](V x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); });
  judge("sin", [](V x) { return sin(x); }, [](double x) { return std::sin(x); });
  judge("cos", [](V x) { return cos(x); }, [](double x) { return std::cos(x); });
  judge("erf", [](V x) { return erf(x); }, [](double x) { return std::erf(x); });
  judge("floor", [](V x) { return floor(x); }, [](double x) { return std::floor(x); });
  judge("ceil", [](V x) { return ceil(x); }, [](double x) { return std::ceil(x); });
  judge("round", [](V x) { return round(x); }, [](double x) { return std::nearbyint(x); });
  judge("normal", [](V x) { return normal(x).below; }, normal_share);
  judge("pow 30.5", [](V x) { return pow<30.5>(x); }, [](double x) { return std::pow(x, 30.5); });
  judge("pow -1.7", [](V x) { return pow<-1.7>(x); }, [](double x) { return std::pow(x, -1.7); });
  judge("pow 64", [](V x) { return pow<64.0>(x); }, [](double x) { return std::pow(x, 64); });
  judge("pow -3", [](V x) { return pow<-3.0>(x); }, [](double x) { return std::pow(x, -3); });
  judge("pow -2", [](V x) { return pow<-2.0>(x); }, [](double x) { return std::pow(x, -2); });
  judge("pow 4", [](V x) { return pow<4.0>(x); }, [](double x) { return std::pow(x, 4); });
}

}  // namespace function_error
