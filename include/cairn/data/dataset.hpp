// Examples in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::data {

/// A number of examples, or of their parts, that does not fit; `what()` says which.
struct size_error : std::runtime_error {
  std::int64_t expected, actual;

  size_error(const std::string& what, std::int64_t expected, std::int64_t actual)
      : std::runtime_error(what + ": expected " + std::to_string(expected) + ", got " +
                           std::to_string(actual)),
        expected(expected),
        actual(actual) {}
};

/// Labelled examples: example i is row i of `images`, and is of class `labels[i]`.
struct dataset {
  std::vector<float> images;         // {size(), features}, row-major
  std::vector<std::int32_t> labels;  // {size()}, each in [0, classes)
  int features = 0;
  int classes = 0;

  std::int64_t size() const { return std::ssize(labels); }
};

}  // namespace cairn::data
