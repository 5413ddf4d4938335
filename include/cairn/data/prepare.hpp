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
/// The number of the random sequence from which a split is drawn. Data draws from these sequences of a seed:
/// - n: the permutation of epoch n;
/// - epoch << 32 | n: where the windows of batch n begin;
/// - ~(epoch << 32 | n): the change of batch n.
inline constexpr std::uint64_t sequence_of_split = std::uint64_t{1} << 63;

/// Returns pixels as numbers from 0 to 1.
inline std::vector<float> from_0_to_1(std::span<const std::uint8_t> bytes) {
  std::vector<float> numbers(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) numbers[i] = static_cast<float>(bytes[i] / 255.0);
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

/// Mean and standard deviation of each channel of a data set. Feature i belongs to channel i % channels:
/// - With one channel, all features share one mean and one deviation.
/// - With three channels, each color of pictures {rows, columns, 3} has its own.
/// - With as many channels as features, each column of a table has its own.
/// The constructor throws option_error if the features are no multiple of `channels`, or if the numbers of a channel
/// are all equal or not finite, and size_error if there are no examples or the data set is not as its struct says.
class moments {
 public:
  explicit moments(const dataset& set, int channels = 1) : features_(set.features) {
    if (channels < 1 || set.features % channels != 0)
      refuse(option_error("channels", detail::text_of({"a divisor of ", detail::text_of(set.features), " features"}),
                          channels));
    detail::check(set);
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
      if (!(deviation_[channel] > 0 && std::isfinite(deviation_[channel])))
        refuse(option_error(detail::text_of({"deviation of channel ", std::to_string(channel)}), "above 0",
                            deviation_[channel]));
    }
  }

  /// One number for each channel.
  std::span<const double> mean() const& { return mean_; }
  std::span<const double> deviation() const& { return deviation_; }
  std::span<const double> mean() && = delete;  // the numbers would end with the moments
  std::span<const double> deviation() && = delete;

  /// Replaces each number x of a data set by (x - mean) / deviation. Throws size_error if the data set has another
  /// number of features.
  void standardize(dataset& set) const {
    if (set.features != features_) refuse(size_error("features to standardize", features_, set.features));
    for (std::size_t i = 0; i < set.images.size(); ++i) {
      const std::size_t channel = i % mean_.size();
      set.images[i] = static_cast<float>((set.images[i] - mean_[channel]) / deviation_[channel]);
    }
  }

 private:
  int features_ = 0;
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
/// Splits a data set in two. A share of the examples, drawn by the seed, is for validation. Their number is rounded.
/// Both parts keep the order of the examples. Throws option_error if `share` is not from 0 to 1, and size_error if the
/// data set is not as its struct says.
inline train_and_validation split(const dataset& set, double share, seed s) {
  if (!(share >= 0 && share <= 1)) refuse(option_error("share to validate with", "0 to 1", share));
  detail::check(set);
  const auto count = static_cast<std::size_t>(set.size());
  const auto apart = static_cast<std::size_t>(std::llround(static_cast<double>(count) * share));
  std::vector<bool> is_apart(count);
  const std::vector<std::uint32_t> order = detail::permutation(count, random_sequence(s, detail::sequence_of_split));
  for (std::size_t i = 0; i < apart; ++i) is_apart[order[i]] = true;

  train_and_validation parts;
  for (dataset* part : {&parts.train, &parts.validation}) {
    const std::size_t size = part == &parts.train ? count - apart : apart;
    part->images.reserve(size * static_cast<std::size_t>(set.features));
    part->labels.reserve(size);
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
