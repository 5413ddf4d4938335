// Numbers for names: FNV-1a.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdint>
#include <string_view>

namespace cairn {

constexpr std::uint32_t mix(std::uint32_t hash, std::uint32_t more) { return (hash ^ more) * 0x01000193U; }

/// 32 bits, for tables and for the numbers that parameters start with.
constexpr std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5U;
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

/// 64 bits, for what random operations draw: there must not be two alike. `hash` is that of what stands before.
constexpr std::uint64_t number_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace cairn
