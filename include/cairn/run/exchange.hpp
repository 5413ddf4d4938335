// Sums numbers over the processes of a group, in the order of a binary tree, while a training step goes on. Messages
// are started and polled. No function of another library waits.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/base/refuse.hpp"
#include "cairn/base/text.hpp"
#include "cairn/run/kept_hash.hpp"
#include "cairn/run/processes.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_ranks(int shards, int ranks, bool is_synchronized) {
  std::string allowed = "1";
  for (int i = is_synchronized ? shards : 2; i <= shards; i *= 2) allowed += (i == shards ? " or " : ", ") + text_of(i);
  refuse(std::invalid_argument(text_of({"cairn: processes that share the shards of shards<", text_of(shards), ">",
                                        is_synchronized ? ", with synchronized batch norms" : "", ": expected ",
                                        allowed, ", got ", text_of(ranks)})));
}

/// Joins numbers of this process with numbers that a partner sent. `is_later` is true if the partner has the later
/// shards.
using join_function = void (*)(std::byte* own, const std::byte* received, std::int64_t bytes, bool is_later);

/// A call in which processes wait for one another, in the words of messages: `where` it happens, `what` is waited for
/// at its begin, and in what the processes `differ` if it ends them.
struct shared_call {
  std::string_view where, what, differ;
};
inline constexpr shared_call training_step{
    "", "the settings of the step",
    "seed, steps(), random().step, learning rate, number of microbatches, or which function of which program they "
    "call"};
inline constexpr shared_call construction{"while a program is made", "the hash of its plan",
                                          "their models, their options, or how they are compiled"};
inline constexpr shared_call exchanging{"in exchange", "the call of exchange",
                                        "which function of which program they call, or for which moment"};
inline constexpr shared_call saving{"in save", "the call of save", "which function of which program they call"};

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
    /// null if nothing is joined: the word is compared, and numbers that are cut are only collected
    join_function join;
    int ready;         ///< how many plan steps of the last microbatch must have run
    std::string what;  ///< name in the message of a wait that takes too long
  };

  /// The numbers that a program exchanges, by their index. Buckets of gradients follow from `first_bucket` on, in the
  /// order in which they are ready.
  enum : int {
    word,     ///< a hash that all processes compare. The lowest bit says whether a process asks to compare what is kept
    kept,     ///< hashes of all tensors that outlive a training step, and of the position of the training
    counts,   ///< the counts of the batch
    outputs,  ///< the outputs of the model
    rest,     ///< gradients that are in no bucket, and states
    first_bucket
  };

  /// `tensors` has the tensors that outlive a training step.
  exchange(Group& group, std::span<const kept_tensor> tensors)
      : group_(group),
        rounds_(std::countr_zero(static_cast<unsigned>(group.size()))),
        program_(group.number_program()),
        tensors_(tensors) {
    add(sizeof(std::uint64_t), nullptr, {});
    add((std::ssize(tensors) + 1) * word_bytes, nullptr, "the hashes of parameters, states and moments");
  }
  exchange(const exchange&) = delete;
  /// Waits for messages that are under way, because the memory to which they go may end now.
  ~exchange() {
#ifdef __cpp_exceptions
    try {
      finish(true);
    } catch (...) {  // the group has ended all processes, and need not be told again
    }
#else
    finish(true);
#endif
  }

  /// Adds the next numbers.
  void add(shared_numbers numbers) { all_.push_back(std::move(numbers)); }
  /// Adds the next numbers, and allocates memory for them.
  void add(std::int64_t bytes, join_function join, std::string what, int ready = 0) {
    const auto count = static_cast<std::size_t>(bytes + 7) / 8;
    memory_.emplace_back(2 * count);
    auto* const at = reinterpret_cast<std::byte*>(memory_.back().first.get());
    add({at, at + 8 * count, bytes, false, join, ready, std::move(what)});
  }
  /// Prepares the transfers, after everything was added.
  void prepare() {
    std::vector<transfer> transfers;
    for (const shared_numbers& numbers : all_) {
      const int first = first_stage(numbers), stages = stage_count(numbers);
      states_.push_back({static_cast<int>(transfers.size()) - first, stages, stages});
      for (int stage = first; stage < stages; ++stage) transfers.push_back(transfer_of(numbers, stage));
    }
    transfers_ = group_.prepare(transfers);
  }

  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  Group& group() const { return group_; }
  int count() const { return static_cast<int>(all_.size()); }
  const shared_numbers& operator[](int i) const { return all_[static_cast<std::size_t>(i)]; }

  /// A range of numbers that are cut, in bytes.
  struct slice {
    std::int64_t offset, bytes;
  };
  /// Returns the slice of `bytes` bytes that this process joins.
  slice own_slice(std::int64_t bytes) const { return slice_of(rank(), rounds_ - 1, bytes); }

  /// Starts the exchange of numbers `i`, which are complete in this process. They must not be touched until it ends.
  void launch(int i) { launch(i, first_stage((*this)[i]), stage_count((*this)[i])); }
  /// Starts to join numbers `i`, which are cut. Afterwards each process has the joined numbers of its own slice.
  void launch_joining(int i) { launch(i, 0, std::min(rounds_, stage_count((*this)[i]))); }
  /// Starts to collect the slices of numbers `i`, which are cut and joined.
  void launch_collecting(int i) { launch(i, std::min(rounds_, stage_count((*this)[i])), stage_count((*this)[i])); }
  /// Goes on with everything that was launched, without waiting. Returns true if a transfer has ended.
  bool poll() {
    bool any = false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      state& now = states_[i];
      while (now.end > now.stage && transfers_->is_done(now.stage_0 + now.stage)) {
        any = true;
        join_stage(all_[i], now.stage);
        if (now.end > ++now.stage) transfers_->start(now.stage_0 + now.stage);
      }
    }
    return any;
  }
  /// Waits until everything that was launched has ended. Ends all processes if there is no progress for too long, or if
  /// SIGTERM comes meanwhile. A long wait may take ten times as long as others.
  void finish(bool is_long = false) {
    wait(is_long, [this] { return first_open(); });
  }
  /// Waits until the exchange of numbers `i` has ended, and goes on with everything else meanwhile.
  void wait_for(int i) {
    wait(false, [this, i] { return is_open(i) ? &(*this)[i] : nullptr; });
  }
  /// Waits until at most the last message of each exchange is under way. This process has then started everything that
  /// it sends. A library of messages therefore ends the exchange while the process is in any call of the library. No
  /// process has to wait until another one calls a function of the program.
  void finish_up_to_last_messages() {
    trained_by_ = this_thread();
    wait(false, [this] { return first_open(1); });
  }
  /// Waits for the messages that the last training step left under way. Throws program_error if another thread called
  /// this training step, because a library of messages may serve a single thread.
  void settle() {
    if (first_open() == nullptr) return;
    if (trained_by_ != this_thread()) refuse_thread();
    finish(true);
  }
  /// Notes that there is a view of parameters, so that parameters can be read at any time. From now on, no training
  /// step may leave them under way. Several threads may make views at once.
  void note_view() { is_viewed_.store(true, std::memory_order_relaxed); }
  bool is_viewed() const { return is_viewed_.load(std::memory_order_relaxed); }
  /// Begins training step `step`. Ends all processes, at the latest in `finish`, if their values of `settings` differ.
  void begin_step(std::int64_t step, std::uint64_t settings) {
    group_.notes().step = step;
    compare(settings, training_step);
  }
  /// Waits for the end of the exchange of a training step. Until the first step has ended, all waits are long, because
  /// processes start at different times. Then compares the tensors of `run`, if a process asks for it.
  void end_step(const kept_run& run) {
    finish();
    has_stepped_ = true;
    if ((word_in(word, 0) & 1) != 0) compare_kept(run);
    else ++steps_since_comparison_;
  }
  /// Waits for all processes, if need be long. Ends all of them if their values differ.
  void agree(std::uint64_t value, const shared_call& call) {
    compare(value, call);
    finish(true);
  }
  /// Notes that this process may have written parameters, states or moments. The next training step compares them.
  void note_written() { may_differ_ = true; }
  /// Ends all processes if their tensors or the positions of their trainings differ.
  void compare_kept(const kept_run& run) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) set_word(kept, i, hash_of(run, tensors_[i]));
    set_word(kept, tensors_.size(), hash_of_position(run));
    launch(kept);
    finish();
    may_differ_ = false;
    steps_since_comparison_ = 0;
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
    int stage_0;  ///< index of the transfer of stage 0, if there is a stage 0
    int end;      ///< the stage at which the exchange ends that was launched last
    int stage;
  };
  static constexpr std::int64_t word_bytes = sizeof(std::uint64_t);
  /// After this number of training steps without a comparison, the next step compares what is kept. Views can be
  /// written at any time, and processors or libraries may compute other bits.
  static constexpr int steps_without_comparison = 1000;

  struct words {
    explicit words(std::size_t count) : first(new std::uint64_t[count]{}) {}
    std::unique_ptr<std::uint64_t[]> first;
  };

  /// Returns the number of the last stage, plus 1.
  int stage_count(const shared_numbers& numbers) const {
    if (numbers.bytes == 0) return 0;
    return numbers.is_cut ? 2 * rounds_ : rounds_;
  }
  int first_stage(const shared_numbers& numbers) const {
    return numbers.is_cut && numbers.join == nullptr ? std::min(rounds_, stage_count(numbers)) : 0;
  }
  void launch(int i, int stage, int end) {
    state& now = states_[static_cast<std::size_t>(i)];
    now.stage = stage;
    now.end = end;
    if (stage < end) transfers_->start(now.stage_0 + stage);
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
    if (&numbers == &all_[word]) return check_word(partner);
    if (&numbers == &all_[kept]) return check_kept(partner);
    const slice own = numbers.is_cut ? slice_of(rank(), stage, numbers.bytes) : slice{0, numbers.bytes};
    numbers.join(numbers.own + own.offset, numbers.received + own.offset, own.bytes, partner > rank());
  }

  /// Returns true if more than `most` of the transfers of numbers `i` that were launched have not ended.
  bool is_open(int i, int most = 0) const {
    const state& now = states_[static_cast<std::size_t>(i)];
    return now.end - now.stage > most;
  }
  const shared_numbers* first_open(int most = 0) const {
    for (int i = 0; i < static_cast<int>(states_.size()); ++i) {
      if (is_open(i, most)) return &(*this)[i];
    }
    return nullptr;
  }
  /// Goes on with everything that was launched, until `find_open` returns null.
  void wait(bool is_long, auto find_open) {
    const shared_numbers* open = find_open();
    if (open == nullptr) return;
    const double begin = group_.now();
    const double limit = group_.patience() * (is_long || !has_stepped_ ? 10 : 1);
    const bool was_asked = group_.notes().must_not_wait();
    double since = begin;
    for (; open != nullptr; open = find_open()) {
      if (poll()) since = group_.now();
      else if (group_.now() - since > limit)
        end_wait(*open, text_of({"has waited ", text_of(static_cast<std::int64_t>(limit)), " s"}),
                 told_late(group_.late_ranks()));
      else if (!was_asked && group_.notes().must_not_wait()) end_wait(*open, "got SIGTERM while it waited");
    }
    if (!is_long) group_.notes().seconds_waited += since - begin;
  }
  /// Returns an address that no other living thread gets.
  static const void* this_thread() {
    static thread_local char of_this_thread;
    return &of_this_thread;
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse_thread() {
    refuse(
        program_error("cairn: with sharded_moments and several processes, parameters are still under way after a "
                      "training step of another thread; call parameters(), or make a predictor, in that thread before "
                      "this thread reads parameters"));
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_all(std::string_view text) {
    group_.end_all(text);
    std::abort();  // g++ 12 forgets that the function above does not return
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_with(std::string_view text) {
    if (text.starts_with("cairn: ")) text.remove_prefix(7);
    end_all(text_of({"rank ", text_of(rank()), " of ", text_of(size()), ": ", text}));
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_wait(const shared_numbers& open, std::string_view what_happened,
                                                       std::string_view late = {}) {
    const int stage = states_[static_cast<std::size_t>(&open - all_.data())].stage;
    const std::string where =
        call_->where.empty() ? text_of({"in step ", text_of(group_.notes().step)}) : std::string(call_->where);
    end_all(text_of({"rank ", text_of(rank()), " ", what_happened, " for rank ", text_of(partner_in(round_of(stage))),
                     " ", where, ", ", &open == &all_[word] ? call_->what : open.what, late}));
  }
  /// Returns the end of the message of a wait. `late` has the ranks that wait for no other rank.
  static std::string told_late(const std::vector<int>& late) {
    constexpr std::size_t most = 8;
    if (late.empty()) return "; all ranks wait, so they are in calls that do not fit together";
    std::string ranks = late.size() == 1 ? "; rank " : "; ranks ";
    for (std::size_t i = 0; i < std::min(late.size(), most); ++i)
      ranks += (i == 0 ? "" : i + 1 == late.size() ? " and " : ", ") + text_of(late[i]);
    if (late.size() > most) ranks += text_of({" and ", text_of(std::ssize(late) - std::ptrdiff_t{most}), " more"});
    return ranks + (late.size() == 1 ? " is late" : " are late");
  }
  void compare(std::uint64_t value, const shared_call& call) {
    call_ = &call;
    value = hash64_of({reinterpret_cast<const char*>(&program_), sizeof program_}, value);
    const bool asks = may_differ_ || steps_since_comparison_ >= steps_without_comparison;
    set_word(word, 0, (value & ~std::uint64_t{1}) | std::uint64_t{asks});
    launch(word);
  }
  void check_word(int partner) {
    const std::uint64_t own = word_in(word, 0), received = received_word(word, 0);
    if ((own ^ received) > 1) end_difference(partner, call_->differ, own, received);
    set_word(word, 0, own | received);
  }
  void check_kept(int partner) {
    for (std::size_t i = 0; i <= tensors_.size(); ++i) {
      const std::uint64_t own = word_in(kept, i), received = received_word(kept, i);
      if (own == received) continue;
      if (i == tensors_.size())
        end_difference(partner, "steps(), random(), or which moment is exchanged", own, received);
      const auto& [name, moment] = std::pair(tensors_[i].name, tensors_[i].moment);
      end_difference(
          partner, moment.empty() ? text_of({"'", name, "'"}) : text_of({"the moment '", moment, "' of '", name, "'"}),
          own, received);
    }
  }
  std::uint64_t word_in(int numbers, std::size_t i) const {
    return word_at(all_[static_cast<std::size_t>(numbers)].own, i);
  }
  std::uint64_t received_word(int numbers, std::size_t i) const {
    return word_at(all_[static_cast<std::size_t>(numbers)].received, i);
  }
  static std::uint64_t word_at(const std::byte* words, std::size_t i) {
    std::uint64_t one;
    std::memcpy(&one, words + i * sizeof one, sizeof one);
    return one;
  }
  void set_word(int numbers, std::size_t i, std::uint64_t value) {
    std::memcpy(all_[static_cast<std::size_t>(numbers)].own + i * sizeof value, &value, sizeof value);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void end_difference(int partner, std::string_view differ, std::uint64_t own,
                                                             std::uint64_t received) {
    end_all(text_of({"ranks ", text_of(rank()), " and ", text_of(partner), " differ in ", differ, ": their hashes are ",
                     hexadecimal(own), " and ", hexadecimal(received)}));
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
  const std::span<const kept_tensor> tensors_;
  bool may_differ_ = true;  // this process may have written tensors since they were compared
  std::atomic<bool> is_viewed_ = false;
  const void* trained_by_ = nullptr;  // the thread that left messages under way
  int steps_since_comparison_ = 0;
  const shared_call* call_ = &training_step;
  std::unique_ptr<transfer_list> transfers_;  // ends before the memory that it reads and writes
};

}  // namespace cairn::detail
