// Registers of numbers whose type is not the number type of the program: whole numbers, truth values, and doubles in a
// program over floats. They have as many numbers as a register of the program's type, so that the same fused loops
// process them. `packed` has the same functions as `lanes`.
#pragma once

#include "cairn/kernel/normal.hpp"

#include <limits>

namespace cairn::kernels {

template <class T, int W>
struct packed {
  using vector [[gnu::vector_size(sizeof(T) * W)]] = T;
  static constexpr int width = W;
  vector value;

  [[gnu::always_inline]] static packed fill(T x) { return {x - vector{}}; }
  [[gnu::always_inline]] static packed load(const T* from) {
    packed out;
    std::memcpy(&out, from, sizeof out);
    return out;
  }
  /// Loads the first n numbers and sets the others to zero. Reads nothing past from[n - 1].
  [[gnu::always_inline]] static packed load(const T* from, int n) {
    T part[W] = {};
    for (int i = 0; i < n; ++i) part[i] = from[i];
    return load(part);
  }
  [[gnu::always_inline]] void store(T* to) const { std::memcpy(to, this, sizeof *this); }
  [[gnu::always_inline]] void store(T* to, int n) const {
    for (int i = 0; i < n; ++i) to[i] = value[i];
  }

  /// Keeps compilers from merging operations on real numbers before the barrier with operations after the barrier.
  /// The barrier does nothing for whole numbers.
  [[gnu::always_inline]] friend void barrier(packed& x) {
    if constexpr (std::floating_point<T>) asm("" : "+m"(x.value));
  }
  [[gnu::always_inline]] friend packed settled(packed x) {
    barrier(x);
    return x;
  }
  [[gnu::always_inline]] friend packed operator+(packed a, packed b) { return {a.value + b.value}; }
  [[gnu::always_inline]] friend packed operator-(packed a, packed b) { return {a.value - b.value}; }
  [[gnu::always_inline]] friend packed operator*(packed a, packed b) { return settled(packed{a.value * b.value}); }
  /// An integer divisor of zero counts as 1, because the lanes behind the last number are zero.
  [[gnu::always_inline]] friend packed operator/(packed a, packed b) {
    if constexpr (std::integral<T>) return {a.value / (b.value - (b.value == vector{}))};
    else return {a.value / b.value};
  }
  [[gnu::always_inline]] friend packed operator-(packed a) { return {-a.value}; }

  /// Applies f to each number.
  template <class F>
  [[gnu::always_inline]] static packed each(packed a, F f) {
    for (int i = 0; i < W; ++i) a.value[i] = f(a.value[i]);
    return settled(a);
  }
  [[gnu::always_inline]] friend packed exp(packed a) {
    return each(a, [](T x) { return std::exp(x); });
  }
  [[gnu::always_inline]] friend packed log(packed a) {
    return each(a, [](T x) { return std::log(x); });
  }
  [[gnu::always_inline]] friend packed tanh(packed a) {
    return each(a, [](T x) { return std::tanh(x); });
  }
  [[gnu::always_inline]] friend packed sigmoid(packed a) {
    return each(a, [](T x) { return kernels::sigmoid(x); });
  }
  [[gnu::always_inline]] friend normal_distribution<packed> normal(packed a) {
    return {each(a, [](T x) { return kernels::normal(x).below; }),
            each(a, [](T x) { return kernels::normal(x).density; })};
  }
  [[gnu::always_inline]] friend packed erf(packed a) {
    return each(a, [](T x) { return std::erf(x); });
  }
  [[gnu::always_inline]] friend packed sin(packed a) {
    return each(a, [](T x) { return std::sin(x); });
  }
  [[gnu::always_inline]] friend packed cos(packed a) {
    return each(a, [](T x) { return std::cos(x); });
  }
  [[gnu::always_inline]] friend packed sqrt(packed a) {
    return each(a, [](T x) { return std::sqrt(x); });
  }
  [[gnu::always_inline]] friend packed abs(packed a) {
    return each(a, [](T x) { return std::abs(x); });
  }
  [[gnu::always_inline]] friend packed fused(packed a, packed b, packed c) {
    for (int i = 0; i < W; ++i) c.value[i] = kernels::fused(a.value[i], b.value[i], c.value[i]);
    return c;
  }

  using mask = decltype(vector{} > vector{});
  [[gnu::always_inline]] friend mask greater(packed a, packed b) { return a.value > b.value; }
  [[gnu::always_inline]] friend mask equal(packed a, packed b) { return a.value == b.value; }
  [[gnu::always_inline]] friend packed select(mask which, packed a, packed b) { return {which ? a.value : b.value}; }
  [[gnu::always_inline]] friend packed max(packed a, packed b) { return select(greater(a, b), a, b); }
};

template <double Exponent, class T, int W>
[[gnu::always_inline]] inline packed<T, W> pow(packed<T, W> a) {
  return packed<T, W>::each(a, [](T x) { return pow<Exponent>(x); });
}

/// Converts a real number to a whole number: the fraction is dropped. A number outside the range of the type To becomes
/// the nearest number of the range. NaN becomes 0.
template <std::integral To, std::floating_point From>
constexpr To cut_off(From x) {
  constexpr From least = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From beyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (!(x >= least)) return x < least ? std::numeric_limits<To>::min() : To{0};
  return x < beyond ? static_cast<To>(x) : std::numeric_limits<To>::max();
}

/// Converts a register to another type. Real numbers are rounded to the nearest real number of the new type. If the new
/// type is a type of whole numbers, real numbers are converted by `cut_off`.
template <class To, class From>
[[gnu::always_inline]] inline To converted(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else {
    using number = std::remove_cvref_t<decltype(To{}.value[0])>;
    number part[To::width];
    for (int i = 0; i < To::width; ++i) {
      const auto x = from.value[i];
      if constexpr (std::integral<number> && !std::integral<decltype(x)>) part[i] = cut_off<number>(x);
      else part[i] = static_cast<number>(x);
    }
    return To::load(part);
  }
}

}  // namespace cairn::kernels
