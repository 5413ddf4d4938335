// Computes functions of the numbers in a register: exp, log, tanh, sigmoid, powers, sine, cosine and rounding.
#pragma once

#include "cairn/kernel/simd.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace cairn::kernels {

// All results are within 2 units in the last place. This holds for subnormal results, too, and also if the processor
// has no fused multiply-adds: `./dev test functions` compares all floats. Special values are treated as IEEE 754 says.
// The coefficients of polynomials are minimax coefficients from Remez's algorithm, the highest power first. The result
// in one lane never depends on other lanes.

namespace function_parts {

template <class Real>
inline constexpr bool single = sizeof(Real) == 4;
template <class Real>
inline constexpr Real infinite = std::numeric_limits<Real>::infinity();

/// Returns a number in every lane: `of_floats` or `of_doubles`, depending on the type of V's numbers.
template <class V>
[[gnu::always_inline]] inline V either(double of_floats, double of_doubles) {
  using real = typename V::number;
  return V::fill(static_cast<real>(single<real> ? of_floats : of_doubles));
}
template <class V>
[[gnu::always_inline]] inline V either(double x) {
  return either<V>(x, x);
}

template <class V, std::size_t N>
[[gnu::always_inline]] inline V polynomial(const std::array<double, N>& terms, V x) {
  V sum = either<V>(terms[0]);
#pragma GCC unroll 32
  for (std::size_t i = 1; i < N; ++i) sum = fused(sum, x, either<V>(terms[i]));
  return sum;
}
/// Evaluates the polynomial `floats` or the polynomial `doubles`, depending on the type of V's numbers.
template <class V, class Floats, class Doubles>
[[gnu::always_inline]] inline V polynomial(const Floats& floats, const Doubles& doubles, V x) {
  if constexpr (single<typename V::number>) return polynomial(floats, x);
  else return polynomial(doubles, x);
}

/// Returns x where x is at most `most` or NaN, and `most` elsewhere.
template <class V>
[[gnu::always_inline]] inline V at_most(V x, V most) {
  return select(greater(x, most), most, x);
}
/// Returns x where x is at least `least` or NaN, and `least` elsewhere.
template <class V>
[[gnu::always_inline]] inline V at_least(V x, V least) {
  return select(greater(least, x), least, x);
}
/// Returns `size`, which is not negative, with the sign of `sign`.
template <class V>
[[gnu::always_inline]] inline V with_sign(V size, V sign) {
  const auto bit = bits(V::fill(-0.0));
  return from_bits<V>(bits(size) | (bits(sign) & bit));
}
/// Returns a large number. Adding it rounds a number to a whole number, which then stands in the last bits of the sum.
template <class V>
[[gnu::always_inline]] inline V rounding() {
  return either<V>(std::int64_t{3} << 22, std::int64_t{3} << 51);
}

/// A sum or a product in two parts: the rounded result, and what rounding took from the exact result (T. J. Dekker,
/// 1971). exact_sum is exact if `a` is the term of the larger size.
template <class V>
struct in_two_parts {
  V high, low;
};
template <class V>
[[gnu::always_inline]] inline in_two_parts<V> exact_sum(V a, V b) {
  const V sum = a + b;
  return {sum, b - (sum - a)};
}
template <class V>
[[gnu::always_inline]] inline in_two_parts<V> exact_product(V a, V b) {
  const V product = a * b;
  return {product, product_error(a, b, product)};
}

/// A power e^x = (1 + rest) 2^power. Where x is small, `rest` has all of its digits, but 1 + rest does not.
template <class V>
struct exponential {
  V rest, power;

  /// Computes e^(x + low). `low` is what rounding took from x, and the power must be in the range that `scaled` takes.
  /// The first part of log 2 has few digits, so its products with powers are exact.
  [[gnu::always_inline]] static exponential of(V x, V low) {
    const V power = fused(x, either<V>(std::numbers::log2e), rounding<V>()) - rounding<V>();
    const V rest = fused(power, either<V>(-0.693359375, -6.93147180369123816490e-01), x);
    return {less_one(rest, fused(power, either<V>(2.12194440054690583e-4, -1.90821492927058770002e-10), low)), power};
  }
  [[gnu::always_inline]] static exponential of(V x) { return of(x, either<V>(0)); }
  /// Computes e^(x + low) - 1 where x + low is between -0.35 and 0.35.
  [[gnu::always_inline]] static V less_one(V x, V low) {
    constexpr std::array floats{0.00138817868008577802, 0.00836658332258519353, 0.0416672142599729431,
                                0.166665431713870113, 0.499999981003804729};
    constexpr std::array doubles{2.50537758076272164e-8,   2.76261604107901388e-7, 2.75574078732060009e-6,
                                 0.0000248015049817247539, 0.00019841269718324563, 0.00138888889317922677,
                                 0.00833333333338997165,   0.0416666666665761192,  0.166666666666665885,
                                 0.500000000000000522};
    const V sum = x + low;
    return fused(sum * sum, polynomial(floats, doubles, sum), sum);
  }
  [[gnu::always_inline]] V value() const { return scaled(either<V>(1) + rest, power); }
};

}  // namespace function_parts

template <class Real>
[[gnu::always_inline]] inline lanes<Real> exp(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  x = at_least(at_most(x, either<V>(90, 710)), either<V>(-110, -750));
  return exponential<V>::of(x).value();
}

/// Computes 2^x for x <= 0, in fewer steps than `exp`. The result is 0 where 2^x might have fewer than all digits:
/// below -125, or -1021 for doubles. So the result is 0 for minus infinity. Elsewhere x is split into a whole number
/// and a rest, and 2^rest is 1 plus a polynomial times the rest. The relative error of this is below 5e-9 for floats,
/// and below 2e-19 for doubles.
template <class Real>
[[gnu::always_inline]] inline lanes<Real> exp2_below(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  constexpr std::array floats{0.000154531629451206902, 0.00133908633646712344, 0.00961808255727785149,
                              0.0555035711421907782,   0.240226507605681269,   0.693147188026228781};
  constexpr std::array doubles{2.57293241773623042e-11, 4.45581790833606449e-10, 7.05489730415549928e-9,
                               1.01780570877339411e-7,  1.32154868087055628e-6,  0.0000152527338415567726,
                               0.000154035303933707334, 0.00133335581464064707,  0.00961812910762847949,
                               0.055504108664821627,    0.240226506959100712,    0.693147180559945309};
  const V shifted = x + rounding<V>(), rest = x - (shifted - rounding<V>());
  const V power = from_bits<V>((bits(shifted) << (single<Real> ? 23 : 52)) + bits(V::fill(1)));
  const V least = either<V>(-125, -1021);
  return select(greater(least, x), V::fill(0), fused(polynomial(floats, doubles, rest), rest, V::fill(1)) * power);
}

namespace function_parts {
/// Splits x > 0 into m 2^power, where m is between sqrt(1/2) and sqrt(2). x may be subnormal, but not infinite.
template <class V>
struct normalized_number {
  V m, power;

  [[gnu::always_inline]] static normalized_number of(V x) {
    using real = typename V::number;
    constexpr int digits = single<real> ? 23 : 52, bias = single<real> ? 127 : 1023;
    const V least = V::fill(std::numeric_limits<real>::min()), one = V::fill(1);
    const auto is_small = greater(least, x);
    x = select(is_small, x * either<V>(std::int64_t{1} << 23, std::int64_t{1} << 52), x);
    const auto root = bits(either<V>(std::numbers::sqrt2 / 2)), shifted = bits(x) + (bits(one) - root);
    constexpr auto fraction = (std::uint64_t{1} << digits) - 1;
    const auto mantissa = (shifted & static_cast<decltype(root[0] + root[0])>(fraction)) + root;
    const V whole = from_bits<V>((shifted >> digits) + bits(rounding<V>()));
    const V power = whole - (rounding<V>() + either<V>(bias));
    return {from_bits<V>(mantissa), select(is_small, power - either<V>(digits), power)};
  }
};
/// Returns y, the logarithm of x, where x is positive and finite. Elsewhere returns what IEEE 754 says of log(x).
template <class V>
[[gnu::always_inline]] inline V log_or(V x, V y) {
  using real = typename V::number;
  const V zero = V::fill(0), most = V::fill(infinite<real>);
  const V no_number = V::fill(std::numeric_limits<real>::quiet_NaN());
  return select(greater(x, zero), select(equal(x, most), x, y), select(equal(x, zero), -most, no_number));
}
}  // namespace function_parts

/// Computes the logarithm of x as fdlibm's e_log.c does: as 2 s + 2/3 s^3 + ... for s = (m - 1) / (m + 1), summed from
/// the smallest term.
template <class Real>
[[gnu::always_inline]] inline lanes<Real> log(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  constexpr std::array floats{0.298730094433159316, 0.399774983982843496, 0.666667766887300742};
  constexpr std::array doubles{0.147974305304644985, 0.153139116435696701, 0.181835693785884537, 0.222221984837520963,
                               0.28571428743176187,  0.399999999994115539, 0.666666666666673481};
  const auto [m, power] = normalized_number<V>::of(x);
  const V f = m - V::fill(1), s = f / (f + V::fill(2)), z = s * s, half = f * f * V::fill(Real{0.5});
  const V rest = s * (half + z * polynomial(floats, doubles, z));
  const V low = fused(power, either<V>(-2.12194440054690583e-4, 1.90821492927058770002e-10), rest);
  const V high = power * either<V>(0.693359375, 6.93147180369123816490e-01);
  return log_or(x, high - ((half - low) - f));
}

template <class Real>
[[gnu::always_inline]] inline lanes<Real> tanh(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  const V size = at_most(abs(x), either<V>(10, 20)), one = V::fill(1);
  const auto [rest, power] = exponential<V>::of(size + size);
  const V scale = scaled(one, power), less_one = fused(rest, scale, scale - one);  // e^2x - 1
  const V two = V::fill(2), below = less_one + two, inverse = one / below, y = less_one * inverse;
  // `lost` is what rounding took from the sum `below`. The result is corrected for this and for the rounding of the
  // quotient.
  const V added = below - less_one, lost = (less_one - (below - added)) + (two - added);
  return with_sign(y - inverse * fused(y, lost, product_error(y, below, less_one)), x);
}

/// Computes 1 / (1 + e^-x).
template <class Real>
[[gnu::always_inline]] inline lanes<Real> sigmoid(lanes<Real> x) {
  using V = lanes<Real>;
  const V one = V::fill(1), e = exp(-abs(x)), below = one + e;
  const auto negative = greater(V::fill(0), x);
  const V y = select(negative, e, one) / below;
  // Rounding made the sum `below` too large by (below - one) - e. So y is increased by y / below times this error. The
  // factor 1 / below is y, or 1 - y where x is negative.
  return fused(y * ((below - one) - e), select(negative, one - y, y), y);
}

namespace function_parts {
/// Computes the sine of x plus `Quarter` quarters of a turn. Multiples of a quarter turn are subtracted from x in four
/// parts. The first three parts have few bits, so that all products except the last are exact. Where x is so large that
/// these products would not be exact, or NaN, `by_itself` computes the lane.
template <int Quarter, class V, class F>
[[gnu::always_inline]] inline V wave(V x, F by_itself) {
  constexpr std::array sine_floats{-0.000195166511521845233, 0.00833217358351206004, -0.166666548773235177};
  constexpr std::array sine_doubles{1.58965046456969599e-10,  -2.50507532611962393e-8, 2.75573136620536939e-6,
                                    -0.000198412698297252773, 0.00833333333332231544,  -0.166666666666666317};
  constexpr std::array cosine_floats{0.0000244377434488632444, -0.00138873615794298151, 0.041666646750587628};
  constexpr std::array cosine_doubles{-1.13594567579670873e-11, 2.08757197330229908e-9, -2.75573143274858908e-7,
                                      0.0000248015872894007811, -0.0013888888888874002, 0.0416666666666665988};
  const auto inside = greater(either<V>(8192, 1 << 17), abs(x));
  const V near = select(inside, x, V::fill(0));
  const V shifted = near * either<V>(std::numbers::inv_pi * 2) + rounding<V>(), turns = shifted - rounding<V>();
  const V first = near - turns * either<V>(1.5703125, 1.57079632673412561417);
  const V second = turns * either<V>(4.837512969970703125e-4, 6.07710050630396597660e-11), both = first - second;
  const V third = turns * either<V>(7.549533620476723e-8, 2.02226624871116645580e-21), all = both - third;
  const V fourth = turns * either<V>(2.5633441515945188e-12, 8.47842766036889956997e-32);
  const V last = fourth - (((first - both) - second) + ((both - all) - third));
  const V rest = all - last, low = (all - rest) - last;
  const V z = rest * rest, one = V::fill(1), parabola = one - z * either<V>(0.5);
  const V sine = fused(rest * z, polynomial(sine_floats, sine_doubles, z), low * parabola) + rest;
  const V cosine = fused(z * z, polynomial(cosine_floats, cosine_doubles, z), -(rest * low)) + parabola;
  const auto quarters = reinterpret_cast<typename V::mask>(bits(shifted)) + Quarter;
  const V size = select((quarters & 1) != 0, cosine, sine);
  V out = select((quarters & 2) != 0, -size, size);
  if (largest(select(inside, V::fill(0), one)) > 0) {
    for (int i = 0; i < V::width; ++i) out.value[i] = inside[i] != 0 ? out.value[i] : by_itself(x.value[i]);
  }
  return out;
}
}  // namespace function_parts

template <class Real>
[[gnu::always_inline]] inline lanes<Real> sin(lanes<Real> x) {
  return function_parts::wave<0>(x, [](Real a) { return std::sin(a); });
}
template <class Real>
[[gnu::always_inline]] inline lanes<Real> cos(lanes<Real> x) {
  return function_parts::wave<1>(x, [](Real a) { return std::cos(a); });
}

namespace function_parts {
/// Computes base^N by multiplications, for N > 0.
template <int N, class V>
[[gnu::always_inline]] inline V whole_power(V base) {
  if constexpr (N == 1) return base;
  else if constexpr (N % 2 == 0) return whole_power<N / 2>(base * base);
  else return base * whole_power<N - 1>(base);
}
/// Returns f(x), where f computes in doubles.
template <class F>
[[gnu::always_inline]] inline lanes<float> in_doubles(lanes<float> x, F f) {
  constexpr int width = lanes<double>::width;
  for (int first = 0; first < lanes<float>::width; first += width) {
    lanes<double> part;
    for (int i = 0; i < width; ++i) part.value[i] = static_cast<double>(x.value[first + i]);
    part = f(part);
    for (int i = 0; i < width; ++i) x.value[first + i] = static_cast<float>(part.value[i]);
  }
  return x;
}
constexpr bool is_whole(double x) { return x == static_cast<double>(static_cast<int>(x)); }

/// Computes x^Exponent for x > 0, as fdlibm's e_pow.c does. The binary logarithm is held in two numbers, so that its
/// products with the exponent are exact where it counts.
template <double Exponent>
[[gnu::always_inline]] inline lanes<double> power_of_positive(lanes<double> x) {
  using V = lanes<double>;
  constexpr std::array terms{0.197942222516381185, 0.198852585116043773, 0.230801344834076528, 0.272726765875287877,
                             0.333333337794023203, 0.428571428551525475, 0.600000000000033758};
  const auto [m, exponent] = normalized_number<V>::of(x);
  // The code computes s = (m - 1) / (m + 1) in two numbers, and then 3 + s^2 + ... in two numbers. Their product is 3/2
  // log m.
  const V u = m - V::fill(1), v = V::fill(1) / (m + V::fill(1)), s = u * v;
  const V s_high = first_digits(s), sum_high = first_digits(m + V::fill(1)), sum_low = m - (sum_high - V::fill(1));
  const V s_low = v * ((u - s_high * sum_high) - s_high * sum_low);
  const V z = s * s, rest = z * z * polynomial(terms, z) + s_low * (s_high + s), z_high = s_high * s_high;
  const V t_high = first_digits(V::fill(3) + z_high + rest), t_low = rest - ((t_high - V::fill(3)) - z_high);
  const V main = s_high * t_high, minor = s_low * t_high + t_low * s;
  const V p_high = first_digits(main + minor), p_low = minor - (p_high - main);
  // The factor 2/3 / log 2, in two numbers, turns the product into the binary logarithm of m.
  constexpr double factor = 0.96179669392597560491, factor_high = 0.9617967009544373,
                   factor_low = -7.028461650952758546e-9;
  const V l_high = V::fill(factor_high) * p_high;
  const V l_low = V::fill(factor_low) * p_high + p_low * V::fill(factor);
  const V log_high = first_digits((l_high + l_low) + exponent), log_low = l_low - ((log_high - exponent) - l_high);
  const V e_high = first_digits(V::fill(Exponent)), e_low = V::fill(Exponent) - e_high;
  const V low = e_low * log_high + V::fill(Exponent) * log_low;
  const V high = at_least(at_most(e_high * log_high, V::fill(1100)), V::fill(-1200));
  const V power = ((high + low) + rounding<V>()) - rounding<V>();
  const V left = ((high - power) + low) * V::fill(std::numbers::ln2);
  return exponential<V>{exponential<V>::less_one(left, V::fill(0)), power}.value();
}
}  // namespace function_parts

/// Computes x^Exponent. Whole powers from -2 to 4 are products. Other powers of floats are computed in doubles.
template <double Exponent, class Real>
[[gnu::always_inline]] inline lanes<Real> pow(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  constexpr bool whole = is_whole(Exponent);
  constexpr int times = whole ? static_cast<int>(Exponent < 0 ? -Exponent : Exponent) : 0;
  if constexpr (whole && (Exponent >= -2 && Exponent <= 4)) {
    return whole_power<times>(Exponent < 0 ? V::fill(1) / x : x);
  } else if constexpr (single<Real>) {
    return in_doubles(x, [](lanes<double> a) {
      if constexpr (whole) {
        return whole_power<times>(Exponent < 0 ? lanes<double>::fill(1) / a : a);
      } else {
        const auto zero = lanes<double>::fill(0), size = exp(lanes<double>::fill(Exponent) * log(abs(a)));
        const auto no_power = select(equal(size, size), select(greater(zero, a), zero / zero, size), size);
        return select(equal(abs(a), lanes<double>::fill(infinite<double>)), size, no_power);
      }
    });
  } else {
    const V size = abs(x), zero = V::fill(0), most = V::fill(infinite<Real>);
    V out = power_of_positive<Exponent>(size);
    out = select(equal(size, zero), Exponent > 0 ? zero : most, out);
    out = select(equal(size, most), Exponent > 0 ? most : zero, out);
    if constexpr (whole) out = times % 2 == 1 ? with_sign(out, x) : out;
    else out = select(greater(zero, x), select(equal(size, most), out, zero / zero), out);
    return select(equal(x, x), out, x);
  }
}

/// Rounds to the nearest whole number, and to the even one of two equally near numbers. A number of 2^23 or more, or of
/// 2^52 or more in doubles, has no fraction.
template <class Real>
[[gnu::always_inline]] inline lanes<Real> round(lanes<Real> x) {
  using V = lanes<Real>;
  using namespace function_parts;
  const V size = abs(x), whole = either<V>(std::int64_t{1} << 23, std::int64_t{1} << 52);
  return with_sign(select(greater(whole, size), (size + whole) - whole, size), x);
}
template <class Real>
[[gnu::always_inline]] inline lanes<Real> floor(lanes<Real> x) {
  using V = lanes<Real>;
  const V nearest = round(x);
  return select(greater(nearest, x), nearest - V::fill(1), nearest);
}
template <class Real>
[[gnu::always_inline]] inline lanes<Real> ceil(lanes<Real> x) {
  return -floor(-x);
}

// The functions above are declared for single numbers, too.
using std::ceil, std::cos, std::exp, std::floor, std::log, std::sin, std::tanh;
template <std::floating_point Real>
inline Real round(Real a) {
  return std::nearbyint(a);
}
template <std::floating_point Real>
inline Real sigmoid(Real a) {
  const Real e = std::exp(-std::abs(a));
  return (a < 0 ? e : 1) / (1 + e);
}
template <double Exponent, std::floating_point Real>
inline Real pow(Real a) {
  return std::pow(a, static_cast<Real>(Exponent));
}

}  // namespace cairn::kernels
