// Checks where the tensors of a safetensors file lie, and the header that says so.
#pragma once

#include "cairn/file/header.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cairn::file::detail {

inline constexpr std::uint64_t most_header_bytes = 100'000'000;

/// Throws format_error if a header is longer than safetensors files may have it.
inline void check_header_length(const std::string& path, std::uint64_t length) {
  if (length > most_header_bytes)
    refuse(format_error(path, "a safetensors file, which begins with the length of its header, at most 100000000",
                        std::to_string(length)));
}

/// Returns the number of bytes that a tensor of this shape and type has. Throws format_error if the number is 2^61 or
/// more, or not whole.
inline std::uint64_t size_by_shape(const std::string& path, const tensor& of) {
  auto bits = static_cast<std::uint64_t>(detail::bits_of(of.type));
  for (const std::int64_t extent : of.shape)
    if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(extent), &bits))
      refuse(format_error(path, text_of({"a shape of ", shown(of.name), " below 2^61 bytes"}), "a larger one"));
  if (bits % 8 != 0)
    refuse(format_error(path, text_of({"whole bytes of ", shown(of.name)}), std::to_string(bits) + " bits"));
  return bits / 8;
}

/// Checks the offsets of the tensors, and sorts the entries by offset. The first tensor must begin at 0, every later
/// tensor must begin where the tensor before it ends, and the last tensor must end with the file. So no byte lies
/// outside of all tensors, and no byte lies in two of them. Each tensor must have as many bytes as its shape says.
/// Throws format_error.
inline void check_offsets(const std::string& path, std::vector<entry>& entries, std::uint64_t data_size) {
  std::sort(entries.begin(), entries.end(),
            [](const entry& a, const entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::uint64_t end = 0;
  for (const entry& one : entries) {
    if (one.begin != end || one.end < one.begin)
      refuse(format_error(path, text_of({"data of ", shown(one.about.name), " from byte ", std::to_string(end), " on"}),
                          text_of({"bytes ", std::to_string(one.begin), " to ", std::to_string(one.end)})));
    if (const std::uint64_t size = size_by_shape(path, one.about); size != one.end - one.begin)
      refuse(format_error(path, text_of({std::to_string(size), " bytes of ", shown(one.about.name)}),
                          std::to_string(one.end - one.begin)));
    end = one.end;
  }
  if (end != data_size)
    refuse(format_error(path, text_of({std::to_string(end), " bytes of tensors"}), std::to_string(data_size)));
}

inline bool by_name(const entry& a, const entry& b) { return a.about.name < b.about.name; }

/// Reads and checks the header `text` of a file. `data_size` is the number of bytes that follow the header. The entries
/// of the result are sorted by name. Throws format_error, also if two tensors have one name.
inline header_reader checked_header(const std::string& path, std::string_view text, std::uint64_t data_size) {
  check_header_length(path, text.size());
  header_reader header = read_header(path, text);
  check_offsets(path, header.entries, data_size);
  std::sort(header.entries.begin(), header.entries.end(), by_name);
  const auto twice = std::adjacent_find(header.entries.begin(), header.entries.end(),
                                        [](const entry& a, const entry& b) { return !by_name(a, b); });
  if (twice != header.entries.end())
    refuse(format_error(path, "names that differ", shown(twice->about.name) + " twice"));
  return header;
}

}  // namespace cairn::file::detail
