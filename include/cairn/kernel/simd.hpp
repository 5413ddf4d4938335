// One register of numbers: the only file that knows xsimd, and with halves.hpp and amx.hpp instruction sets.
#pragma once

#include "cairn/base/compiler.hpp"

// g++ 12 takes the "undefined" operands inside its own AVX-512 headers for uninitialized variables (PR
// 105593).
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

namespace cairn::kernel {

// Names of the friends of registers, which alone only argument-dependent lookup finds. A class or an object of the same
// name outside of cairn, as std::greater after `using namespace std`, would hide them: unless this namespace has
// functions of these names.
void barrier(), between(), bits(), equal(), first_digits(), folded(), fused(), greater(), largest(), masked(),
    product_error(), scaled(), select(), settled(), upper(), where_at_least();

template <class Lanes>
Lanes from_bits(typename Lanes::words x);

/// As many numbers as one register holds. Operations work lane by lane; `sum` and `largest` work across
/// lanes.
///
/// Compilers may contract `a * b + c` into one rounding, but not all do, nor everywhere alike. So products
/// and results of functions pass a `barrier`: what is written `a * b + c` rounds twice, and `fused(a, b, c)`
/// rounds once wherever the processor can, whatever the compiler and its flags.
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
  /// The first n numbers (0 <= n <= width) and zeros; reads nothing past from[n - 1].
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
  /// Numbers [begin, end) (both from 0 to width) and zeros; reads nothing else.
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
  /// The first n numbers, and `rest` in the other lanes.
  [[gnu::always_inline]] static lanes load(const Real* from, int n, Real rest) {
    return select(lanes_below(n), load(from, n), fill(rest));
  }
  /// The first n numbers of a, and zeros or the others of `rest`.
  [[gnu::always_inline]] friend lanes masked(lanes a, int n) { return masked(a, n, fill(0)); }
  [[gnu::always_inline]] friend lanes masked(lanes a, int n, lanes rest) { return select(lanes_below(n), a, rest); }
  [[gnu::always_inline]] void store(Real* to) const { std::memcpy(to, this, sizeof *this); }
  /// The first n numbers (0 <= n <= width); writes nothing past to[n - 1].
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

  // Whole numbers, one for each lane.

  [[gnu::always_inline]] static mask fill_whole(int x) { return mask{} + x; }
  [[gnu::always_inline]] static mask select_whole(mask which, mask a, mask b) { return which ? a : b; }
  /// From and to memory, where they are of another type; the first n where n is below width. Loops, for g++ converts
  /// vectors of these lane by lane.
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

  /// Hides from the optimizer where x comes from, so that nothing before is merged with anything after.
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
  /// a * b + c, rounded once where the processor can.
  [[gnu::always_inline]] friend lanes fused(lanes a, lanes b, lanes c) {
#if XSIMD_WITH_AVX512F  // where xsimd 8.1 multiplies, then adds
    if constexpr (sizeof(Real) == 4) return {_mm512_fmadd_ps(a.value, b.value, c.value)};
    else return {_mm512_fmadd_pd(a.value, b.value, c.value)};
#else
    return {xsimd::fma(batch(a.value), batch(b.value), batch(c.value)).data};
#endif
  }

  /// a 2^power, rounded once, for a between 0.04 and 2 and whole powers from -1300 to 1100; of floats from -170 to 130.
  [[gnu::always_inline]] friend lanes scaled(lanes a, lanes power) {
#if XSIMD_WITH_AVX512F
    if constexpr (sizeof(Real) == 4) return {_mm512_scalef_ps(a.value, power.value)};
    else return {_mm512_scalef_pd(a.value, power.value)};
#else
    // The power itself may be beyond those of normal numbers, but none of its halves is. The last bits of what is added
    // to `whole` are a whole number.
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
  /// a between -most and most; NaN stays NaN, in the processor's order of operands.
  [[gnu::always_inline]] friend lanes between(lanes a, lanes most) {
    return {xsimd::min(batch(most.value), xsimd::max(batch(-most.value), batch(a.value))).data};
  }
  /// The error of a product a * b, which is `product`: exact if the processor rounds a * b + c once, or else but for a
  /// few units in the last place (Dekker, 1971).
  [[gnu::always_inline]] friend lanes product_error(lanes a, lanes b, lanes product) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return fused(a, b, -product);
#else
    const lanes a_high = first_digits(a), a_low = a - a_high, b_high = first_digits(b), b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
#endif
  }
  /// The first half of the digits of a: products of two of these are exact.
  [[gnu::always_inline]] friend lanes first_digits(lanes a) {
    constexpr int rest = sizeof(Real) == 4 ? 12 : 27;
    return from_bits<lanes>(bits(a) >> rest << rest);
  }

  /// a where it is greater, else b; so b where either is NaN.
  [[gnu::always_inline]] friend lanes max(lanes a, lanes b) { return select(greater(a, b), a, b); }

  /// Halves are added until one number is left: always in the same order.
  [[gnu::always_inline]] friend Real sum(lanes a) {
    return across(a, [](lanes x, lanes y) { return x + y; });
  }
  [[gnu::always_inline]] friend Real largest(lanes a) {
    return across(a, [](lanes x, lanes y) { return max(x, y); });
  }

  /// The same for any operation on two registers.
  template <class Combine>
  [[gnu::always_inline]] friend Real folded(lanes a, Combine combine) {
    return across(a, combine);
  }

  /// a where its word is at least `least`, else 0; of as many words as there are lanes.
  [[gnu::always_inline]] friend lanes where_at_least(lanes a, const std::uint32_t* words, std::uint32_t least) {
    using word_vector [[gnu::vector_size(4 * width)]] = std::uint32_t;
    using flag_vector [[gnu::vector_size(sizeof(Real) * width)]] =
        std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
    word_vector drawn;
    std::memcpy(&drawn, words, sizeof drawn);
    const auto kept = __builtin_convertvector(drawn >= least, flag_vector);  // all bits of a lane, or none
    return {reinterpret_cast<vector>(kept & reinterpret_cast<flag_vector>(a.value))};
  }

  /// Turns a square of numbers, one register a row, about its diagonal: blocks off the diagonal are
  /// exchanged, first halves, then quarters, down to single numbers.
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

  /// Lane i of the result is lane Index(i) of a, or lane Index(i) - width of b.
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

/// The numbers that have these bits.
template <class Lanes>
[[gnu::always_inline]] inline Lanes from_bits(typename Lanes::words x) {
  return {reinterpret_cast<typename Lanes::vector>(x)};
}

/// As many of the numbers from row[i] on as fit into a register, of a row of n; `rest` past its end.
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
/// A register of doubles, of floats in memory. What g++ makes of a vector's conversion takes several times as long.
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
/// As Reals, numbers that may be of another type.
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

/// A register of 32-bit words in lanes of 64 bits, so that there is room for a product; nothing reads the upper halves.
/// Compilers would multiply whole lanes, which takes several times as long.
struct wide_words {
#if XSIMD_WITH_AVX512F
  static constexpr int width = 8;
#elif XSIMD_WITH_AVX2
  static constexpr int width = 4;
#else
  static constexpr int width = 2;
#endif
  using vector [[gnu::vector_size(8 * width)]] = std::uint64_t;

  vector value;

  [[gnu::always_inline]] static wide_words fill(std::uint32_t word) { return {vector{} + word}; }
  /// first, first + 1, ...
  [[gnu::always_inline]] static wide_words count_from(std::uint32_t first) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return wide_words{vector{(I + first)...}};
    }(std::make_index_sequence<static_cast<std::size_t>(width)>{});
  }
  [[gnu::always_inline]] friend wide_words operator^(wide_words a, wide_words b) { return {a.value ^ b.value}; }
  /// Both halves of the products of words.
  [[gnu::always_inline]] friend wide_words operator*(wide_words a, wide_words b) {
#if XSIMD_WITH_AVX512F
    return {reinterpret_cast<vector>(
        _mm512_mul_epu32(reinterpret_cast<__m512i>(a.value), reinterpret_cast<__m512i>(b.value)))};
#elif XSIMD_WITH_AVX2
    return {reinterpret_cast<vector>(
        _mm256_mul_epu32(reinterpret_cast<__m256i>(a.value), reinterpret_cast<__m256i>(b.value)))};
#elif XSIMD_WITH_SSE2
    return {reinterpret_cast<vector>(
        _mm_mul_epu32(reinterpret_cast<__m128i>(a.value), reinterpret_cast<__m128i>(b.value)))};
#else
    constexpr std::uint64_t lower = 0xffffffff;
    return {(a.value & lower) * (b.value & lower)};
#endif
  }
  [[gnu::always_inline]] friend wide_words upper(wide_words a) { return {a.value >> 32}; }
  /// Four words a lane, lane by lane.
  [[gnu::always_inline]] static void store(const wide_words (&word)[4], std::uint32_t* to) {
    const auto pair = [](wide_words low, wide_words high) { return (low.value & 0xffffffffU) | high.value << 32; };
    const vector left = pair(word[0], word[1]), right = pair(word[2], word[3]);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      constexpr auto of = [](std::size_t i) { return static_cast<int>(i / 2 + i % 2 * width); };
      const vector all[]{__builtin_shufflevector(left, right, of(I)...),
                         __builtin_shufflevector(left, right, of(I + width)...)};
      std::memcpy(to, all, sizeof all);
    }(std::make_index_sequence<static_cast<std::size_t>(width)>{});
  }
};

/// Brings the line of a number that will be read or written into the first-level cache. The empty assembler keeps g++
/// from dropping functions that do nothing else.
[[gnu::always_inline]] inline void fetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}
[[gnu::always_inline]] inline void fetch(void* at) {
  __builtin_prefetch(at, 1);
  asm volatile("");
}

/// The same vocabulary for single numbers, so that a formula written once runs on both.
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

}  // namespace cairn::kernel
