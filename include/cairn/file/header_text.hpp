// Writes the text of the header of a safetensors file.
#pragma once

#include "cairn/file/header.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cairn::file::detail {

/// Returns a text as a JSON string, with quotes and escapes.
inline std::string as_json(std::string_view text) {
  constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt", digits = "0123456789abcdef";
  const auto escaped = [](char c) { return (c >= 0 && c < ' ') || c == '"' || c == '\\'; };
  std::string json = "\"";
  for (auto at = text.begin();; ++at) {
    const auto next = std::find_if(at, text.end(), escaped);
    json.append(at, next);
    if (next == text.end()) return json + '"';
    at = next;
    const auto code = static_cast<std::size_t>(*at);
    if (const std::size_t known = special.find(*at); known != special.npos) json += {'\\', letters[known]};
    else json += {'\\', 'u', '0', '0', digits[code / 16], digits[code % 16]};
  }
}

inline std::string as_json(const tensor& of, std::uint64_t begin) {
  std::string shape;
  for (const std::int64_t extent : of.shape) shape += text_of({shape.empty() ? "" : ",", std::to_string(extent)});
  return text_of({as_json(of.name), R"(:{"dtype":")", name_of(of.type), R"(","shape":[)", shape,
                  R"(],"data_offsets":[)", std::to_string(begin), ",", std::to_string(begin + of.bytes.size()), "]}"});
}

inline std::string as_json(const file::metadata& texts) {
  std::string json;
  for (const auto& [name, text] : texts) json += text_of({json.empty() ? "{" : ",", as_json(name), ":", as_json(text)});
  return json.empty() ? "{}" : json + '}';
}

/// Returns the header for tensors that follow one another in the file. The header is padded with spaces, so that the
/// first tensor begins at a multiple of 8 bytes.
inline std::string header_of(std::span<const tensor* const> tensors, const file::metadata& texts) {
  std::string header = "{";
  if (!texts.empty()) header += text_of({as_json(metadata_key), ":", as_json(texts)});
  std::uint64_t begin = 0;
  for (const tensor* const one : tensors) {
    header += text_of({header.size() > 1 ? "," : "", as_json(*one, begin)});
    begin += one->bytes.size();
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

}  // namespace cairn::file::detail
