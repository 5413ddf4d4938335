// Numbers as text, with a decimal point whatever the locale of the process: printf and streams follow the locale.
#pragma once

#include "cairn/base/compiler.hpp"

#include <charconv>
#include <string>

namespace cairn::detail {

/// The shortest text that is read back as the same number.
inline std::string exact(auto number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}
/// As printf writes by "%.9g", where `digits` is 9.
inline std::string significant(double number, int digits) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, digits).ptr};
}
/// As printf writes by "%.1f", where `digits` is 1.
inline std::string with_places(double number, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::fixed, digits).ptr};
}

}  // namespace cairn::detail
