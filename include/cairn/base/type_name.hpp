// The names of types, for messages.
#pragma once

#include "cairn/base/compiler.hpp"

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

}  // namespace cairn::detail
