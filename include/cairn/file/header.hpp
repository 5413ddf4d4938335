// Reads the header of a safetensors file, and checks its JSON. nlohmann's parser reads the JSON. Only this file and
// index.hpp include that parser.
#pragma once

#include "cairn/file/errors.hpp"
#include "cairn/file/tensor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::file {

/// Texts by name, which a file holds in addition to its tensors.
using metadata = std::map<std::string, std::string, std::less<>>;

namespace detail {

inline constexpr std::string_view metadata_key = "__metadata__";
// At most this number of tensors, and of texts; a file with more of them is taken for an attack.
inline constexpr std::size_t most_names = 100'000;
inline constexpr std::size_t most_axes = 64;  // the limit of PyTorch

/// A tensor, and the offsets at which its bytes begin and end, counted from the end of the header.
struct entry {
  tensor about;
  std::uint64_t begin = 0, end = 0;
};

/// The functions that nlohmann's parser calls, one for each word of JSON. Each function returns true if the parser is
/// to go on. Parsing ends at the first word that does not belong where it stands. This bounds the depth of nesting and
/// the number of entries.
class header_reader {
 public:
  std::vector<entry> entries;
  file::metadata metadata;
  std::string expected, actual;  // what was expected and what was found, if something is wrong

  bool start_object(std::size_t) {
    if (at_ == position::before) return go(position::names);
    if (at_ != position::names) return wrong("an object");
    if (key_ == metadata_key) return first(seen_metadata_) && go(position::metadata);
    if (entries.size() == most_names) return wrong("at most 100000 tensors", "more");
    entries.emplace_back().about.name = std::move(key_);
    seen_ = {};
    return go(position::tensor);
  }
  bool key(std::string& name) {
    key_ = std::move(name);
    if (at_ != position::tensor) return true;
    const auto known = std::find(fields.begin(), fields.end(), key_);
    if (known == fields.end()) return wrong("dtype, shape and data_offsets" + of_tensor(), shown(key_));
    field_ = static_cast<field>(known - fields.begin());
    return first(seen_[field_]);
  }
  bool end_object() {
    if (at_ == position::names) return go(position::after);
    if (at_ == position::tensor && std::find(seen_.begin(), seen_.end(), false) != seen_.end())
      return wrong("dtype, shape and data_offsets" + of_tensor(), "less");
    return go(position::names);
  }
  bool start_array(std::size_t) {
    if (at_ != position::tensor || field_ == dtype_field) return wrong("an array");
    offsets_ = 0;
    return go(field_ == shape_field ? position::shape : position::offsets);
  }
  bool end_array() {
    if (at_ == position::offsets && offsets_ < 2) return wrong("two data_offsets" + of_tensor(), "less");
    return go(position::tensor);
  }
  bool string(std::string& text) {
    if (at_ == position::tensor && field_ == dtype_field) return found_dtype(text);
    if (at_ != position::metadata) return wrong("a string");
    if (metadata.size() == most_names) return wrong("at most 100000 texts of metadata", "more");
    return first_of(metadata.try_emplace(key_, std::move(text)).second);
  }
  bool number_unsigned(std::uint64_t number) {
    if (at_ == position::shape) return found_extent(number);
    if (at_ != position::offsets) return wrong("a number");
    if (offsets_ == 2) return wrong("two data_offsets" + of_tensor(), "more");
    (offsets_++ == 0 ? entries.back().begin : entries.back().end) = number;
    return true;
  }
  bool number_integer(std::int64_t) { return wrong("a negative number"); }
  bool number_float(double, const std::string&) { return wrong("a fraction or too large a number"); }
  bool boolean(bool) { return wrong("a boolean"); }
  bool null() { return wrong("null"); }
  bool binary(const nlohmann::json::binary_t&) { return wrong("bytes"); }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception&) {
    return wrong("a header of JSON",
                 text_of({"something else at its byte ", text_of(static_cast<std::int64_t>(byte))}));
  }

 private:
  enum class position { before, names, metadata, tensor, shape, offsets, after };
  enum field { dtype_field, shape_field, offsets_field };
  static constexpr std::array<std::string_view, 3> fields = {"dtype", "shape", "data_offsets"};

  bool go(position to) {
    at_ = to;
    return true;
  }
  bool first(bool& seen) { return first_of(!std::exchange(seen, true)); }
  bool first_of(bool is_first) { return is_first || wrong("names that differ", shown(key_) + " twice"); }

  bool found_dtype(std::string_view name) {
    const auto known = std::find_if(dtypes.begin(), dtypes.end(), [name](const auto& row) { return row.name == name; });
    if (known == dtypes.end()) return wrong("a known dtype" + of_tensor(), shown(name));
    entries.back().about.type = static_cast<file::dtype>(known - dtypes.begin());
    return true;
  }
  bool found_extent(std::uint64_t extent) {
    auto& shape = entries.back().about.shape;
    if (shape.size() == most_axes) return wrong("at most 64 axes" + of_tensor(), "more");
    if (extent > INT64_MAX) return wrong("extents below 2^63" + of_tensor(), std::to_string(extent));
    shape.push_back(static_cast<std::int64_t>(extent));
    return true;
  }

  [[gnu::cold]] bool wrong(std::string_view wanted, std::string_view given) {
    expected = wanted;
    actual = given;
    return false;
  }
  [[gnu::cold]] bool wrong(std::string_view given) {
    switch (at_) {
      case position::names:
        return wrong("an object for " + shown(key_), given);
      case position::metadata:
        return wrong("a text for " + shown(key_) + " of __metadata__", given);
      case position::tensor:
        return wrong(field_ == dtype_field ? "a string as dtype" + of_tensor()
                                           : text_of({"an array as ", fields[field_], of_tensor()}),
                     given);
      case position::shape:
        return wrong("whole numbers as shape" + of_tensor(), given);
      case position::offsets:
        return wrong("whole numbers as data_offsets" + of_tensor(), given);
      default:
        return wrong("an object", given);
    }
  }
  [[gnu::cold]] std::string of_tensor() const { return " of " + shown(entries.back().about.name); }

  position at_ = position::before;
  std::string key_;
  field field_ = dtype_field;
  std::array<bool, 3> seen_{};
  bool seen_metadata_ = false;
  int offsets_ = 0;
};

/// Reads the header `text` of the file `path`, and checks it word by word. Throws format_error.
inline header_reader read_header(const std::string& path, std::string_view text) {
  if (!text.starts_with('{')) refuse(format_error(path, "a header that begins with {", "another"));
  // The parser takes a zero byte for the end of the text, so anything after the zero would not be checked.
  if (text.find('\0') != text.npos) refuse(format_error(path, "a header of JSON, padded with spaces", "a zero in it"));
  header_reader header;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &header))
    refuse(format_error(path, header.expected, header.actual));
  return header;
}

}  // namespace detail

}  // namespace cairn::file
