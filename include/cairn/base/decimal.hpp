// Numbers as text, with a decimal point in every locale. printf and streams would follow the locale of the process.
#pragma once

#include "cairn/base/compiler.hpp"

#include <charconv>
#include <string>

namespace cairn::detail {

/// Returns the shortest text that is read back as the same number.
inline std::string exact(auto number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}
/// Returns the number with `digits` significant digits. If `digits` is 9, the text is that of printf's "%.9g".
inline std::string significant(double number, int digits) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, digits).ptr};
}
/// Returns the number with `digits` digits after the point. If `digits` is 1, the text is that of printf's "%.1f".
inline std::string with_places(double number, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::fixed, digits).ptr};
}

}  // namespace cairn::detail
