// A folder for the files of a test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

/// The folder is removed when the object is destroyed.
struct folder {
  std::filesystem::path path;

  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cairn-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path); }

  std::filesystem::path plain(const std::string& name, const std::string& bytes) const {
    // The file is removed first, because ext4 flushes a file to the disk if it is truncated and written again.
    std::filesystem::remove(path / name);
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
};

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file of tests/kept. The path is found from any working directory.
inline std::string kept_file(const std::string& name) {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind("run/")) + "kept/" + name;
}
