// The tokens of GPT-2.
#pragma once

#include <array>
#include <clocale>
#include <cstdint>
#include <cwchar>
#include <cwctype>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace examples {

/// Byte-pair encoding (Sennrich et al., 2016) of the bytes of a text, as in GPT-2 (Radford et al., 2019), with the
/// tokens of a tokenizer.json of Hugging Face.
///
/// A text is cut into words, numbers, signs and spaces. The space before a word belongs to the word. At first, each
/// byte of a word is a token. Then the two neighbours that stand first in the list of merges become one token, until no
/// neighbours are in the list. Letters are the letters of the C library.
class tokenizer {
 public:
  explicit tokenizer(const std::string& path) {
    if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) throw std::runtime_error("the locale C.UTF-8 is missing");
    std::ifstream file(path);
    const auto json = nlohmann::json::parse(file, nullptr, false);
    if (!json.is_object() || !json.contains("model") || json["model"].value("type", "") != "BPE")
      throw std::runtime_error(path + " is not a tokenizer.json with a model of type BPE");
    const auto& model = json["model"];
    const auto& ids = model.at("vocab");
    size_ = static_cast<int>(ids.size());
    const auto id = [&](const std::string& token) { return ids.at(token).get<std::int32_t>(); };
    for (int byte = 0, others = 0; byte < 256; ++byte) {
      const bool is_printed = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
      of_byte_[static_cast<std::size_t>(byte)] = id(utf8(is_printed ? byte : 256 + others++));
    }
    for (const auto& merge : model.at("merges")) {
      std::pair<std::string, std::string> pair;
      if (merge.is_string()) {
        const std::string text = merge, first = text.substr(0, text.find(' '));
        pair = {first, text.substr(first.size() + 1)};
      } else {
        pair = merge;
      }
      const auto rank = static_cast<std::int32_t>(merges_.size());
      merges_.try_emplace({id(pair.first), id(pair.second)}, rank, id(pair.first + pair.second));
    }
  }

  /// Returns the number of tokens.
  int size() const { return size_; }
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::unordered_map<std::string_view, std::vector<std::int32_t>> known;
    std::vector<std::int32_t> all;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, first_word(text));
      const auto [at, is_new] = known.try_emplace(word);
      if (is_new) at->second = encode_word(word);
      all.insert(all.end(), at->second.begin(), at->second.end());
      text.remove_prefix(word.size());
    }
    return all;
  }

 private:
  enum class kind { letter, digit, sign, space };
  struct character {
    kind what;
    std::size_t bytes;
  };

  /// Encodes a code point below 0x800.
  static std::string utf8(int code) {
    if (code < 128) return {static_cast<char>(code)};
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  }
  static character first_character(std::string_view text) {
    std::mbstate_t state{};
    wchar_t code = 0;
    const std::size_t bytes = std::mbrtowc(&code, text.data(), text.size(), &state);
    if (bytes > text.size()) return {kind::sign, 1};  // not UTF-8
    const auto c = static_cast<std::wint_t>(code);
    const kind what = std::iswspace(c)   ? kind::space
                      : std::iswdigit(c) ? kind::digit
                      : std::iswalpha(c) ? kind::letter
                                         : kind::sign;
    return {what, std::max<std::size_t>(bytes, 1)};
  }
  /// Returns the number of bytes from `at` on whose characters are of one kind, and where the last character begins.
  static std::pair<std::size_t, std::size_t> run_of(kind what, std::string_view text, std::size_t at) {
    std::size_t end = at, last = at;
    while (end < text.size()) {
      const character next = first_character(text.substr(end));
      if (next.what != what) break;
      last = end;
      end += next.bytes;
    }
    return {end, last};
  }
  /// Returns the number of bytes of the first word.
  static std::size_t first_word(std::string_view text) {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (text.starts_with(ending)) return ending.size();
    const std::size_t begin = text.size() > 1 && text[0] == ' ' ? 1 : 0;
    const kind what = first_character(text.substr(begin)).what;
    if (what != kind::space) return run_of(what, text, begin).first;
    const auto [end, last] = run_of(kind::space, text, 0);
    return end == text.size() || last == 0 ? end : last;  // the last space may belong to the next word
  }
  std::vector<std::int32_t> encode_word(std::string_view word) const {
    std::vector<std::int32_t> tokens;
    for (const char byte : word) tokens.push_back(of_byte_[static_cast<unsigned char>(byte)]);
    while (true) {
      auto best = merges_.end();
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        const auto found = merges_.find({tokens[i], tokens[i + 1]});
        if (found != merges_.end() && (best == merges_.end() || found->second.first < best->second.first)) best = found;
      }
      if (best == merges_.end()) return tokens;
      std::size_t n = 0;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool joins = i + 1 < tokens.size() && std::pair{tokens[i], tokens[i + 1]} == best->first;
        tokens[n++] = joins ? best->second.second : tokens[i];
        i += joins;
      }
      tokens.resize(n);
    }
  }

  int size_ = 0;
  std::array<std::int32_t, 256> of_byte_{};
  /// By two tokens: their rank among the merges, and the token that they become.
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int32_t, std::int32_t>> merges_;
};

}  // namespace examples
