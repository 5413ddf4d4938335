// Reads numbers from text, with a decimal point in every locale.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cerrno>
#include <charconv>
#include <clocale>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace cairn::detail {

/// Returns true if the whole text is a number, and writes the number to `to`.
///
/// Before version 20, libc++ has no std::from_chars for floats and doubles. There strtod_l reads them, in the C locale.
/// strtod_l also skips spaces and reads plus signs and hexadecimal digits. Texts with these are no numbers here.
template <class Number>
bool is_number(std::string_view text, Number& to) {
  const char* const last = text.data() + text.size();
  if constexpr (requires { std::from_chars(last, last, to); }) {
    const auto [end, error] = std::from_chars(text.data(), last, to);
    return error == std::errc{} && end == last;
  } else {
    static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
    if (text.empty() || text[0] == '+' || text.find_first_of(" \t\n\v\f\rxX") != text.npos) return false;
    const std::string terminated(text);
    char* end;
    errno = 0;
    if constexpr (std::is_same_v<Number, float>) to = strtof_l(terminated.c_str(), &end, classic);
    else to = strtod_l(terminated.c_str(), &end, classic);
    return errno == 0 && end == terminated.c_str() + terminated.size();
  }
}

}  // namespace cairn::detail
