// Batches that are divided into shards. Each process copies the rows of its own shards only.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/data/batches.hpp"
#include "cairn/run/processes.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cairn::data {

/// Training steps of L shards. Shard s of step t is batch t L + s of a range that has size() and operator[], for
/// example data::batches or data::windows. The data of a shard is therefore a function of the seed, the epoch, the step
/// and the shard, whatever the number of processes is. Batches that do not fill a step are left out.
///
/// Each step is indexed by a shard, for the callback of program::train. A batch is prepared when its shard is asked
/// for. Its views are valid until another shard is asked for. An iterator is valid until the range is moved.
template <int L, class Batches>
class shard_range {
  static_assert(L > 0, "cairn: a step has one shard or more");
  using made = decltype(std::declval<Batches&>()[0]);

 public:
  /// Throws size_error if the batches do not fill a step.
  explicit shard_range(Batches batches) : batches_(std::move(batches)) {
    if (batches_.size() < L) refuse(size_error("batches for the shards of a step", L, batches_.size()));
  }
  /// Takes the shards of this process only, as a program does that is made of the same processes. Other shards are
  /// refused. Throws size_error as above, and if the processes cannot have equally many shards.
  shard_range(Batches batches, const cairn::detail::process_group& all) : shard_range(std::move(batches)) {
    if (all.size() > L || L % all.size() != 0)
      refuse(size_error("processes that share the shards of a step, a divisor of", L, all.size()));
    count_ = L / all.size();
    first_ = count_ * all.rank();
  }

  /// Returns the number of steps.
  std::int64_t size() const { return batches_.size() / L; }

  /// One training step: `batch[s]` is the batch of shard s. Throws option_error for a shard of another process.
  class step {
   public:
    made operator[](int shard) const { return range_->at(number_, shard); }

   private:
    friend shard_range;
    step(shard_range& range, std::int64_t number) : range_(&range), number_(number) {}
    shard_range* range_;
    std::int64_t number_;
  };
  class iterator {
   public:
    using value_type = step;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    step operator*() const { return {*range_, number_}; }
    iterator& operator++() { return ++number_, *this; }
    iterator operator++(int) { return {range_, number_++}; }
    friend bool operator==(const iterator&, const iterator&) = default;
    /// Describes the steps, as batch_range does.
    std::string description() const {
      return detail::text_of({detail::text_of(L), " shards: ", range_->batches_.begin().description()});
    }

   private:
    friend shard_range;
    iterator(shard_range* range, std::int64_t number) : range_(range), number_(number) {}
    shard_range* range_ = nullptr;
    std::int64_t number_ = 0;
  };
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size()}; }

 private:
  template <class>
  friend class ahead_range;

  /// Memory in which the own shards of a step are prepared. Each thread of data::ahead has its own.
  struct slot {
    std::vector<typename Batches::slot> memory;
    std::vector<made> batches;
  };
  /// A training step that was prepared: `batch[s]` is the batch of shard s. Throws option_error for a shard of another
  /// process.
  class prepared_step {
   public:
    made operator[](int shard) const { return in_->batches[range_->own_index(shard)]; }

   private:
    friend shard_range;
    prepared_step(const shard_range& range, const slot& in) : range_(&range), in_(&in) {}
    const shard_range* range_;
    const slot* in_;
  };
  slot make_slot() const {
    slot made_slot;
    for (int i = 0; i < count_; ++i) made_slot.memory.push_back(batches_.make_slot());
    made_slot.batches.reserve(made_slot.memory.size());
    return made_slot;
  }
  /// Prepares the own shards of step number `number` in `in`, and returns this step.
  prepared_step prepare(std::int64_t number, slot& in) const {
    in.batches.clear();
    for (int i = 0; i < count_; ++i)
      in.batches.push_back(batches_.prepare(number * L + first_ + i, in.memory[static_cast<std::size_t>(i)]));
    return {*this, in};
  }

  /// Returns the index of a shard among the own ones.
  std::size_t own_index(int shard) const {
    if (shard < first_ || shard >= first_ + count_)
      refuse(option_error("shard of this process",
                          detail::text_of({detail::text_of(first_), " to ", detail::text_of(first_ + count_ - 1)}),
                          shard));
    return static_cast<std::size_t>(shard - first_);
  }
  /// Returns the batch of a shard. A callback may ask for one batch several times, so the last one is kept.
  made at(std::int64_t number, int shard) {
    const std::int64_t index = number * L + first_ + static_cast<std::int64_t>(own_index(shard));
    if (index != last_.index) {
      last_.index = -1;  // if preparing the batch throws, there is none
      last_.batch.emplace(batches_[index]);
      last_.index = index;
    }
    return *last_.batch;
  }

  /// The batch that was asked for last, and its index, or -1. It is a view of memory of its range, so the copy of a
  /// range begins without it.
  struct last_batch {
    std::optional<made> batch;
    std::int64_t index = -1;
    last_batch() = default;
    last_batch(const last_batch&) {}
    last_batch& operator=(const last_batch&) {
      index = -1;
      return *this;
    }
  };

  Batches batches_;
  int first_ = 0, count_ = L;  // the shards of this process
  last_batch last_;
};

/// Divides training steps into shards:
/// `for (auto batch : data::shards<8>(data::batches<128>(set, seed{1}, epoch))) step.train([&](int s) {...});`.
/// `batches` has the batches of single shards. With shards<L> and microbatch<N>, use data::shards<L * N>.
template <int L, class Batches>
shard_range<L, Batches> shards(Batches batches) {
  return shard_range<L, Batches>(std::move(batches));
}
/// Takes the shards of this process only, so that data::ahead does not prepare shards of other processes:
/// `data::ahead(data::shards<8>(data::batches<128>(set, seed{1}, epoch), all))`.
template <int L, class Batches>
shard_range<L, Batches> shards(Batches batches, const cairn::detail::process_group& all) {
  return shard_range<L, Batches>(std::move(batches), all);
}

}  // namespace cairn::data

#include "cairn/base/macros_back.hpp"
