// Damaged safetensors files. A reader must accept or reject each of them, with little memory.
#pragma once

#include "cairn/file/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

/// The bytes that operator new has allocated, now and at most. Only one source file of a program may include this
/// header.
namespace heap {
inline std::size_t now = 0, most = 0;
}

void* operator new(std::size_t size) {
  void* const at = std::malloc(size);
  if (at == nullptr) throw std::bad_alloc();
  heap::most = std::max(heap::most, heap::now += malloc_usable_size(at));
  return at;
}
[[gnu::noinline]] void operator delete(void* at) noexcept {
  heap::now -= malloc_usable_size(at);
  std::free(at);
}
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { operator delete(at); }

namespace mutated {

/// Random numbers that are the same on all machines, for equal seeds (splitmix64).
struct draws {
  std::uint64_t state;

  std::size_t below(std::size_t bound) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return static_cast<std::size_t>((z ^ z >> 31) % bound);
  }
};

/// Texts with a meaning, or nearly a meaning, in a header.
inline constexpr std::array<std::string_view, 40> words = {"{",
                                                           "}",
                                                           "[",
                                                           "]",
                                                           ",",
                                                           ":",
                                                           "\"",
                                                           "\\",
                                                           "\\u0061",
                                                           "\\ud800",
                                                           "\xFF",
                                                           "\xC3\xA9",
                                                           " ",
                                                           "\n",
                                                           "0",
                                                           "1",
                                                           "4",
                                                           "-1",
                                                           "1e3",
                                                           "0.5",
                                                           "9223372036854775807",
                                                           "18446744073709551615",
                                                           "18446744073709551616",
                                                           "null",
                                                           "true",
                                                           "\"a\"",
                                                           "\"b\"",
                                                           "\"dtype\"",
                                                           "\"shape\"",
                                                           "\"data_offsets\"",
                                                           "\"__metadata__\"",
                                                           "\"F32\"",
                                                           "\"F4\"",
                                                           "\"U8\"",
                                                           "\"BOOL\"",
                                                           "[0,0]",
                                                           "[0,4]",
                                                           "{\"a\":\"b\"}",
                                                           "[[[[[[[[",
                                                           "{\"a\":{\"a\":{\"a\":"};

inline std::string whole(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, ' ');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

/// Returns correct files. The tests damage copies of them.
inline const std::vector<std::string>& sound() {
  static const std::vector<std::string> files = {
      whole("{}", ""), whole(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd"),
      whole(
          R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"b":{"dtype":"F4","shape":[2,4],"data_offsets":[4,8]}} )",
          "01234567"),
      whole(R"({"__metadata__":{"step":"1","é":"\u00e9"},"b":{"dtype":"I64","shape":[0,4],"data_offsets":[0,0]},)"
            R"("a":{"dtype":"BF16","shape":[1,2,3],"data_offsets":[0,12]},"\"c":{"dtype":"BOOL","shape":[1],)"
            R"("data_offsets":[12,13]}}   )",
            "0123456789012")};
  return files;
}

/// Returns a file with one to four errors.
inline std::string with_errors(std::string bytes, draws& draw) {
  for (std::size_t times = 1 + draw.below(4); times > 0; --times) {
    const std::size_t at = draw.below(bytes.size() + 1), rest = bytes.size() - at;
    const std::string_view word = words[draw.below(words.size())];
    switch (draw.below(7)) {
      case 0:
        bytes.insert(at, word);
        break;
      case 1:
        bytes.replace(at, std::min(rest, word.size()), word);
        break;
      case 2:
        bytes.erase(at, 1 + draw.below(8));
        break;
      case 3:
        bytes.insert(draw.below(bytes.size() + 1), bytes.substr(at, 1 + draw.below(60)));
        break;
      case 4:
        if (rest > 0) bytes[at] = static_cast<char>(bytes[at] ^ 1 << draw.below(8));
        break;
      case 5:
        if (rest > 0) bytes[at] = static_cast<char>(draw.below(256));
        break;
      default:
        if (draw.below(8) == 0) bytes.resize(at);
    }
  }
  return bytes;
}
/// Returns a safetensors file with one to four errors.
inline std::string damaged(std::string bytes, draws draw) {
  bytes = with_errors(std::move(bytes), draw);
  // Often corrects the length of the header, so that a reader also reads the rest of the file.
  if (const std::size_t end = bytes.rfind('}'); draw.below(4) > 0 && bytes.size() > 8 && end != bytes.npos && end > 8) {
    const std::uint64_t length = end - 7;
    std::memcpy(bytes.data(), &length, sizeof length);
  }
  return bytes;
}

inline draws draws_of(std::uint64_t number) { return {number * 0xD1342543DE82EF95 + 1}; }
/// Returns a damaged copy of a correct file. The damage depends only on the number.
inline std::string file(std::uint64_t number) {
  draws draw = draws_of(number);
  const std::string& bytes = sound()[draw.below(sound().size())];
  return damaged(bytes, draw);
}

/// Counts the files that were accepted and rejected.
struct tally {
  std::uint64_t sound = 0, refused = 0;
  std::size_t most = 0;  ///< largest number of bytes on the heap, minus the bytes of the file
};

/// A file that exists only in memory.
class memory_file {
 public:
  memory_file()
      : descriptor_(memfd_create("mutated", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {}
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(descriptor_); }

  const std::string& path() const { return path_; }
  void write(const std::string& bytes) const {
    const auto size = static_cast<::ssize_t>(bytes.size());
    if (::ftruncate(descriptor_, size) != 0 || ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != size)
      throw std::runtime_error("no memory for a file");
  }

 private:
  int descriptor_;
  std::string path_;
};

/// Reads damaged files from memory through the kernel. Throws if a reader accepts a file although its tensors do not
/// cover its contents, or if a reader throws another exception than format_error.
class trial {
 public:
  tally result;

  void read(const std::string& bytes) {
    read<cairn::file::format_error>(bytes, [&](auto& path) { check(cairn::file::reader(path), bytes); });
  }
  /// Calls read_file(path) for a file of these bytes. The function must accept the file, or throw a `Refusal`.
  template <class Refusal>
  void read(const std::string& bytes, auto read_file) {
    file_.write(bytes);
    const std::size_t before = heap::now;
    heap::most = before;
    try {
      read_file(file_.path());
      ++result.sound;
    } catch (const Refusal&) {
      ++result.refused;
    }
    const std::size_t used = heap::most - before;
    result.most = std::max(result.most, used - std::min(used, bytes.size()));
    if (heap::now != before) throw std::runtime_error("memory is lost");
  }

 private:
  static void check(const cairn::file::reader& saved, const std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const std::string_view all = std::string_view(bytes).substr(8 + length);
    std::size_t total = 0;
    for (const auto& one : saved.tensors()) {
      total += one.bytes.size();
      if (all.find({reinterpret_cast<const char*>(one.bytes.data()), one.bytes.size()}) == all.npos)
        throw std::runtime_error("a tensor's bytes are not the file's");
      if (saved.find(one.name) != &one) throw std::runtime_error("a tensor is not found by its name");
    }
    if (total != all.size()) throw std::runtime_error("tensors do not cover the file");
  }

  memory_file file_;
};

}  // namespace mutated
