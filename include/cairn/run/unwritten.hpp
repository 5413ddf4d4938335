// Finds out whether any parameter of a program was written. A flag is not enough, because views write parameters
// without the program's knowledge. The memory of parameters therefore starts as -0, which counts as 0 in computations.
// Any other bits, including those of 0, mean that the number was written. A program does not look at the numbers if
// `init`, `set` or a complete `load` wrote parameters. There is one known gap: if only views or partial loads wrote
// parameters and all numbers are -0, the parameters are taken for unwritten.
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
/// Throws program_error if there are parameters in the block and none of their numbers was written. The same holds for
/// the parameters outside of the block. With status `partly_written`, throws program_error if there is a parameter of
/// which no number was written.
inline void check_written(std::span<const runtime_leaf> leaves, std::byte* const* at, std::span<const std::byte> block,
                          parameter_status status) {
  bool any[2] = {}, any_written[2] = {}, all_written = true;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].what != graphs::role::parameter) continue;
    const bool inside = contains(block, at[i]), written = stored_numbers(leaves[i], at[i]).any_written();
    any[inside] = true;
    any_written[inside] = any_written[inside] || written;
    all_written = all_written && written;
  }
  if (any[0] != any_written[0] || any[1] != any_written[1] ||
      (status == parameter_status::partly_written && !all_written))
    refuse(program_error("cairn: the parameters were neither initialized nor written; call init(seed{1})"));
}

}  // namespace cairn::detail
