// Comparison of addresses in constant evaluation.
#pragma once

#include "cairn/base/compiler.hpp"

#include <type_traits>

namespace cairn::detail {

/// Returns true if two addresses are equal. In constant evaluation, g++ can always tell that two equal addresses are
/// equal. With -fsanitize=undefined or -fno-delete-null-pointer-checks, g++ cannot tell that the addresses of two
/// objects differ, or that the address of an object is not null. The function then returns false, which is right.
template <class Pointer>
constexpr bool same_address(Pointer a, std::type_identity_t<Pointer> b) {
  if (std::is_constant_evaluated()) return __builtin_constant_p(a == b) && a == b;
  return a == b;
}

}  // namespace cairn::detail
