// Stochastic rounding: to one of the two neighbours, to each with the probability of how near it is.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/packed.hpp"
#include "cairn/kernel/random.hpp"

namespace cairn::kernel {

/// The words of as many elements as a register has floats, from number `first` on.
[[gnu::always_inline]] inline halves::words words_from(std::uint32_t first, const random_stream& stream) {
  constexpr int drawn = (halves::width + 3 + drawn_at_once - 1) / drawn_at_once * drawn_at_once;
  alignas(64) std::uint32_t words[drawn];
  for (int i = 0; i < drawn; i += drawn_at_once) draw(stream, (first + static_cast<std::uint32_t>(i)) / 4, words + i);
  halves::words out;
  std::memcpy(&out, words + first % 4, sizeof out);
  return out;
}

/// x rounded to a number of bf16: away from zero with the probability of the fraction of its last place, by the upper
/// half of each word. Beyond the largest number of bf16, it is that number. What is not finite stays as it is.
[[gnu::always_inline]] inline lanes<float> rounded_by(const halves::words& words, const lanes<float>& x) {
  constexpr std::uint32_t exponent = 0x7f800000U, upper_half = 0xffff0000U;
  const auto all = reinterpret_cast<halves::words>(x.value);
  const auto moved = (all + (words >> 16)) & upper_half;
  const auto finite = (moved & exponent) == exponent ? all & upper_half : moved;
  return {reinterpret_cast<lanes<float>::vector>((all & exponent) == exponent ? all : finite)};
}

/// Where the numbers of a register stand, one after the other, and the two words of a key, in lanes.
using whole_lanes = packed<std::int32_t, lanes<float>::width>;
/// Elements of a parameter, rounded by what belongs to them and to this key. They stand one after the other, so the
/// first of each is all that is read: positions are generated for whole rows.
[[gnu::always_inline]] inline lanes<float> stochastically_rounded(const lanes<float>& x, const whole_lanes& element,
                                                                  const whole_lanes& low, const whole_lanes& high) {
  const auto word = [](const whole_lanes& of) { return static_cast<std::uint32_t>(of.value[0]); };
  return rounded_by(words_from(word(element), {.from = {std::uint64_t{word(high)} << 32 | word(low)}}), x);
}

}  // namespace cairn::kernel
