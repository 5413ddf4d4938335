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

/// Where numbers stand, and the two words of a key, in lanes.
using whole_lanes = packed<std::int32_t, lanes<float>::width>;

/// The word that random_stream{{key}} has for each element, wherever elements stand.
[[gnu::always_inline]] inline halves::words words_of(const whole_lanes& element, std::array<std::uint32_t, 2> key) {
  constexpr int at_once = 2 * wide_words::width;
  using part = halves::words;
  const auto at = reinterpret_cast<part>(element.value), quarter = at >> 2;
  alignas(64) std::uint32_t counters[halves::width], words[halves::width];
  alignas(64) std::uint32_t which[halves::width];
  const part last = at & 3U;
  std::memcpy(counters, &quarter, sizeof counters);
  std::memcpy(which, &last, sizeof which);
  // Elements of even and of odd lanes: the words of one are the lower halves of wide ones, of the other the upper.
  for (int i = 0; i < halves::width; i += at_once) {
    wide_words pair, lane, chosen[2];
    std::memcpy(&pair, counters + i, sizeof pair);
    std::memcpy(&lane, which + i, sizeof lane);
    for (int odd = 0; odd < 2; ++odd) {
      const auto lower = [odd](wide_words x) {
        return wide_words{odd == 1 ? x.value >> 32 : x.value & 0xffffffffU};
      };
      wide_words word[4] = {lower(pair), {}, {}, {}};
      philox(word, key);
      const auto w = lower(lane).value;
      const auto made = w == 0   ? word[0].value
                        : w == 1 ? word[1].value
                        : w == 2 ? word[2].value
                                 : word[3].value;
      chosen[odd] = {odd == 1 ? made << 32 : made & 0xffffffffU};
    }
    const auto both = chosen[0].value | chosen[1].value;
    std::memcpy(words + i, &both, sizeof both);
  }
  part out;
  std::memcpy(&out, words, sizeof out);
  return out;
}

/// x rounded to a number of bf16: away from zero with the probability of the fraction of its last place, by the upper
/// half of each word. What is not finite stays as it is.
[[gnu::always_inline]] inline lanes<float> rounded_by(const halves::words& words, const lanes<float>& x) {
  const auto all = reinterpret_cast<halves::words>(x.value);
  const auto moved = (all + (words >> 16)) & 0xffff0000U;
  return {reinterpret_cast<lanes<float>::vector>((all & 0x7f800000U) == 0x7f800000U ? all : moved)};
}

/// Element number `element` of a parameter, rounded by what belongs to this key.
[[gnu::always_inline]] inline lanes<float> stochastically_rounded(const lanes<float>& x, const whole_lanes& element,
                                                                  const whole_lanes& low, const whole_lanes& high) {
  const std::array key{static_cast<std::uint32_t>(low.value[0]), static_cast<std::uint32_t>(high.value[0])};
  return rounded_by(words_of(element, key), x);
}

}  // namespace cairn::kernel
