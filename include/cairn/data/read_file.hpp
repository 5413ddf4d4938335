// The contents of a file.
#pragma once

#include "cairn/data/errors.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

namespace cairn::data {

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
