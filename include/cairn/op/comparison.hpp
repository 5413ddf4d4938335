// Comparisons, which compute truth values, and operations that choose by truth values.
#pragma once

#include "cairn/lang/convert.hpp"
#include "cairn/op/elementwise.hpp"

namespace cairn::lang {

enum class comparison : std::uint8_t { less, less_equal, equal, not_equal };

template <comparison Which>
inline constexpr auto name_of = fixed_string{"less"};
template <>
inline constexpr auto name_of<comparison::less_equal> = fixed_string{"less_equal"};
template <>
inline constexpr auto name_of<comparison::equal> = fixed_string{"equal"};
template <>
inline constexpr auto name_of<comparison::not_equal> = fixed_string{"not_equal"};

/// Compares real numbers or whole numbers. The results are truth values: std::uint8_t below 2. If an argument is NaN,
/// not_equal is true and all other comparisons are false.
template <comparison Which>
struct compare_op : elementwise_op {
  static constexpr fixed_string name = name_of<Which>;
  static constexpr bool piecewise_constant = true;
  static constexpr kind argument_kind(int) { return kind::any; }
  static constexpr tensor_type result(const shape& a, const shape& b) {
    return {elementwise_op::result(a, b), {dtype::u8, 2}};
  }
  static constexpr auto vjp(auto, auto, auto, auto) { return gradients(no_gradient{}, no_gradient{}); }
};

/// Returns the first value where a condition holds, else the second value. The condition is a truth value or an index
/// below 2.
struct where_op : elementwise_op {
  static constexpr fixed_string name = "where";
  static constexpr kind argument_kind(int i) { return i == 0 ? kind::whole : kind::any; }
  static constexpr int extent_indexed(int i, const auto&...) { return i == 0 ? 2 : 0; }
  static constexpr tensor_type result(const shape& condition, const tensor_type& x, const tensor_type& y) {
    return {elementwise_op::result(condition, x, y), detail::joined_elements(x.element, y.element)};
  }
  static constexpr auto vjp(auto g, auto, auto condition, auto, auto) {
    constexpr auto zero = constant<0>;
    return gradients(no_gradient{}, make<where_op>(condition, g, zero), make<where_op>(condition, zero, g));
  }
};

template <class E>
inline constexpr bool is_whole = kind_of(E::element.type) == kind::whole;

/// The form of a comparison. A whole number and a constant are compared in double, because double represents all whole
/// numbers of these types exactly.
template <comparison Which>
struct comparing_form {
  using op = compare_op<Which>;
  static constexpr fixed_string name = op::name;
  template <class...>
  static constexpr bool fits = true;
  template <an_expression A, an_expression B>
  static constexpr auto body(A a, B b) {
    if constexpr (is_constant<A> && is_whole<B>) return make<op>(a, lang::as<double>(b));
    else if constexpr (is_constant<B> && is_whole<A>) return make<op>(lang::as<double>(a), b);
    else return make<op>(a, b);
  }
};
template <comparison Which, class A, class B>
using compared = applied<comparing_form<Which>, A, B>;

// The comparison operators work elementwise, with broadcasting. They compare real numbers of one type, or whole numbers
// of one type. A constant can be compared with either. Comparisons have no gradient.
template <class A, class B>
  requires some_operands<A, B>
constexpr compared<comparison::less, A, B> operator<(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr compared<comparison::less, B, A> operator>(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr compared<comparison::less_equal, A, B> operator<=(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr compared<comparison::less_equal, B, A> operator>=(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr compared<comparison::equal, A, B> operator==(A, B) {
  return {};
}
template <class A, class B>
  requires some_operands<A, B>
constexpr compared<comparison::not_equal, A, B> operator!=(A, B) {
  return {};
}

/// Returns x where a condition holds, else y, as torch.where does: `where(x < y, x, 0_c)`. The condition can also be an
/// input: `indices<"mask", 2, 8, 6>`. x and y are both real numbers of one type, or both whole numbers of one type. The
/// gradient of each element goes to the argument from which the element was taken.
/// Rejects: a condition that is not a truth value. Truth values are indices below 2.
template <class C, class A, class B>
  requires some_operands<C, A, B>
constexpr made<where_op, C, A, B> where(C, A, B) {
  return {};
}

/// Returns `value` where a mask holds, else x, as x.masked_fill does: `masked_fill(scores, mask, -1e9_c)`. The elements
/// that are filled get no gradient. The mask is what `where` takes as a condition.
template <class X, class M, class V>
  requires some_operands<X, M, V>
constexpr made<where_op, M, V, X> masked_fill(X, M, V) {
  return {};
}

/// The form of clamp. Where x reaches a constant bound, x gets no gradient. Where x equals a computed bound, the bound
/// gets half of the gradient.
struct clamp_form : form_of<"clamp", 3, misuse::two_arguments> {
  static constexpr auto body(an_expression auto x, an_expression auto least, an_expression auto most) {
    return at_most(at_least(x, least), most);
  }

 private:
  template <class Bound>
  static constexpr auto at_least(auto x, Bound bound) {
    if constexpr (is_constant<Bound>) return lang::where(x <= bound, bound, x);
    else return lang::maximum(x, bound);
  }
  template <class Bound>
  static constexpr auto at_most(auto x, Bound bound) {
    if constexpr (is_constant<Bound>) return lang::where(bound <= x, bound, x);
    else return lang::minimum(x, bound);
  }
};
template <double Slope>
struct leaky_relu_form : form_of_one<"leaky_relu"> {
  static constexpr std::array all{setting("slope", Slope, setting::is_finite(Slope), "a finite number")};

  template <an_expression X>
  static constexpr auto body(X x) {
    using what = fact::operation<"leaky_relu">;
    using problem = decltype(problem_of_settings<leaky_relu_form, typename X::owner, fact::in<>, what>());
    if constexpr (wrong<X> || std::same_as<problem, sound>) return lang::where(0_c < x, x, x * constant<Slope>);
    else return problem{};
  }
};

/// Limits x to the range from `least` to `most`, as torch.clamp does: `clamp(x, 0_c, 6_c)`. If `least` is larger than
/// `most`, the result is `most`. Where x equals a constant bound, x gets no gradient, as in PyTorch 2.15.
template <class X, class A, class B>
  requires some_operands<X, A, B>
constexpr applied<clamp_form, X, A, B> clamp(X, A, B) {
  return {};
}

/// Returns x where x is positive, else Slope x, as F.leaky_relu does: `leaky_relu<0.2>(x)`. Rejects: a Slope that is
/// not finite.
template <auto Slope = 0.01, an_operand X>
constexpr applied<leaky_relu_form<static_cast<double>(Slope)>, X> leaky_relu(X) {
  return {};
}
function_name leaky_relu(function_name);

}  // namespace cairn::lang

namespace cairn {
using lang::clamp, lang::leaky_relu, lang::masked_fill, lang::where;
}  // namespace cairn
