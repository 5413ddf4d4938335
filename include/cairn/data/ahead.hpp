// Batches that other threads prepare while a step runs.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/data/batches.hpp"

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>

namespace cairn::data {

struct ahead_options {
  int threads = 1;  ///< each of them prepares up to two batches ahead

  std::array<setting, 1> settings() const { return {setting::at_least_one("threads", threads)}; }
};

/// The batches of data::batches, or the steps of data::shards, prepared on threads of their own: while one batch is
/// used, the threads gather the next ones.
///
/// The batches have the order and the numbers of the range, for any number of threads. They can be iterated over once.
/// The object may be moved at any time, also while its threads run. If a change of the batches throws, the iterator
/// throws the exception when it comes to that batch, and must not be used afterwards.
template <class Range>
class ahead_range {
  struct workers;
  using made = decltype(std::declval<const Range&>().prepare(0, std::declval<typename Range::slot&>()));

 public:
  explicit ahead_range(Range batches, ahead_options options = {})
      : workers_(std::make_unique<workers>(std::move(batches), options)) {}

  /// Returns the number of batches, or 0 after a move.
  std::int64_t size() const { return workers_ ? workers_->batches.size() : 0; }

  class iterator {
   public:
    using value_type = made;
    using difference_type = std::ptrdiff_t;

    made operator*() const { return *workers_->slot_of(index_).prepared; }
    iterator& operator++() {
      workers_->release(index_++);
      workers_->acquire(index_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, std::default_sentinel_t) {
      return at.index_ == at.workers_->batches.size();
    }
    /// Returns the description of the batches that are prepared.
    std::string description() const { return workers_->batches.begin().description(); }

   private:
    friend ahead_range;
    explicit iterator(workers& of) : workers_(&of) {}
    workers* workers_;
    std::int64_t index_ = 0;
  };
  /// Starts the threads. Throws std::logic_error if it is called a second time, or after a move.
  iterator begin() {
    if (!workers_ || workers_->has_started())
      refuse(std::logic_error("cairn: batches ahead can be gone through once, and not after they were moved"));
    workers_->start();
    return iterator(*workers_);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct slot {
    typename Range::slot memory;
    std::optional<made> prepared;
    std::exception_ptr thrown;  ///< thrown in place of the batch
  };
  /// A thread, which prepares every n-th batch, and its two slots.
  struct worker {
    slot slots[2];
    std::counting_semaphore<4> free{2}, ready{0};
    std::atomic<bool> must_stop = false;
    std::thread thread;  // libc++ 19 has no std::jthread
  };
  /// The data that the threads and the iterators share. The address of this data does not change when the range is
  /// moved.
  struct workers {
    Range batches;
    std::deque<worker> all;

    workers(Range given, ahead_options options) : batches(std::move(given)) {
      cairn::detail::check_settings("ahead_options", options.settings());
      for (int i = 0; i < options.threads; ++i) {
        for (slot& one : all.emplace_back().slots) one.memory = batches.make_slot();
      }
    }
    ~workers() {
      for (worker& each : all) {
        each.must_stop = true;
        each.free.release();
      }
      for (worker& each : all) {
        if (each.thread.joinable()) each.thread.join();
      }
    }
    std::int64_t threads() const { return std::ssize(all); }
    worker& worker_of(std::int64_t index) { return all[static_cast<std::size_t>(index % threads())]; }
    slot& slot_of(std::int64_t index) { return worker_of(index).slots[index / threads() % 2]; }

    bool has_started() const { return all[0].thread.joinable(); }
    void start() {
      for (std::int64_t first = 0; first < threads(); ++first)
        worker_of(first).thread = std::thread([this, first] { prepare_each(first); });
      acquire(0);
    }
    /// Prepares every n-th batch, from the first one on.
    void prepare_each(std::int64_t first) {
      worker& own = worker_of(first);
      for (std::int64_t index = first; index < batches.size(); index += threads()) {
        own.free.acquire();
        if (own.must_stop) return;
        prepare(index, slot_of(index));
        own.ready.release();
      }
    }
    void prepare(std::int64_t index, slot& to) {
#if __cpp_exceptions
      try {
        to.prepared = std::as_const(batches).prepare(index, to.memory);
      } catch (...) {
        to.thrown = std::current_exception();
      }
#else
      to.prepared = std::as_const(batches).prepare(index, to.memory);
#endif
    }
    /// Waits until a batch is prepared.
    void acquire(std::int64_t index) {
      if (index == batches.size()) return;
      worker_of(index).ready.acquire();
      if (slot_of(index).thrown) std::rethrow_exception(slot_of(index).thrown);
    }
    void release(std::int64_t index) { worker_of(index).free.release(); }
  };

  std::unique_ptr<workers> workers_;
};

/// Has threads prepare batches: `for (auto [x, y] : data::ahead(data::batches<128>(set, seed{1}, epoch)))`. Throws
/// std::invalid_argument if the number of threads is below 1.
template <int B, class Change, int Part>
ahead_range<batch_range<B, Change, Part>> ahead(batch_range<B, Change, Part> batches, ahead_options options = {}) {
  return ahead_range<batch_range<B, Change, Part>>(std::move(batches), options);
}
/// Has threads prepare the shards of this process:
/// `for (auto batch : data::ahead(data::shards<8>(data::batches<128>(set, seed{1}, epoch), all)))`.
template <int L, int B, class Change, int Part>
ahead_range<shard_range<L, batch_range<B, Change, Part>>> ahead(shard_range<L, batch_range<B, Change, Part>> steps,
                                                                ahead_options options = {}) {
  return ahead_range<shard_range<L, batch_range<B, Change, Part>>>(std::move(steps), options);
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
