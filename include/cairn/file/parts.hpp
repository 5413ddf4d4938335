// Opens a model that lies in one safetensors file, or in several files with an index.
#pragma once

#include "cairn/file/index.hpp"
#include "cairn/file/safetensors.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::file::detail {

/// A tensor of one of several files.
struct part_entry : entry {
  std::size_t part;  ///< index of the file
};

/// Returns true if a path is that of an index of several files.
inline bool is_index(std::string_view path) { return path.ends_with(".index.json"); }

/// A model in one file or several. Its headers were read and checked. A tensor is read only when it is asked for.
class opened_model {
 public:
  /// Opens a safetensors file. If its name ends with ".index.json", it is an index, and all files that the index
  /// names are opened. They must have exactly the tensors that the index says. Throws read_error and format_error.
  explicit opened_model(const std::string& path) {
    if (is_index(path)) open_parts(path);
    else open(path);
  }

  std::vector<part_entry> entries;  ///< sorted by name
  file::metadata metadata;          ///< the texts of all files

  /// Returns the tensor with this name, or null if there is none.
  const part_entry* find(std::string_view name) const {
    const auto at =
        std::lower_bound(entries.begin(), entries.end(), name,
                         [](const part_entry& one, std::string_view wanted) { return one.about.name < wanted; });
    return at != entries.end() && at->about.name == name ? &*at : nullptr;
  }
  /// Fills `bytes` with the bytes of the tensor.
  void read(const part_entry& tensor, std::span<std::byte> bytes) const {
    parts_[tensor.part].read_data(tensor.begin, bytes);
  }

 private:
  void open(const std::string& path) {
    opened& next = parts_.emplace_back(path);
    for (entry& one : next.entries) entries.push_back({std::move(one), parts_.size() - 1});
    next.entries.clear();
    metadata.merge(next.metadata);
  }
  void open_parts(const std::string& path) {
    const weight_map index = read_index(path, text_of_index(path));
    std::set<std::string_view> files;
    for (const auto& [name, file] : index) files.insert(file);
    for (const std::string_view file : files) {
      const std::string place = text_of({folder_of(path), file});
      const std::size_t before = entries.size();
      open(place);
      for (std::size_t i = before; i < entries.size(); ++i) {
        const auto said = index.find(entries[i].about.name);
        if (said == index.end() || said->second != file)
          refuse(
              format_error(place, text_of({"only tensors that ", path, " puts there"}), shown(entries[i].about.name)));
      }
    }
    std::sort(entries.begin(), entries.end(), by_name);
    for (const auto& [name, file] : index) {
      if (find(name) == nullptr)
        refuse(
            format_error(text_of({folder_of(path), file}), text_of({shown(name), ", as ", path, " says"}), "nothing"));
    }
  }
  static std::string text_of_index(const std::string& path) {
    const input_file file(path);
    if (file.size() > most_header_bytes)
      refuse(format_error(path, "an index of at most 100000000 bytes", std::to_string(file.size())));
    std::string text(file.size(), ' ');
    file.read(0, std::as_writable_bytes(std::span(text)));
    return text;
  }

  std::vector<opened> parts_;
};

}  // namespace cairn::file::detail
