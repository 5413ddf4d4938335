// Batches that another thread prepares while a step runs.
#pragma once

#include "cairn/core/macros_aside.hpp"

#include "cairn/data/batches.hpp"

#include <semaphore>
#include <stdexcept>
#include <thread>

namespace cairn::data {

/// The batches of a range, in the same order and with the same numbers; while one is used, the next is gathered on a
/// thread of its own. To be gone through once.
template <int B>
class ahead_range {
 public:
  explicit ahead_range(batch_range<B> batches) : batches_(std::move(batches)) {
    for (slot& one : slots_) one.images.resize(B * batches_.features());
  }
  ahead_range(ahead_range&& other) : ahead_range(std::move(other.batches_)) {}  // before it has begun
  ~ahead_range() {
    worker_.request_stop();
    free_.release();
  }

  std::int64_t size() const { return batches_.size(); }

  class iterator {
   public:
    using value_type = batch<B>;
    using difference_type = std::ptrdiff_t;

    batch<B> operator*() const { return range_->slots_[place_ % 2].prepared; }
    iterator& operator++() {
      range_->free_.release();
      if (++place_ < range_->size()) range_->ready_.acquire();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, std::default_sentinel_t) { return at.place_ == at.range_->size(); }

   private:
    friend ahead_range;
    explicit iterator(ahead_range& range) : range_(&range) {}
    ahead_range* range_;
    std::int64_t place_ = 0;
  };
  /// Starts the thread. Throws std::logic_error the second time.
  iterator begin() {
    if (worker_.joinable()) refuse(std::logic_error("cairn: batches ahead can be gone through once"));
    worker_ = std::jthread([this](std::stop_token stop) {
      for (std::int64_t place = 0; place < size(); ++place) {
        free_.acquire();
        if (stop.stop_requested()) return;
        slot& own = slots_[place % 2];
        own.prepared = batches_.gathered(place, own.images.data(), own.labels);
        ready_.release();
      }
    });
    if (size() > 0) ready_.acquire();
    return iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct slot {
    std::vector<float> images;
    std::array<std::int32_t, B> labels{};
    batch<B> prepared{{nullptr, {}}, std::span<const std::int32_t, B>(labels)};
  };

  batch_range<B> batches_;
  slot slots_[2];
  std::counting_semaphore<4> free_{2}, ready_{0};
  std::jthread worker_;  // the last: it ends before what it uses
};

/// `for (auto [x, y] : data::ahead(data::batches<128>(set, seed{1}, epoch)))`.
template <int B>
ahead_range<B> ahead(batch_range<B> batches) {
  return ahead_range<B>(std::move(batches));
}

}  // namespace cairn::data

#include "cairn/core/macros_back.hpp"
