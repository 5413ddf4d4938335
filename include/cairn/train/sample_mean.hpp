// The mean of losses and measures over the samples of several batches.
#pragma once

#include "cairn/base/setting.hpp"

#include <array>

namespace cairn {

/// The mean of numbers that arrive batch by batch, for example of the accuracy over a test set. The sums are in double.
///
///   sample_mean right;
///   for (auto [x, y] : batches) right.add(accuracy(bind<"x">(x), bind<"y">(y)), 100);  // of 100 samples
///   std::printf("accuracy %.1f %%\n", 100 * right.value());
///
/// As torchmetrics.MeanMetric.
class sample_mean {
 public:
  /// Adds the mean `value` of `count` samples. The mean of 0 samples, which may be NaN, changes nothing. Throws
  /// std::invalid_argument if the count is negative or not finite.
  void add(double value, double count = 1) {
    detail::check_settings("sample_mean", std::array{setting::not_negative("count", count)});
    if (count == 0) return;
    sum_ += value * count;
    count_ += count;
  }

  /// Returns the mean over all samples; NaN before the first one.
  double value() const { return sum_ / count_; }
  /// Returns the number of samples.
  double count() const { return count_; }

 private:
  double sum_ = 0, count_ = 0;
};

}  // namespace cairn
