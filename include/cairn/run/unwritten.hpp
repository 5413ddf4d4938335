// Finds out whether the parameters of a program were written. A flag is not enough, because views write parameters
// without the program's knowledge. The memory of parameters therefore starts as -0, which counts as 0 in computations.
// Any other bits, including those of 0, mean that the number was written. A program does not look at the numbers if
// `init`, a complete `load` or a `set` of all parameters wrote them. There is one known gap: if a parameter was written
// in another way and all its numbers are -0, it is taken for unwritten.
#pragma once

#include "cairn/base/refuse.hpp"
#include "cairn/run/machine.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

namespace cairn::detail {

/// The numbers of a parameter or a state, whose first number is at `at`. Each number has `size` bytes.
struct stored_numbers {
  std::byte* first;
  std::size_t count, size;
  std::byte unwritten[sizeof(double)] = {};  ///< the bytes of -0

  stored_numbers(const runtime_leaf& leaf, std::byte* at)
      : first(at), count(static_cast<std::size_t>(leaf.count)), size(static_cast<std::size_t>(leaf.bytes) / count) {
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

/// Marks the parameters and states in a block as unwritten. `at` has the address of each leaf.
inline void mark_unwritten(std::span<const runtime_leaf> leaves, std::byte* const* at,
                           std::span<const std::byte> block) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].what == graphs::role::parameter && contains(block, at[i]))
      stored_numbers(leaves[i], at[i]).mark_unwritten();
  }
}
/// Throws program_error if there are parameters and no number of them was written, or if no number of a parameter or
/// state was written that does not start as zeros.
inline void check_written(std::span<const runtime_leaf> leaves, std::byte* const* at) {
  bool any = false, any_written = false, any_missing = false;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].what != graphs::role::parameter) continue;
    const bool written = stored_numbers(leaves[i], at[i]).any_written();
    const initial& start = leaves[i].start;
    any = true;
    any_written = any_written || written;
    any_missing = any_missing || !(written || (start.drawn == initial::law::constant && start.fill == 0));
  }
  if (any_missing || any != any_written)
    refuse(program_error("cairn: some or all parameters were neither initialized nor written; call init(seed{1})"));
}

}  // namespace cairn::detail
