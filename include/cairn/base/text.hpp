// Texts of errors. The functions are cold and out of line, because the code that throws errors must be small.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cairn::detail {

/// Returns the concatenation of the parts.
[[gnu::noinline, gnu::cold]] inline std::string text_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}
[[gnu::noinline, gnu::cold]] inline std::string text_of(std::int64_t number) { return std::to_string(number); }

}  // namespace cairn::detail
