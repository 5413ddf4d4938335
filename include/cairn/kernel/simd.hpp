// This file defines `lanes`, one register of numbers. It is the only file that uses xsimd. Only this file, words.hpp,
// halves.hpp and amx.hpp use instruction sets directly.
#pragma once

#include "cairn/base/compiler.hpp"

// g++ 12 mistakes the "undefined" operands inside its own AVX-512 headers for uninitialized variables (PR 105593).
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>
#pragma GCC diagnostic pop

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace cairn::kernels {

// These are the names of friend functions of `lanes`. Without these declarations, only argument-dependent lookup would
// find the friends. A class or an object of the same name outside of cairn, such as std::greater after
// `using namespace std`, would then hide the friends. Functions of these names in this namespace prevent that.
void barrier(), between(), bits(), equal(), first_digits(), folded(), fused(), greater(), largest(), masked(),
    product_error(), scaled(), select(), settled(), upper(), where_at_least();

template <class Lanes>
Lanes from_bits(typename Lanes::words x);

/// True if the processor can round a * b + c once.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
inline constexpr bool rounds_fused_once = true;
#else
inline constexpr bool rounds_fused_once = false;
#endif

/// One register, which holds `width` numbers. Operations work lane by lane; `sum`, `largest` and `folded` work across
/// lanes.
///
/// Compilers may contract `a * b + c` into an operation with one rounding, but compilers differ in where they do so.
/// Results must not depend on the compiler or its flags. Therefore products and results of functions pass a `barrier`:
/// the expression `a * b + c` always rounds twice. `fused(a, b, c)` rounds once on every processor that can do so.
template <class Real>
struct lanes {
  using batch = xsimd::batch<Real>;
  static constexpr int width = static_cast<int>(batch::size);
  using vector [[gnu::vector_size(sizeof(Real) * width)]] = Real;
  using mask = decltype(vector{} > vector{});
  using number = Real;
  using words [[gnu::vector_size(sizeof(Real) * width)]] =
      std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

  vector value;

  [[gnu::always_inline]] static lanes fill(Real x) { return {x - vector{}}; }
  [[gnu::always_inline]] static lanes load(const Real* from) {
    lanes out;
    std::memcpy(&out, from, sizeof out);
    return out;
  }
  /// Loads the first n numbers (0 <= n <= width) and sets the other lanes to zero. Reads nothing past from[n - 1].
  [[gnu::always_inline]] static lanes load(const Real* from, int n) {
#if XSIMD_WITH_AVX512F
    if constexpr (sizeof(Real) == 4) return {_mm512_maskz_loadu_ps(first<__mmask16>(n), from)};
    else return {_mm512_maskz_loadu_pd(first<__mmask8>(n), from)};
#elif XSIMD_WITH_AVX
    if constexpr (sizeof(Real) == 4) return {_mm256_maskload_ps(from, first(n))};
    else return {_mm256_maskload_pd(from, first(n))};
#else
    Real part[width] = {};
    for (int i = 0; i < width && i < n; ++i) part[i] = from[i];
    return load(part);
#endif
  }
  /// Loads the numbers [begin, end) into the lanes of these indices and sets the other lanes to zero. Both bounds are
  /// from 0 to width. Reads no other numbers.
  [[gnu::always_inline]] static lanes load_between(const Real* from, int begin, int end) {
#if XSIMD_WITH_AVX512F
    if constexpr (sizeof(Real) == 4) {
      return {_mm512_maskz_loadu_ps(first<__mmask16>(end) & ~first<__mmask16>(begin), from)};
    } else {
      return {_mm512_maskz_loadu_pd(first<__mmask8>(end) & ~first<__mmask8>(begin), from)};
    }
#elif XSIMD_WITH_AVX
    const __m256i which =
        _mm256_castps_si256(_mm256_andnot_ps(_mm256_castsi256_ps(first(begin)), _mm256_castsi256_ps(first(end))));
    if constexpr (sizeof(Real) == 4) return {_mm256_maskload_ps(from, which)};
    else return {_mm256_maskload_pd(from, which)};
#else
    Real part[width] = {};
    for (int i = begin; i < width && i < end; ++i) part[i] = from[i];
    return load(part);
#endif
  }
  /// Loads the first n numbers and sets the other lanes to `rest`.
  [[gnu::always_inline]] static lanes load(const Real* from, int n, Real rest) {
    return select(lanes_below(n), load(from, n), fill(rest));
  }
  /// Returns the first n lanes of a. The other lanes are zero, or those of `rest` if `rest` is given.
  [[gnu::always_inline]] friend lanes masked(lanes a, int n) { return masked(a, n, fill(0)); }
  [[gnu::always_inline]] friend lanes masked(lanes a, int n, lanes rest) { return select(lanes_below(n), a, rest); }
  [[gnu::always_inline]] void store(Real* to) const { std::memcpy(to, this, sizeof *this); }
  /// Stores the first n numbers (0 <= n <= width). Writes nothing past to[n - 1].
  [[gnu::always_inline]] void store(Real* to, int n) const {
#if XSIMD_WITH_AVX512F
    if constexpr (sizeof(Real) == 4) _mm512_mask_storeu_ps(to, first<__mmask16>(n), value);
    else _mm512_mask_storeu_pd(to, first<__mmask8>(n), value);
#elif XSIMD_WITH_AVX
    if constexpr (sizeof(Real) == 4) _mm256_maskstore_ps(to, first(n), value);
    else _mm256_maskstore_pd(to, first(n), value);
#else
    Real part[width];
    store(part);
    for (int i = 0; i < width && i < n; ++i) to[i] = part[i];
#endif
  }

  // The following functions work on registers of whole numbers, one for each lane.

  [[gnu::always_inline]] static mask fill_whole(int x) { return mask{} + x; }
  [[gnu::always_inline]] static mask select_whole(mask which, mask a, mask b) { return which ? a : b; }
  /// `load_whole` and `store_whole` load whole numbers from memory and store whole numbers to memory, where the numbers
  /// have another type. If n is below width, the functions access only the first n numbers. The functions contain
  /// loops over the lanes because g++ converts vectors of these types lane by lane.
  template <class Stored>
  [[gnu::always_inline]] static mask load_whole(const Stored* from, int n) {
    std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t> all[width] = {};
    if (n >= width)
      for (int k = 0; k < width; ++k) all[k] = from[k];
    else
      for (int k = 0; k < n; ++k) all[k] = from[k];
    mask x;
    std::memcpy(&x, all, sizeof x);
    return x;
  }
  template <class Stored>
  [[gnu::always_inline]] static void store_whole(mask x, Stored* to, int n) {
    Stored all[width];
    for (int k = 0; k < width; ++k) all[k] = static_cast<Stored>(x[k]);
    if (n >= width) std::memcpy(to, all, sizeof all);
    else std::memcpy(to, all, static_cast<std::size_t>(n) * sizeof(Stored));
  }

  /// Hides from the optimizer how x was computed. Thus the optimizer cannot merge an operation before the barrier with
  /// an operation after the barrier.
  [[gnu::always_inline]] friend void barrier(lanes& x) {
#if XSIMD_WITH_AVX512F
    asm("" : "+v"(x.value));
#else
    asm("" : "+x"(x.value));
#endif
  }

  [[gnu::always_inline]] friend lanes operator+(lanes a, lanes b) { return {a.value + b.value}; }
  [[gnu::always_inline]] friend lanes operator-(lanes a, lanes b) { return {a.value - b.value}; }
  [[gnu::always_inline]] friend lanes operator*(lanes a, lanes b) { return settled(a.value * b.value); }
  [[gnu::always_inline]] friend lanes operator/(lanes a, lanes b) { return {a.value / b.value}; }
  [[gnu::always_inline]] friend lanes operator-(lanes a) { return {-a.value}; }

  [[gnu::always_inline]] friend lanes sqrt(lanes a) { return {xsimd::sqrt(batch(a.value)).data}; }
  [[gnu::always_inline]] friend lanes abs(lanes a) { return {xsimd::abs(batch(a.value)).data}; }
  /// Returns a * b + c, rounded once if the processor can do so.
  [[gnu::always_inline]] friend lanes fused(lanes a, lanes b, lanes c) {
#if XSIMD_WITH_AVX512F  // because xsimd 8.1 multiplies and then adds, with two roundings
    if constexpr (sizeof(Real) == 4) return {_mm512_fmadd_ps(a.value, b.value, c.value)};
    else return {_mm512_fmadd_pd(a.value, b.value, c.value)};
#else
    return {xsimd::fma(batch(a.value), batch(b.value), batch(c.value)).data};
#endif
  }

  /// Returns a 2^power, rounded once. The number a must be between 0.04 and 2, and `power` must be a whole number from
  /// -1300 to 1100, or from -170 to 130 for floats.
  [[gnu::always_inline]] friend lanes scaled(lanes a, lanes power) {
#if XSIMD_WITH_AVX512F
    if constexpr (sizeof(Real) == 4) return {_mm512_scalef_ps(a.value, power.value)};
    else return {_mm512_scalef_pd(a.value, power.value)};
#else
    // 2^power may be outside the range of normal numbers, so the code multiplies by two powers of two whose exponents
    // add up to `power`; each of these is a normal number. After a small number is added to `whole`, the last bits of
    // the sum are that number, rounded to a whole number.
    constexpr int digits = sizeof(Real) == 4 ? 23 : 52;
    const lanes whole = fill(static_cast<Real>(std::int64_t{3} << (digits - 1)));
    const lanes shifted = power * fill(Real{0.5}) + whole, half = shifted - whole;
    const auto two_to = [](lanes x) { return from_bits<lanes>((bits(x) << digits) + bits(fill(1))); };
    return a * two_to(shifted) * two_to(power - half + whole);
#endif
  }
  [[gnu::always_inline]] friend words bits(lanes a) { return reinterpret_cast<words>(a.value); }

  [[gnu::always_inline]] friend mask greater(lanes a, lanes b) { return a.value > b.value; }
  [[gnu::always_inline]] friend mask equal(lanes a, lanes b) { return a.value == b.value; }
  [[gnu::always_inline]] friend lanes select(mask which, lanes a, lanes b) { return {which ? a.value : b.value}; }
  /// Returns a, limited to the range from -most to most. NaN stays NaN because of the order in which the operands are
  /// passed to the processor's min and max.
  [[gnu::always_inline]] friend lanes between(lanes a, lanes most) {
    return {xsimd::min(batch(most.value), xsimd::max(batch(-most.value), batch(a.value))).data};
  }
  /// Returns the rounding error of `product`, which is the rounded product a * b. The error is exact if the processor
  /// can round a * b + c once. Otherwise the error is off by at most a few units in its last place (Dekker, 1971).
  [[gnu::always_inline]] friend lanes product_error(lanes a, lanes b, lanes product) {
    if constexpr (rounds_fused_once) {
      return fused(a, b, -product);
    } else {
      const lanes a_high = first_digits(a), a_low = a - a_high, b_high = first_digits(b), b_low = b - b_high;
      return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    }
  }
  /// Returns a with only the first half of its binary digits. The product of two numbers of this kind is exact.
  [[gnu::always_inline]] friend lanes first_digits(lanes a) {
    constexpr int rest = sizeof(Real) == 4 ? 12 : 27;
    return from_bits<lanes>(bits(a) >> rest << rest);
  }

  /// Returns a in lanes where a is greater than b, and b in the other lanes. Thus the result is b where a or b is NaN.
  [[gnu::always_inline]] friend lanes max(lanes a, lanes b) { return select(greater(a, b), a, b); }

  /// Adds all lanes. One half of the register is added to the other half until one number is left, so the order of the
  /// additions is always the same.
  [[gnu::always_inline]] friend Real sum(lanes a) {
    return across(a, [](lanes x, lanes y) { return x + y; });
  }
  [[gnu::always_inline]] friend Real largest(lanes a) {
    return across(a, [](lanes x, lanes y) { return max(x, y); });
  }

  /// Combines all lanes in the order of `sum`, by any operation `combine` on two registers.
  template <class Combine>
  [[gnu::always_inline]] friend Real folded(lanes a, Combine combine) {
    return across(a, combine);
  }

  /// Returns a in lanes whose word is at least `least`, and 0 in the other lanes. `words` has one word for each lane.
  [[gnu::always_inline]] friend lanes where_at_least(lanes a, const std::uint32_t* words, std::uint32_t least) {
    using word_vector [[gnu::vector_size(4 * width)]] = std::uint32_t;
    using flag_vector [[gnu::vector_size(sizeof(Real) * width)]] =
        std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
    word_vector drawn;
    std::memcpy(&drawn, words, sizeof drawn);
    const auto kept = __builtin_convertvector(drawn >= least, flag_vector);  // all bits of a lane, or none
    return {reinterpret_cast<vector>(kept & reinterpret_cast<flag_vector>(a.value))};
  }

  /// Transposes a square matrix whose rows are one register each. The function exchanges parts of the matrix on the two
  /// sides of the diagonal: first parts of half the matrix's extent, then of a quarter, down to single numbers.
  [[gnu::always_inline]] static void transpose(lanes (&row)[width]) { exchange_blocks<width / 2>(row); }

 private:
  [[gnu::always_inline]] static mask lanes_below(int n) {
    static constexpr auto lane = [] {
      std::array<Real, width> index{};
      for (int i = 0; i < width; ++i) index[static_cast<std::size_t>(i)] = static_cast<Real>(i);
      return index;
    }();
    return greater(fill(static_cast<Real>(n)), load(lane.data()));
  }

  [[gnu::always_inline]] static lanes settled(vector x) {
    lanes result{x};
    barrier(result);
    return result;
  }

  /// Returns a register whose lane i is lane Index(i) of a if Index(i) < width. Otherwise lane i is lane
  /// Index(i) - width of b.
  template <auto Index>
  [[gnu::always_inline]] static lanes shuffled(lanes a, lanes b) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return lanes{__builtin_shufflevector(a.value, b.value, Index(static_cast<int>(I))...)};
    }(std::make_index_sequence<static_cast<std::size_t>(width)>{});
  }
  template <int Distance = width / 2, class Combine>
  [[gnu::always_inline]] static Real across(lanes a, Combine combine) {
    const lanes both = combine(a, shuffled<[](int i) { return i ^ Distance; }>(a, a));
    if constexpr (Distance > 1) return across<Distance / 2>(both, combine);
    else return both.value[0];
  }
  template <int Size>
  [[gnu::always_inline]] static void exchange_blocks(lanes (&row)[width]) {
    constexpr auto left = [](int i) { return (i & Size) != 0 ? width + i - Size : i; };
    constexpr auto right = [](int i) { return (i & Size) != 0 ? width + i : i + Size; };
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) {
      if ((i & Size) != 0) continue;
      const lanes above = row[i], below = row[i + Size];
      row[i] = shuffled<left>(above, below);
      row[i + Size] = shuffled<right>(above, below);
    }
    if constexpr (Size > 1) exchange_blocks<Size / 2>(row);
  }

#if XSIMD_WITH_AVX512F
  template <class Bits>
  [[gnu::always_inline]] static Bits first(int n) {
    return static_cast<Bits>((1U << n) - 1);
  }
#elif XSIMD_WITH_AVX
  [[gnu::always_inline]] static __m256i first(int n) {
    using flag = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
    static constexpr auto flags = [] {
      std::array<flag, 2 * width> ones_then_zeros{};
      for (int i = 0; i < width; ++i) ones_then_zeros[static_cast<std::size_t>(i)] = -1;
      return ones_then_zeros;
    }();
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags.data() + width - n));
  }
#endif
};

/// Returns the numbers whose binary representation is x.
template <class Lanes>
[[gnu::always_inline]] inline Lanes from_bits(typename Lanes::words x) {
  return {reinterpret_cast<typename Lanes::vector>(x)};
}

/// Loads one register from row[i] on, where the row has n numbers. Lanes past the end of the row are `rest`, or zero if
/// `rest` is not given.
template <class Real>
[[gnu::always_inline]] inline lanes<Real> load_row(const Real* row, std::int64_t i, std::int64_t n) {
  if (i + lanes<Real>::width <= n) return lanes<Real>::load(row + i);
  return lanes<Real>::load(row + i, static_cast<int>(n - i));
}
template <class Real>
[[gnu::always_inline]] inline lanes<Real> load_row(const Real* row, std::int64_t i, std::int64_t n, Real rest) {
  if (i + lanes<Real>::width <= n) return lanes<Real>::load(row + i);
  return lanes<Real>::load(row + i, static_cast<int>(n - i), rest);
}
/// Loads one register of doubles from floats in memory. The function uses intrinsics because the code that g++
/// generates for a conversion of a vector takes several times as long.
[[gnu::always_inline]] inline lanes<double> doubles_of(const float* from) {
#if XSIMD_WITH_AVX512F
  return {_mm512_cvtps_pd(_mm256_loadu_ps(from))};
#elif XSIMD_WITH_AVX
  return {_mm256_cvtps_pd(_mm_loadu_ps(from))};
#elif XSIMD_WITH_SSE2
  return {_mm_cvtps_pd(_mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(from))))};
#else
  lanes<double> out;
  for (int i = 0; i < lanes<double>::width; ++i) out.value[i] = from[i];
  return out;
#endif
}
/// Loads one register from row[i] on and converts the numbers from `Stored` to `Real`. The row has n numbers; lanes
/// past the end of the row are zero.
template <class Real, class Stored>
[[gnu::always_inline]] inline lanes<Real> load_row_as(const Stored* row, std::int64_t i, std::int64_t n) {
  if constexpr (std::is_same_v<Real, Stored>) {
    return load_row(row, i, n);
  } else {
    constexpr int width = lanes<Real>::width;
    if constexpr (std::is_same_v<Real, double> && std::is_same_v<Stored, float>)
      if (i + width <= n) return doubles_of(row + i);
    Real part[width] = {};
    for (int k = 0; k < width && i + k < n; ++k) part[k] = static_cast<Real>(row[i + k]);
    return lanes<Real>::load(part);
  }
}
template <class Real>
[[gnu::always_inline]] inline void store_row(lanes<Real> x, Real* row, std::int64_t i, std::int64_t n) {
  if (i + lanes<Real>::width <= n) x.store(row + i);
  else x.store(row + i, static_cast<int>(n - i));
}

/// Fetches the cache line at address `at` into the first-level cache. The overload for `const void*` is for lines that
/// will be read, and the overload for `void*` is for lines that will be written. The empty assembler statement keeps
/// g++ from removing calls of functions that do nothing but fetch.
[[gnu::always_inline]] inline void fetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}
[[gnu::always_inline]] inline void fetch(void* at) {
  __builtin_prefetch(at, 1);
  asm volatile("");
}

/// The following functions do for single numbers what the functions of the same names do for registers. Thus a formula
/// that is written once works for registers and for single numbers.
template <std::floating_point Real>
constexpr void barrier(Real&) {}
using std::abs, std::sqrt;
template <std::floating_point Real>
inline Real fused(Real a, Real b, Real c) {
  return std::fma(a, b, c);
}
template <std::floating_point Real>
constexpr bool greater(Real a, Real b) {
  return a > b;
}
template <std::floating_point Real>
constexpr bool equal(Real a, Real b) {
  return a == b;
}
template <std::floating_point Real>
constexpr Real select(bool which, Real a, Real b) {
  return which ? a : b;
}
template <std::floating_point Real>
constexpr Real between(Real a, Real most) {
  return a > most ? most : a < -most ? -most : a;
}
template <std::floating_point Real>
constexpr Real max(Real a, Real b) {
  return a > b ? a : b;
}

}  // namespace cairn::kernels
