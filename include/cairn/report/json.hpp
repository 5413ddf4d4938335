// Writes texts and numbers as JSON, for a trace and for a page.
#pragma once

#include "cairn/base/compiler.hpp"
#include "cairn/base/macros_aside.hpp"

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

namespace cairn::report::detail {

/// Returns a text as a JSON string. The characters <, > and & are escaped, so that a name in the text cannot end the
/// script element of a page.
inline std::string json_text(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') (made += '\\') += c;
    else if (static_cast<unsigned char>(c) >= ' ' && c != '<' && c != '>' && c != '&') made += c;
    else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      made += code;
    }
  }
  return made += '"';
}
inline std::string json_number(double n) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, n).ptr};
}

}  // namespace cairn::report::detail

#include "cairn/base/macros_back.hpp"
