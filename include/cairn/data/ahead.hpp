// Batches that another thread prepares while a step runs.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/batches.hpp"

#include <atomic>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

namespace cairn::data {

/// The batches of a range, prepared on a thread of their own: while one batch is used, the thread gathers the next one.
/// The batches have the order and the numbers of the range. They can be iterated over once. The object may be moved at
/// any time, also while its thread runs.
template <int B>
class ahead_range {
  struct worker;

 public:
  explicit ahead_range(batch_range<B> batches) : worker_(std::make_unique<worker>(std::move(batches))) {}

  /// Returns the number of batches, or 0 after a move.
  std::int64_t size() const { return worker_ ? worker_->batches.size() : 0; }

  class iterator {
   public:
    using value_type = batch<B>;
    using difference_type = std::ptrdiff_t;

    batch<B> operator*() const { return worker_->slots[index_ % 2].prepared; }
    iterator& operator++() {
      worker_->free.release();
      if (++index_ < worker_->batches.size()) worker_->ready.acquire();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, std::default_sentinel_t) {
      return at.index_ == at.worker_->batches.size();
    }
    /// Returns the description of the batches that are prepared.
    std::string description() const { return worker_->batches.description(); }

   private:
    friend ahead_range;
    explicit iterator(worker& of) : worker_(&of) {}
    worker* worker_;
    std::int64_t index_ = 0;
  };
  /// Starts the thread. Throws std::logic_error if it is called a second time, or after a move.
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
  /// The data that the thread and the iterators share. The address of this data does not change when the range is
  /// moved.
  struct worker {
    batch_range<B> batches;
    slot slots[2];
    std::counting_semaphore<4> free{2}, ready{0};
    std::atomic<bool> stops = false;
    std::thread thread;  // std::jthread is experimental in libc++

    explicit worker(batch_range<B> given) : batches(std::move(given)) {
      for (slot& one : slots) one.images.resize(B * batches.features());
    }
    ~worker() {
      stops = true;
      free.release();
      if (thread.joinable()) thread.join();
    }
    void start() {
      thread = std::thread([this] {
        for (std::int64_t index = 0; index < batches.size(); ++index) {
          free.acquire();
          if (stops) return;
          slot& own = slots[index % 2];
          own.prepared = batches.gathered(index, own.images.data(), own.labels);
          ready.release();
        }
      });
      if (batches.size() > 0) ready.acquire();
    }
  };

  std::unique_ptr<worker> worker_;
};

/// Has a thread prepare batches: `for (auto [x, y] : data::ahead(data::batches<128>(set, seed{1}, epoch)))`.
template <int B>
ahead_range<B> ahead(batch_range<B> batches) {
  return ahead_range<B>(std::move(batches));
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
