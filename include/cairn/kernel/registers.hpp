// These types define how fused loops load, hold and store elements of any type in registers.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/packed.hpp"

namespace cairn::kernels {

/// Elements of type T in a program over Real, as many as a register of Real has. If T is bf16 or a user's own type of
/// real numbers, the elements are computed as Real and rounded after each operation. The conversions Real(T) and
/// T(Real) define this rounding.
template <dtype T, class Real>
struct held {
  using number = stored_as<T, Real>;
  static constexpr bool rounds = is_rounded(T) && !std::is_same_v<number, Real>;
  using type =
      std::conditional_t<rounds || std::is_same_v<number, Real>, lanes<Real>, packed<number, lanes<Real>::width>>;

  [[gnu::always_inline]] static type load(const number* from) {
    if constexpr (!rounds) return type::load(from);
    else return widened(from, type::width);
  }
  [[gnu::always_inline]] static type load(const number* from, int n) {
    if constexpr (!rounds) return type::load(from, n);
    else return widened(from, n);
  }
  /// True if `load_between` exists, which loads only the numbers [begin, end) of a register and zeros for the others.
  static constexpr bool in_parts = std::is_same_v<type, lanes<number>> || std::is_same_v<number, bf16>;
  [[gnu::always_inline]] static type load_between(const number* from, int begin, int end)
    requires(in_parts)
  {
    if constexpr (rounds) return halves::floats(halves::load_between(from, begin, end));
    else return type::load_between(from, begin, end);
  }
  [[gnu::always_inline]] static void store(const type& x, number* to) {
    if constexpr (!rounds) x.store(to);
    else narrow(x, to, type::width);
  }
  [[gnu::always_inline]] static void store(const type& x, number* to, int n) {
    if constexpr (!rounds) x.store(to, n);
    else narrow(x, to, n);
  }
  /// Returns x converted to the type of the elements in memory. Real numbers are rounded. If the
  /// elements are whole numbers, x is a whole number and keeps its value.
  [[gnu::always_inline]] static number nearest(double x) {
    if constexpr (rounds && !std::is_same_v<number, bf16>) return number(static_cast<Real>(x));
    else return static_cast<number>(x);
  }
  [[gnu::always_inline]] static type fill(double x) {
    const number in_memory = nearest(x);
    return repeat(&in_memory);
  }
  /// Loads one number and returns a register with this number in all lanes.
  [[gnu::always_inline]] static type repeat(const number* from) {
    if constexpr (rounds) return type::fill(static_cast<Real>(*from));
    else return type::fill(*from);
  }
  /// Rounds the result of an operation to the type of the elements in memory, even if the result is not stored. Thus
  /// the numbers do not depend on which results are stored.
  [[gnu::always_inline]] static type rounded(type x) {
    if constexpr (std::is_same_v<number, bf16>) {
      x = halves::floats(halves::of(x));
    } else if constexpr (rounds) {
      number part[type::width];
      narrow(x, part, type::width);
      x = widened(part, type::width);
    }
    return x;
  }

 private:
  [[gnu::always_inline]] static type widened(const number* from, int n) {
    if constexpr (std::is_same_v<number, bf16>) {
      return halves::floats(halves::load(from, n));
    } else {
      Real part[type::width] = {};
      for (int i = 0; i < n; ++i) part[i] = static_cast<Real>(from[i]);
      return type::load(part);
    }
  }
  [[gnu::always_inline]] static void narrow(const type& x, number* to, int n) {
    if constexpr (std::is_same_v<number, bf16>) {
      halves::store(halves::of(x), to, n);
    } else {
      Real part[type::width];
      x.store(part);
      for (int i = 0; i < n; ++i) to[i] = number(part[i]);
    }
  }
};
template <dtype T, class Real>
using register_of = typename held<T, Real>::type;

}  // namespace cairn::kernels
