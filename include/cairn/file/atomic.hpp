// Files that are written as a whole or not at all.
#pragma once

#include "cairn/file/descriptor.hpp"
#include "cairn/file/errors.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace cairn::file {

namespace detail {

/// A new file beside `path`, under a name that nobody else has. It is removed, unless it took the place of `path`.
class file_beside {
 public:
  explicit file_beside(const std::string& path)
      : path_(path), name_(unique(path)), file_(name_, O_WRONLY | O_CREAT | O_EXCL, 0666) {
    if (!file_) fail("a folder to write in");
  }
  file_beside(const file_beside&) = delete;
  file_beside& operator=(const file_beside&) = delete;
  ~file_beside() {
    if (file_exists_) ::unlink(name_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    if (!file_.write(bytes)) fail("room to write");
  }
  /// All must be on the disk before the name leads there: after a power failure a file system may know the new name and
  /// not what belongs under it.
  void take_place() {
    if (!file_.sync() || !file_.close()) fail("room to write");
    if (std::rename(name_.c_str(), path_.c_str()) != 0) fail("a file that can be replaced");
    file_exists_ = false;
  }

 private:
  static std::string unique(const std::string& path) {
    return text_of({path, ".", text_of(::getpid()), "-",
                    text_of(std::chrono::system_clock::now().time_since_epoch().count()), ".part"});
  }
  [[noreturn, gnu::cold]] void fail(std::string_view wanted) const { refuse(write_error(path_, wanted, errno)); }

  std::string path_, name_;
  descriptor file_;
  bool file_exists_ = true;
};

inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace detail

/// Writes the pieces one after another, to a new file that then takes the place of `path`. Whoever reads, and who comes
/// after a crash, finds the old file or the new one, whole. Throws write_error, and then the old file is as it was; only
/// where the folder, the last of all, cannot be brought to the disk, the new file is there already. What is killed while
/// it writes leaves a file `path`.*.part.
inline void replace(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  const detail::descriptor folder(detail::folder_of(path), O_RDONLY | O_DIRECTORY);
  if (!folder) refuse(write_error(path, "a folder to write in", errno));
  detail::file_beside file(path);
  for (const auto piece : pieces) file.write(piece);
  file.take_place();
  // EINVAL is what file systems say that bring names to the disk without being asked.
  if (!folder.sync() && errno != EINVAL) refuse(write_error(path, "a folder on the disk", errno));
}

}  // namespace cairn::file
