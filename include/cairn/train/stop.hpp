// Requests to stop a run. They come from Ctrl-C, or from a program that ends the machine's processes.
#pragma once

#include "cairn/base/compiler.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <signal.h>

namespace cairn::train {

/// Notes signals that ask a run to stop. While an object of this class lives, the first SIGINT or SIGTERM is only
/// noted. The next signal of either kind ends the process. A signal that the process ignores stays ignored.
///
/// An object can also note SIGUSR1, which mpirun passes on to all processes. SIGUSR1 never ends the process.
///
/// Several objects may live at once, in several threads or one within the scope of another. A signal then asks all of
/// them. When the last object that notes a signal ends, the signal is handled as it was before the first object began.
class stop_requests {
 public:
  explicit stop_requests(bool notes_user_signal = false) : count_(signals.size() - (notes_user_signal ? 0 : 1)) {
    const std::lock_guard guard(mutex_);
    if (living_[0] == 0) received_ = 0;
    struct sigaction noting{};
    noting.sa_handler = note;
    noting.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < count_; ++i) {
      if (living_[i]++ > 0) continue;
      ::sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &noting, nullptr);
    }
  }
  stop_requests(const stop_requests&) = delete;
  stop_requests& operator=(const stop_requests&) = delete;
  ~stop_requests() {
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < count_; ++i) {
      if (--living_[i] == 0) ::sigaction(signals[i], &before_[i], nullptr);
    }
  }

  /// Returns the number of the signal that came, or 0 if none came.
  static int received() { return received_; }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGUSR1};

  static void note(int number) {
    received_ = number;
    for (const int each : signals) {
      struct sigaction now{};
      if (number == SIGUSR1 || each == SIGUSR1 || ::sigaction(each, nullptr, &now) != 0) continue;
      if (now.sa_handler != SIG_IGN) ::signal(each, SIG_DFL);
    }
  }

  const std::size_t count_;  // the object notes the first signals of the list
  static inline std::atomic<int> received_ = 0;
  static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may only touch lock-free atomics
  static inline std::mutex mutex_;                       ///< guards the two members below
  static inline std::array<int, signals.size()> living_{};
  static inline std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace cairn::train
