// Stochastic rounding: to one of the two neighbours, to each with the probability of how near it is.
#pragma once

#include "cairn/core/philox.hpp"
#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/packed.hpp"

namespace cairn::kernel {

/// Philox of as many counters at a time as a register holds, lane by lane.
[[gnu::always_inline]] inline void philox(wide_words (&counter)[4], std::array<std::uint32_t, 2> key) {
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const wide_words a = counter[0] * wide_words::fill(0xD2511F53);
    const wide_words b = counter[2] * wide_words::fill(0xCD9E8D57);
    counter[0] = upper(b) ^ counter[1] ^ wide_words::fill(key[0]);
    counter[1] = b;
    counter[2] = upper(a) ^ counter[3] ^ wide_words::fill(key[1]);
    counter[3] = a;
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
}

/// Elements that are drawn at once: four for each counter.
inline constexpr int drawn_at_once = 4 * wide_words::width;
/// The words of elements 4 n to 4 n + drawn_at_once - 1 of a stream: `philox`, lane by lane.
[[gnu::always_inline]] inline void draw(const random_stream& stream, std::uint32_t n, std::uint32_t* words) {
  const auto operation = seed{stream.operation}.key();
  wide_words counter[4] = {wide_words::count_from(n), wide_words::fill(stream.step), wide_words::fill(operation[0]),
                           wide_words::fill(operation[1])};
  philox(counter, stream.from.key());
  wide_words::store(counter, words);
}

/// The words of as many elements as a register has floats, from number `first` on.
[[gnu::always_inline]] inline halves::words words_from(std::uint32_t first, const random_stream& stream) {
  static_assert(halves::width + 3 <= drawn_at_once);
  alignas(64) std::uint32_t words[drawn_at_once];
  draw(stream, first / 4, words);
  halves::words out;
  std::memcpy(&out, words + first % 4, sizeof out);
  return out;
}

/// x rounded to a number of bf16: away from zero with the probability of the fraction of its last place, by the upper
/// half of each word. What is not finite stays as it is.
[[gnu::always_inline]] inline lanes<float> rounded_by(const halves::words& words, const lanes<float>& x) {
  const auto all = reinterpret_cast<halves::words>(x.value);
  const auto moved = (all + (words >> 16)) & 0xffff0000U;
  return {reinterpret_cast<lanes<float>::vector>((all & 0x7f800000U) == 0x7f800000U ? all : moved)};
}

/// Where the numbers of a register stand, one after the other, and the two words of a key, in lanes.
using whole_lanes = packed<std::int32_t, lanes<float>::width>;
/// Elements of a parameter, rounded by what belongs to them and to this key.
[[gnu::always_inline]] inline lanes<float> stochastically_rounded(const lanes<float>& x, const whole_lanes& element,
                                                                  const whole_lanes& low, const whole_lanes& high) {
  const auto word = [](const whole_lanes& of) { return static_cast<std::uint32_t>(of.value[0]); };
  return rounded_by(words_from(word(element), {.from = {std::uint64_t{word(high)} << 32 | word(low)}}), x);
}

}  // namespace cairn::kernel
