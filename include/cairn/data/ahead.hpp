// Batches that another thread prepares while a step runs.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/batches.hpp"

#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

namespace cairn::data {

/// The batches of a range, in the same order and with the same numbers; while one is used, the next is gathered on a
/// thread of its own. To be gone through once. It may be moved at any time.
template <int B>
class ahead_range {
  struct worker;

 public:
  explicit ahead_range(batch_range<B> batches) : worker_(std::make_unique<worker>(std::move(batches))) {}

  /// How many batches there are; none after a move.
  std::int64_t size() const { return worker_ ? worker_->batches.size() : 0; }

  class iterator {
   public:
    using value_type = batch<B>;
    using difference_type = std::ptrdiff_t;

    batch<B> operator*() const { return of_->slots[place_ % 2].prepared; }
    iterator& operator++() {
      of_->free.release();
      if (++place_ < of_->batches.size()) of_->ready.acquire();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, std::default_sentinel_t) { return at.place_ == at.of_->batches.size(); }
    /// As of the batches themselves.
    std::string description() const { return of_->batches.description(); }

   private:
    friend ahead_range;
    explicit iterator(worker& of) : of_(&of) {}
    worker* of_;
    std::int64_t place_ = 0;
  };
  /// Starts the thread. Throws std::logic_error the second time, and after a move.
  iterator begin() {
    if (!worker_ || worker_->thread.joinable())
      refuse(std::logic_error("cairn: batches ahead can be gone through once, and not after they were moved"));
    worker_->start();
    return iterator(*worker_);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct slot {
    std::vector<float> images;
    std::array<std::int32_t, B> labels{};
    batch<B> prepared{{nullptr, {}}, std::span<const std::int32_t, B>(labels)};
  };
  /// What the thread and iterators use. It stays where it is when the range is moved.
  struct worker {
    batch_range<B> batches;
    slot slots[2];
    std::counting_semaphore<4> free{2}, ready{0};
    std::jthread thread;  // the last: it ends before what it uses

    explicit worker(batch_range<B> given) : batches(std::move(given)) {
      for (slot& one : slots) one.images.resize(B * batches.features());
    }
    ~worker() {
      thread.request_stop();
      free.release();
    }
    void start() {
      thread = std::jthread([this](std::stop_token stop) {
        for (std::int64_t place = 0; place < batches.size(); ++place) {
          free.acquire();
          if (stop.stop_requested()) return;
          slot& own = slots[place % 2];
          own.prepared = batches.gathered(place, own.images.data(), own.labels);
          ready.release();
        }
      });
      if (batches.size() > 0) ready.acquire();
    }
  };

  std::unique_ptr<worker> worker_;
};

/// `for (auto [x, y] : data::ahead(data::batches<128>(set, seed{1}, epoch)))`.
template <int B>
ahead_range<B> ahead(batch_range<B> batches) {
  return ahead_range<B>(std::move(batches));
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
