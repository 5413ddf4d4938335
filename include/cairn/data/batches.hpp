// Batches of a data set, in order or shuffled.
#pragma once

#include "cairn/base/philox.hpp"
#include "cairn/base/tensor_view.hpp"
#include "cairn/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cairn::data {

/// B examples and their labels, for `auto [x, y]`. Both are views, which are valid until the next batch is asked for.
template <int B>
struct batch {
  tensor_view<const float, 2> images;       // {B, features}
  std::span<const std::int32_t, B> labels;  // {B}
};

template <int B>
class ahead_range;

/// The batches of a data set. The data set must outlive them. All batches have B examples, so the last size() % B
/// examples of an epoch are left out.
///
/// If the batches are in order, they are views of the data set itself. If they are shuffled, their examples are
/// gathered in a buffer that is allocated once. Iterating allocates nothing. An iterator over shuffled batches throws
/// std::logic_error after the batches were moved.
template <int B>
class batch_range {
  static_assert(B > 0);

 public:
  /// Makes batches in the order of the data set. Throws size_error if the data set is smaller than a batch, or if its
  /// number of pixels does not fit its number of labels.
  explicit batch_range(const dataset& set) : set_(&set) {
    if (set.size() < B) refuse(size_error("examples for a batch", B, set.size()));
    const auto pixels = set.size() * set.features;
    if (std::ssize(set.images) != pixels) refuse(size_error("pixels in a data set", pixels, std::ssize(set.images)));
  }
  /// Makes shuffled batches. Every permutation is equally likely, and the permutation is a function of the seed and the
  /// epoch. Throws size_error as above.
  batch_range(const dataset& set, seed s, std::int64_t epoch) : batch_range(set) {
    is_shuffled_ = true;
    seed_ = s;
    order_.resize(set.labels.size());
    std::iota(order_.begin(), order_.end(), 0U);
    random_sequence random(s, static_cast<std::uint64_t>(epoch));
    for (auto left = static_cast<std::uint32_t>(order_.size()); left > 1; --left) {
      std::swap(order_[left - 1], order_[random.below(left)]);
    }
    images_.resize(B * features());
  }

  /// Returns the number of batches.
  std::int64_t size() const { return set_->size() / B; }

  class iterator {
   public:
    using value_type = batch<B>;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    batch<B> operator*() const { return range_->at(index_); }
    iterator& operator++() { return ++index_, *this; }
    iterator operator++(int) { return {range_, index_++}; }
    friend bool operator==(const iterator&, const iterator&) = default;
    /// Describes the batches, except for the epoch. train::loop saves the description with a run, and refuses to resume
    /// the run with other batches.
    std::string description() const { return range_->description(); }

   private:
    friend batch_range;
    iterator(batch_range* range, std::int64_t index) : range_(range), index_(index) {}
    batch_range* range_ = nullptr;
    std::int64_t index_ = 0;
  };
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size()}; }

 private:
  std::string description() const {
    return detail::text_of({"batches of ", detail::text_of(B), " of ", detail::text_of(set_->size()), " examples, ",
                            !is_shuffled_ ? "in order" : "shuffled by seed " + std::to_string(seed_.value)});
  }
  std::size_t features() const { return static_cast<std::size_t>(set_->features); }

  friend class ahead_range<B>;

  batch<B> at(std::int64_t index) { return gathered(index, images_.data(), labels_); }
  /// Returns a batch. A batch in order is a view of the data set. A shuffled batch is gathered into `images` and
  /// `labels`, which are the caller's memory.
  batch<B> gathered(std::int64_t index, float* images, std::array<std::int32_t, B>& labels) const {
    const auto first = static_cast<std::size_t>(index) * B;
    if (!is_shuffled_) {
      return {{&set_->images[first * features()], {B, features()}},
              std::span<const std::int32_t, B>(&set_->labels[first], B)};
    }
    if (order_.empty()) refuse(std::logic_error("cairn: these batches were moved; begin anew with the others"));
    for (std::size_t i = 0; i < B; ++i) {
      const std::size_t example = order_[first + i];
      std::copy_n(&set_->images[example * features()], features(), images + i * features());
      labels[i] = set_->labels[example];
    }
    return {{images, {B, features()}}, labels};
  }

  const dataset* set_;
  bool is_shuffled_ = false;
  seed seed_;                         // seed of the permutation
  std::vector<std::uint32_t> order_;  // the permutation, if the batches are shuffled; empty after a move
  std::vector<float> images_;
  std::array<std::int32_t, B> labels_{};
};

/// Makes batches in order, for evaluation: `for (auto [x, y] : batches<128>(set))`.
template <int B>
batch_range<B> batches(const dataset& set) {
  return batch_range<B>(set);
}
/// Makes batches that are shuffled anew in each epoch, for training:
/// `for (auto [x, y] : batches<128>(set, seed{1}, epoch))`.
template <int B>
batch_range<B> batches(const dataset& set, seed s, std::int64_t epoch) {
  return batch_range<B>(set, s, epoch);
}
template <int B>
void batches(const dataset&&, auto...) = delete;  // the batches would outlive the data set

}  // namespace cairn::data
