// Computes elementwise operations on registers.
#pragma once

#include "cairn/graph/operation.hpp"
#include "cairn/kernel/registers.hpp"
#include "cairn/op/elementwise.hpp"

#include <array>
#include <numbers>
#include <tuple>
#include <utility>

namespace cairn::kernels {
/// Returns `x` in every lane. V may also be the type of a single number.
template <class V>
[[gnu::always_inline]] inline V all(double x) {
  if constexpr (std::floating_point<V>) return static_cast<V>(x);
  else return V::fill(static_cast<std::remove_cvref_t<decltype(V{}.value[0])>>(x));
}
}  // namespace cairn::kernels

namespace cairn::lang {

// `lanewise(op, x...)` computes an operation on registers V, or on single numbers. Argument-dependent lookup of the
// operation finds `lanewise`, so users can add operations of their own.

template <class V>
[[gnu::always_inline]] inline V lanewise(add_op, V a, V b) {
  return a + b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sub_op, V a, V b) {
  return a - b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(mul_op, V a, V b) {
  return a * b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(div_op, V a, V b) {
  return a / b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(neg_op, V a) {
  return -a;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(exp_op, V a) {
  using kernels::exp;
  return exp(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(log_op, V a) {
  using kernels::log;
  return log(a);
}

}  // namespace cairn::lang

namespace cairn::kernels {
/// Computes log(1 + x). If the sum 1 + x is rounded, adds the logarithm of the quotient of 1 + x and the sum, which is
/// nearly the rounding error divided by the sum.
template <class V>
[[gnu::always_inline]] inline V log1p(V x) {
  const V one = all<V>(1), sum = one + x, added = sum - one;
  const V corrected = log(sum) + (x - added) / sum;
  return select(equal(sum, one), x, select(equal(added, x), log(sum), corrected));
}
}  // namespace cairn::kernels

namespace cairn::lang {

template <class V>
[[gnu::always_inline]] inline V lanewise(log1p_op, V a) {
  return kernels::log1p(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sin_op, V a) {
  using kernels::sin;
  return sin(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(cos_op, V a) {
  using kernels::cos;
  return cos(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(abs_op, V a) {
  using kernels::abs;
  return abs(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sign_op, V a) {
  using kernels::greater, kernels::select;
  const V zero = kernels::all<V>(0), one = kernels::all<V>(1);
  return select(greater(a, zero), one, select(greater(zero, a), -one, a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(erf_op, V a) {
  using kernels::erf;
  return erf(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(erf_slope_op, V a) {
  using kernels::exp;
  return kernels::all<V>(2 * std::numbers::inv_sqrtpi) * exp(-(a * a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(floor_op, V a) {
  using kernels::floor;
  return floor(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(ceil_op, V a) {
  using kernels::ceil;
  return ceil(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(round_op, V a) {
  using kernels::round;
  return round(a);
}
template <double Exponent, class V>
[[gnu::always_inline]] inline V lanewise(pow_op<Exponent>, V a) {
  return kernels::pow<Exponent>(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sqrt_op, V a) {
  using kernels::sqrt;
  return sqrt(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(tanh_op, V a) {
  using kernels::tanh;
  return tanh(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(square_op, V a) {
  return a * a;
}
template <shape To, class V>
[[gnu::always_inline]] inline V lanewise(expand_op<To>, V a) {
  return a;
}
}  // namespace cairn::lang

namespace cairn::kernels {
/// Returns `a` limited to the numbers from -most to most. NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline V within(V a, double most) {
  const V above = all<V>(most), below = all<V>(-most);
  return select(greater(a, above), above, select(greater(below, a), below, a));
}
/// Returns the larger one of `a` and `least`. NaN stays NaN, because it is the second argument of `max`.
template <class V>
[[gnu::always_inline]] inline V at_least(V a, double least) {
  return max(all<V>(least), a);
}
/// Returns 1 / (1 + e) and e / (1 + e) for e = exp(-|a|). The first number is the sigmoid of |a|. The second number is
/// 1 minus this sigmoid, with all of its digits.
template <class V>
[[gnu::always_inline]] inline std::array<V, 2> sigmoids(V a) {
  const V e = exp(-abs(a)), most = all<V>(1) / (all<V>(1) + e);
  return {most, e * most};
}
/// Returns the sigmoids of a and of -a.
template <class V>
[[gnu::always_inline]] inline std::array<V, 2> sigmoids_of_both(V a) {
  const auto [most, least] = sigmoids(a);
  const auto negative = greater(all<V>(0), a);
  return {select(negative, least, most), select(negative, most, least)};
}
}  // namespace cairn::kernels

namespace cairn::lang {

template <class V>
[[gnu::always_inline]] inline V lanewise(tanh_slope_op, V a) {
  const auto [most, least] = kernels::sigmoids(a + a);
  return kernels::all<V>(4) * most * least;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sigmoid_op, V a) {
  using kernels::sigmoid;
  return sigmoid(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sigmoid_slope_op, V a) {
  const auto [most, least] = kernels::sigmoids(a);
  return most * least;
}
// The lower limit makes the result 0 for minus infinity, where minus infinity times 0 would be NaN.
template <class V>
[[gnu::always_inline]] inline V lanewise(silu_op, V a) {
  using kernels::sigmoid;
  return kernels::at_least(a, -1000) * sigmoid(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(silu_slope_op, V a) {
  using kernels::fused;
  const auto [y, other] = kernels::sigmoids_of_both(a);
  return fused(y * kernels::within(a, 1000), other, y);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(softplus_op, V a) {
  using kernels::abs, kernels::exp;
  return kernels::at_least(a, 0) + kernels::log1p(exp(-abs(a)));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(relu_op, V a) {
  return kernels::at_least(a, 0);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(step_op, V a) {
  using kernels::greater, kernels::select;
  const V zero = kernels::all<V>(0);
  return select(greater(a, zero), kernels::all<V>(1), zero);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(maximum_op, V a, V b) {
  using kernels::equal, kernels::greater, kernels::select;
  return select(greater(a, b), a, select(equal(a, a), b, a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(minimum_op, V a, V b) {
  using kernels::equal, kernels::greater, kernels::select;
  return select(greater(b, a), a, select(equal(a, a), b, a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(share_op, V a, V b) {
  using kernels::equal, kernels::greater, kernels::select;
  const V zero = kernels::all<V>(0);
  return select(greater(a, b), kernels::all<V>(1), select(equal(a, b), kernels::all<V>(0.5), zero));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(equal_op, V a, V b) {
  using kernels::equal, kernels::select;
  return select(equal(a, b), kernels::all<V>(1), kernels::all<V>(0));
}

template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_op, V a) {
  using kernels::normal;
  return kernels::at_least(a, -1000) * normal(a).below;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_slope_op, V a) {
  using kernels::fused, kernels::normal;
  const auto [below, density] = normal(a);
  return fused(kernels::within(a, 1000), density, below);
}

}  // namespace cairn::lang

namespace cairn::detail {
/// The number of values that a `lanewise` returns: one, or the elements of an array or a tuple.
template <class V>
inline constexpr int value_count = 1;
template <class V>
  requires requires { std::tuple_size<V>::value; }
inline constexpr int value_count<V> = std::tuple_size_v<V>;

/// Writes one result of an operation. A barrier keeps the compiler from merging an operation with its neighbours, so
/// that a value has the same bits in every fused loop that computes it.
template <class Real, dtype T, class Made>
[[gnu::always_inline]] inline void put_result(void* result, const Made& made) {
  using kernels::barrier;
  auto x = kernels::converted<kernels::register_of<T, Real>>(made);
  barrier(x);
  *static_cast<kernels::register_of<T, Real>*>(result) = x;
}
/// Writes all results of an operation, which has one result or several.
template <class Real, dtype... Result, std::size_t... R, class Made>
[[gnu::always_inline]] inline void put_results(graphs::type_list<Result...>, std::index_sequence<R...>,
                                               void* const* results, const Made& made) {
  if constexpr (requires { std::tuple_size<Made>::value; })
    (put_result<Real, Result>(results[R], std::get<R>(made)), ...);
  else (put_result<Real, Result>(results[R], made), ...);
}
template <class Real, dtype T>
[[gnu::always_inline]] inline const auto& register_at(const void* argument) {
  return *static_cast<const kernels::register_of<T, Real>*>(argument);
}
template <class Op, class Real, dtype... Result, dtype... Argument, std::size_t... A>
[[gnu::always_inline]] inline void run_lanes(graphs::type_list<Result...> types, graphs::type_list<Argument...>,
                                             std::index_sequence<A...>, void* const* results,
                                             const void* const* arguments) {
  constexpr std::make_index_sequence<sizeof...(Result)> each;
  if constexpr (Op::mapped) {
    put_results<Real>(types, each, results, register_at<Real, Argument>(arguments[A])...);
  } else if constexpr (requires { lanewise(Op{}, register_at<Real, Argument>(arguments[A])...); }) {
    const auto made = lanewise(Op{}, register_at<Real, Argument>(arguments[A])...);
    constexpr int expected = sizeof...(Result), got = value_count<std::remove_const_t<decltype(made)>>;
    if constexpr (got == expected) put_results<Real>(types, each, results, made);
    else
      static_assert(report_of<mistake<misuse::values_of_lanewise, top_scope, fact::operation<Op::name>,
                                      fact::expected<fact::values<expected>>, fact::got<fact::values<got>>>>{}
                        .shown);
  } else {
    static_assert(report_of<mistake<misuse::no_lanewise, top_scope, fact::operation<Op::name>>>{}.shown);
  }
}
}  // namespace cairn::detail

namespace cairn::kernels {

template <class Op, class Real, class Results, dtype... Argument>
[[gnu::always_inline]] inline void run_lanes(void* const* results, const void* const* arguments) {
  cairn::detail::run_lanes<Op, Real>(Results{}, graphs::type_list<Argument...>{},
                                     std::make_index_sequence<sizeof...(Argument)>{}, results, arguments);
}

}  // namespace cairn::kernels
