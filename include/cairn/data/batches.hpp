// Batches of a data set, in order or shuffled.
#pragma once

#include "cairn/base/tensor_view.hpp"
#include "cairn/data/prepare.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cairn::data {

/// B examples and their labels, for `auto [x, y]`. Both are views, which are valid until the next batch is asked for.
/// If batches are made of microbatches, which have Part examples, the last batch may have fewer examples.
template <int B, int Part = B>
struct batch {
  tensor_view<const float, 2> images;                                         // {B, features}
  std::span<const std::int32_t, Part == B ? B : std::dynamic_extent> labels;  // {B}
};

/// The treatment of the last examples of an epoch, if they do not fill a batch. If batches are made of microbatches, it
/// is the treatment of the last examples that do not fill a microbatch: the last batch has fewer microbatches.
enum class last_batch : std::uint8_t {
  dropped,  ///< they are left out
  /// Zeros fill the batch, with the label dataset::classes, which no class has. A loss can ignore this label:
  /// `cross_entropy<nn::cross_entropy_options{.ignore_index = 10}>(logits, labels<"y", 11, B>)` for ten classes. Its
  /// ignore_index must be the `classes` of the data set.
  padded,
};

struct batch_options {
  last_batch last = last_batch::dropped;
};

/// Stands for the change of batches that are not changed.
struct unchanged {};

template <int L, class Batches>
class shard_range;
template <class Range>
class ahead_range;

/// The batches of a data set. The data set must outlive them. All batches have B examples. If Part is less than B, the
/// batches are made of microbatches of Part examples, and the last batch may have fewer of them. A program with
/// microbatch<up_to<B / Part>> takes such batches.
///
/// If the batches are in order, complete and not changed, they are views of the data set itself. Other batches are
/// gathered in a buffer that is allocated once. Iterating allocates nothing. An iterator over gathered batches throws
/// std::logic_error after the batches were moved.
template <int B, class Change = unchanged, int Part = B>
class batch_range {
  static_assert(B > 0 && Part > 0 && B % Part == 0,
                "cairn: a batch is made of microbatches, so B is a multiple of Part");
  using made = batch<B, Part>;

 public:
  /// Makes batches in the order of the data set. Throws size_error if the data set is smaller than a batch, or empty if
  /// the last batch is padded. Throws size_error, too, if the data set is not as its struct says: if its number of
  /// pixels does not fit its number of labels, or if a label is not in [0, classes).
  explicit batch_range(const dataset& set, batch_options options = {}) : set_(&set), last_(options.last) {
    const std::int64_t least = pads() ? 1 : Part;
    if (set.size() < least) refuse(size_error("examples for a batch", least, set.size()));
    detail::check(set);
    if (pads() && set.size() % Part != 0) own_ = make_slot();
  }
  /// Makes shuffled batches. Every permutation is equally likely, and the permutation is a function of the seed and the
  /// epoch. Throws size_error as above.
  batch_range(const dataset& set, seed s, std::int64_t epoch, batch_options options = {}) : batch_range(set, options) {
    is_shuffled_ = true;
    seed_ = s;
    epoch_ = static_cast<std::uint64_t>(epoch);
    order_ = detail::permutation(set.labels.size(), random_sequence(s, epoch_));
    own_ = make_slot();
  }

  /// Returns these batches, each of them changed by `change(images, random)` after it was gathered:
  /// `batches<128>(set, seed{1}, epoch).changed([](auto images, auto& random) { mirror(images, {28, 28}, random); })`.
  ///
  /// `images` is a tensor_view<float, 2> of {B, features}; data/augment.hpp has changes for pictures. `random` is a
  /// random_sequence, which is a function of the seed, the epoch and the number of the batch. So every batch has the
  /// same bits in each run, and for any number of threads that prepare batches. Batches in order are changed alike in
  /// each epoch. `data::ahead` calls `change` from several threads at once, so `change` must not write to shared data.
  template <class F>
    requires std::invocable<const F&, tensor_view<float, 2>, random_sequence&> && std::same_as<Change, unchanged>
  batch_range<B, F, Part> changed(F change) && {
    return {std::move(*this), std::move(change)};
  }

  /// Returns the number of batches.
  std::int64_t size() const { return (rows() + B - 1) / B; }
  /// Returns batch number `index`, counted from 0. Its views are valid until another batch is asked for.
  made operator[](std::int64_t index) { return prepare(index, own_); }

  class iterator {
   public:
    using value_type = made;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    made operator*() const { return (*range_)[index_]; }
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
  template <int, class, int>
  friend class batch_range;
  template <int, class>
  friend class shard_range;
  template <class>
  friend class ahead_range;

  /// Memory in which a batch is prepared. Each thread of data::ahead has its own.
  struct slot {
    std::vector<float> images;
    std::array<std::int32_t, B> labels{};
  };
  slot make_slot() const { return {std::vector<float>(B * features()), {}}; }
  /// Returns batch number `index`, prepared in `in`. A batch that need not be gathered is a view of the data set.
  made prepare(std::int64_t index, slot& in) const {
    auto& [images, labels] = in;
    const auto first = static_cast<std::size_t>(index) * B;
    const std::size_t wanted = std::min<std::size_t>(B, static_cast<std::size_t>(rows()) - first);
    const std::size_t count = std::min(wanted, set_->labels.size() - first);
    const auto labels_at = [wanted](const std::int32_t* at) { return decltype(made::labels)(at, wanted); };
    if (!is_shuffled_ && !changes && count == wanted)
      return {{&set_->images[first * features()], {wanted, features()}}, labels_at(&set_->labels[first])};
    if (images.empty() || (is_shuffled_ && order_.empty()))
      refuse(std::logic_error("cairn: these batches were moved; begin anew with the others"));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t example = is_shuffled_ ? order_[first + i] : first + i;
      std::copy_n(&set_->images[example * features()], features(), images.data() + i * features());
      labels[i] = set_->labels[example];
    }
    std::fill(images.begin() + static_cast<std::ptrdiff_t>(count * features()), images.end(), 0.0F);
    std::fill(labels.begin() + static_cast<std::ptrdiff_t>(count), labels.end(), set_->classes);
    const tensor_view<float, 2> view(images.data(), {wanted, features()});
    if constexpr (changes) {
      random_sequence random(seed_, ~(epoch_ << 32 | static_cast<std::uint64_t>(index)));
      change_(view, random);
    }
    return {view, labels_at(labels.data())};
  }

  batch_range(batch_range<B, unchanged, Part> from, Change change)
      : set_(from.set_),
        last_(from.last_),
        is_shuffled_(from.is_shuffled_),
        seed_(from.seed_),
        epoch_(from.epoch_),
        order_(std::move(from.order_)),
        own_(make_slot()),
        change_(std::move(change)) {}

  static constexpr bool changes = !std::same_as<Change, unchanged>;
  bool pads() const { return last_ == last_batch::padded; }
  /// Returns the number of examples in all batches, with those that pad the last one.
  std::int64_t rows() const { return (set_->size() + (pads() ? Part - 1 : 0)) / Part * Part; }
  std::string description() const {
    return detail::text_of({"batches of ", detail::text_of(B), Part < B ? " in parts of " + detail::text_of(Part) : "",
                            " of ", detail::text_of(set_->size()), " examples, ", pads() ? "the last one padded, " : "",
                            changes ? "changed, " : "",
                            !is_shuffled_ ? "in order" : "shuffled by seed " + std::to_string(seed_.value)});
  }
  std::size_t features() const { return static_cast<std::size_t>(set_->features); }

  const dataset* set_;
  last_batch last_ = last_batch::dropped;
  bool is_shuffled_ = false;
  seed seed_{0};  // seed of the permutation
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> order_;  // the permutation, if the batches are shuffled; empty after a move
  slot own_;                          // the buffer, if a batch is gathered; without images after a move
  [[no_unique_address]] Change change_{};
};

/// Makes batches in order, for evaluation: `for (auto [x, y] : batches<128>(set))`.
template <int B, int Part = B>
batch_range<B, unchanged, Part> batches(const dataset& set, batch_options options = {}) {
  return batch_range<B, unchanged, Part>(set, options);
}
/// Makes batches that are shuffled anew in each epoch, for training:
/// `for (auto [x, y] : batches<128>(set, seed{1}, epoch))`. With `batches<128, 32>`, the last batch may have fewer than
/// 128 examples, in microbatches of 32.
template <int B, int Part = B>
batch_range<B, unchanged, Part> batches(const dataset& set, seed s, std::int64_t epoch, batch_options options = {}) {
  return batch_range<B, unchanged, Part>(set, s, epoch, options);
}
// The batches would outlive the data set.
template <int B, int Part = B>
void batches(const dataset&&, batch_options = {}) = delete;
template <int B, int Part = B>
void batches(const dataset&&, seed, std::int64_t, batch_options = {}) = delete;

}  // namespace cairn::data
