// Replaces files as a whole or not at all.
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

/// Returns the folder of a path, with a slash at its end, or "./" if the path is only a name.
inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

/// Returns the path of the file to which a symbolic link leads, whether that file exists or not. Returns any other path
/// unchanged. Throws write_error if links form a circle.
inline std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // the number of links that the Linux kernel follows
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
/// Returns true if `name` is the name of a file that is being written and has not taken its place yet.
inline bool is_unfinished(std::string_view name) {
  return name.starts_with(before_unfinished) && name.ends_with(after_unfinished);
}

/// A new file that is written and then takes the place of another. Until then it has no name, so nothing is left of it
/// if the process is killed. Some file systems, for example NFS, cannot make files without names. There, the new file
/// has a name of its own, and it stays on the disk if the process is killed.
class replacement {
 public:
  /// Opens the new file. Throws write_error if `path` is a folder, a pipe or a device, or if no file can be made in its
  /// folder.
  explicit replacement(const std::string& path)
      : given_path_(path),
        path_(behind_links(path)),
        folder_name_(folder_of(path_)),
        folder_(folder_name_, O_RDONLY | O_DIRECTORY) {
    // A folder that may be written but not listed cannot be opened. take_place() then does without the open folder.
    if (!folder_ && errno != EACCES) fail("a folder to write in");
    struct stat old{};
    const bool is_new = ::stat(path_.c_str(), &old) != 0;
    if (path_.empty() || (is_new && errno != ENOENT)) fail("a file that can be replaced");
    if (!is_new && S_ISDIR(old.st_mode)) fail("a file that can be replaced", EISDIR);
    if (!is_new && !S_ISREG(old.st_mode)) refuse(write_error(given_path_, "a file", EEXIST, "a pipe or device"));
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
  /// Puts the new file in place of the old one. All bytes must be on the disk before the name leads to them, because
  /// after a power failure a file system may know the new name and not the bytes. Some file systems report a full disk
  /// only in close().
  void take_place() {
    if (!file_.sync()) fail("room to write");
    if (!has_name_) give_name();
    if (!file_.close()) fail("room to write");
    put_in_place();
    has_name_ = false;
    // File systems that bring names to the disk without being asked return EINVAL.
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
  /// Gives the new file the owner and the mode of the old one. Only root may change the owner of a file. If the group
  /// cannot be kept, the new group gets only the rights that everybody has.
  void take_rights(const struct stat& old) {
    ::mode_t mode = old.st_mode & 07777U;
    if (::fchown(file_.number(), old.st_uid, old.st_gid) != 0) {
      mode &= 0777U;
      if (::fchown(file_.number(), ::geteuid(), old.st_gid) != 0) mode &= ~070U | (mode & 7U) << 3;
    }
    if (::fchmod(file_.number(), mode) != 0) fail("a file whose mode can be kept");
  }
  /// Gives the new file the name under which it waits to take its place. All saves of the same path use this name. If a
  /// file has the name already, another save wrote it completely, and was killed or is still running right before its
  /// last step. This function then does the last step for the other save.
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
  /// Renames the file to its final path. If another save has done this last step already, the name no longer exists,
  /// which is not an error.
  void put_in_place() {
    if (std::rename(name_.c_str(), path_.c_str()) != 0 && !(is_shared_ && errno == ENOENT))
      fail("a file that can be replaced");
  }

  std::string before_name() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = text_of({folder_name_, before_unfinished});
    for (std::uint64_t rest = cairn::detail::hash64_of(path_.substr(path_.rfind('/') + 1)); rest != 0; rest /= 16)
      text += digits[rest % 16];
    return text;
  }
  [[noreturn, gnu::cold]] void fail(std::string_view wanted, int reason = errno) const {
    refuse(write_error(given_path_, wanted, reason));
  }

  std::string given_path_, path_, folder_name_, name_;
  descriptor folder_, file_;
  bool has_name_ = false;
  bool is_shared_ = false;  ///< true if other saves of this path use the same name
};

/// Writes the pieces one after another to a new file, which then takes the place of `path`. Every reader finds either
/// the whole old file or the whole new file, also after a crash.
///
/// The new file has the mode of the old one, and also its owner if the system permits this. If `path` is a symbolic
/// link, the link stays, and the file to which it leads is replaced.
///
/// Throws write_error, and then the old file is unchanged. There is one exception: if the only failure is that the
/// folder cannot be brought to the disk, the new file is in place.
inline void replace(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  replacement file(path);
  for (const auto piece : pieces) file.write(piece);
  file.take_place();
}
}  // namespace detail

}  // namespace cairn::file
