// Prepares a data set for training: standardizes its numbers, and sets examples apart.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/philox.hpp"
#include "cairn/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cairn::data {

namespace detail {
/// Returns pixels as numbers from 0 to 1.
inline std::vector<float> from_0_to_1(std::span<const std::uint8_t> bytes) {
  std::vector<float> numbers(bytes.size());
  std::ranges::transform(bytes, numbers.begin(), [](std::uint8_t byte) { return static_cast<float>(byte / 255.0); });
  return numbers;
}
/// Returns the numbers from 0 to count - 1 in an order drawn from a random sequence. Every order is equally likely.
inline std::vector<std::uint32_t> permutation(std::size_t count, random_sequence random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (auto left = static_cast<std::uint32_t>(count); left > 1; --left)
    std::swap(order[left - 1], order[random.below(left)]);
  return order;
}
}  // namespace detail

/// Mean and standard deviation of each channel of a data set. Feature i belongs to channel i % channels. So one channel
/// is the whole picture, three channels are the colors of a picture {rows, columns, 3}, and as many channels as
/// features are the columns of a table. The constructor throws option_error if the features are no multiple of
/// `channels`, or if the numbers of a channel are all equal, and size_error if there are no examples.
class moments {
 public:
  explicit moments(const dataset& set, int channels = 1) {
    if (channels < 1 || set.features % channels != 0)
      refuse(option_error("channels", detail::text_of({"a divisor of ", detail::text_of(set.features), " features"}),
                          channels));
    if (set.size() == 0) refuse(size_error("examples to take moments of, at least", 1, 0));
    const auto stride = static_cast<std::size_t>(channels);
    const auto count = static_cast<double>(set.images.size() / stride);
    mean_.resize(stride);
    deviation_.resize(stride);
    for (std::size_t i = 0; i < set.images.size(); ++i) mean_[i % stride] += set.images[i];
    for (double& sum : mean_) sum /= count;
    for (std::size_t i = 0; i < set.images.size(); ++i) {
      const double far = set.images[i] - mean_[i % stride];
      deviation_[i % stride] += far * far;
    }
    for (std::size_t channel = 0; channel < stride; ++channel) {
      deviation_[channel] = std::sqrt(deviation_[channel] / count);
      if (!(deviation_[channel] > 0))
        refuse(option_error(detail::text_of({"deviation of channel ", std::to_string(channel)}), "above 0",
                            deviation_[channel]));
    }
  }

  /// One number for each channel.
  std::span<const double> mean() const { return mean_; }
  std::span<const double> deviation() const { return deviation_; }

  /// Replaces each number x of a data set by (x - mean) / deviation.
  void standardize(dataset& set) const {
    for (std::size_t i = 0; i < set.images.size(); ++i) {
      const std::size_t channel = i % mean_.size();
      set.images[i] = static_cast<float>((set.images[i] - mean_[channel]) / deviation_[channel]);
    }
  }

 private:
  std::vector<double> mean_, deviation_;
};

/// Returns both parts of a data set, standardized with the moments of the training set. Throws what `moments` throws.
inline train_and_test standardize(train_and_test sets, int channels = 1) {
  const moments of_train(sets.train, channels);
  of_train.standardize(sets.train);
  of_train.standardize(sets.test);
  return sets;
}

/// Examples to train with, and examples that are kept apart to validate with.
struct train_and_validation {
  dataset train, validation;
};
/// Splits a data set in two. A share of the examples, drawn by the seed, is for validation; it is rounded down. Both
/// parts keep the order of the examples. Throws option_error if `share` is not from 0 to 1.
inline train_and_validation split(const dataset& set, double share, seed s) {
  if (!(share >= 0 && share <= 1)) refuse(option_error("share to validate with", "0 to 1", share));
  const auto count = static_cast<std::size_t>(set.size());
  const auto apart = static_cast<std::size_t>(static_cast<double>(count) * share);
  std::vector<bool> is_apart(count);
  const std::vector<std::uint32_t> order = detail::permutation(count, random_sequence(s, 0));
  for (std::size_t i = 0; i < apart; ++i) is_apart[order[i]] = true;

  train_and_validation parts;
  for (dataset* part : {&parts.train, &parts.validation}) {
    part->features = set.features;
    part->classes = set.classes;
  }
  for (std::size_t i = 0; i < count; ++i) {
    dataset& part = is_apart[i] ? parts.validation : parts.train;
    const auto row = set.images.begin() + static_cast<std::ptrdiff_t>(i) * set.features;
    part.images.insert(part.images.end(), row, row + set.features);
    part.labels.push_back(set.labels[i]);
  }
  return parts;
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
