// Examples in memory.
#pragma once

#include "cairn/core/refuse.hpp"
#include "cairn/core/text.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace cairn::data {

/// A number of examples, or of their parts, that does not fit; `what()` says which.
struct size_error : std::runtime_error {
  std::int64_t expected, actual;

  [[gnu::cold]] size_error(std::string_view what, std::int64_t wanted, std::int64_t given)
      : std::runtime_error(cairn::detail::text_of(
            {what, ": expected ", cairn::detail::text_of(wanted), ", got ", cairn::detail::text_of(given)})),
        expected(wanted),
        actual(given) {}
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
