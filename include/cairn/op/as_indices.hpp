// Real numbers that are read as indices, for example a table of positions that was loaded with the parameters.
#pragma once

#include "cairn/lang/convert.hpp"

namespace cairn::lang {

/// Reads real numbers as indices below Bound. The kernel throws if a number is not a whole number from 0 to Bound - 1.
template <int Bound>
struct as_indices_op : op {
  static constexpr fixed_string name = "as_indices";
  using rule = misuse::equal_shapes;
  static constexpr bool piecewise_constant = true;
  static constexpr tensor_type result(const shape& x) { return {x, index_below(Bound)}; }
  static constexpr bool keeps_rows(int, const shape& x) { return x.rank > 0; }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
};

/// Above 2^24, a float has not all whole numbers.
template <std::int64_t Bound>
struct bound_of_whole_floats {
  static constexpr std::array all{setting("bound", Bound, Bound >= 1 && Bound <= 1 << 24, "from 1 to 2^24")};
};
template <std::int64_t... Bounds>
struct as_indices_form : unfit_form<as_indices_op<sizeof...(Bounds)>::name> {};
template <std::int64_t Bound>
struct as_indices_form<Bound> : form_of_one<as_indices_op<static_cast<int>(Bound)>::name> {
  template <an_expression X>
  static constexpr auto body(X x) {
    using what = fact::operation<"as_indices", tensor_fact<X>>;
    using problem = decltype(problem_of_settings<bound_of_whole_floats<Bound>, typename X::owner, fact::in<>, what>());
    if constexpr (wrong<X> || std::same_as<problem, sound>) return make<as_indices_op<static_cast<int>(Bound)>>(x);
    else return problem{};
  }
};

/// Reads real numbers as indices below Bound: `gather<0>(table, as_indices<169>(frozen<"positions", 49, 49>))`. The
/// numbers can be loaded with the parameters. A step throws std::out_of_range if one of them is not a whole number from
/// 0 to Bound - 1. The result has no gradient. Rejects: indices; a Bound that is not from 1 to 2^24.
template <std::int64_t... Bound, an_operand X, class... Surplus>
constexpr applied<as_indices_form<Bound...>, X, Surplus...> as_indices(X, Surplus...) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::as_indices;
}  // namespace cairn
