// These functions apply update rules to registers.
#pragma once

#include "cairn/kernel/comparison.hpp"
#include "cairn/kernel/stochastic.hpp"
#include "cairn/op/update.hpp"

#include <array>
#include <concepts>
#include <limits>
#include <tuple>

namespace cairn::kernels {
template <class Real>
Real number_in(const lanes<Real>&);
template <std::floating_point Real>
Real number_in(const Real&);

/// A number slightly below the square root of the largest number. The margin is large enough that a mean of squares of
/// numbers up to this one is finite, however the last places of the mean are rounded.
template <class Real>
inline constexpr Real largest_root = [] {
  Real root = 1 - std::numeric_limits<Real>::epsilon();
  for (int i = 0; i < std::numeric_limits<Real>::max_exponent / 2; ++i) root *= 2;
  return root;
}();
}  // namespace cairn::kernels

namespace cairn::lang {

template <class V>
[[gnu::always_inline]] inline V lanewise(saturated_op, V x, V from) {
  using kernels::between;
  using real = decltype(kernels::number_in(x));
  return between(x, kernels::all<V>(std::numeric_limits<real>::max())) - (from - from);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(squarable_op, V x) {
  using kernels::between;
  using real = decltype(kernels::number_in(x));
  return between(x, kernels::all<V>(kernels::largest_root<real>)) - (x - x);
}

}  // namespace cairn::lang

namespace cairn::kernels {
/// Declares the name as a function, so that no class or object of a user hides the functions of operations.
void lanewise();

// `evaluated` evaluates an expression of an update rule; each number of the rule is a register. If the same expression
// occurs twice, compilers compute it once.
template <int I, class V>
[[gnu::always_inline]] inline V evaluated(lang::rule_number<I>, const V* numbers) {
  return numbers[I];
}
template <double Value, class V>
[[gnu::always_inline]] inline V evaluated(lang::constant_leaf<Value>, const V*) {
  return all<V>(Value);
}
template <class Opaque, class V>
[[gnu::always_inline]] inline auto evaluated(lang::renamed<Opaque>, const V* numbers) {
  return evaluated(lang::revealed<Opaque>{}, numbers);
}
template <class Op, class... A, class V>
[[gnu::always_inline]] inline auto evaluated(lang::expr<Op, A...>, const V* numbers) {
  return lanewise(Op{}, evaluated(A{}, numbers)...);
}
}  // namespace cairn::kernels

namespace cairn::lang {

template <class Rule, int Moments, clipping Clip, class V, class... More>
[[gnu::always_inline]] inline auto lanewise(update_op<Rule, Moments, Clip>, V parameter, V gradient, More... more) {
  const V numbers[]{parameter, gradient, more...};
  return [&numbers]<class... E>(std::tuple<E...>*) {
    return std::array<V, sizeof...(E)>{kernels::evaluated(E{}, numbers)...};
  }(static_cast<typename update_op<Rule, Moments, Clip>::values*>(nullptr));
}
template <class Rule, int Moments, clipping Clip, class V, class... More>
[[gnu::always_inline]] inline auto lanewise(update_op<Rule, Moments, Clip, true>, V parameter, V gradient,
                                            More... more) {
  return [&]<std::size_t... I>(std::index_sequence<I...>, const auto& all) {
    constexpr std::size_t drawn = sizeof...(I);
    auto next = lanewise(update_op<Rule, Moments, Clip>{}, parameter, gradient, std::get<I>(all)...);
    next[0] = kernels::stochastically_rounded(next[0], std::get<drawn>(all), std::get<drawn + 1>(all),
                                              std::get<drawn + 2>(all));
    return next;
  }(std::make_index_sequence<sizeof...(More) - stochastic_argument_count>{}, std::tie(more...));
}

}  // namespace cairn::lang

namespace cairn::kernels {
/// Applies an update rule to one register of parameters and one register of gradients. `more` are the numbers and the
/// moments of the rule.
template <class Rule, std::size_t Moments, class V, class... More>
[[gnu::always_inline]] inline auto updated_by(V parameter, V gradient, More... more) {
  return lanewise(lang::update_op<Rule, static_cast<int>(Moments), lang::clipping::off>{}, parameter, gradient,
                  more...);
}
}  // namespace cairn::kernels
