// Text as tokens. A token stands for a byte, or for one of the characters that occur in the text.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/read_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::data {

namespace detail {
/// Returns the number of bytes that the first character of a text has in UTF-8, or 0 if the text does not begin with a
/// valid character.
constexpr std::size_t bytes_of_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool longer_than_needed = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0, beyond_unicode = first == 0xf4 && second >= 0x90;
  return longer_than_needed || surrogate || beyond_unicode ? 0 : bytes;
}
/// Returns the text with which a message shows a byte.
[[gnu::cold]] inline std::string in_hexadecimal(char byte) {
  char text[16];
  std::snprintf(text, sizeof text, "a byte 0x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return text;
}
/// Returns the character that begins at byte `at` of a text. Throws text_error if there is no valid UTF-8 character.
inline std::string_view character_at(std::string_view text, std::size_t at) {
  const std::size_t bytes = bytes_of_character(text.substr(at));
  if (bytes == 0) refuse(text_error("byte", static_cast<std::int64_t>(at), "UTF-8", in_hexadecimal(text[at])));
  return text.substr(at, bytes);
}
}  // namespace detail

/// A numbered list of symbols. Token i stands for symbol i, which is a byte or a character.
class vocabulary {
 public:
  /// Returns the vocabulary of all 256 bytes. Token i stands for byte i. This vocabulary fits any text.
  static vocabulary bytes() {
    vocabulary out;
    for (int byte = 0; byte < 256; ++byte) out.symbols_.emplace_back(1, static_cast<char>(byte));
    return out;
  }
  /// Returns the vocabulary of the characters that occur in a text, in the order of their numbers in Unicode. Throws
  /// text_error if the text is not UTF-8.
  static vocabulary characters(std::string_view text) {
    vocabulary out;
    out.characters_ = true;
    std::set<std::string_view> found;
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view one = detail::character_at(text, at);
      found.insert(one);
      at += one.size();
    }
    out.symbols_.assign(found.begin(), found.end());
    return out;
  }

  /// Returns the number of symbols. All tokens are below it.
  std::int64_t size() const { return std::ssize(symbols_); }
  /// Returns all symbols as one text, in the order of their tokens. Save this text to keep a vocabulary of characters:
  /// `characters(known.all())` is the same vocabulary again.
  std::string all() const {
    std::string text;
    for (const std::string& symbol : symbols_) text += symbol;
    return text;
  }

  /// Returns the tokens of a text. Throws text_error at the first byte or character that is not in the vocabulary.
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view one = characters_ ? detail::character_at(text, at) : text.substr(at, 1);
      const auto found = std::ranges::lower_bound(symbols_, one, {}, [](const auto& s) { return std::string_view(s); });
      if (found == symbols_.end() || *found != one)
        refuse(text_error("byte", static_cast<std::int64_t>(at), "a character of the vocabulary", one));
      tokens.push_back(static_cast<std::int32_t>(found - symbols_.begin()));
      at += one.size();
    }
    return tokens;
  }
  /// Returns the text of some tokens. Throws text_error at the first number that is not a token of the vocabulary.
  std::string decode(std::span<const std::int32_t> tokens) const {
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] < 0 || tokens[i] >= size())
        refuse(text_error("token", static_cast<std::int64_t>(i),
                          detail::text_of({"one below ", detail::text_of(size())}), detail::text_of(tokens[i])));
      text += symbols_[static_cast<std::size_t>(tokens[i])];
    }
    return text;
  }

 private:
  std::vector<std::string> symbols_;  // sorted by their bytes, which for UTF-8 is the order of Unicode numbers
  bool characters_ = false;
};

/// A text as tokens, and the vocabulary of these tokens.
struct text {
  vocabulary symbols;
  std::vector<std::int32_t> tokens;

  text(vocabulary known, std::string_view all) : symbols(std::move(known)), tokens(symbols.encode(all)) {}

  struct parts {
    std::span<const std::int32_t> train, validation;
  };
  /// Splits the tokens in two. The last `share` of them is for validation. Throws option_error if `share` is not from 0
  /// to 1.
  parts split(double share = 0.1) const& {
    if (!(share >= 0 && share <= 1)) refuse(option_error("share to validate with", "0 to 1", share));
    const std::span<const std::int32_t> all(tokens);
    const auto first = static_cast<std::size_t>(static_cast<double>(all.size()) * (1 - share));
    return {all.first(first), all.subspan(first)};
  }
  void split(double share = 0.1) && = delete;  // the parts would outlive the text
};

/// Reads any file. Each byte is a token below 256. Throws file_error.
inline text read_bytes(const std::string& path) { return {vocabulary::bytes(), read_file(path)}; }
/// Reads a text in UTF-8. Each character is a token below `symbols.size()`, the number of different characters in the
/// text. Throws file_error, and text_error if the file is not UTF-8.
inline text read_characters(const std::string& path) {
  const std::string all = read_file(path);
  return {vocabulary::characters(all), all};
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
