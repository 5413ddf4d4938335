// A register of 32-bit words, for random numbers.
#pragma once

#include "cairn/kernel/simd.hpp"

namespace cairn::kernels {

/// One register of 32-bit words in lanes of 64 bits, so that a lane has room for the product of two words. The product
/// and `store` ignore the upper halves of the lanes. The type uses intrinsics because compilers would multiply whole
/// lanes, which takes several times as long.
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
  /// Returns the words first, first + 1, ..., one for each lane.
  [[gnu::always_inline]] static wide_words count_from(std::uint32_t first) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return wide_words{vector{(I + first)...}};
    }(std::make_index_sequence<static_cast<std::size_t>(width)>{});
  }
  [[gnu::always_inline]] friend wide_words operator^(wide_words a, wide_words b) { return {a.value ^ b.value}; }
  /// Returns the full products, of 64 bits each, of the words in the lower halves of the lanes.
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
  /// Stores the four words of each lane next to each other, lane by lane.
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

}  // namespace cairn::kernels
