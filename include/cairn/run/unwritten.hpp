// Finds out whether any parameter of a program was written. A flag is not enough, because views write parameters
// without the program's knowledge. The memory of parameters therefore starts as -0, which counts as 0 in computations.
// Any other bits, including those of 0, mean that the number was written. A program does not look at the numbers if
// `init`, `set` or `load` wrote parameters. There is one known gap: if only views wrote parameters and all numbers are
// -0, the parameters are taken for unwritten.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/run/machine.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

namespace cairn::detail {

/// The numbers of a parameter or a state in a block of memory. Each number has `size` bytes.
struct stored_numbers {
  std::byte* first;
  std::size_t count, size;
  std::byte unwritten[sizeof(double)] = {};  ///< the bytes of -0

  stored_numbers(const runtime_leaf& leaf, std::byte* block)
      : first(block + leaf.offset),
        count(static_cast<std::size_t>(leaf.count)),
        size(static_cast<std::size_t>(leaf.bytes) / count) {
    unwritten[std::endian::native == std::endian::little ? size - 1 : 0] = std::byte{0x80};
  }
  void mark_unwritten() const {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(first + i * size, unwritten, size);
  }
  bool any_written() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (std::memcmp(first + i * size, unwritten, size) != 0) return true;
    }
    return false;
  }
};

/// Marks the parameters and states of a program as unwritten. `leaves` contains their offsets in the block.
inline void mark_unwritten(std::span<const runtime_leaf> leaves, std::byte* block) {
  for (const runtime_leaf& leaf : leaves) {
    if (leaf.what == graphs::role::parameter) stored_numbers(leaf, block).mark_unwritten();
  }
}
/// Throws program_error if the program has parameters and none of their numbers was written.
inline void check_written(std::span<const runtime_leaf> leaves, std::byte* block) {
  bool any_parameter = false;
  for (const runtime_leaf& leaf : leaves) {
    if (leaf.what != graphs::role::parameter) continue;
    if (stored_numbers(leaf, block).any_written()) return;
    any_parameter = true;
  }
  if (any_parameter)
    refuse(program_error("cairn: the parameters were neither initialized nor written; call init(seed{1})"));
}

}  // namespace cairn::detail
