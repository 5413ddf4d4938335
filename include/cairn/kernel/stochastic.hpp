// Stochastic rounding rounds a number to one of its two neighbours. The nearer a neighbour is, the more probable it is.
#pragma once

#include "cairn/kernel/halves.hpp"
#include "cairn/kernel/packed.hpp"
#include "cairn/kernel/random.hpp"

namespace cairn::kernels {

/// Returns the random words of one register of elements, from element `first` of the stream on. There is one word for
/// each float of the register.
[[gnu::always_inline]] inline halves::words words_from(std::uint32_t first, const random_stream& stream) {
  constexpr int drawn = (halves::width + 3 + drawn_at_once - 1) / drawn_at_once * drawn_at_once;
  alignas(64) std::uint32_t words[drawn];
  for (int i = 0; i < drawn; i += drawn_at_once) draw(stream, (first + static_cast<std::uint32_t>(i)) / 4, words + i);
  halves::words out;
  std::memcpy(&out, words + first % 4, sizeof out);
  return out;
}

/// Rounds x to bf16 numbers, held as floats. The upper half of each word decides whether x is rounded away from zero.
/// The probability of this is the fraction of the last bf16 place by which x exceeds its neighbour nearer to zero.
/// There are two exceptions:
/// - A number that would be rounded beyond the largest number of bf16 becomes the largest number of bf16, with its
///   sign.
/// - Numbers that are infinite or NaN stay as they are.
[[gnu::always_inline]] inline lanes<float> rounded_by(const halves::words& words, const lanes<float>& x) {
  constexpr std::uint32_t exponent = 0x7f800000U, upper_half = 0xffff0000U;
  const auto all = reinterpret_cast<halves::words>(x.value);
  const auto moved = (all + (words >> 16)) & upper_half;
  const auto finite = (moved & exponent) == exponent ? all & upper_half : moved;
  return {reinterpret_cast<lanes<float>::vector>((all & exponent) == exponent ? all : finite)};
}

/// A register of whole numbers, one for each float: the consecutive indices of elements, or a word of a key.
using whole_lanes = packed<std::int32_t, lanes<float>::width>;
/// Rounds elements of a parameter stochastically. The random words depend on the indices of the elements and on the
/// key, whose two words are `low` and `high`. The function reads only the first lane of each register of whole numbers.
/// This is enough because the indices are consecutive: positions are generated for whole rows.
[[gnu::always_inline]] inline lanes<float> stochastically_rounded(const lanes<float>& x, const whole_lanes& element,
                                                                  const whole_lanes& low, const whole_lanes& high) {
  const auto word = [](const whole_lanes& of) { return static_cast<std::uint32_t>(of.value[0]); };
  return rounded_by(words_from(word(element), {.from = {std::uint64_t{word(high)} << 32 | word(low)}}), x);
}

}  // namespace cairn::kernels
