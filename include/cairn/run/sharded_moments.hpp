// The option sharded_moments: each of several processes keeps a part of the moments, and updates a part of the
// parameters.
#pragma once

#include "cairn/run/executable.hpp"
#include "cairn/run/shard_sums.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cairn::detail {

/// The part of a program that one of several processes owns: its slice of each bucket of gradients, the parameters that
/// have these gradients, and the moments of these parameters. All processes own what is in no bucket.
///
/// The moments of one kind, for example all first moments of AdamW, lie in one block. The block has the order of the
/// block of gradients, without what the process does not own.
///
/// The block of gradients is free between training steps, because the user of such a program cannot read gradients. It
/// holds whole moments while they are collected from all processes.
template <class Compiled>
class sharded_moments_of final : public moment_parts {
  using machine = detail::machine<Compiled>;
  using exchange = exchange_of<Compiled>;
  using real = typename Compiled::real;
  using all = exchanged<Compiled>;
  using norm = norm_of_sums<Compiled>;
  using executable = detail::executable<Compiled>;
  static constexpr std::int64_t real_bytes = sizeof(real);

 public:
  sharded_moments_of(machine& m, exchange& among) : machine_(m), among_(among) {}

  /// Places the moments in memory that begins at `first`. The processes are `processes` many.
  static void place_moments(machine& m, std::byte* first, int processes) {
    const std::int64_t bytes =
        plans::bytes_of_own_sums(all::sums::gradient_bytes, all::sums::division.shards, processes);
    for (int i = 0; i < machine::carry_count; ++i) {
      if (const int moment = Compiled::schedule.carries[i].moment; moment != graphs::none)
        m.base(moment_base(i)) = first + moment * bytes;
    }
  }

  /// Computes the norm of the gradients. Each process has the sums of its own part.
  double norm_of_gradients() {
    const auto* const first = reinterpret_cast<const real*>(gradients());
    auto* const norms = reinterpret_cast<double*>(among_[joined::norms].own);
    const int each = norm::shards / among_.size(), begin = static_cast<int>(among_.own_slice(norm::shards).offset);
    std::fill_n(norms, norm::blocks, 0.0);
    norm::for_each_bucket(threads(), [=](std::int64_t bucket) {
      for (std::int64_t block = bucket * norm::shards + begin, end = block + each; block < end; ++block)
        norms[block] = norm::of_block(first, block);
    });
    among_.launch(joined::norms);
    among_.finish();
    return norm::of_all(first, [norms](std::int64_t block) { return norms[block]; }, 1);
  }
  /// Collects all gradients, so that each process can look for numbers that are not finite.
  void collect_gradients() {
    for (int i = 0; i < all::buckets.count; ++i) among_.launch_collecting(exchange::first_bucket + i);
    among_.finish();
  }
  /// Updates the parameters that this process owns, and collects the parameters that other processes update. A slice is
  /// sent as soon as it is updated. If `may_be_read` is false, the last messages are under way when the function
  /// returns. Parameters must then not be read or written before `exchange::settle`. A training step waits for the
  /// parameters of each plan step.
  void update(bool may_be_read) {
    const auto update_own = [this](const range& own) { update(own); };
    for (int i = 0; i < all::buckets.count; ++i) {
      for_each_own_range(i, update_own);
      among_.launch(joined::first_parameters + i);
      among_.poll();
    }
    for_each_own_range(all::buckets.count, update_own);
    if (may_be_read) among_.finish();
    else among_.finish_up_to_last_messages();
  }

  bool writes_files() const override { return among_.rank() == 0; }
  std::byte* whole(const kept_tensor& one) const override {
    return gradients() + machine::leaf(leaf_of(one)).gradient_offset;
  }
  void collect(const kept_tensor& one) override {
    for_each_own_range_of(one, [&](const range& own) {
      std::memcpy(gradients() + own.begin, moment_of(one) + own.at, static_cast<std::size_t>(own.bytes()));
    });
    const range wanted = range_of(leaf_of(one));
    for (int i = 0; i < all::buckets.count; ++i) {
      const auto& bucket = among_[exchange::first_bucket + i];
      const std::int64_t begin = bucket.own - gradients();
      if (begin < wanted.end && wanted.begin < begin + bucket.bytes)
        among_.launch_collecting(exchange::first_bucket + i);
    }
    among_.finish(true);
  }
  void keep(const kept_tensor& one) override {
    for_each_own_range_of(one, [&](const range& own) {
      std::memcpy(moment_of(one) + own.at, gradients() + own.begin, static_cast<std::size_t>(own.bytes()));
    });
  }

 private:
  using joined = shard_sums<Compiled>;

  /// Bytes [begin, end) of the block of gradients that this process owns. `at` is their offset in a block that has only
  /// what the process owns.
  struct range {
    std::int64_t begin, end, at;
    std::int64_t bytes() const { return end - begin; }
    /// Returns the bytes that the range shares with another range.
    range within(const range& other) const {
      const std::int64_t first = std::max(begin, other.begin);
      return {first, std::max(first, std::min(end, other.end)), at + first - begin};
    }
  };
  /// The update of a leaf: its plan step, and how many of its operands are results.
  struct leaf_update {
    int leaf, step, results;
  };
  static constexpr int update_count = [] {
    int n = 0;
    for (int i = 0; i < machine::carry_count; ++i) n += Compiled::schedule.carries[i].moment == graphs::none;
    return n;
  }();
  static constexpr auto updates = [] {
    std::array<leaf_update, update_count> out{};
    std::size_t next = 0;
    for (int i = 0; i < machine::carry_count; ++i) {
      const plans::carry& one = Compiled::schedule.carries[i];
      if (one.moment != graphs::none) continue;
      const int step = Compiled::steps.step_of[one.after];
      out[next++] = {one.leaf, step, step_tables<Compiled>::stored_results(step)};
    }
    return out;
  }();

  static constexpr int moment_base(int carry) { return plans::leaf_base + machine::leaf_count + carry; }
  std::byte* gradients() const { return machine_.bases()[plans::gradient_base]; }
  std::byte* moment_of(const kept_tensor& one) const { return machine_.bases()[one.at.base]; }
  static int leaf_of(const kept_tensor& moment) {
    return Compiled::schedule.carries[moment.at.base - moment_base(0)].leaf;
  }
  /// Returns the range of the gradient of a leaf.
  static range range_of(int leaf) {
    const runtime_leaf& one = machine::leaf(leaf);
    return {one.gradient_offset, one.gradient_offset + one.count * real_bytes, 0};
  }
  /// Calls visit(own) with what this process owns of bucket number `i` of the block of gradients. The bucket behind the
  /// last one stands for what is in no bucket.
  void for_each_own_range(int i, auto visit) const {
    if (i < all::buckets.count) {
      const plans::bucket& one = all::buckets.of[i];
      const auto own = among_.own_slice(one.bytes);
      visit(range{one.offset + own.offset, one.offset + own.offset + own.bytes, one.offset / among_.size()});
    } else if (all::sums::gradient_bytes > all::buckets.bytes) {
      visit(range{all::buckets.bytes, all::sums::gradient_bytes, all::buckets.bytes / among_.size()});
    }
  }
  void for_each_own_range_of(const kept_tensor& moment, auto visit) const {
    const range whole = range_of(leaf_of(moment));
    for (int i = 0; i <= all::buckets.count; ++i)
      for_each_own_range(i, [&](const range& own) {
        if (const range found = own.within(whole); found.bytes() > 0) visit(found);
      });
  }

  /// Updates the parameters that have the gradients in `own`.
  void update(const range& own) {
    for (const leaf_update& one : updates) {
      const range whole = range_of(one.leaf), part = own.within(whole);
      if (part.bytes() > 0) update(one, (part.begin - whole.begin) / real_bytes, part);
    }
  }
  /// Runs the plan step of an update on `part`, which begins at element `first` of the leaf. The plan step is an
  /// elementwise loop over contiguous arrays, so any range of elements can stand for the whole.
  void update(const leaf_update& one, std::int64_t first, const range& part) {
    const runtime_step& step = executable::tables.steps[one.step];
    const runtime_leaf& leaf = machine::leaf(one.leaf);
    graphs::loop_table elements;
    elements.columns = static_cast<int>(part.bytes() / real_bytes);
    void* at[executable::operand_count.most];
    for (int k = step.first_operand; k < step.end_operand; ++k) {
      const plans::address& operand = executable::tables.operands[k];
      const int number = k - step.first_operand;
      if (operand.base == plans::number_base || operand.base == plans::key_base) at[number] = machine_.at(operand);
      else if (operand.base == plans::position_base) at[number] = machine_.at(operand) + first;
      else if (operand.base >= moment_base(0)) at[number] = machine_.at(operand) + part.at;
      else if (operand.base == plans::leaf_base + one.leaf || number < one.results)
        at[number] = machine_.leaf_base(one.leaf) + first * (leaf.bytes / leaf.count);
      else at[number] = gradients() + part.begin;
    }
    step.run(&elements, at, threads());
  }
  static int threads() { return kernels::threads_at_hand(Compiled::threads); }

  machine& machine_;
  exchange& among_;
};

}  // namespace cairn::detail
