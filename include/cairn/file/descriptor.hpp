// An open file. Its functions repeat system calls that were interrupted or done in part.
#pragma once

#include "cairn/base/compiler.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <span>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cairn::file::detail {

/// The operating system's number for an open file. Nothing here throws: a call that fails leaves the reason in errno.
class descriptor {
 public:
  descriptor() = default;
  descriptor(const std::string& path, int how, ::mode_t mode = 0)
      : number_(::open(path.c_str(), how | O_CLOEXEC, mode)) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

  /// Fills `bytes` until it is full or the file ends. Returns the number of bytes read, or -1 if reading failed.
  std::ptrdiff_t read(std::span<std::byte> bytes) const {
    return in_parts(bytes, [this](std::byte* at, std::size_t size) { return ::read(number_, at, size); });
  }
  /// Fills `bytes` from byte `offset` of the file on. Returns the number of bytes read, or -1 if reading failed. The
  /// position at which `read` continues does not change.
  std::ptrdiff_t read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
    return in_parts(bytes, [&, this](std::byte* at, std::size_t size) {
      return ::pread(number_, at, size, static_cast<::off_t>(offset) + (at - bytes.data()));
    });
  }
  /// Writes `bytes`. Returns true if all of them were written.
  bool write(std::span<const std::byte> bytes) const {
    errno = EIO;  // the error to report if a call writes nothing and gives no reason
    return in_parts(bytes, [this](const std::byte* at, std::size_t size) { return ::write(number_, at, size); }) ==
           std::ssize(bytes);
  }
  /// Brings the written bytes to the disk. Returns true if they are there.
  bool sync() const {
    int state = 0;
    do state = ::fsync(number_);
    while (state != 0 && errno == EINTR);
    return state == 0;
  }
  /// Tries to lock the file. Returns true if this descriptor now holds the lock, which lasts until the descriptor is
  /// closed or its process ends. Processes in different containers see the same lock.
  bool lock() const {
    int state = 0;
    do state = ::flock(number_, LOCK_EX | LOCK_NB);
    while (state != 0 && errno == EINTR);
    return state == 0;
  }
  /// Closes the file. Returns true if this succeeded. Some file systems report a full disk only here. An interrupted
  /// call counts as success, because it closes the file nevertheless.
  bool close() { return ::close(std::exchange(number_, -1)) == 0 || errno == EINTR; }

 private:
  /// Repeats a call until all bytes are done or no more bytes come. Returns the number of bytes done, or -1 if a call
  /// failed.
  template <class Byte>
  static std::ptrdiff_t in_parts(std::span<Byte> bytes, auto call) {
    constexpr std::size_t at_once = std::size_t{1} << 30;  // Linux does at most 2 GB in one call
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ::ssize_t count = call(bytes.data() + done, std::min(at_once, bytes.size() - done));
      if (count == 0) break;
      if (count > 0) done += static_cast<std::size_t>(count);
      else if (errno != EINTR) return -1;
    }
    return static_cast<std::ptrdiff_t>(done);
  }

  int number_ = -1;
};

}  // namespace cairn::file::detail
