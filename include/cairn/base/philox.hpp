// Random numbers without state: each is a function of a key and a counter.
#pragma once

#include "cairn/base/compiler.hpp"

#include <array>
#include <cstdint>

namespace cairn {

/// The number on which all random numbers of a program or a data set depend.
struct seed {
  std::uint64_t value = 0;

  constexpr std::array<std::uint32_t, 2> key() const {
    return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
  }
  friend constexpr bool operator==(const seed&, const seed&) = default;
};

/// Says which random numbers a program's next training step draws.
struct random_state {
  seed from;               ///< the seed that init got
  std::uint32_t step = 0;  ///< training steps since init; after 2^32 of them the random numbers repeat
  friend constexpr bool operator==(const random_state&, const random_state&) = default;
};

/// Computes Philox4x32-10: four random words for each counter and key.
/// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC11).
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  constexpr auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// Returns a random word as a number in [0, 1). The number is a multiple of 2^-24, so it is exact in float and double.
constexpr float uniform(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }

/// The random words of one operation in one training step. Element i gets word i % 4 of counter i / 4. The word does
/// not depend on what else is computed, on the order, or on the width of registers. A value that is recomputed
/// therefore gets the same words a second time.
struct random_stream {
  seed from;
  std::uint64_t operation = 0;  ///< hash64_of(the operation's name)
  std::uint32_t step = 0;
  /// If the operation computes one of several equal parts of its rows, the number of the part. Its elements are counted
  /// on from the elements of the parts before it.
  std::uint32_t part = 0;

  /// Returns the words of elements 4 n to 4 n + 3.
  constexpr std::array<std::uint32_t, 4> operator()(std::uint32_t n) const {
    const auto [low, high] = seed{operation}.key();
    return philox({n, step, low, high}, from.key());
  }
};

/// A sequence of random words. Word n is a function of the seed, the sequence's number, and n.
class random_sequence {
 public:
  constexpr random_sequence(seed s, std::uint64_t number) : key_(s.key()), number_(seed{number}.key()) {}

  constexpr std::uint32_t operator()() {
    const auto place = count_++;
    if (place % 4 == 0) {
      const auto [low, high] = seed{place / 4}.key();
      words_ = philox({low, high, number_[0], number_[1]}, key_);
    }
    return words_[place % 4];
  }

  /// Draws a number in [0, n), n > 0. All n numbers are equally likely.
  /// Lemire: Fast random integer generation in an interval (2019).
  constexpr std::uint32_t below(std::uint32_t n) {
    const std::uint32_t surplus = (0U - n) % n;  // 2^32 mod n words are rejected: they would favour some numbers
    std::uint64_t product = 0;
    do product = std::uint64_t{(*this)()} * n;
    while (static_cast<std::uint32_t>(product) < surplus);
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::array<std::uint32_t, 2> key_, number_;
  std::array<std::uint32_t, 4> words_{};
  std::uint64_t count_ = 0;
};

}  // namespace cairn
