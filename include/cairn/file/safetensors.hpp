// Files of named tensors in the format of PyTorch's and JAX's users, safetensors. Reading needs nlohmann's JSON parser
// (Debian's nlohmann-json3-dev); nothing else of cairn does.
#pragma once

#include "cairn/core/macros_aside.hpp"

#include "cairn/file/atomic.hpp"
#include "cairn/file/descriptor.hpp"
#include "cairn/file/errors.hpp"
#include "cairn/file/header_text.hpp"
#include "cairn/file/layout.hpp"
#include "cairn/file/numbers.hpp"
#include "cairn/file/tensor.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::file {

static_assert(std::endian::native == std::endian::little, "cairn: numbers in files are little-endian, and not turned");

/// A safetensors file, read and checked. Memory grows with what is there, not with what the file announces.
class reader {
 public:
  /// Throws read_error, and format_error for whatever breaks a rule of the format.
  explicit reader(const std::string& path) {
    // Without O_NONBLOCK, to open a pipe would wait for who writes.
    const detail::descriptor file(path, O_RDONLY | O_NONBLOCK);
    const std::uint64_t size = size_of(path, file);
    std::uint64_t length = 0;
    if (size < sizeof length) refuse(format_error(path, "8 bytes, the length of a header", std::to_string(size)));
    fill(path, file, std::as_writable_bytes(std::span(&length, 1)));
    const std::uint64_t rest = size - sizeof length;
    detail::check_header_length(path, length);
    if (length > rest)
      refuse(format_error(path, text_of({std::to_string(length), " bytes of header"}), std::to_string(rest)));

    auto header = read_header(path, file, length, rest - length);
    metadata_ = std::move(header.metadata);
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(rest - length);
    fill(path, file, {bytes_.get(), rest - length});
    tensors_.reserve(header.entries.size());
    for (auto& [about, begin, end] : header.entries) {
      about.bytes = {bytes_.get() + begin, end - begin};
      tensors_.push_back(std::move(about));
    }
  }

  /// Sorted by name.
  std::span<const tensor> tensors() const { return tensors_; }
  const file::metadata& metadata() const { return metadata_; }
  /// The tensor of this name; null where there is none.
  const tensor* find(std::string_view name) const {
    const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                     [](const tensor& one, std::string_view wanted) { return one.name < wanted; });
    return at != tensors_.end() && at->name == name ? &*at : nullptr;
  }

 private:
  static std::uint64_t size_of(const std::string& path, const detail::descriptor& file) {
    struct stat about{};
    if (!file || ::fstat(file.number(), &about) != 0) refuse(read_error(path, "a readable file", errno));
    if (!S_ISREG(about.st_mode)) refuse(format_error(path, "a file", "a folder, pipe or device"));
    return static_cast<std::uint64_t>(about.st_size);
  }
  static void fill(const std::string& path, const detail::descriptor& file, std::span<std::byte> bytes) {
    const std::ptrdiff_t count = file.read(bytes);
    if (count < 0) refuse(read_error(path, "a readable file", errno));
    if (count < std::ssize(bytes)) refuse(format_error(path, "the file as long as it was", "an early end"));
  }
  static detail::header_reader read_header(const std::string& path, const detail::descriptor& file,
                                           std::uint64_t length, std::uint64_t data_size) {
    std::string text(length, ' ');
    fill(path, file, std::as_writable_bytes(std::span(text)));
    return detail::checked_header(path, text, data_size);
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::vector<tensor> tensors_;
  file::metadata metadata_;
};

/// Writes a file, as a whole or not at all (see replace), whose bytes depend on its contents alone. Throws write_error,
/// and format_error for what no reader would take: a name twice or not in UTF-8, bytes that are not as many as the
/// shape says.
inline void write(const std::string& path, std::span<const tensor> tensors, const metadata& texts = {}) {
  std::vector<const tensor*> sorted;
  for (const tensor& one : tensors) sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const tensor* a, const tensor* b) {
    return a->type != b->type ? a->type > b->type : a->name < b->name;
  });
  const std::string header = detail::header_of(sorted, texts);
  const std::uint64_t length = header.size();
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&length, 1)),
                                                    std::as_bytes(std::span(header))};
  std::uint64_t data_size = 0;
  for (const tensor* const one : sorted) {
    pieces.push_back(one->bytes);
    data_size += one->bytes.size();
  }
  detail::checked_header(path, header, data_size);
  replace(path, pieces);
}

}  // namespace cairn::file

#include "cairn/core/macros_back.hpp"
