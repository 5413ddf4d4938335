// Addresses compared in constant evaluation.
#pragma once

#include "cairn/base/compiler.hpp"

#include <type_traits>

namespace cairn {

/// Whether two addresses are equal. With -fsanitize=undefined or -fno-delete-null-pointer-checks g++ cannot tell in
/// constant evaluation whether those of two objects differ, or one from null; that equal ones are, it always can.
template <class Pointer>
constexpr bool same_address(Pointer a, std::type_identity_t<Pointer> b) {
  if (std::is_constant_evaluated()) return __builtin_constant_p(a == b) && a == b;
  return a == b;
}

}  // namespace cairn
