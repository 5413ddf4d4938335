// Hashes of the numbers that outlive a training step, by which processes notice that they do not have the same.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/run/kept_tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cairn::detail {

/// Returns a hash of `count` floating-point numbers of type `Word` in bits, where `infinity` has the bits of infinity.
/// All NaN count as one number, because processes may compute NaN of different bits. A long dependent chain of
/// multiplications would be slow, so the numbers are dealt to eight hashes.
template <class Word>
std::uint64_t hash_of_numbers(const std::byte* at, std::size_t count, Word infinity) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  constexpr std::size_t lanes = 8;
  std::uint64_t hashes[lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) hashes[lane] = lane + 1;
  const auto mix = [infinity](std::uint64_t hash, const std::byte* from) {
    Word bits;
    std::memcpy(&bits, from, sizeof bits);
    if (static_cast<Word>(bits << 1) > static_cast<Word>(infinity << 1)) bits = static_cast<Word>(~Word{});
    // The shift lets the sign of a number change other bits than the highest one, so two signs do not cancel out.
    const std::uint64_t product = (hash ^ bits) * factor;
    return product ^ product >> 32;
  };
  for (; count >= lanes; count -= lanes, at += lanes * sizeof(Word)) {
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < lanes; ++lane) hashes[lane] = mix(hashes[lane], at + lane * sizeof(Word));
  }
  for (std::uint64_t* hash = hashes; count > 0; --count, at += sizeof(Word), ++hash) *hash = mix(*hash, at);
  return hash64_of({reinterpret_cast<const char*>(hashes), sizeof hashes});
}

/// Returns a hash of a parameter, a state or a moment.
inline std::uint64_t hash_of(const kept_run& run, const kept_tensor& one) {
  if (one.type == dtype::bf16) return hash_of_numbers<std::uint16_t>(run.at(one), run.count(one), 0x7f80);
  if (run.real_bytes == sizeof(double))
    return hash_of_numbers<std::uint64_t>(run.at(one), run.count(one), 0x7ff0'0000'0000'0000);
  return hash_of_numbers<std::uint32_t>(run.at(one), run.count(one), 0x7f80'0000);
}
/// Returns a hash of how far the training has come.
inline std::uint64_t hash_of_position(const kept_run& run) {
  const auto& [random, steps, norm] = *run.position;
  const std::uint64_t numbers[] = {random.from.value, random.step, static_cast<std::uint64_t>(steps)};
  return hash64_of(run.exchanged, hash64_of({reinterpret_cast<const char*>(numbers), sizeof numbers}));
}

}  // namespace cairn::detail
