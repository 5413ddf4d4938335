// Reads and writes files of named tensors in the safetensors format, which users of PyTorch and JAX have. Both need
// nlohmann's JSON parser (Debian's nlohmann-json3-dev). Nothing else in cairn needs it.
#pragma once

#include "cairn/base/macros_aside.hpp"
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

namespace detail {
/// A file that is open for reading. Throws read_error if the system does not let the file be read. Throws format_error
/// if there is no file, but a folder, a pipe or a device, and if the file becomes shorter while it is read.
class input_file {
 public:
  explicit input_file(const std::string& path)
      // Without O_NONBLOCK, opening a pipe would wait for a writer.
      : path_(path), file_(path, O_RDONLY | O_NONBLOCK) {
    struct stat about{};
    if (!file_ || ::fstat(file_.number(), &about) != 0) refuse(read_error(path_, "a readable file", errno));
    if (!S_ISREG(about.st_mode)) refuse(format_error(path_, "a file", "a folder, pipe or device"));
    size_ = static_cast<std::uint64_t>(about.st_size);
  }

  std::uint64_t size() const { return size_; }
  /// Fills `bytes` with the bytes of the file from byte `offset` on.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const {
    const std::ptrdiff_t count = file_.read_at(offset, bytes);
    if (count < 0) refuse(read_error(path_, "a readable file", errno));
    if (count < std::ssize(bytes)) refuse(format_error(path_, "the file as long as it was", "an early end"));
  }

 private:
  std::string path_;
  descriptor file_;
  std::uint64_t size_ = 0;
};

/// A safetensors file with a header that was read and checked. A tensor is read only when it is asked for, so memory
/// and time grow only with the header.
class opened {
 public:
  /// Opens the file, and reads and checks its header. Throws read_error, and throws format_error if the file breaks a
  /// rule of the format.
  explicit opened(const std::string& path) : file_(path) {
    std::uint64_t length = 0;
    if (file_.size() < sizeof length)
      refuse(format_error(path, "8 bytes, the length of a header", std::to_string(file_.size())));
    file_.read(0, std::as_writable_bytes(std::span(&length, 1)));
    data_size_ = file_.size() - sizeof length;
    check_header_length(path, length);
    if (length > data_size_)
      refuse(format_error(path, text_of({std::to_string(length), " bytes of header"}), std::to_string(data_size_)));
    data_size_ -= length;
    data_begin_ = sizeof length + length;
    std::string text(length, ' ');
    file_.read(sizeof length, std::as_writable_bytes(std::span(text)));
    header_reader header = checked_header(path, text, data_size_);
    entries = std::move(header.entries);
    metadata = std::move(header.metadata);
  }

  std::vector<entry> entries;  ///< sorted by name
  file::metadata metadata;

  std::uint64_t data_size() const { return data_size_; }
  /// Fills `bytes` with the bytes of the tensors from byte `begin` on. Byte 0 is the first one after the header.
  void read_data(std::uint64_t begin, std::span<std::byte> bytes) const { file_.read(data_begin_ + begin, bytes); }

 private:
  input_file file_;
  std::uint64_t data_begin_ = 0, data_size_ = 0;
};
}  // namespace detail

/// A safetensors file that was read and checked. The memory that is allocated grows with the bytes that the file has,
/// and not with the bytes that its header announces.
class reader {
 public:
  /// Reads the file. Throws read_error, and throws format_error if the file breaks a rule of the format.
  explicit reader(const std::string& path) {
    detail::opened file(path);
    metadata_ = std::move(file.metadata);
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(file.data_size());
    file.read_data(0, {bytes_.get(), file.data_size()});
    tensors_.reserve(file.entries.size());
    for (auto& [about, begin, end] : file.entries) {
      about.bytes = {bytes_.get() + begin, end - begin};
      tensors_.push_back(std::move(about));
    }
  }

  /// The tensors of the file, sorted by name. Their bytes belong to this reader.
  std::span<const tensor> tensors() const& { return tensors_; }
  std::span<const tensor> tensors() && = delete;  // the bytes would end with the reader
  const file::metadata& metadata() const& { return metadata_; }
  file::metadata metadata() && { return std::move(metadata_); }
  const tensor* find(std::string_view name) && = delete;
  /// Returns the tensor with this name, or null if there is none.
  const tensor* find(std::string_view name) const& {
    const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                     [](const tensor& one, std::string_view wanted) { return one.name < wanted; });
    return at != tensors_.end() && at->name == name ? &*at : nullptr;
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::vector<tensor> tensors_;
  file::metadata metadata_;
};

namespace detail {
/// Returns the tensors in the order in which a file has them.
inline std::vector<const tensor*> sorted_for_file(std::span<const tensor> tensors) {
  std::vector<const tensor*> sorted;
  for (const tensor& one : tensors) sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const tensor* a, const tensor* b) {
    return a->type != b->type ? a->type > b->type : a->name < b->name;
  });
  return sorted;
}
/// Throws format_error if the name of a tensor cannot stand in a header, or a text. The reader of the header would
/// refuse the same names and texts, but it would not say which name is wrong.
inline void check_names(const std::string& path, std::span<const tensor* const> tensors, const metadata& texts) {
  const auto check = [&path](std::string_view what, std::string_view text) {
    if (!nlohmann::json::accept(as_json(text))) refuse(format_error(path, text_of({what, " in UTF-8"}), shown(text)));
  };
  for (const tensor* const one : tensors) {
    check("the name of each parameter, state or other tensor", one->name);
    if (one->name == metadata_key)
      refuse(format_error(path, "a name of a tensor that the format does not use itself", shown(one->name)));
  }
  for (const auto& [name, text] : texts) {
    check("the name of each text", name);
    check(text_of({"a text for ", shown(name)}), text);
  }
}
/// Writes a file as `write` does. Calls prepare(tensor) just before the bytes of a tensor are read. Tensors may
/// therefore share memory.
inline void write(const std::string& path, std::span<const tensor> tensors, const metadata& texts, auto prepare) {
  const std::vector<const tensor*> sorted = sorted_for_file(tensors);
  check_names(path, sorted, texts);
  const std::string header = header_of(sorted, texts);
  const std::uint64_t length = header.size();
  std::uint64_t data_size = 0;
  for (const tensor* const one : sorted) data_size += one->bytes.size();
  checked_header(path, header, data_size);
  replacement file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const tensor* const one : sorted) {
    prepare(*one);
    file.write(one->bytes);
  }
  file.take_place();
}
}  // namespace detail

/// Writes a safetensors file, as a whole or not at all (see replace). The bytes of the file depend only on its
/// contents, and not on the order of `tensors`. Throws write_error. Throws format_error for what no reader would
/// accept: two tensors with one name, a name that is not UTF-8, or a number of bytes that does not fit a tensor's
/// shape.
inline void write(const std::string& path, std::span<const tensor> tensors, const metadata& texts = {}) {
  detail::write(path, tensors, texts, [](const tensor&) {});
}

}  // namespace cairn::file

#include "cairn/base/macros_back.hpp"
