// Names as template arguments. Loops copy the characters, because std::copy_n is not constant with -D_GLIBCXX_DEBUG.
#pragma once

#include "cairn/base/compiler.hpp"

#include <cstddef>
#include <string_view>

namespace cairn {

/// A string literal that can be a template argument: `input<"images", 128, 784>`.
template <std::size_t N>
struct fixed_string {
  char text[N]{};

  constexpr fixed_string() = default;
  constexpr fixed_string(const char (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr operator std::string_view() const { return {text, N - 1}; }
  friend constexpr bool operator==(const fixed_string&, const fixed_string&) = default;
};

template <std::size_t N, std::size_t M>
constexpr auto operator+(const fixed_string<N>& a, const fixed_string<M>& b) {
  fixed_string<N + M - 1> joined;
  for (std::size_t i = 0; i < N - 1; ++i) joined.text[i] = a.text[i];
  for (std::size_t i = 0; i < M; ++i) joined.text[N - 1 + i] = b.text[i];
  return joined;
}

namespace detail {
/// Returns a text of `Length` characters as a string that can be a template argument.
template <std::size_t Length>
constexpr fixed_string<Length + 1> fixed(std::string_view text) {
  fixed_string<Length + 1> out;
  for (std::size_t i = 0; i < Length; ++i) out.text[i] = text[i];
  out.text[Length] = '\0';  // clang prints only what was written
  return out;
}

/// The decimal digits of I: `digits<12>` is "12".
template <int I>
  requires(I >= 0)
inline constexpr auto digits = [] {
  constexpr std::size_t count = [] {
    std::size_t n = 1;
    for (int rest = I / 10; rest > 0; rest /= 10) ++n;
    return n;
  }();
  fixed_string<count + 1> text;
  int rest = I;
  for (std::size_t k = count; k-- > 0; rest /= 10) text.text[k] = static_cast<char>('0' + rest % 10);
  return text;
}();
}  // namespace detail

}  // namespace cairn
