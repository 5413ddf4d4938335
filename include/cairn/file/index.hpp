// Reads the index of a model that lies in several safetensors files, which Hugging Face calls
// model.safetensors.index.json. The index says which file has which tensor.
#pragma once

#include "cairn/file/header.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace cairn::file::detail {

/// The names of the files that have the tensors, by the names of the tensors.
using weight_map = std::map<std::string, std::string, std::less<>>;

/// The functions that nlohmann's parser calls, one for each word of JSON. Each function returns true if the parser is
/// to go on. Values next to "weight_map" may be anything.
class index_reader {
 public:
  weight_map map;
  std::string expected, actual;  // what was expected and what was found, if something is wrong

  bool start_object(std::size_t) {
    if (in_map_) return is_ignored("an object");
    if (is_map_next()) {
      if (has_map()) return wrong("one weight_map", "two");
      has_map_ = in_map_ = true;
    }
    ++depth_;
    return true;
  }
  bool end_object() {
    in_map_ = false;
    --depth_;
    return true;
  }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool start_array(std::size_t) {
    if (!is_ignored("an array")) return false;
    ++depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }
  bool string(std::string& text) {
    if (!in_map_) return is_ignored("a string");
    if (map.size() == most_names) return wrong("at most 100000 tensors", "more");
    return map.try_emplace(key_, std::move(text)).second || wrong("names that differ", shown(key_) + " twice");
  }
  bool number_unsigned(std::uint64_t) { return is_ignored("a number"); }
  bool number_integer(std::int64_t) { return is_ignored("a number"); }
  bool number_float(double, const std::string&) { return is_ignored("a number"); }
  bool boolean(bool) { return is_ignored("a boolean"); }
  bool null() { return is_ignored("null"); }
  bool binary(const nlohmann::json::binary_t&) { return is_ignored("bytes"); }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception&) {
    return wrong("an index of JSON",
                 text_of({"something else at its byte ", text_of(static_cast<std::int64_t>(byte))}));
  }
  bool has_map() const { return has_map_; }

 private:
  bool is_map_next() const { return depth_ == 1 && key_ == "weight_map"; }
  /// Returns true if a value is not in the map and is not the map.
  bool is_ignored(std::string_view given) {
    if (in_map_) return wrong("the name of a file for " + shown(key_), given);
    return !is_map_next() || wrong("an object as weight_map", given);
  }
  [[gnu::cold]] bool wrong(std::string_view wanted, std::string_view given) {
    expected = wanted;
    actual = given;
    return false;
  }

  std::size_t depth_ = 0;
  std::string key_;
  bool in_map_ = false, has_map_ = false;
};

/// Reads the text of the index `path`. Throws format_error, also if a file has a name that leads out of the folder of
/// the index.
inline weight_map read_index(const std::string& path, std::string_view text) {
  if (!text.starts_with('{')) refuse(format_error(path, "an index that begins with {", "another"));
  index_reader index;
  if (text.find('\0') != text.npos) refuse(format_error(path, "an index of JSON", "a zero in it"));
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &index))
    refuse(format_error(path, index.expected, index.actual));
  if (!index.has_map()) refuse(format_error(path, "weight_map", "none"));
  for (const auto& [name, file] : index.map) {
    if (file.empty() || file.find_first_of(std::string_view("/\0", 2)) != file.npos)
      refuse(format_error(path, text_of({"the name of a file in the same folder for ", shown(name)}), shown(file)));
  }
  return std::move(index.map);
}

}  // namespace cairn::file::detail
