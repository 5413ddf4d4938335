// Handles numbers of bf16 in registers, one by one and in pairs.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/cost/target.hpp"
#include "cairn/kernel/simd.hpp"

#include <algorithm>

namespace cairn::kernels {

/// Converts the floats of a register to bf16, and back. Each lane is converted as the type bf16 converts one number.
struct halves {
  static constexpr int width = lanes<float>::width;
  using words [[gnu::vector_size(4 * width)]] = std::uint32_t;
  using type [[gnu::vector_size(2 * width)]] = std::uint16_t;

  [[gnu::always_inline]] static type of(const lanes<float>& x) {
#if defined(__AVX512BF16__)
    return reinterpret_cast<type>(_mm512_cvtneps_pbh(x.value));
#else
    const auto all = reinterpret_cast<words>(x.value), size = all & 0x7fffffffU;
    const words rounded = all + 0x7fffU + (all >> 16 & 1U);
    const words normal = size < 0x800000U ? all & 0x80000000U : rounded;
    const words half = (size > 0x7f800000U ? all | 0x400000U : normal) >> 16;
#if XSIMD_WITH_AVX512F
    return reinterpret_cast<type>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(half)));
#elif XSIMD_WITH_AVX2
    const __m256i all_halves = reinterpret_cast<__m256i>(half);
    return reinterpret_cast<type>(
        _mm_packus_epi32(_mm256_castsi256_si128(all_halves), _mm256_extracti128_si256(all_halves, 1)));
#else
    return __builtin_convertvector(half, type);
#endif
#endif
  }
  [[gnu::always_inline]] static lanes<float> floats(type x) {
    return {reinterpret_cast<lanes<float>::vector>(wide(x) << 16)};
  }
  /// Returns each number in the lower half of a word.
  [[gnu::always_inline]] static words wide(type x) {
#if XSIMD_WITH_AVX512F  // g++ makes several instructions of a vector's conversion
    return reinterpret_cast<words>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(x)));
#elif XSIMD_WITH_AVX2
    return reinterpret_cast<words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(x)));
#else
    return __builtin_convertvector(x, words);
#endif
  }
  /// Exchanges the two numbers of each pair.
  [[gnu::always_inline]] static type exchanged(type x) {
    using pairs [[gnu::vector_size(2 * width)]] = std::uint32_t;
    const auto both = reinterpret_cast<pairs>(x);
    return reinterpret_cast<type>(both << 16 | both >> 16);
  }
  /// Loads the first n numbers, and zeros in the other lanes. If n is larger than the width, loads a whole register.
  /// `store` stores the numbers in the same way.
  [[gnu::always_inline]] static type load(const bf16* from, std::int64_t n) {
    if (n < width) return load_between(from, 0, static_cast<int>(n));
    type x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  /// Loads numbers [begin, end), and zeros in the other lanes. `begin` and `end` are from 0 to width. Reads no other
  /// numbers.
  [[gnu::always_inline]] static type load_between(const bf16* from, int begin, int end) {
#if XSIMD_WITH_AVX512BW
    const auto which = static_cast<__mmask16>((1U << end) - (1U << std::min(begin, end)));
    return reinterpret_cast<type>(_mm256_maskz_loadu_epi16(which, from));
#else
    std::uint16_t part[width] = {};
    for (int i = begin; i < end; ++i) part[i] = from[i].bits;
    type x;
    std::memcpy(&x, part, sizeof x);
    return x;
#endif
  }
  [[gnu::always_inline]] static void store(type x, bf16* to, std::int64_t n) {
    if (n >= width) {
      std::memcpy(static_cast<void*>(to), &x, sizeof x);
    } else {
#if XSIMD_WITH_AVX512BW
      _mm256_mask_storeu_epi16(to, static_cast<__mmask16>((1U << n) - 1), reinterpret_cast<__m256i>(x));
#else
      std::memcpy(static_cast<void*>(to), &x, static_cast<std::size_t>(n) * sizeof *to);
#endif
    }
  }
};

/// Loads the numbers of a row of n numbers from row[i] on, as floats. The lanes after the end of the row are zero, or
/// `rest` if it is given. store_row rounds floats to bf16 and stores them.
template <class Real>
[[gnu::always_inline]] inline lanes<Real> load_row_as(const bf16* row, std::int64_t i, std::int64_t n) {
  return halves::floats(halves::load(row + i, n - i));
}
template <class Real>
[[gnu::always_inline]] inline lanes<Real> load_row_as(const bf16* row, std::int64_t i, std::int64_t n, Real rest) {
  const lanes<Real> x = load_row_as<Real>(row, i, n);
  return i + halves::width <= n ? x : masked(x, static_cast<int>(n - i), lanes<Real>::fill(rest));
}
template <class Real>
[[gnu::always_inline]] inline lanes<Real> load_row_as(const std::type_identity_t<Real>* row, std::int64_t i,
                                                      std::int64_t n, Real rest) {
  return load_row(row, i, n, rest);
}
[[gnu::always_inline]] inline void store_row(const lanes<float>& x, bf16* row, std::int64_t i, std::int64_t n) {
  halves::store(halves::of(x), row + i, n - i);
}

/// A register of pairs of bf16, with as many pairs as a register has floats. One step of a product reads these pairs
/// from two rows, or from two columns.
struct half_pairs {
  static constexpr int width = lanes<float>::width;
  halves::words value;  ///< the first number of each pair is in the lower half of its word

  /// Loads pairs that are side by side. Loads only the first `numbers` numbers, and zeros after them.
  [[gnu::always_inline]] static half_pairs load(const bf16* from, int numbers = 2 * width) {
    half_pairs out;
    if (numbers >= 2 * width) {
      std::memcpy(&out.value, from, sizeof out.value);
    } else {
#if XSIMD_WITH_AVX512BW
      out.value = reinterpret_cast<halves::words>(_mm512_maskz_loadu_epi16((1U << numbers) - 1, from));
#else
      std::uint16_t part[2 * width] = {};
      for (int i = 0; i < numbers; ++i) part[i] = from[i].bits;
      std::memcpy(&out.value, part, sizeof out.value);
#endif
    }
    return out;
  }
  /// Returns one pair in all lanes.
  [[gnu::always_inline]] static half_pairs fill(const bf16* pair) {
    std::uint32_t both;
    std::memcpy(&both, pair, sizeof both);
    return {both - halves::words{}};
  }
  /// Combines `count` numbers of two rows to pairs. If there is no second row, the second number of each pair is zero.
  [[gnu::always_inline]] static half_pairs of_rows(const bf16* first, const bf16* second, int count) {
    const auto row = [count](const bf16* from) { return halves::wide(halves::load(from, count)); };
    return {second == nullptr ? row(first) : row(first) | row(second) << 16};
  }
  [[gnu::always_inline]] lanes<float> first() const { return as_floats(value << 16); }
  [[gnu::always_inline]] lanes<float> second() const { return as_floats(value & 0xffff0000U); }
  /// Transposes a square of pairs.
  [[gnu::always_inline]] static void transpose(half_pairs (&row)[width]) {
    lanes<float> square[width];
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) square[i] = as_floats(row[i].value);
    lanes<float>::transpose(square);
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) row[i].value = reinterpret_cast<halves::words>(square[i].value);
  }

  [[gnu::always_inline]] void store(bf16* to) const { std::memcpy(static_cast<void*>(to), &value, sizeof value); }

  /// Stores the first `count` pairs as products read them. If the processor has an instruction that multiplies pairs,
  /// the pairs are stored as they are (below). Otherwise they are stored as floats in two steps, which are `row` apart.
  /// The first step has the second numbers of the pairs, because the instruction adds the products of second numbers
  /// first.
  [[gnu::always_inline]] void store_step(float* to, std::int64_t row, int count) const {
    if (count >= width) {
      second().store(to);
      first().store(to + row);
    } else {
      second().store(to, count);
      first().store(to + row, count);
    }
  }
  /// Stores one number of each pair of such a step. The first numbers must be stored before the second numbers. With
  /// the first numbers, zeros are stored in place of the second numbers.
  [[gnu::always_inline]] static void store_numbers(const lanes<float>& x, bool second, float* to, std::int64_t row) {
    x.store(second ? to : to + row);
    if (!second) lanes<float>::fill(0).store(to);
  }
  [[gnu::always_inline]] friend void barrier(half_pairs& x) {
    lanes<float> bits = as_floats(x.value);
    barrier(bits);
    x.value = reinterpret_cast<halves::words>(bits.value);
  }
#if defined(__AVX512BF16__)
  [[gnu::always_inline]] void store_step(bf16* to, std::int64_t /* row */, int count) const {
    if (count >= width) store(to);
    else _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1U << count) - 1), reinterpret_cast<__m512i>(value));
  }
  [[gnu::always_inline]] static void store_numbers(const lanes<float>& x, bool second, bf16* to, std::int64_t row) {
    const auto bits = reinterpret_cast<halves::words>(x.value);
    half_pairs{second ? bits | load(to).value : bits >> 16}.store_step(to, row, width);
  }
  /// Returns sum + a.second * b.second, rounded, plus a.first * b.first, rounded. Denormal numbers count as zeros.
  [[gnu::always_inline]] friend lanes<float> fused(half_pairs a, half_pairs b, lanes<float> sum) {
    return {_mm512_dpbf16_ps(sum.value, reinterpret_cast<__m512bh>(a.value), reinterpret_cast<__m512bh>(b.value))};
  }
#endif

 private:
  [[gnu::always_inline]] static lanes<float> as_floats(halves::words x) {
    return {reinterpret_cast<lanes<float>::vector>(x)};
  }
};

/// While an object of this class exists, denormal numbers of its thread count as zeros, as the instructions for bf16
/// treat them. This works on x86 and AArch64. (AArch64 looks at a result before it rounds the result to the least
/// normal number.)
class denormals_as_zeros {
#if XSIMD_WITH_SSE2
  using word = unsigned;
  static constexpr word flags = 0x8040;
  static word get() { return _mm_getcsr(); }
  static void write(word to) { _mm_setcsr(to); }
#elif defined(__aarch64__)
  using word = std::uint64_t;
  static constexpr word flags = 1U << 24;
  static word get() {
    word now = 0;
    asm volatile("mrs %0, fpcr" : "=r"(now));
    return now;
  }
  static void write(word to) { asm volatile("msr fpcr, %0" : : "r"(to)); }
#else
  using word = unsigned;
  static constexpr word flags = 0;
  static word get() { return 0; }
  static void write(word) {}
#endif
  const word before_ = get();

  /// Sets these flags alone, because flags that the thread has raised in the meantime must stay. The compiler moves no
  /// access to memory across this function.
  static void set(word to) {
    asm volatile("" ::: "memory");
    write((get() & ~flags) | (to & flags));
    asm volatile("" ::: "memory");
  }

 public:
  denormals_as_zeros() { set(flags); }
  ~denormals_as_zeros() { set(before_); }
  denormals_as_zeros(const denormals_as_zeros&) = delete;

  /// While an object of this class exists, denormal numbers count as they did before `around` existed. If `around` is
  /// null, nothing changes. All code except the code of products runs in this way.
  class suspended {
    const denormals_as_zeros* around_;

   public:
    explicit suspended(const denormals_as_zeros* around) : around_(around) {
      if (around_ != nullptr) set(around_->before_);
    }
    ~suspended() {
      if (around_ != nullptr) set(flags);
    }
    suspended(const suspended&) = delete;
  };
};
/// Returns the address of a thread's setting if it is a denormals_as_zeros, and null otherwise.
constexpr const denormals_as_zeros* denormals_setting(const denormals_as_zeros& set) { return &set; }
constexpr const denormals_as_zeros* denormals_setting(const auto& /* other */) { return nullptr; }

/// Describes how the tiles of products read numbers of type In, if their products are summed as Sum. A step has one
/// number, of the type of the sums. If the processor multiplies pairs of bf16, a step has a pair.
template <class In, class Sum>
struct factor {
  using number = Sum;  ///< the type of packed numbers
  using vector = lanes<Sum>;
  static constexpr int in_step = 1;

  [[gnu::always_inline]] static vector load(const Sum* from) { return vector::load(from); }
  [[gnu::always_inline]] static vector fill(const In* x) { return vector::fill(static_cast<Sum>(*x)); }
};
#if defined(__AVX512BF16__)
template <>
struct factor<bf16, float> {
  using number = bf16;
  using vector = half_pairs;
  static constexpr int in_step = 2;

  [[gnu::always_inline]] static vector load(const bf16* from) { return vector::load(from); }
  [[gnu::always_inline]] static vector fill(const bf16* x) { return vector::fill(x); }
};
#endif
template <class Numbers>
inline constexpr bool makes_halves = std::is_same_v<Numbers, detail::floats_rounded>;
/// The type in which numbers are computed, and in which their products are summed.
template <class Numbers>
using sum_of = std::conditional_t<std::is_same_v<Numbers, bf16> || makes_halves<Numbers>, float, Numbers>;
/// Types of a kernel of signature<Numbers, ...>. made_of is the type of results that the kernel makes in bf16 if that
/// is asked for. taken_of is the type of the kernel's argument `Tensor`.
template <class Numbers>
using made_of = std::conditional_t<makes_halves<Numbers>, bf16, sum_of<Numbers>>;
template <class Numbers, class Tensor>
using taken_of = stored_as<Tensor::element.type, sum_of<Numbers>>;

}  // namespace cairn::kernels
