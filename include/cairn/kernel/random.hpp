// These functions draw random words for a whole register of counters at a time.
#pragma once

#include "cairn/base/philox.hpp"
#include "cairn/kernel/words.hpp"

namespace cairn::kernels {

/// Applies the generator Philox to a register of counters, lane by lane. The four words of each counter are replaced by
/// the four random words.
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

/// Number of elements for which `draw` draws words at once: four for each counter.
inline constexpr int drawn_at_once = 4 * wide_words::width;
/// Draws the random words of elements 4 n to 4 n + drawn_at_once - 1 of a stream and stores the words at `words`.
[[gnu::always_inline]] inline void draw(const random_stream& stream, std::uint32_t n, std::uint32_t* words) {
  const auto operation = seed{stream.operation}.key();
  wide_words counter[4] = {wide_words::count_from(n), wide_words::fill(stream.step), wide_words::fill(operation[0]),
                           wide_words::fill(operation[1])};
  philox(counter, stream.from.key());
  wide_words::store(counter, words);
}

/// Draws the random words of elements `first` to first + drawn_at_once - 1, of which `first` need not be a multiple of
/// four. Returns where in `words` they begin. `words` has room for two draws.
[[gnu::always_inline]] inline const std::uint32_t* draw_from(const random_stream& stream, std::int64_t first,
                                                             std::uint32_t* words) {
  const auto counter = static_cast<std::uint32_t>(first / 4);
  draw(stream, counter, words);
  if (first % 4 != 0) draw(stream, counter + drawn_at_once / 4, words + drawn_at_once);
  return words + first % 4;
}

}  // namespace cairn::kernels
