// A data set in memory, and arrays as files have them.
#pragma once

#include "cairn/data/errors.hpp"

#include <cstdint>
#include <vector>

namespace cairn::data {

/// Labelled examples. Example i is row i of `images` and belongs to class `labels[i]`.
struct dataset {
  std::vector<float> images;         // {size(), features}, row-major
  std::vector<std::int32_t> labels;  // {size()}, each in [0, classes)
  int features = 0;
  int classes = 0;

  /// Returns the number of examples.
  std::int64_t size() const { return std::ssize(labels); }
};

/// The two parts of a data set.
struct train_and_test {
  dataset train, test;
};

/// An array of a file, in row-major order.
template <class T>
struct array {
  std::vector<std::int64_t> extents;
  std::vector<T> values;
};

/// The numbers that stand for the pixels of a picture.
enum class pixels : std::uint8_t {
  standardized,  ///< (pixel - mean) / deviation, with the moments of the training set
  from_0_to_1,   ///< pixel / 255
};

}  // namespace cairn::data
