// Processes that are threads, for tests of programs that share the shards of a batch. The messages between them arrive
// late or early and in a random order. tests/tools/ranks.py has processes of MPI.
#pragma once

#include <cairn/cairn.hpp>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace thread_processes {

using namespace cairn;
using detail::process_group, detail::transfer, detail::transfer_list;

/// The messages that are under way between the processes of one group. As in MPI, the buffer of the sender is read, and
/// the buffer of the receiver is written, at any moment between the start of a transfer and its end. A buffer that is
/// used in this time thereby gives other numbers.
class post_office {
 public:
  /// Thrown in all processes after one of them has ended all.
  struct ended {};
  /// A sender, a receiver, and the number of a transfer.
  using line_name = std::tuple<int, int, int>;
  /// The end of a message at its sender or at its receiver.
  struct message_end {
    std::byte* buffer;
    std::size_t bytes;
    bool* is_done;
  };

  /// Makes room for one message that leaves its sender before the receiver awaits it.
  void prepare(const line_name& name, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    line& at = lines_[name];
    const std::byte* const before = at.early.data();
    at.early.resize(std::max(at.early.size(), bytes));
    for (message_end& one : at.sent) {
      if (one.buffer == before) one.buffer = at.early.data();  // a message of an earlier program is still under way
    }
    at.sent.reserve(4);
    at.awaited.reserve(4);
  }
  void send(const line_name& name, message_end sent, bool is_early) {
    const std::lock_guard lock(mutex_);
    check();
    line& at = lines_[name];
    if (is_early && !at.holds_early()) {
      std::memcpy(at.early.data(), sent.buffer, sent.bytes);
      sent.buffer = at.early.data();
      *sent.is_done = true;
      sent.is_done = nullptr;
    }
    at.sent.push_back(sent);
  }
  void await(const line_name& name, message_end awaited) {
    const std::lock_guard lock(mutex_);
    check();
    std::memset(awaited.buffer, 0xff, awaited.bytes);  // its contents are undefined until the message arrives
    lines_[name].awaited.push_back(awaited);
  }
  /// Delivers the first message of a line if it was sent and is awaited, and if neither process holds it back.
  void deliver(const line_name& name) {
    const std::lock_guard lock(mutex_);
    check();
    line& at = lines_[name];
    if (at.sent.empty() || at.awaited.empty()) return;
    for (const int rank : {std::get<0>(name), std::get<1>(name)}) {
      const auto held = held_from_.find(rank);
      if (held != held_from_.end() && std::get<2>(name) >= held->second) return;
    }
    const message_end from = at.sent.front(), to = at.awaited.front();
    if (from.bytes != to.bytes) throw std::logic_error("a message has another length");
    std::memcpy(to.buffer, from.buffer, to.bytes);
    if (from.is_done != nullptr) *from.is_done = true;
    *to.is_done = true;
    at.sent.erase(at.sent.begin());
    at.awaited.erase(at.awaited.begin());
  }
  /// Takes back what a process that ends has not exchanged.
  void withdraw(const bool* first, const bool* last) {
    const std::lock_guard lock(mutex_);
    for (auto& [name, at] : lines_) {
      for (auto* const ends : {&at.sent, &at.awaited})
        std::erase_if(*ends, [=](const message_end& one) { return one.is_done >= first && one.is_done < last; });
    }
  }
  bool are_done(const bool (&both)[2]) {
    const std::lock_guard lock(mutex_);
    return both[0] && both[1];
  }
  /// Holds back the messages to and from a process, from transfer number `first` on.
  void hold(int rank, int first) {
    const std::lock_guard lock(mutex_);
    held_from_[rank] = first;
  }
  void release(int rank) {
    const std::lock_guard lock(mutex_);
    held_from_.erase(rank);
  }

  /// Tells that a process waits, and asks all other processes whether they wait.
  void tell(int rank) {
    const std::lock_guard lock(mutex_);
    told_.insert(rank);
  }
  /// Returns true if a process asks which of them wait.
  bool is_asked() {
    const std::lock_guard lock(mutex_);
    return !told_.empty();
  }
  bool has_told(int rank) {
    const std::lock_guard lock(mutex_);
    return told_.contains(rank);
  }
  void end_all(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (end_.empty()) end_ = text;
  }
  void check_running() {
    const std::lock_guard lock(mutex_);
    check();
  }
  /// Returns the text with which the processes ended, or an empty text.
  std::string end() {
    const std::lock_guard lock(mutex_);
    return end_;
  }

 private:
  struct line {
    std::vector<message_end> sent, awaited;
    std::vector<std::byte> early;
    bool holds_early() const {
      return std::ranges::any_of(sent, [this](const message_end& one) { return one.buffer == early.data(); });
    }
  };
  void check() const {
    if (!end_.empty()) throw ended{};
  }

  std::mutex mutex_;
  std::map<line_name, line> lines_;
  std::set<int> told_;
  std::map<int, int> held_from_;  // by rank
  std::string end_;
};

/// One process of a group, which is a thread.
class thread_process final : public process_group {
 public:
  thread_process(post_office& office, int rank, int size, double patience)
      : office_(office), rank_(rank), size_(size), patience_(patience), draw_(seed{7}, std::uint64_t(rank)) {}

  traffic_plan sent;  ///< what this process has sent

  /// Holds back the messages of the last `count` transfers of the program that was made last, until `release`.
  void hold(int count) { office_.hold(rank_, prepared_ - count); }
  void release() { office_.release(rank_); }
  /// Releases the messages as soon as this process waits.
  void release_in_wait() { releases_in_wait_ = true; }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  double patience() const override { return patience_; }
  std::unique_ptr<transfer_list> prepare(std::span<const transfer> transfers) override {
    prepared_ = int(transfers.size());
    return std::make_unique<messages>(*this, std::vector(transfers.begin(), transfers.end()));
  }
  double now() override {
    office_.check_running();
    if (std::exchange(releases_in_wait_, false)) release();
    if (office_.is_asked()) office_.tell(rank_);
    std::this_thread::yield();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  std::vector<int> late_ranks() override {
    office_.tell(rank_);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::vector<int> late;
    for (int other = 0; other < size_; ++other) {
      if (!office_.has_told(other)) late.push_back(other);
    }
    return late;
  }
  [[noreturn]] void end_all(std::string_view text) override {
    office_.end_all(text);
    throw post_office::ended{};
  }

 private:
  class messages final : public transfer_list {
   public:
    messages(thread_process& of, std::vector<transfer> all) : of_(of), all_(std::move(all)), done_(all_.size()) {
      for (std::size_t i = 0; i < all_.size(); ++i) {
        of_.office_.prepare(line_to(i), std::size_t(all_[i].bytes));
        started_with_.emplace_back(std::size_t(all_[i].bytes));
      }
    }
    ~messages() override {
      for (const ends& one : done_) {
        if (!of_.office_.are_done(one.both)) of_.office_.end_all("a program ended before its messages");
      }
      if (!done_.empty()) of_.office_.withdraw(done_.front().both, done_.back().both + 2);
    }
    void start(int index) override {
      const auto i = std::size_t(index);
      const transfer& one = all_[i];
      const auto bytes = std::size_t(one.bytes);
      bool(&both)[2] = done_[i].both;
      both[0] = both[1] = false;
      std::memcpy(started_with_[i].data(), one.sent, bytes);
      of_.office_.await(line_from(i), {one.received, bytes, &both[0]});
      of_.office_.send(line_to(i), {const_cast<std::byte*>(one.sent), bytes, &both[1]}, of_.draw_.below(3) == 0);
      if (of_.draw_.below(3) == 0) of_.office_.deliver(line_to(i));
      of_.sent.bytes += one.bytes;
      ++of_.sent.messages;
    }
    bool is_done(int index) override {
      const auto i = std::size_t(index);
      if (of_.draw_.below(3) == 0) of_.office_.deliver(line_to(i));
      if (of_.draw_.below(3) == 0) of_.office_.deliver(line_from(i));
      if (!of_.office_.are_done(done_[i].both)) return false;
      if (std::memcmp(started_with_[i].data(), all_[i].sent, started_with_[i].size()) != 0)
        throw std::logic_error("a buffer was written while it was sent");
      return true;
    }

   private:
    struct ends {
      bool both[2] = {true, true};  // by end of the transfer: the message that is awaited, the message that is sent
    };
    post_office::line_name line_to(std::size_t i) const { return {of_.rank_, all_[i].partner, int(i)}; }
    post_office::line_name line_from(std::size_t i) const { return {all_[i].partner, of_.rank_, int(i)}; }

    thread_process& of_;
    const std::vector<transfer> all_;
    std::vector<ends> done_;
    std::vector<std::vector<std::byte>> started_with_;  // what the buffers that are sent had at the start
  };

  post_office& office_;
  const int rank_, size_;
  const double patience_;
  random_sequence draw_;
  int prepared_ = 0;  // transfers of the program that was made last
  bool releases_in_wait_ = false;
};

/// Calls `use(group)` in each of `size` processes. Returns the text with which all processes ended, or an empty text.
std::string in_processes(int size, auto use, double patience = 60) {
  post_office office;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      thread_process group(office, rank, size, patience);
      try {
        use(group);
      } catch (const post_office::ended&) {
      } catch (const std::exception& error) {
        office.end_all(std::string("thrown: ") + error.what());
      }
    });
  }
  for (std::thread& each : threads) each.join();
  return office.end();
}

}  // namespace thread_processes
