// Reads IDX files, the format of MNIST and of similar data sets, plain or gzipped. Link with zlib (-lz).
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/prepare.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>
#include <zlib.h>

namespace cairn::data {

namespace detail {

/// Reads a file once from its beginning to its end, and decompresses it on the way if it is gzipped. zlib's own file
/// reader is not used, because it ignores whatever follows the gzip data.
class gzip_reader {
 public:
  explicit gzip_reader(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_ || !fill()) fail_to_read(errno);
    is_gzipped_ = stream_.avail_in > 0 && *stream_.next_in == first_of_gzip;
    constexpr int only_gzip = 16;
    if (inflateInit2(&stream_, only_gzip + MAX_WBITS) != Z_OK) refuse(std::bad_alloc());
  }
  gzip_reader(const gzip_reader&) = delete;
  gzip_reader& operator=(const gzip_reader&) = delete;
  ~gzip_reader() { inflateEnd(&stream_); }

  /// Fills `bytes` until it is full or the file ends, and returns the number of bytes filled.
  std::size_t read(std::span<std::uint8_t> bytes) {
    stream_.next_out = bytes.data();
    stream_.avail_out = static_cast<uInt>(bytes.size());
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0 && !fill()) fail_to_read(errno);
      if (stream_.avail_in == 0 && is_in_member_) refuse(file_error(path_, "complete gzip data", "an early end"));
      if (stream_.avail_in == 0) break;
      if (is_gzipped_) unpack();
      else copy();
    }
    return bytes.size() - stream_.avail_out;
  }

 private:
  static constexpr Bytef first_of_gzip = 0x1f;

  /// Reads the next piece of the file into the buffer. Returns false if the file could not be read. At the end of the
  /// file, returns true and leaves the buffer empty.
  bool fill() {
    stream_.next_in = piece_.data();
    stream_.avail_in = static_cast<uInt>(std::fread(piece_.data(), 1, piece_.size(), file_.get()));
    return std::ferror(file_.get()) == 0;
  }
  void unpack() {
    if (!is_in_member_ && *stream_.next_in != first_of_gzip)
      refuse(file_error(path_, "an end of the file", "bytes behind gzip data"));
    const int state = inflate(&stream_, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) refuse(file_error(path_, "sound gzip data", "a corrupt stream"));
    is_in_member_ = state == Z_OK;
    if (!is_in_member_) inflateReset(&stream_);  // a gzip file may have several members, one after another
  }
  void copy() {
    const uInt count = std::min(stream_.avail_in, stream_.avail_out);
    std::copy_n(stream_.next_in, count, stream_.next_out);
    stream_.next_in += count;
    stream_.avail_in -= count;
    stream_.next_out += count;
    stream_.avail_out -= count;
  }
  [[noreturn]] void fail_to_read(int reason) const {
    refuse(file_error(path_, "a readable file", std::generic_category().message(reason)));
  }

  struct close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, close> file_;
  std::vector<Bytef> piece_ = std::vector<Bytef>(1 << 16);
  z_stream stream_{};
  // `is_gzipped_`: the file is gzipped. `is_in_member_`: a gzip member has begun and has not ended.
  bool is_gzipped_ = false, is_in_member_ = false;
};

}  // namespace detail

/// Reads an IDX file of bytes: the bytes 0, 0 and 8, the rank (1 to 4), the extents (32 bits each, big-endian), and as
/// many bytes as the extents announce. Throws file_error, also if an extent is 0, if the extents announce more than
/// 2^31 - 1 bytes, or if bytes follow the announced ones.
inline array<std::uint8_t> read_idx(const std::string& path) {
  constexpr std::int64_t limit = 0x7FFFFFFF;
  constexpr std::size_t piece = 1 << 16;
  detail::gzip_reader file(path);
  std::array<std::uint8_t, 4> word{};
  const auto read_word = [&] {
    if (file.read(word) != word.size()) refuse(file_error(path, "an IDX header", "an early end"));
  };

  read_word();
  if (word[0] != 0 || word[1] != 0 || word[2] != 8 || word[3] < 1 || word[3] > 4) {
    char actual[12];
    std::snprintf(actual, sizeof actual, "%02x %02x %02x %02x", word[0], word[1], word[2], word[3]);
    refuse(file_error(path, "an IDX header of bytes (00 00 08, rank 1 to 4)", actual));
  }
  data::array<std::uint8_t> array;
  std::int64_t total = 1;
  for (int rank = word[3]; rank > 0; --rank) {
    read_word();
    const std::int64_t extent = std::int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3];
    if (extent == 0 || extent > limit / total) {
      refuse(file_error(path, "extents above 0 and at most 2^31 - 1 bytes",
                        detail::text_of({"an extent of ", detail::text_of(extent)})));
    }
    array.extents.push_back(extent);
    total *= extent;
  }

  // The memory that is allocated grows with the bytes that the file has, and not with the bytes that its header
  // announces.
  const auto announced = static_cast<std::size_t>(total);
  for (std::size_t count = 0; count < announced;) {
    array.values.resize(std::min(announced, count + piece));
    const std::size_t more = file.read(std::span(array.values).subspan(count));
    if (more == 0)
      refuse(file_error(path, detail::text_of({detail::text_of(total), " bytes of data"}),
                        detail::text_of(static_cast<std::int64_t>(count))));
    count += more;
  }
  if (file.read(std::span(word).first(1)) != 0)
    refuse(file_error(path, detail::text_of({detail::text_of(total), " bytes of data"}), "more"));
  return array;
}

/// Images of shape {count, rows, columns} and their labels of shape {count}, with the bytes that the files have.
struct labelled_images {
  array<std::uint8_t> images, labels;
};

/// Reads a file of images and the file of their labels. Throws file_error if a file cannot be read, if the ranks are
/// not 3 and 1, if the numbers of images and labels differ, or if a label is not below `classes`.
inline labelled_images read_labelled_images(const std::string& images_file, const std::string& labels_file,
                                            int classes) {
  labelled_images set{read_idx(images_file), read_idx(labels_file)};
  const auto expect_rank = [](const std::string& file, const array<std::uint8_t>& array, std::int64_t rank) {
    if (std::ssize(array.extents) != rank)
      refuse(file_error(file, detail::text_of({"rank ", detail::text_of(rank)}),
                        detail::text_of({"rank ", detail::text_of(std::ssize(array.extents))})));
  };
  expect_rank(images_file, set.images, 3);
  expect_rank(labels_file, set.labels, 1);
  if (const auto images = set.images.extents[0], labels = set.labels.extents[0]; images != labels) {
    refuse(file_error(labels_file, detail::text_of({detail::text_of(images), " labels, one an image"}),
                      detail::text_of(labels)));
  }
  if (const int largest = *std::max_element(set.labels.values.begin(), set.labels.values.end()); largest >= classes) {
    refuse(file_error(labels_file, detail::text_of({"labels below ", detail::text_of(classes)}),
                      detail::text_of(largest)));
  }
  return set;
}

/// Returns the data set of these images, with pixels from 0 to 1.
inline dataset as_dataset(const labelled_images& set, int classes) {
  const auto& labels = set.labels.values;
  return as_dataset({set.images.extents, detail::from_0_to_1(set.images.values)},
                    {set.labels.extents, {labels.begin(), labels.end()}}, classes);
}

/// Reads Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60,000 training images and 10,000 test images of 28 x 28 pixels,
/// in 10 classes. By default, both sets are standardized with the moments of the training set.
///
/// The default folder is the folder of Debian's package dataset-fashion-mnist. The files of MNIST have the same names,
/// so MNIST can be read, too. Throws file_error.
inline train_and_test fashion_mnist(const std::string& folder = "/usr/share/datasets/fashion-mnist",
                                    pixels wanted = pixels::standardized) {
  constexpr int classes = 10;
  const auto read = [&folder](std::string_view name) {
    return read_labelled_images(detail::text_of({folder, "/", name, "-images-idx3-ubyte.gz"}),
                                detail::text_of({folder, "/", name, "-labels-idx1-ubyte.gz"}), classes);
  };
  const auto train = read("train"), test = read("t10k");
  const auto size = [](const labelled_images& set) {
    return detail::text_of({detail::text_of(set.images.extents[1]), " x ", detail::text_of(set.images.extents[2])});
  };
  if (size(test) != size(train)) {
    refuse(file_error(folder + "/t10k-images-idx3-ubyte.gz",
                      detail::text_of({"images of ", size(train), " pixels, as the training set's"}), size(test)));
  }
  train_and_test sets{as_dataset(train, classes), as_dataset(test, classes)};
  if (wanted == pixels::standardized) return standardize(std::move(sets));
  return sets;
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
