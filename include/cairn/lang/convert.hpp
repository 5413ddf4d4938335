// Converts elements from one type to another.
#pragma once

#include "cairn/lang/apply.hpp"

namespace cairn::lang {

/// The type of elements that the C++ type T stands for. A type of a user has a member `dtype` with this type.
template <class T>
inline constexpr dtype dtype_of = T::dtype;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;
template <>
inline constexpr dtype dtype_of<std::int32_t> = dtype::i32;
template <>
inline constexpr dtype dtype_of<std::uint8_t> = dtype::u8;
/// T is a C++ type of real numbers that elements may have.
template <class T>
concept a_real_element =
    std::same_as<T, float> || std::same_as<T, double> || requires { requires kind_of(T::dtype) == kind::real; };

/// Converts the numbers of the argument to the type `To`, and rounds them to it.
template <dtype To>
struct as_op : op {
  static constexpr fixed_string name = "as";
  using rule = misuse::equal_shapes;
  static constexpr bool elementwise = true, piecewise_constant = kind_of(To) != kind::real;
  static constexpr kind argument_kind(int) { return kind::any; }
  /// Whole numbers keep their bound if the new type has room for all numbers below the bound.
  static constexpr tensor_type result(const tensor_type& x) {
    const bool bounded = To == dtype::i32 || (To == dtype::u8 && x.element.bound <= 256);
    return {x, {To, bounded ? x.element.bound : 0}};
  }
  static constexpr std::int64_t flops(const shape& x) { return x.count(); }
  static constexpr auto vjp(auto g, auto, auto x) {
    constexpr dtype from = decltype(x)::element.type;
    if constexpr (kind_of(To) == kind::real && kind_of(from) == kind::real) return gradients(make<as_op<from>>(g));
    else return gradients(no_gradient{});
  }
};

/// Returns x as a gradient rule computes with it. If the type of x is a rounded one, x is converted to real numbers of
/// the type of the program.
template <class X>
constexpr auto in_reals(X x) {
  if constexpr (is_rounded(X::element.type)) return make<as_op<dtype::real>>(x);
  else return x;
}

/// Returns x, which has real numbers, in the type of Y. In gradient rules, constants and generated arrays thus
/// get the type of the values that they meet.
template <class Y, class X>
constexpr auto in_type_of(X x) {
  if constexpr (X::element.type == Y::element.type) return x;
  else return make<as_op<Y::element.type>>(x);
}

/// Converts the elements of x to the type T: float, double, bf16, std::int32_t, std::uint8_t or a type of your own.
/// Real numbers are rounded to the nearest number of T. If T is a type of whole numbers, real numbers are cut off, and
/// the result has no gradient. In a program over doubles nothing is rounded to bf16.
template <class T, an_operand X>
constexpr made<as_op<dtype_of<T>>, X> as(X) {
  return {};
}
/// Converts the elements of x to real numbers of the type of the program.
template <an_operand X>
constexpr made<as_op<dtype::real>, X> as_real(X) {
  return {};
}

}  // namespace cairn::lang

namespace cairn {
using lang::as, lang::as_real;
}  // namespace cairn
