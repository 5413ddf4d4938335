// Elementwise operations on registers.
#pragma once

#include "cairn/expr/elementwise.hpp"
#include "cairn/ir/operation.hpp"
#include "cairn/kernel/registers.hpp"

#include <numbers>
#include <utility>

namespace cairn {

namespace kernel {
/// A number in every lane.
template <class V>
[[gnu::always_inline]] inline V all(double x) {
  if constexpr (std::floating_point<V>) return static_cast<V>(x);
  else return V::fill(static_cast<std::remove_cvref_t<decltype(V{}.value[0])>>(x));
}
}  // namespace kernel

// `lanewise(op, x...)` is an operation on one register V, or on one number. It is found by argument-dependent lookup
// of the operation, so that users can add operations of their own.

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
/// Where 1 + x is rounded, the logarithm is corrected by as much (Kahan).
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
  using kernel::exp, kernel::log;
  return exp(kernel::all<V>(Exponent) * log(a));
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
template <class V>
[[gnu::always_inline]] inline V lanewise(sigmoid_op, V a) {
  using kernel::exp;
  const V one = kernel::all<V>(1);
  return one / (one + exp(-a));
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

namespace kernel {
/// Phi(x), the normal distribution.
template <class V>
[[gnu::always_inline]] inline V normal_distribution(V x) {
  const V half = all<V>(0.5);
  return half + half * erf(x * all<V>(std::numbers::sqrt2 / 2));
}
}  // namespace kernel

template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_op, V a) {
  return a * kernel::normal_distribution(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_slope_op, V a) {
  using kernel::exp;
  constexpr double density_at_zero = 0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;
  const V density = kernel::all<V>(density_at_zero) * exp(a * a * kernel::all<V>(-0.5));
  return kernel::normal_distribution(a) + a * density;
}

namespace detail {
template <class V>
inline constexpr bool is_several = false;
template <class V, std::size_t N>
inline constexpr bool is_several<std::array<V, N>> = true;
template <class... V>
inline constexpr bool is_several<std::tuple<V...>> = true;

/// Writes what an operation made. A barrier keeps the compiler from merging an operation with its neighbours, so that a
/// value has the same bits in whichever loop it is computed.
template <class Real, dtype T, class Made>
[[gnu::always_inline]] inline void put_result(void* result, const Made& made) {
  using kernel::barrier;
  auto x = kernel::converted<kernel::register_of<T, Real>>(made);
  barrier(x);
  *static_cast<kernel::register_of<T, Real>*>(result) = x;
}
/// The same for one register or several.
template <class Real, dtype... Result, std::size_t... R, class Made>
[[gnu::always_inline]] inline void put_results(ir::type_list<Result...>, std::index_sequence<R...>,
                                               void* const* results, const Made& made) {
  if constexpr (is_several<Made>) (put_result<Real, Result>(results[R], std::get<R>(made)), ...);
  else (put_result<Real, Result>(results[R], made), ...);
}
template <class Real, dtype T>
[[gnu::always_inline]] inline const auto& register_at(const void* argument) {
  return *static_cast<const kernel::register_of<T, Real>*>(argument);
}
template <class Op, class Real, dtype... Result, dtype... Argument, std::size_t... A>
[[gnu::always_inline]] inline void run_lanes(ir::type_list<Result...> types, ir::type_list<Argument...>,
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
  detail::run_lanes<Op, Real>(Results{}, ir::type_list<Argument...>{}, std::make_index_sequence<sizeof...(Argument)>{},
                              results, arguments);
}

}  // namespace cairn
