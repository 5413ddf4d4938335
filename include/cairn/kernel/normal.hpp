// Computes the normal distribution and the error function of the numbers in a register.
#pragma once

#include "cairn/kernel/functions.hpp"

namespace cairn::kernels {

/// The normal distribution at a number: the probability of smaller numbers, and the density.
template <class V>
struct normal_distribution {
  V below, density;
};
/// Computes the normal distribution at x. The probability of numbers beyond |x| is e^(-x^2/2) t P(t) for
/// t = 4 / (|x| + 4) (as Shepherd and Laframboise, 1981), so this probability has all of its digits. The exponent also
/// contains what rounding takes from x^2.
///
/// `low` is what rounding took from t P(t). It has three parts: what rounding took from the sum, from the products, and
/// from t. The rounded t is the exact t of a number that is `off` away from |x|. The slope of t P(t) there is |x| t
/// P(t) minus the density at 0.
template <class Real>
[[gnu::always_inline]] inline normal_distribution<lanes<Real>> normal(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  constexpr std::array floats{0.0167844817, 0.0202448778, -0.0429633036, -0.0750192925,
                              0.0376059674, 0.255756497,  0.430059373,   0.455984831};
  constexpr std::array doubles{-0.0012445122036183595, 0.00065247283090469723, 0.0036696512652193156,
                               -0.0034210899045021967, -0.0041320739871712701, 0.0065929941357573104,
                               0.0025682334179910503,  -0.009350066109026613,  -0.00021372817459791617,
                               0.012470745001550865,   -0.0020890356660517285, -0.017852289928528858,
                               0.0029867976076364015,  0.029360161036261524,   0.003863703461825913,
                               -0.053057498243915514,  -0.049193387550778692,  0.065852626909383732,
                               0.23603652961836613,    0.35624943979736218,    0.36790970649855287};
  const V one = V::fill(1), four = V::fill(4), half = V::fill(Real{0.5});
  const V size = at_most(abs(x), either<V>(14.5, 39));
  const V halved = size * -half, square = halved * size;
  const auto e = exponential<V>::of(square, product_error(halved, size, square));
  const V density_at_zero = either<V>(0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2);
  const auto sum = exact_sum(four, size);
  // The polynomial is P(t) = middle + u (slope + u (...)). P at its centre is a float, or a double, to a hundredth of a
  // unit.
  const V t = four / sum.high, u = t - either<V>(9129.0 / 16384, 247.0 / 512),
          middle = either<V>(0.20754267275333404541, 0.18359605958047600649);
  const V first = either<V>(0.352073103, 0.29067860327770517), more = polynomial(floats, doubles, u);
  // What rounding takes from the slope is too small to count in floats, if the slope is rounded only once.
  constexpr bool counts = !(single<Real> && rounds_fused_once);
  const auto slope = counts ? exact_sum(first, u * more) : in_two_parts<V>{fused(u, more, first), V::fill(0)};
  const auto step = exact_product(u, slope.high);
  const V p = middle + step.high, area = t * p;
  V p_low = ((middle - p) + step.high) + step.low;
  if constexpr (counts) p_low = fused(u, slope.low, p_low);
  const V off = fused(sum.high * either<V>(0.25), product_error(t, sum.high, four), sum.low);
  const V lost = fused(t, p_low, product_error(t, p, area));
  const V low = lost - (density_at_zero - size * area) * off;
  const V beyond = scaled(area + fused(area, e.rest, fused(low, e.rest, low)), e.power);
  return {select(greater(x, V::fill(0)), one - beyond, beyond), e.value() * density_at_zero};
}

/// Computes the error function: 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
template <class Real>
[[gnu::always_inline]] inline lanes<Real> erf(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  constexpr std::array floats{-0.000674951281369502926, 0.00511434677033202662, -0.0268346259962517273,
                              0.112833766258475388,     -0.376126187626992984,  0.12837916549754878};
  constexpr std::array doubles{-9.49599284294803089e-10, 1.44117558393696847e-8,    -1.63329449477728229e-7,
                               1.64603616795746427e-6,   -0.0000149255883714179846, 0.000120553315147024408,
                               -0.000854832700054204987, 0.00522397762521500035,    -0.0268661706451179365,
                               0.112837916709550854,     -0.37612638903183752,      0.12837916709551257};
  const V size = abs(x), near = at_most(size, V::fill(Real{0.75}));
  const V far = V::fill(1) - V::fill(2) * normal(-size * either<V>(std::numbers::sqrt2)).below;
  const V out =
      select(greater(V::fill(Real{0.75}), size), fused(near, polynomial(floats, doubles, near * near), near), far);
  return with_sign(out, x);
}

using std::erf;
template <std::floating_point Real>
inline normal_distribution<Real> normal(Real a) {
  constexpr Real root = std::numbers::sqrt2_v<Real> / 2, scale = std::numbers::inv_sqrtpi_v<Real> * root;
  return {std::erfc(-a * root) / 2, std::exp(a * a / -2) * scale};
}

}  // namespace cairn::kernels
