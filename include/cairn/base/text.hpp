// Texts of errors. Cold and out of line: that they can be thrown must cost programs little code.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cairn::detail {

/// The parts one after another.
[[gnu::noinline, gnu::cold]] inline std::string text_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}
[[gnu::noinline, gnu::cold]] inline std::string text_of(std::int64_t number) { return std::to_string(number); }

}  // namespace cairn::detail
