// Hashes of names: FNV-1a.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdint>
#include <string_view>

namespace cairn::detail {

/// Returns the hash of a sequence with hash `hash` to which `more` is appended.
constexpr std::uint32_t mix(std::uint32_t hash, std::uint32_t more) { return (hash ^ more) * 0x01000193U; }

/// Returns a hash of 32 bits. Hash tables use it, and the random numbers that parameters start with depend on it.
constexpr std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5U;
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

/// Returns a hash of 64 bits, which numbers the random operations of a program. No two random operations may have equal
/// numbers, so 32 bits would be too few. `hash` is the hash of any text that stands before `text`.
constexpr std::uint64_t hash64_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace cairn::detail
