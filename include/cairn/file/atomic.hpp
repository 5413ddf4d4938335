// Files that are written as a whole or not at all.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/file/descriptor.hpp"
#include "cairn/file/errors.hpp"

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace cairn::file {

namespace detail {

/// The folder of a path, with the slash at its end; "./" where the path is a name alone.
inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

/// The path of the file to which a symbolic link leads, whether that file exists or not; any other path as it is.
/// Throws write_error where links lead in a circle.
inline std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // as many as the kernel follows
  std::string file = path;
  for (int i = 0; i < most_links; ++i) {
    char target[PATH_MAX];
    const ::ssize_t length = ::readlink(file.c_str(), target, sizeof target);
    if (length < 0) return file;
    const std::string_view to(target, static_cast<std::size_t>(length));
    file = text_of({to.starts_with('/') ? "" : folder_of(file), to});
  }
  refuse(write_error(path, "a file", ELOOP));
}

inline constexpr std::string_view before_unfinished = ".cairn-", after_unfinished = ".part";
/// Returns true if the name is one that a file has while it is written.
inline bool is_unfinished(std::string_view name) {
  return name.starts_with(before_unfinished) && name.ends_with(after_unfinished);
}

/// A file that is written to take the place of another. Until then it has no name, so nothing is left of it where the
/// process is killed. File systems without such files (NFS is one) give it a name of its own, and there it stays.
class replacement {
 public:
  /// Throws write_error where `path` is a folder, pipe or device, or where no file can be made in its folder.
  explicit replacement(const std::string& path)
      : said_(path),
        path_(behind_links(path)),
        folder_name_(folder_of(path_)),
        folder_(folder_name_, O_RDONLY | O_DIRECTORY) {
    // A folder that may be written and not listed cannot be opened; take_place() then does without.
    if (!folder_ && errno != EACCES) fail("a folder to write in");
    struct stat old{};
    const bool is_new = ::stat(path_.c_str(), &old) != 0;
    if (path_.empty() || (is_new && errno != ENOENT)) fail("a file that can be replaced");
    if (!is_new && S_ISDIR(old.st_mode)) fail("a file that can be replaced", EISDIR);
    if (!is_new && !S_ISREG(old.st_mode)) refuse(write_error(said_, "a file", EEXIST, "a pipe or device"));
    open_file(is_new ? 0666 : 0600);
    if (!is_new) take_rights(old);
  }
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;
  ~replacement() {
    if (has_name_) ::unlink(name_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    if (!file_.write(bytes)) fail("room to write");
  }
  /// All bytes must be on the disk before the name leads there: after a power failure a file system may know the new
  /// name and not the bytes. Some file systems say only at the end, in close(), that the disk is full.
  void take_place() {
    if (!file_.sync()) fail("room to write");
    if (!has_name_) give_name();
    if (!file_.close()) fail("room to write");
    put_in_place();
    has_name_ = false;
    // File systems that bring names to the disk without being asked say EINVAL.
    if (!folder_) ::sync();
    else if (!folder_.sync() && errno != EINVAL) fail("a folder on the disk");
  }

 private:
  void open_file(::mode_t mode) {
    if (::access("/proc/self/fd", X_OK) == 0) file_ = descriptor(folder_name_, O_WRONLY | O_TMPFILE, mode);
    if (file_) return;
    const std::int64_t time = std::chrono::system_clock::now().time_since_epoch().count();
    name_ = text_of({before_name(), "-", text_of(::getpid()), "-", text_of(time), after_unfinished});
    file_ = descriptor(name_, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (!file_) fail("a folder to write in");
    has_name_ = true;
  }
  /// Gives the new file the owner and the mode of the old one. Only root may give files away. Where the group cannot be
  /// kept, another group gets no more rights than everybody has.
  void take_rights(const struct stat& old) {
    ::mode_t mode = old.st_mode & 07777U;
    if (::fchown(file_.number(), old.st_uid, old.st_gid) != 0) {
      mode &= 0777U;
      if (::fchown(file_.number(), ::geteuid(), old.st_gid) != 0) mode &= ~070U | (mode & 7U) << 3;
    }
    if (::fchmod(file_.number(), mode) != 0) fail("a file whose mode can be kept");
  }
  /// Gives the file the name from which it takes its place. A file that has this name was written as a whole by a save
  /// that was killed, or that is under way, right before its last step; this step is then done for that save.
  void give_name() {
    name_ = text_of({before_name(), after_unfinished});
    is_shared_ = true;
    const std::string own = text_of({"/proc/self/fd/", text_of(file_.number())});
    while (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      if (errno != EEXIST) fail("a folder to write in");
      put_in_place();
    }
    has_name_ = true;
  }
  /// Another save may have done the last step of this one: then the name leads nowhere.
  void put_in_place() {
    if (std::rename(name_.c_str(), path_.c_str()) != 0 && !(is_shared_ && errno == ENOENT))
      fail("a file that can be replaced");
  }

  std::string before_name() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = text_of({folder_name_, before_unfinished});
    for (std::uint64_t rest = number_of(path_.substr(path_.rfind('/') + 1)); rest != 0; rest /= 16)
      text += digits[rest % 16];
    return text;
  }
  [[noreturn, gnu::cold]] void fail(std::string_view wanted, int reason = errno) const {
    refuse(write_error(said_, wanted, reason));
  }

  std::string said_, path_, folder_name_, name_;
  descriptor folder_, file_;
  bool has_name_ = false;
  bool is_shared_ = false;  ///< whether other saves of this path use the same name
};

}  // namespace detail

/// Writes the pieces one after another, to a new file that then takes the place of `path`. Every reader, also after a
/// crash, finds the old file or the new one, whole. The new file has the mode of the old one, and where the system
/// permits it the owner; a symbolic link stays and leads to the new file. Throws write_error, and then the old file is
/// as it was. There is one exception: if only the folder cannot be brought to the disk, the new file is in its place.
inline void replace(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  detail::replacement file(path);
  for (const auto piece : pieces) file.write(piece);
  file.take_place();
}

}  // namespace cairn::file
