// A data set in memory.
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

}  // namespace cairn::data
