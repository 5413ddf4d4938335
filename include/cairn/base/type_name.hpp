// The names of types, for messages and hashes.
#pragma once

#include "cairn/base/hash.hpp"

#include <cstdint>
#include <string_view>

namespace cairn::detail {

/// Returns the name of a type as the compiler spells it, without the namespaces around it.
template <class T>
constexpr auto type_name() {
  std::string_view text = __PRETTY_FUNCTION__;  // "... [with T = name]", "... [T = name]"
  text.remove_prefix(text.find("T = ") + 4);
  text.remove_suffix(1);
  const auto scope = text.substr(0, text.find('<')).rfind("::");
  return scope == text.npos ? text : text.substr(scope + 2);
}

/// Returns a hash of the name of a type with all its template arguments. Programs that one compiler made of one source
/// have equal hashes. The name itself is not in the program.
template <class T>
consteval std::uint32_t hash_of_type() {
  return hash_of(__PRETTY_FUNCTION__);
}

}  // namespace cairn::detail
