// Threads that stand for the processes of a group. The messages between them arrive late and in a random order.
#pragma once

#include <algorithm>
#include <cairn/cairn.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace thread_processes {

using namespace cairn;
using detail::process_group, detail::transfer, detail::transfer_list;

/// The messages that are under way between the processes of one group.
struct post_office {
  struct ended {};

  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> under_way;  // by sender, receiver and number
  std::string end;  // the text with which the processes ended; empty while they run

  void post(int from, int to, int number, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex);
    under_way[{from, to, number}].emplace_back(bytes.begin(), bytes.end());
  }
  bool take(int from, int to, int number, std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex);
    auto& messages = under_way[{from, to, number}];
    if (messages.empty()) return false;
    if (messages.front().size() != bytes.size()) throw std::logic_error("a message has another length");
    std::ranges::copy(messages.front(), bytes.begin());
    messages.pop_front();
    return true;
  }
  void end_all(std::string_view text) {
    const std::lock_guard lock(mutex);
    if (end.empty()) end = text;
  }
  void check() {
    const std::lock_guard lock(mutex);
    if (!end.empty()) throw ended{};
  }
};

/// One process of a group, which is a thread.
class thread_process final : public process_group {
 public:
  thread_process(post_office& office, int rank, int size, double patience)
      : office_(office), rank_(rank), size_(size), patience_(patience), draw_(seed{7}, std::uint64_t(rank)) {}

  traffic_plan sent;  ///< what this process has sent

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  double patience() const override { return patience_; }
  std::unique_ptr<transfer_list> prepare(std::span<const transfer> transfers) override {
    return std::make_unique<messages>(*this, std::vector(transfers.begin(), transfers.end()));
  }
  double now() override {
    office_.check();
    std::this_thread::yield();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  [[noreturn]] void end_all(std::string_view text) override {
    office_.end_all(text);
    throw post_office::ended{};
  }

 private:
  class messages final : public transfer_list {
   public:
    messages(thread_process& of, std::vector<transfer> all) : of_(of), all_(std::move(all)) {}
    void start(int index) override {
      const transfer& one = all_[std::size_t(index)];
      of_.office_.post(of_.rank_, one.partner, index, {one.sent, std::size_t(one.bytes)});
      of_.sent.bytes += one.bytes;
      ++of_.sent.messages;
    }
    bool is_done(int index) override {
      const transfer& one = all_[std::size_t(index)];
      if (of_.draw_.below(3) > 0) return false;  // the message is still under way
      return of_.office_.take(one.partner, of_.rank_, index, {one.received, std::size_t(one.bytes)});
    }

   private:
    thread_process& of_;
    const std::vector<transfer> all_;
  };

  post_office& office_;
  const int rank_, size_;
  const double patience_;
  random_sequence draw_;
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
  return office.end;
}

}  // namespace thread_processes
