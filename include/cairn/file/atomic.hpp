// Files that are written as a whole or not at all.
#pragma once

#include "cairn/file/descriptor.hpp"
#include "cairn/file/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace cairn::file {

namespace detail {

inline std::int64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}
/// When this process first asked: no file that it writes has an earlier time in its name.
inline std::int64_t first_time() {
  static const std::int64_t time = nanoseconds_now();
  return time;
}

/// NAME of a NAME.PID-NANOSECONDS.part that a process left which is no more; nothing of other names. A process in a
/// container often has the number of the one before it, so what has our own is left where it is older than ours.
inline std::string_view left_unfinished(std::string_view name) {
  constexpr std::string_view after = ".part";
  if (!name.ends_with(after)) return {};
  name.remove_suffix(after.size());
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return {};
  const char* const end = name.data() + name.size();
  int process = 0;
  std::int64_t time = 0;
  const auto number = std::from_chars(name.data() + dot + 1, end, process);
  if (number.ec != std::errc{} || process <= 0 || number.ptr == end || *number.ptr != '-') return {};
  const auto rest = std::from_chars(number.ptr + 1, end, time);
  if (rest.ec != std::errc{} || rest.ptr != end) return {};
  const bool left = process == ::getpid() ? time < first_time() : ::kill(process, 0) != 0 && errno == ESRCH;
  return left ? name.substr(0, dot) : std::string_view{};
}

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
    const std::int64_t time = std::max(first_time(), nanoseconds_now());  // also where a clock was set back
    return text_of({path, ".", text_of(::getpid()), "-", text_of(time), ".part"});
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
/// after a crash, finds the old file or the new one, whole. Throws write_error, and then the old file is as it was;
/// only where the folder, the last of all, cannot be brought to the disk, the new file is there already. What is killed
/// while it writes leaves a file `path`.*.part.
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
