// The header of a safetensors file: what its JSON must be. nlohmann's parser reads it, and stays in this file.
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

/// Texts by name that a file holds beside its tensors.
using metadata = std::map<std::string, std::string, std::less<>>;

namespace detail {

inline constexpr std::string_view metadata_key = "__metadata__";
inline constexpr std::size_t most_names = 100'000;  // of tensors and of metadata: a file with more means no good
inline constexpr std::size_t most_axes = 64;        // as in PyTorch

/// A tensor, and its offsets in what follows the header.
struct entry {
  tensor about;
  std::uint64_t begin = 0, end = 0;
};

/// What nlohmann's parser calls with one word of JSON after another. Nesting and number are bounded here, for whatever
/// does not belong where it stands ends the parsing: the functions return whether to go on.
class header_reader {
 public:
  std::vector<entry> entries;
  file::metadata metadata;
  std::string expected, actual;  // where something is wrong

  bool start_object(std::size_t) {
    if (at_ == place::before) return go(place::names);
    if (at_ != place::names) return wrong("an object");
    if (key_ == metadata_key) return first(seen_metadata_) && go(place::metadata);
    if (entries.size() == most_names) return wrong("at most 100000 tensors", "more");
    entries.emplace_back().about.name = std::move(key_);
    seen_ = {};
    return go(place::tensor);
  }
  bool key(std::string& name) {
    key_ = std::move(name);
    if (at_ != place::tensor) return true;
    const auto known = std::find(fields.begin(), fields.end(), key_);
    if (known == fields.end()) return wrong("dtype, shape and data_offsets" + of_tensor(), shown(key_));
    field_ = static_cast<field>(known - fields.begin());
    return first(seen_[field_]);
  }
  bool end_object() {
    if (at_ == place::names) return go(place::after);
    if (at_ == place::tensor && std::find(seen_.begin(), seen_.end(), false) != seen_.end())
      return wrong("dtype, shape and data_offsets" + of_tensor(), "less");
    return go(place::names);
  }
  bool start_array(std::size_t) {
    if (at_ != place::tensor || field_ == dtype_field) return wrong("an array");
    offsets_ = 0;
    return go(field_ == shape_field ? place::shape : place::offsets);
  }
  bool end_array() {
    if (at_ == place::offsets && offsets_ < 2) return wrong("two data_offsets" + of_tensor(), "less");
    return go(place::tensor);
  }
  bool string(std::string& text) {
    if (at_ == place::tensor && field_ == dtype_field) return found_dtype(text);
    if (at_ != place::metadata) return wrong("a string");
    if (metadata.size() == most_names) return wrong("at most 100000 texts of metadata", "more");
    return first_of(metadata.try_emplace(key_, std::move(text)).second);
  }
  bool number_unsigned(std::uint64_t number) {
    if (at_ == place::shape) return found_extent(number);
    if (at_ != place::offsets) return wrong("a number");
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
  enum class place { before, names, metadata, tensor, shape, offsets, after };
  enum field { dtype_field, shape_field, offsets_field };
  static constexpr std::array<std::string_view, 3> fields = {"dtype", "shape", "data_offsets"};

  bool go(place to) {
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
      case place::names:
        return wrong("an object for " + shown(key_), given);
      case place::metadata:
        return wrong("a text for " + shown(key_) + " of __metadata__", given);
      case place::tensor:
        return wrong(field_ == dtype_field ? "a string as dtype" + of_tensor()
                                           : text_of({"an array as ", fields[field_], of_tensor()}),
                     given);
      case place::shape:
        return wrong("whole numbers as shape" + of_tensor(), given);
      case place::offsets:
        return wrong("whole numbers as data_offsets" + of_tensor(), given);
      default:
        return wrong("an object", given);
    }
  }
  [[gnu::cold]] std::string of_tensor() const { return " of " + shown(entries.back().about.name); }

  place at_ = place::before;
  std::string key_;
  field field_ = dtype_field;
  std::array<bool, 3> seen_{};
  bool seen_metadata_ = false;
  int offsets_ = 0;
};

/// The tensors of the file `path`, as its header says, which is checked word by word.
inline header_reader read_header(const std::string& path, std::string_view text) {
  if (!text.starts_with('{')) refuse(format_error(path, "a header that begins with {", "another"));
  // A zero ends the text for the parser, and whatever follows would pass unseen.
  if (text.find('\0') != text.npos) refuse(format_error(path, "a header of JSON, padded with spaces", "a zero in it"));
  header_reader header;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &header))
    refuse(format_error(path, header.expected, header.actual));
  return header;
}

}  // namespace detail

}  // namespace cairn::file
