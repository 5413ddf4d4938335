// A data set in memory, and arrays as files have them.
#pragma once

#include "cairn/data/errors.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
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

namespace detail {
/// Checks that a data set is as its struct says. Throws size_error if it is not.
inline void check(const dataset& set) {
  if (set.features < 1) refuse(size_error("features of a data set, at least", 1, set.features));
  if (const auto numbers = set.size() * set.features; std::ssize(set.images) != numbers)
    refuse(size_error("pixels in a data set", numbers, std::ssize(set.images)));
  std::int64_t least_classes = 0;
  for (const std::int32_t label : set.labels) {
    if (label < 0) refuse(size_error("label of a data set, at least", 0, label));
    if (label >= least_classes) least_classes = label + std::int64_t{1};
  }
  if (set.classes < least_classes) refuse(size_error("classes of a data set, at least", least_classes, set.classes));
}
}  // namespace detail

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

/// Makes a data set of an array whose first axis counts the examples, such as {count, 32, 32, 3}, and an array of their
/// labels. Throws size_error if the labels are not one for each example and below `classes`.
inline dataset as_dataset(array<float> examples, array<std::int32_t> labels, int classes) {
  const std::int64_t count = examples.extents.empty() ? 0 : examples.extents[0];
  if (labels.extents.size() != 1) refuse(size_error("axes of labels", 1, std::ssize(labels.extents)));
  if (labels.extents[0] != count) refuse(size_error("labels, one for each example", count, labels.extents[0]));
  const std::int64_t features = count > 0 ? std::ssize(examples.values) / count : 0;
  dataset set{std::move(examples.values), std::move(labels.values), static_cast<int>(features), classes};
  detail::check(set);
  return set;
}

/// The numbers that stand for the pixels of a picture.
enum class pixels : std::uint8_t {
  standardized,  ///< (pixel - mean) / deviation, with the moments of the training set
  from_0_to_1,   ///< pixel / 255
};

}  // namespace cairn::data
