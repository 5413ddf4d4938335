// The contents of a file.
#pragma once

#include "cairn/data/errors.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace cairn::data {

namespace detail {
/// Returns at most 400 bytes of a file's text for a message, with ? in the place of ASCII's control characters. The
/// text thus begins no line that looks like another message. Letters that are not ASCII stay, because column names have
/// them.
[[gnu::noinline, gnu::cold]] inline std::string on_one_line(std::string_view text) {
  std::string line(text.substr(0, 400));
  for (char& c : line) c = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return line += text.size() > line.size() ? "..." : "";
}
}  // namespace detail

/// Returns the contents of a file. Throws file_error.
inline std::string read_file(const std::string& path) {
  struct close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, close> file(std::fopen(path.c_str(), "rb"));
  std::string all;
  char piece[1 << 16];
  for (std::size_t count = 1; file && count > 0;) {
    count = std::fread(piece, 1, sizeof piece, file.get());
    all.append(piece, count);
  }
  if (!file || std::ferror(file.get()) != 0)
    refuse(file_error(path, "a readable file", std::generic_category().message(errno)));
  return all;
}
}  // namespace cairn::data
