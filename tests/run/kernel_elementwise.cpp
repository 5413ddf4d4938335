// Compares elementwise operations on registers with operations on single numbers, and fused loops with plain index
// arithmetic.
#include <boost/test/unit_test.hpp>
#include <cairn/kernel/activation.hpp>
#include <cairn/kernel/comparison.hpp>
#include <cairn/kernel/loop.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../reference.hpp"
#include "function_error.hpp"
#include "kernel_check.hpp"

using namespace cairn;
using namespace kernel_check;

namespace {

constexpr double samples[] = {-90,  -20, -8.5, -3,  -1.25, -1, -0.5, -1e-3, -1e-8, 0,  1e-8, 1e-3,
                              0.25, 0.5, 1,    1.5, 2,     3,  5.5,  8,     20,    50, 80,   0.125};

template <class Real>
void close(Real actual, Real expected) {
  const Real scale = std::max({std::abs(expected), std::numeric_limits<Real>::min(), Real{1e-30F}});
  BOOST_TEST(std::abs(actual - expected) <= 16 * std::numeric_limits<Real>::epsilon() * scale,
             actual << " instead of " << expected);
}

/// Applies one operation to all samples, in the first lane and in the last lane of a register.
template <class Op, class Real>
void unary(double lowest = -100) {
  using V = kernels::lanes<Real>;
  for (double sample : samples) {
    if (sample < lowest) continue;
    const Real x = static_cast<Real>(sample);
    Real out[V::width];
    lanewise(Op{}, V::fill(x)).store(out);
    const Real expected = static_cast<Real>(lanewise(Op{}, static_cast<double>(x)));
    close(out[0], expected);
    close(out[V::width - 1], expected);
  }
}
template <class Op>
void unary_in_both(double lowest = -100) {
  unary<Op, float>(lowest);
  unary<Op, double>(lowest);
}

template <class Real, class Op>
void binary() {
  using V = kernels::lanes<Real>;
  for (double a : samples) {
    for (double b : samples) {
      const Real x = static_cast<Real>(a), y = static_cast<Real>(b);
      if (std::is_same_v<Op, lang::div_op> && y == 0) continue;
      Real out[V::width];
      lanewise(Op{}, V::fill(x), V::fill(y)).store(out);
      close(out[V::width - 1], lanewise(Op{}, x, y));
    }
  }
}

/// Returns the position of element i in a tensor that is repeated along some axes of {extents}.
std::size_t repeated_at(const shape& extents, cairn::detail::axis_set along, std::int64_t i) {
  return reference::reduced_index(extents, reduced(extents, along, true), i);
}
std::int64_t repeated_count(const shape& extents, cairn::detail::axis_set along) {
  return reduced(extents, along, true).count();
}

/// relu(a * b + c). a has the whole shape, and b and c are repeated along some axes. B and C say how they are read
/// along the last axis.
template <graphs::access B, graphs::access C>
void loop_against_reference(const shape& extents, cairn::detail::axis_set of_b, cairn::detail::axis_set of_c) {
  const std::int64_t count = extents.count();
  const auto a = numbers<float>(count), b = numbers<float>(repeated_count(extents, of_b)),
             c = numbers<float>(repeated_count(extents, of_c));
  guarded<float> out(count);

  constexpr dtype real = dtype::real;
  using binary = graphs::type_list<real>;
  using loop = kernels::loop<
      float, graphs::sums::nothing, false,
      kernels::list_of<kernels::loop_operand{}, kernels::loop_operand{real, B}, kernels::loop_operand{real, C}>,
      kernels::list_of<
          graphs::loop_value{&graphs::lanes_of<lang::mul_op, float, binary, real, real>, real, 0, 2, false},
          graphs::loop_value{&graphs::lanes_of<lang::add_op, float, binary, real, real>, real, 2, 2, false},
          graphs::loop_value{&graphs::lanes_of<lang::relu_op, float, binary, real>, real, 4, 1, true}>,
      kernels::list_of<-1, -2, 0, -3, 1>>;
  void* operands[]{out.data(), const_cast<float*>(a.data()), const_cast<float*>(b.data()),
                   const_cast<float*>(c.data())};
  const table_of table(extents, {0, of_b, of_c});
  loop::run(&*table, operands, 1);

  BOOST_TEST(out.intact());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t at_b = repeated_at(extents, of_b, i), at_c = repeated_at(extents, of_c, i);
    // `volatile` has the product rounded before the addition, as fused loops round it.
    const volatile float product = a[static_cast<std::size_t>(i)] * b[at_b];
    const float expected = std::max(product + c[at_c], 0.0F);
    BOOST_TEST(out.data()[i] == expected);
  }
}

/// A stored value of a fused loop, with the types of its result and of its arguments.
template <class Op, class Real, dtype Result, dtype... Argument>
constexpr auto stored(int first) {
  using lanes = graphs::type_list<Result>;
  return graphs::loop_value{&graphs::lanes_of<Op, Real, lanes, Argument...>, Result, first, sizeof...(Argument), true};
}
/// Comparisons, minima and choices in one fused loop. a has the whole shape, and b and c are repeated as above. Some
/// numbers are equal, and some are NaN. Indices below 2 choose as well.
template <class Real>
void choices_against_reference(const shape& extents, cairn::detail::axis_set of_b, cairn::detail::axis_set of_c) {
  const std::int64_t count = extents.count();
  const auto few_different = [&](cairn::detail::axis_set repeated) {
    auto values = numbers<Real>(repeated_count(extents, repeated), 2);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 9 == 5 ? no_number<Real> : std::round(values[i]);
    return values;
  };
  const auto a = few_different(0), b = few_different(of_b), c = few_different(of_c);
  const auto mask = kernel_check::labels(static_cast<int>(count), 2);
  std::vector truth(4, guarded<std::uint8_t>(count));
  std::vector chosen(3, guarded<Real>(count));

  constexpr dtype real = dtype::real, byte = dtype::u8, whole = dtype::i32;
  using loop = kernels::loop<
      Real, graphs::sums::nothing, false,
      kernels::list_of<kernels::loop_operand{}, kernels::loop_operand{},
                       kernels::loop_operand{real, graphs::access::repeated}, kernels::loop_operand{whole}>,
      kernels::list_of<stored<lang::compare_op<lang::comparison::less>, Real, byte, real, real>(0),
                       stored<lang::compare_op<lang::comparison::less_equal>, Real, byte, real, real>(2),
                       stored<lang::compare_op<lang::comparison::equal>, Real, byte, real, real>(4),
                       stored<lang::compare_op<lang::comparison::not_equal>, Real, byte, real, real>(6),
                       stored<lang::minimum_op, Real, real, real, real>(8),
                       stored<lang::where_op, Real, real, byte, real, real>(10),
                       stored<lang::where_op, Real, real, whole, real, real>(13)>,
      kernels::list_of<-1, -2, -1, -3, -1, -2, -1, -3, -1, -2, 0, -2, -3, -4, -3, -1>>;
  std::vector<const void*> operands;
  for (auto& results : truth) operands.push_back(results.data());
  for (auto& results : chosen) operands.push_back(results.data());
  for (const auto* input : {&a, &b, &c}) operands.push_back(input->data());
  operands.push_back(mask.data());
  const table_of table(extents, {0, of_b, of_c, 0});
  loop::run(&*table, const_cast<void* const*>(operands.data()), 1);

  const auto is = [&](auto& results, auto of) {
    bool all = results.intact();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto expected = of(a[at], b[repeated_at(extents, of_b, i)], c[repeated_at(extents, of_c, i)], mask[at]);
      all &= results.data()[i] == expected || (std::isnan(results.data()[i]) && std::isnan(expected));
    }
    return all;
  };
  BOOST_TEST_CONTEXT("extents " << extents[0] << " " << extents[-1] << " of rank " << extents.rank) {
    BOOST_TEST(is(truth[0], [](Real x, Real y, Real, int) { return x < y ? 1 : 0; }));
    BOOST_TEST(is(truth[1], [](Real x, Real, Real z, int) { return x <= z ? 1 : 0; }));
    BOOST_TEST(is(truth[2], [](Real x, Real y, Real, int) { return x == y ? 1 : 0; }));
    BOOST_TEST(is(truth[3], [](Real x, Real, Real z, int) { return x != z ? 1 : 0; }));
    BOOST_TEST(is(chosen[0], [](Real x, Real y, Real, int) { return std::isnan(y) || y < x ? y : x; }));
    BOOST_TEST(is(chosen[1], [](Real x, Real y, Real z, int) { return x < y ? y : z; }));
    BOOST_TEST(is(chosen[2], [](Real x, Real, Real z, int m) { return m == 1 ? z : x; }));
  }
}

void at_extent(int inner) {
  constexpr auto whole = graphs::access::contiguous, once = graphs::access::repeated;
  for (const auto& check : {choices_against_reference<float>, choices_against_reference<double>}) {
    check(shape{inner}, 0, 0b1);
    check(shape{3, inner}, 0b01, 0b10);
    check(shape{2, 3, inner}, 0b010, 0b101);
    check(shape{2, inner, 3}, 0b001, 0b110);
  }
  loop_against_reference<whole, once>(shape{inner}, 0, 0b1);
  loop_against_reference<whole, once>(shape{3, inner}, 0b01, 0b10);
  loop_against_reference<whole, once>(shape{2, 3, inner}, 0b010, 0b101);
  loop_against_reference<whole, once>(shape{2, inner, 3}, 0b001, 0b110);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_elementwise)

BOOST_AUTO_TEST_CASE(functions_of_one_number) {
  unary_in_both<lang::neg_op>();
  unary_in_both<lang::exp_op>();
  unary_in_both<lang::log_op>(1e-9);
  unary_in_both<lang::sqrt_op>(0);
  unary_in_both<lang::square_op>();
  unary_in_both<lang::tanh_op>();
  unary_in_both<lang::sigmoid_op>(-80);
  unary_in_both<lang::relu_op>();
  unary_in_both<lang::step_op>();
  unary_in_both<lang::sin_op>();
  unary_in_both<lang::cos_op>();
  unary_in_both<lang::log1p_op>(-0.5);
  unary_in_both<lang::softplus_op>();
  unary_in_both<lang::abs_op>();
  unary_in_both<lang::sign_op>();
  unary_in_both<lang::pow_op<2.5>>(1e-3);
  unary_in_both<lang::erf_op>();
  unary_in_both<lang::floor_op>();
  unary_in_both<lang::ceil_op>();
  unary_in_both<lang::round_op>();
}
/// Halves, zeros of both signs, numbers next to halves, and the largest numbers with a fraction have the bits of std's
/// functions. NaN stays NaN.
template <class Real>
void round_special_numbers() {
  using V = kernels::lanes<Real>;
  const Real whole = std::ldexp(Real{1}, std::numeric_limits<Real>::digits - 1);
  const Real below_half = std::nextafter(Real{0.5}, Real{0}), tiny = std::numeric_limits<Real>::denorm_min();
  const auto equal = [](V found, Real wanted) {
    const Real x = found.value[0];
    return x == wanted && std::signbit(x) == std::signbit(wanted);
  };
  for (const Real size : {Real{0}, Real{0.25}, Real{0.5}, Real{1.5}, Real{2.5}, Real{3}, below_half, tiny,
                          whole - Real{0.5}, whole / 2 - Real{0.5}, whole + 1, infinity<Real>}) {
    for (const Real x : {size, -size}) {
      BOOST_TEST(equal(kernels::round(V::fill(x)), std::nearbyint(x)), x << " is not rounded");
      BOOST_TEST(equal(kernels::floor(V::fill(x)), std::floor(x)), x << " is not rounded down");
      BOOST_TEST(equal(kernels::ceil(V::fill(x)), std::ceil(x)), x << " is not rounded up");
    }
  }
  const V none = V::fill(no_number<Real>);
  BOOST_TEST(std::isnan(kernels::round(none).value[0]));
  BOOST_TEST(std::isnan(kernels::floor(none).value[0]));
  BOOST_TEST(std::isnan(kernels::ceil(none).value[0]));
}
BOOST_AUTO_TEST_CASE(whole_numbers) {
  round_special_numbers<float>();
  round_special_numbers<double>();
}
/// Checks 2^20 floats. `./dev test functions` checks all floats.
BOOST_AUTO_TEST_CASE(functions_are_within_two_units) {
  function_error::for_each_function([](const char* name, auto function, auto right) {
    BOOST_TEST_CONTEXT(name) BOOST_TEST(function_error::worst(function, right, 0, std::uint64_t{1} << 32, 4093) <= 2);
  });
}
/// Compares functions of doubles with functions of long doubles. The arguments are the ends of a range and random numbers
/// within it. They are near and far, subnormal, and in the range in which results leave the normal numbers.
BOOST_AUTO_TEST_CASE(functions_of_doubles_are_within_two_units) {
  using V = kernels::lanes<double>;
  using wide = long double;
  const auto check = [](const char* name, auto function, auto right, double lowest, double highest) {
    double worst = 0;
    std::mt19937_64 random(1);
    for (int i = 0; i <= 5000; ++i) {
      const double part = i < 2 ? i : std::ldexp(static_cast<double>(random()), -64);
      const double x = lowest + (highest - lowest) * part;
      const wide exact = right(wide{x});
      const wide unit = std::ldexp(wide{1}, std::max(std::ilogb(exact), -1022) - 52);
      worst = std::max(worst, static_cast<double>(std::abs(wide{function(V::fill(x)).value[0]} - exact) / unit));
    }
    BOOST_TEST_CONTEXT(name) BOOST_TEST(worst <= 2);
  };
  const auto sigmoid_of = [](wide x) { return 1 / (1 + std::exp(-x)); };
  const auto share = [](wide x) { return std::erfc(-x * std::sqrt(wide{0.5})) / 2; };
  check("exp", [](V x) { return exp(x); }, [](wide x) { return std::exp(x); }, -744, 709.78);
  check("log", [](V x) { return log(x); }, [](wide x) { return std::log(x); }, 0.4, 3);
  check("log", [](V x) { return log(x); }, [](wide x) { return std::log(x); }, 1e-323, 1e-308);
  check("tanh", [](V x) { return tanh(x); }, [](wide x) { return std::tanh(x); }, 1e-3, 20);
  check("sigmoid", [](V x) { return sigmoid(x); }, sigmoid_of, -744, 40);
  check("sin", [](V x) { return sin(x); }, [](wide x) { return std::sin(x); }, 0.1, 1e5);
  check("log1p", [](V x) { return kernels::log1p(x); }, [](wide x) { return std::log1p(x); }, -0.9, 1);
  check("log1p", [](V x) { return kernels::log1p(x); }, [](wide x) { return std::log1p(x); }, -1e-7, 1e-7);
  check("cos", [](V x) { return cos(x); }, [](wide x) { return std::cos(x); }, 0.1, 1e5);
  check("erf", [](V x) { return erf(x); }, [](wide x) { return std::erf(x); }, -6, 6.001);
  check("erf", [](V x) { return erf(x); }, [](wide x) { return std::erf(x); }, 1e-9, 1e-3);
  check("normal", [](V x) { return kernels::normal(x).below; }, share, -37.5, 9);
  check("normal", [](V x) { return kernels::normal(x).below; }, share, -0.05, 0);
  check("pow", [](V x) { return kernels::pow<30.5>(x); }, [](wide x) { return std::pow(x, wide{30.5}); }, 0.01, 1e10);
  check("pow", [](V x) { return kernels::pow<-64.0>(x); }, [](wide x) { return std::pow(x, wide{-64}); }, -900, -0.1);
}
/// Negative tails and infinities. Slopes must not become 0 before they underflow, at neither end.
BOOST_AUTO_TEST_CASE(tails_and_slopes) {
  using V = kernels::lanes<float>;
  const auto of = [](auto op, float x) { return lanewise(op, V::fill(x)).value[0]; };
  // This float had the largest error in an earlier version, in which a part of the exponent chose the power.
  const float worst = -12.4921293F;
  const float share_there = kernels::normal(V::fill(worst)).below.value[0];
  BOOST_TEST(function_error::units_off(share_there, function_error::normal_share(double{worst})) <= 2);
  for (const float x : {-4.0F, -5.5F, -6.0F, -8.0F, -13.0F}) {
    const double a = double{x}, share = function_error::normal_share(a);
    const double slope = share + a * std::exp(-a * a / 2) / std::sqrt(2 * std::acos(-1.0));
    BOOST_TEST(function_error::units_off(of(lang::gelu_op{}, x), a * share) <= 3);
    BOOST_TEST(std::abs(double{of(lang::gelu_slope_op{}, x)} / slope - 1) <= 1e-6);
  }
  for (const float x : {-16.75F, -3.0F, 0.5F, 16.75F, 80.0F}) {
    const double e = std::exp(-std::abs(double{x})), slope = e / (1 + e) / (1 + e);
    const double twice = std::exp(-2 * std::abs(double{x} / 4));
    BOOST_TEST(function_error::units_off(of(lang::sigmoid_slope_op{}, x), slope) <= 4);
    BOOST_TEST(function_error::units_off(of(lang::tanh_slope_op{}, x / 4), 4 * twice / (1 + twice) / (1 + twice)) <= 4);
  }
  const float most = infinity<float>;
  BOOST_TEST(of(lang::gelu_op{}, -most) == 0);
  BOOST_TEST(of(lang::silu_op{}, -most) == 0);
  BOOST_TEST(of(lang::gelu_slope_op{}, -most) == 0);
  BOOST_TEST(of(lang::silu_slope_op{}, -most) == 0);
  BOOST_TEST(of(lang::gelu_op{}, most) == most);
  BOOST_TEST(of(lang::silu_op{}, most) == most);
  BOOST_TEST(of(lang::gelu_slope_op{}, most) == 1);
  BOOST_TEST(of(lang::silu_slope_op{}, most) == 1);
  BOOST_TEST(of(lang::pow_op<-3.0>{}, -0.0F) == -most);
  BOOST_TEST(of(lang::pow_op<2.5>{}, -most) == most);
}
/// Compares activation functions and their slopes with long double. The sigmoid of u multiplies the rounding error of u
/// by u, so tails of gelu_tanh have larger relative errors.
BOOST_AUTO_TEST_CASE(activations_and_their_slopes) {
  const auto check = []<class Real>(Real) {
    using V = kernels::lanes<Real>;
    const auto of = [](auto op, long double x) { return lanewise(op, V::fill(static_cast<Real>(x))).value[0]; };
    const auto agrees = [](const char* name, Real got, long double exact, long double units) {
      const long double unit = std::numeric_limits<Real>::epsilon();
      BOOST_TEST(std::abs(got - exact) <= units * unit + std::numeric_limits<Real>::min(), name << ": " << got);
    };
    struct exact {
      long double argument, sigmoid, slope;
    };
    const auto gelu_tanh = [](long double x) {
      const long double a = 2 * std::sqrt(2 / std::acos(-1.0L)), b = a * 0.044715L, u = a * x + b * x * x * x;
      const long double y = 1 / (1 + std::exp(-u)), rest = 1 / (1 + std::exp(u));
      return exact{u, y, y + x * y * rest * (a + 3 * b * x * x)};
    };
    for (int i = -400; i <= 400; ++i) {
      const long double x = static_cast<Real>(i / 40.0L);
      BOOST_TEST_CONTEXT("at " << x) {
        const auto [u, y, slope_of_gelu] = gelu_tanh(x);
        agrees("gelu_tanh", of(lang::gelu_tanh_op{}, x), x * y, std::abs(x) * y * (4 + 2 * std::abs(u)));
        agrees("slope of gelu_tanh", of(lang::gelu_tanh_slope_op{}, x), slope_of_gelu, 8);
        const long double curve = std::log1p(std::exp(x)), t = std::tanh(curve), s = 1 / (1 + std::exp(-x));
        agrees("mish", of(lang::mish_op{}, x), x * t, 4 * std::abs(x) * t);
        agrees("slope of mish", of(lang::mish_slope_op{}, x), t + x * s / std::cosh(curve) / std::cosh(curve), 8);
        const long double share = std::clamp((x + 3) / 6, 0.0L, 1.0L), slope = std::abs(x) < 3 ? x / 3 + 0.5L : share;
        agrees("hardswish", of(lang::hardswish_op{}, x), x * share, 4);
        agrees("slope of hardswish", of(lang::hardswish_slope_op{}, x), slope, 4);
      }
    }
    for (const long double x : {-12.0L, -40.0L, -80.0L}) {
      const long double e = std::exp(x), slope = e * (1 + x);  // mish is x e there, and e^2 is far below
      BOOST_TEST(std::abs(of(lang::mish_op{}, x) / (x * e) - 1) < 1e-5);
      BOOST_TEST(std::abs(of(lang::mish_slope_op{}, x) / slope - 1) < 1e-4);
    }
    for (const long double x : {-3.0L, -5.0L, -7.0L})
      BOOST_TEST(std::abs(of(lang::gelu_tanh_slope_op{}, x) / gelu_tanh(x).slope - 1) < 1e-5);
    const Real most = infinity<Real>, none = std::numeric_limits<Real>::quiet_NaN();
    const auto ends = [&](auto op, auto slope) {
      BOOST_TEST(of(op, -most) == 0);
      BOOST_TEST(of(slope, -most) == 0);
      BOOST_TEST(of(op, most) == most);
      BOOST_TEST(of(slope, most) == 1);
      BOOST_TEST(std::isnan(of(op, none)));
      BOOST_TEST(std::isnan(of(slope, none)));
    };
    ends(lang::gelu_tanh_op{}, lang::gelu_tanh_slope_op{});
    ends(lang::mish_op{}, lang::mish_slope_op{});
    ends(lang::hardswish_op{}, lang::hardswish_slope_op{});
  };
  check(float{});
  check(double{});
}
BOOST_AUTO_TEST_CASE(functions_of_two_numbers) {
  binary<float, lang::add_op>();
  binary<float, lang::sub_op>();
  binary<float, lang::mul_op>();
  binary<float, lang::div_op>();
  binary<float, lang::maximum_op>();
  binary<float, lang::share_op>();
  binary<float, lang::minimum_op>();
  binary<double, lang::maximum_op>();
  binary<double, lang::div_op>();
}
/// Compares with std's functions in long double. A lane has the same bits whatever the other lanes contain.
BOOST_AUTO_TEST_CASE(sines_near_and_far) {
  const auto check = []<class Real>(Real) {
    using V = kernels::lanes<Real>;
    for (double sample = 1e-3; sample < 1e7; sample *= 1.37) {
      V x = V::fill(static_cast<Real>(sample)), others = x;
      for (int i = 1; i < V::width; ++i) others.value[i] = static_cast<Real>(i % 2 == 0 ? 1e6 * i : NAN);
      const V sine = lanewise(lang::sin_op{}, x), cosine = lanewise(lang::cos_op{}, x);
      const auto exact = static_cast<long double>(x.value[0]);
      const auto most = 2 * std::numeric_limits<Real>::epsilon();
      BOOST_TEST(std::abs(sine.value[0] - static_cast<Real>(std::sin(exact))) <= most);
      BOOST_TEST(std::abs(cosine.value[0] - static_cast<Real>(std::cos(exact))) <= most);
      BOOST_TEST(lanewise(lang::sin_op{}, others).value[0] == sine.value[0]);
      if constexpr (V::width > 1) BOOST_TEST(std::isnan(lanewise(lang::cos_op{}, others).value[1]));
    }
  };
  check(float{});
  check(double{});
}
BOOST_AUTO_TEST_CASE(nan_is_not_hidden) {
  using V = kernels::lanes<float>;
  const V nan = V::fill(std::numeric_limits<float>::quiet_NaN()), one = V::fill(1);
  const auto first = [](V v) {
    float out[V::width];
    v.store(out);
    return out[0];
  };
  BOOST_TEST(std::isnan(first(lanewise(lang::relu_op{}, nan))));
  BOOST_TEST(std::isnan(first(lanewise(lang::maximum_op{}, nan, one))));
  BOOST_TEST(std::isnan(first(lanewise(lang::maximum_op{}, one, nan))));
  BOOST_TEST(std::isnan(first(lanewise(lang::minimum_op{}, nan, one))));
  BOOST_TEST(std::isnan(first(lanewise(lang::minimum_op{}, one, nan))));
  BOOST_TEST(std::isnan(first(lanewise(lang::softplus_op{}, nan))));
  BOOST_TEST(std::isnan(first(lanewise(lang::sin_op{}, nan))));
  BOOST_TEST(std::isnan(first(lanewise(lang::pow_op<2.5>{}, -one))));
  BOOST_TEST(std::isnan(first(lanewise(lang::gelu_op{}, nan))));
  BOOST_TEST(std::isnan(first(lanewise(lang::exp_op{}, nan))));
}
BOOST_AUTO_TEST_CASE(fused_loops_with_repeated_operands) {
  for (const int inner : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100}) at_extent(inner);
}

BOOST_AUTO_TEST_SUITE_END()
