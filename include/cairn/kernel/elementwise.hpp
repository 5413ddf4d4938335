// Computes elementwise operations on registers.
#pragma once

#include "cairn/op/elementwise.hpp"
#include "cairn/graph/operation.hpp"
#include "cairn/kernel/registers.hpp"

#include <array>
#include <tuple>
#include <utility>

namespace cairn {

namespace kernel {
/// Returns `x` in every lane. V may also be the type of a single number.
template <class V>
[[gnu::always_inline]] inline V all(double x) {
  if constexpr (std::floating_point<V>) return static_cast<V>(x);
  else return V::fill(static_cast<std::remove_cvref_t<decltype(V{}.value[0])>>(x));
}
}  // namespace kernel

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
  using kernel::exp;
  return exp(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(log_op, V a) {
  using kernel::log;
  return log(a);
}

namespace kernel {
/// Computes log(1 + x). If the sum 1 + x is rounded, corrects the logarithm for the rounding (W. Kahan).
template <class V>
[[gnu::always_inline]] inline V log1p(V x) {
  const V one = all<V>(1), sum = one + x;
  const V corrected = log(sum) * (x / (sum - one));
  return select(equal(sum, one), x, select(equal(sum, x), log(sum), corrected));
}
}  // namespace kernel

template <class V>
[[gnu::always_inline]] inline V lanewise(log1p_op, V a) {
  return kernel::log1p(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sin_op, V a) {
  using kernel::sin;
  return sin(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(cos_op, V a) {
  using kernel::cos;
  return cos(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(abs_op, V a) {
  using kernel::abs;
  return abs(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sign_op, V a) {
  using kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0), one = kernel::all<V>(1);
  return select(greater(a, zero), one, select(greater(zero, a), -one, a));
}
template <double Exponent, class V>
[[gnu::always_inline]] inline V lanewise(pow_op<Exponent>, V a) {
  return kernel::pow<Exponent>(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sqrt_op, V a) {
  using kernel::sqrt;
  return sqrt(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(tanh_op, V a) {
  using kernel::tanh;
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
namespace kernel {
/// Returns `a` limited to the numbers from -most to most. NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline V within(V a, double most) {
  const V above = all<V>(most), below = all<V>(-most);
  return select(greater(a, above), above, select(greater(below, a), below, a));
}
/// Returns 1 / (1 + e) and e / (1 + e) for e = exp(-|a|). The first number is the sigmoid of |a|. The second number is
/// 1 minus this sigmoid, with all of its digits.
template <class V>
[[gnu::always_inline]] inline std::array<V, 2> sigmoids(V a) {
  const V e = exp(-abs(a)), most = all<V>(1) / (all<V>(1) + e);
  return {most, e * most};
}
}  // namespace kernel

template <class V>
[[gnu::always_inline]] inline V lanewise(tanh_slope_op, V a) {
  const auto [most, least] = kernel::sigmoids(a + a);
  return kernel::all<V>(4) * most * least;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sigmoid_op, V a) {
  using kernel::sigmoid;
  return sigmoid(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sigmoid_slope_op, V a) {
  const auto [most, least] = kernel::sigmoids(a);
  return most * least;
}
// The lower limit makes the result 0 for minus infinity, where minus infinity times 0 would be NaN.
template <class V>
[[gnu::always_inline]] inline V lanewise(silu_op, V a) {
  using kernel::greater, kernel::select, kernel::sigmoid;
  const V least = kernel::all<V>(-1000);
  return select(greater(least, a), least, a) * sigmoid(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(silu_slope_op, V a) {
  using kernel::fused, kernel::greater, kernel::select;
  const auto [most, least] = kernel::sigmoids(a);
  const auto negative = greater(kernel::all<V>(0), a);
  const V y = select(negative, least, most);
  return fused(y * kernel::within(a, 1000), select(negative, most, least), y);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(softplus_op, V a) {
  using kernel::abs, kernel::exp, kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0);
  return select(greater(zero, a), zero, a) + kernel::log1p(exp(-abs(a)));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(relu_op, V a) {
  using kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0);
  return select(greater(zero, a), zero, a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(step_op, V a) {
  using kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0);
  return select(greater(a, zero), kernel::all<V>(1), zero);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(maximum_op, V a, V b) {
  using kernel::equal, kernel::greater, kernel::select;
  return select(greater(a, b), a, select(equal(a, a), b, a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(minimum_op, V a, V b) {
  using kernel::equal, kernel::greater, kernel::select;
  return select(greater(b, a), a, select(equal(a, a), b, a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(share_op, V a, V b) {
  using kernel::equal, kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0);
  return select(greater(a, b), kernel::all<V>(1), select(equal(a, b), kernel::all<V>(0.5), zero));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(equal_op, V a, V b) {
  using kernel::equal, kernel::select;
  return select(equal(a, b), kernel::all<V>(1), kernel::all<V>(0));
}

template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_op, V a) {
  using kernel::greater, kernel::normal, kernel::select;
  const V least = kernel::all<V>(-1000);
  return select(greater(least, a), least, a) * normal(a).below;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_slope_op, V a) {
  using kernel::fused, kernel::normal;
  const auto [below, density] = normal(a);
  return fused(kernel::within(a, 1000), density, below);
}

namespace detail {
template <class V>
inline constexpr bool is_several = false;
template <class V, std::size_t N>
inline constexpr bool is_several<std::array<V, N>> = true;
template <class... V>
inline constexpr bool is_several<std::tuple<V...>> = true;

/// Writes one result of an operation. A barrier keeps the compiler from merging an operation with its neighbours, so
/// that a value has the same bits in every fused loop that computes it.
template <class Real, dtype T, class Made>
[[gnu::always_inline]] inline void put_result(void* result, const Made& made) {
  using kernel::barrier;
  auto x = kernel::converted<kernel::register_of<T, Real>>(made);
  barrier(x);
  *static_cast<kernel::register_of<T, Real>*>(result) = x;
}
/// Writes all results of an operation, which has one result or several.
template <class Real, dtype... Result, std::size_t... R, class Made>
[[gnu::always_inline]] inline void put_results(graph::type_list<Result...>, std::index_sequence<R...>,
                                               void* const* results, const Made& made) {
  if constexpr (is_several<Made>) (put_result<Real, Result>(results[R], std::get<R>(made)), ...);
  else (put_result<Real, Result>(results[R], made), ...);
}
template <class Real, dtype T>
[[gnu::always_inline]] inline const auto& register_at(const void* argument) {
  return *static_cast<const kernel::register_of<T, Real>*>(argument);
}
template <class Op, class Real, dtype... Result, dtype... Argument, std::size_t... A>
[[gnu::always_inline]] inline void run_lanes(graph::type_list<Result...> types, graph::type_list<Argument...>,
                                             std::index_sequence<A...>, void* const* results,
                                             const void* const* arguments) {
  constexpr std::make_index_sequence<sizeof...(Result)> each;
  if constexpr (Op::mapped) {
    put_results<Real>(types, each, results, register_at<Real, Argument>(arguments[A])...);
  } else if constexpr (requires { lanewise(Op{}, register_at<Real, Argument>(arguments[A])...); }) {
    put_results<Real>(types, each, results, lanewise(Op{}, register_at<Real, Argument>(arguments[A])...));
  } else {
    static_assert(report_of<mistake<no_lanewise, top_scope, fact::operation<Op::name>>>{}.shown);
  }
}
}  // namespace detail

template <class Op, class Real, class Results, dtype... Argument>
[[gnu::always_inline]] inline void run_lanes(void* const* results, const void* const* arguments) {
  detail::run_lanes<Op, Real>(Results{}, graph::type_list<Argument...>{},
                              std::make_index_sequence<sizeof...(Argument)>{}, results, arguments);
}

}  // namespace cairn
