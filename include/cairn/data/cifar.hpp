// Reads CIFAR-10 and CIFAR-100 in their binary format.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/prepare.hpp"
#include "cairn/data/read_file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::data {

/// Reads a file of CIFAR-10 or CIFAR-100 (Krizhevsky 2009): pictures of 32 x 32 pixels with three colors, as `images`
/// {count, 32 * 32 * 3}, channels last, from 0 to 1. A picture of CIFAR-100 has two labels. The second one, the fine
/// label, is kept. `classes` is 10 or 100. Throws option_error for another number, and file_error if the file has no
/// picture or an incomplete one, or a label that is not below `classes`.
inline dataset read_cifar(const std::string& path, int classes) {
  constexpr std::size_t side = 32, plane = side * side, colors = 3;
  if (classes != 10 && classes != 100) refuse(option_error("classes of CIFAR", "10 or 100", classes));
  const std::size_t labels = classes == 10 ? 1 : 2, record = labels + colors * plane;
  const std::string bytes = read_file(path);
  const std::size_t count = bytes.size() / record;
  if (count == 0 || bytes.size() % record != 0)
    refuse(file_error(path, detail::text_of({"records of ", std::to_string(record), " bytes"}),
                      detail::text_of({std::to_string(bytes.size()), " bytes"})));
  dataset set;
  set.features = plane * colors;
  set.classes = classes;
  for (std::size_t example = 0; example < count; ++example) {
    const auto at = [&](std::size_t byte) { return static_cast<std::uint8_t>(bytes[example * record + byte]); };
    if (const int label = at(labels - 1); label < classes) set.labels.push_back(label);
    else refuse(file_error(path, detail::text_of({"labels below ", detail::text_of(classes)}), detail::text_of(label)));
    for (std::size_t i = 0; i < plane * colors; ++i)
      set.images.push_back(static_cast<float>(at(labels + i % colors * plane + i / colors) / 255.0));
  }
  return set;
}

namespace detail {
inline train_and_test cifar(const std::string& folder, int classes, std::span<const std::string_view> train,
                            std::string_view test, pixels wanted) {
  const auto read = [&](std::string_view name) { return read_cifar(text_of({folder, "/", name}), classes); };
  train_and_test sets{read(train[0]), read(test)};
  for (const std::string_view name : train.subspan(1)) {
    const dataset more = read(name);
    sets.train.images.insert(sets.train.images.end(), more.images.begin(), more.images.end());
    sets.train.labels.insert(sets.train.labels.end(), more.labels.begin(), more.labels.end());
  }
  constexpr int colors = 3;
  if (wanted == pixels::standardized) return standardize(std::move(sets), colors);
  return sets;
}
}  // namespace detail

/// Reads CIFAR-10 from the folder of its files data_batch_1.bin to data_batch_5.bin and test_batch.bin: 50,000 pictures
/// to train with and 10,000 to test with. By default, each color is standardized with the moments of the
/// training set. Throws what `read_cifar` throws.
inline train_and_test cifar10(const std::string& folder, pixels wanted = pixels::standardized) {
  constexpr std::string_view train[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                                        "data_batch_5.bin"};
  return detail::cifar(folder, 10, train, "test_batch.bin", wanted);
}
/// Reads CIFAR-100 from the folder of its files train.bin and test.bin, as `cifar10` does.
inline train_and_test cifar100(const std::string& folder, pixels wanted = pixels::standardized) {
  constexpr std::string_view train[] = {"train.bin"};
  return detail::cifar(folder, 100, train, "test.bin", wanted);
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
