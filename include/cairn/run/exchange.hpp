// Sums numbers over the processes of a group, in the order of a binary tree, while a training step goes on. Messages
// are started and polled. No function of another library waits.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"
#include "cairn/run/processes.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace cairn::detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_ranks(int shards, int ranks) {
  std::string allowed = "1";
  for (int i = 2; i <= shards; i *= 2) allowed += (i == shards ? " or " : ", ") + text_of(i);
  refuse(std::invalid_argument(text_of({"cairn: processes that share the shards of shards<", text_of(shards),
                                        ">: expected ", allowed, ", got ", text_of(ranks)})));
}

/// Joins numbers of this process with numbers that a partner sent. `is_later` is true if the partner has the later
/// shards.
using join_function = void (*)(std::byte* own, const std::byte* received, std::int64_t bytes, bool is_later);

/// The exchange of a program with the other processes. In round j, the ranks of a process and of its partner
/// differ in bit j. Numbers that are not cut go whole. The numbers that are cut are halved in each round: a process
/// sends the half that its partner will own and joins the other half. Later rounds collect the joined slices. In both
/// cases the shards of neighbours are joined first, as the binary tree of shards joins them, whatever the number of
/// processes is.
///
/// `Group` is process_group. It is a parameter, so that a program of one process compiles nothing of this.
template <class Group>
class exchange {
  using transfer = typename Group::transfer;
  using transfer_list = typename Group::transfer_list;

 public:
  /// Numbers of one kind that all processes have, and that are joined over the processes.
  struct shared_numbers {
    std::byte *own, *received;  ///< numbers of this process, and memory in which numbers of a partner arrive
    std::int64_t bytes;
    bool is_cut;  ///< each process joins a slice of its own, and then all processes collect the slices
    join_function join;
    int ready;         ///< how many plan steps of the last microbatch must have run
    std::string what;  ///< name in the message of a wait that takes too long
  };

  /// The numbers that a program exchanges, by their index. Buckets of gradients follow from `first_bucket` on, in the
  /// order in which they are ready.
  enum : int {
    word,     ///< a hash that all processes compare
    counts,   ///< the counts of the batch
    outputs,  ///< the outputs of the model
    rest,     ///< gradients that are in no bucket, and states
    first_bucket
  };

  explicit exchange(Group& group)
      : group_(group),
        rounds_(std::countr_zero(static_cast<unsigned>(group.size()))),
        program_(group.number_program()) {
    add(sizeof(std::uint64_t), nullptr, "the settings of the step");
  }
  exchange(const exchange&) = delete;

  /// Adds the next numbers.
  void add(shared_numbers numbers) { all_.push_back(std::move(numbers)); }
  /// Adds the next numbers, and allocates memory for them.
  void add(std::int64_t bytes, join_function join, std::string what) {
    const auto count = static_cast<std::size_t>(bytes + 7) / 8;
    memory_.emplace_back(2 * count);
    auto* const at = reinterpret_cast<std::byte*>(memory_.back().first.get());
    add({at, at + 8 * count, bytes, false, join, 0, std::move(what)});
  }
  /// Prepares the transfers, after everything was added.
  void prepare() {
    std::vector<transfer> transfers;
    for (const shared_numbers& numbers : all_) {
      const int stages = stage_count(numbers);
      states_.push_back({static_cast<int>(transfers.size()), stages, stages});
      for (int stage = 0; stage < stages; ++stage) transfers.push_back(transfer_of(numbers, stage));
    }
    transfers_ = group_.prepare(transfers);
  }

  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  Group& group() const { return group_; }
  int count() const { return static_cast<int>(all_.size()); }
  const shared_numbers& operator[](int i) const { return all_[static_cast<std::size_t>(i)]; }

  /// Starts the exchange of numbers `i`, which are complete in this process. They must not be touched until it ends.
  void launch(int i) {
    state& now = states_[static_cast<std::size_t>(i)];
    if (now.stages == 0) return;
    now.stage = 0;
    transfers_->start(now.first_transfer);
  }
  /// Goes on with everything that was launched, without waiting. Returns true if a transfer has ended.
  bool poll() {
    bool any = false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      state& now = states_[i];
      while (now.stages > now.stage && transfers_->is_done(now.first_transfer + now.stage)) {
        any = true;
        join_stage(all_[i], now.stage);
        if (now.stages > ++now.stage) transfers_->start(now.first_transfer + now.stage);
      }
    }
    return any;
  }
  /// Waits until everything that was launched has ended. Ends all processes if there is no progress for too long, or if
  /// SIGTERM comes meanwhile. A long wait may take ten times as long as others.
  void finish(bool is_long = false) {
    const double begin = group_.now();
    const double limit = group_.patience() * (is_long || !has_stepped_ ? 10 : 1);
    const bool was_asked = group_.notes().must_not_wait();
    double since = begin;
    while (const shared_numbers* open = first_open()) {
      if (poll()) since = group_.now();
      else if (group_.now() - since > limit)
        end_wait(*open, text_of({"has waited ", text_of(static_cast<std::int64_t>(limit)), " s"}));
      else if (!was_asked && group_.notes().must_not_wait()) end_wait(*open, "got SIGTERM while it waited");
    }
    if (!is_long) group_.notes().seconds_waited += since - begin;
  }
  /// Begins training step `step`. Ends all processes, at the latest in `finish`, if their values of `settings` differ.
  void begin_step(std::int64_t step, std::uint64_t settings) {
    group_.notes().step = step;
    compare(settings,
            "seed, steps(), random().step, learning rate, number of microbatches, or which program they train");
  }
  /// Waits for the end of a training step. Until the first step has ended, all waits are long, because processes start
  /// at different times.
  void end_step() {
    finish();
    has_stepped_ = true;
  }
  /// Waits for all processes, if need be long. Ends all of them if their values differ.
  void agree(std::uint64_t value, std::string_view differs) {
    compare(value, differs);
    finish(true);
  }

  /// Calls `use`, and ends all processes if it throws, because the other processes would wait for this one.
  auto guarded(auto use) {
#ifdef __cpp_exceptions
    try {
      return use();
    } catch (const std::exception& error) {
      end_with(error.what());
    } catch (...) {
      end_with("an exception that is no std::exception");
    }
#else
    return use();
#endif
  }

 private:
  /// How far the exchange of some numbers is. Each stage is one transfer.
  struct state {
    int first_transfer, stages, stage;
  };
  struct slice {
    std::int64_t offset, bytes;
  };
  struct words {
    explicit words(std::size_t count) : first(new std::uint64_t[count]{}) {}
    std::unique_ptr<std::uint64_t[]> first;
  };

  int stage_count(const shared_numbers& numbers) const {
    if (numbers.bytes == 0) return 0;
    return numbers.is_cut ? 2 * rounds_ : rounds_;
  }
  /// Returns the round of a stage. The stages that collect slices go through the rounds backwards.
  int round_of(int stage) const { return stage < rounds_ ? stage : 2 * rounds_ - 1 - stage; }
  int partner_in(int round) const { return rank() ^ (1 << round); }
  /// Returns the slice that a process joins in a round. The slice of its partner is the other half.
  static slice slice_of(int of, int round, std::int64_t bytes) {
    slice own{0, bytes};
    for (int j = 0; j <= round; ++j) {
      own.bytes /= 2;
      if ((of >> j & 1) != 0) own.offset += own.bytes;
    }
    return own;
  }
  transfer transfer_of(const shared_numbers& numbers, int stage) const {
    const int round = round_of(stage), partner = partner_in(round);
    if (!numbers.is_cut) return {partner, numbers.own, numbers.received, numbers.bytes};
    const slice own = slice_of(rank(), round, numbers.bytes), other = slice_of(partner, round, numbers.bytes);
    if (stage < rounds_) return {partner, numbers.own + other.offset, numbers.received + own.offset, own.bytes};
    return {partner, numbers.own + own.offset, numbers.own + other.offset, own.bytes};
  }
  void join_stage(const shared_numbers& numbers, int stage) {
    if (stage >= rounds_) return;  // a joined slice came to its place
    const int partner = partner_in(stage);
    if (numbers.join == nullptr) return check_word(partner);
    const slice own = numbers.is_cut ? slice_of(rank(), stage, numbers.bytes) : slice{0, numbers.bytes};
    numbers.join(numbers.own + own.offset, numbers.received + own.offset, own.bytes, partner > rank());
  }

  const shared_numbers* first_open() const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (states_[i].stages > states_[i].stage) return &all_[i];
    }
    return nullptr;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_all(std::string_view text) {
    group_.end_all(text);
    std::abort();  // g++ 12 forgets that the function above does not return
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_with(std::string_view text) {
    if (text.starts_with("cairn: ")) text.remove_prefix(7);
    end_all(text_of({"rank ", text_of(rank()), " of ", text_of(size()), ": ", text}));
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_wait(const shared_numbers& open, std::string_view what_happened) {
    const int stage = states_[static_cast<std::size_t>(&open - all_.data())].stage;
    end_all(text_of({"rank ", text_of(rank()), " ", what_happened, " for rank ", text_of(partner_in(round_of(stage))),
                     " in step ", text_of(group_.notes().step), ", ", open.what}));
  }
  void compare(std::uint64_t value, std::string_view differs) {
    value = hash64_of({reinterpret_cast<const char*>(&program_), sizeof program_}, value);
    std::memcpy(all_[word].own, &value, sizeof value);
    differs_ = differs;
    launch(word);
  }
  void check_word(int partner) {
    std::uint64_t own, received;
    std::memcpy(&own, all_[word].own, sizeof own);
    std::memcpy(&received, all_[word].received, sizeof received);
    if (own != received) end_difference(partner, own, received);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_difference(int partner, std::uint64_t own, std::uint64_t received) {
    end_all(text_of({"ranks ", text_of(rank()), " and ", text_of(partner), " differ in ", differs_,
                     ": their hashes are ", hexadecimal(own), " and ", hexadecimal(received)}));
  }
  static std::string hexadecimal(std::uint64_t number) {
    std::string digits;
    for (int at = 60; at >= 0; at -= 4) digits += "0123456789abcdef"[number >> at & 15];
    return digits;
  }

  Group& group_;
  const int rounds_;
  const int program_;  // number of the program, so that processes notice if they train different programs
  std::vector<shared_numbers> all_;
  std::vector<state> states_;
  std::vector<words> memory_;
  bool has_stepped_ = false;
  std::string_view differs_;
  std::unique_ptr<transfer_list> transfers_;  // ends before the memory that it reads and writes
};

}  // namespace cairn::detail
