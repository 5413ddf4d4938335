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
/// Several objects may live at once, in several threads or one within the scope of another. A signal then asks all of
/// them. When the last object ends, the signals are handled as they were before the first object began.
class stop_requests {
 public:
  stop_requests() {
    const std::lock_guard guard(mutex_);
    if (living_++ > 0) return;
    received_ = 0;
    struct sigaction noting{};
    noting.sa_handler = [](int number) {
      received_ = number;
      for (const int each : signals) {
        struct sigaction now{};
        if (::sigaction(each, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::signal(each, SIG_DFL);
      }
    };
    noting.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &noting, nullptr);
    }
  }
  stop_requests(const stop_requests&) = delete;
  stop_requests& operator=(const stop_requests&) = delete;
  ~stop_requests() {
    const std::lock_guard guard(mutex_);
    if (--living_ > 0) return;
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }

  /// Returns the number of the signal that came, or 0 if none came.
  int received() const { return received_; }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM};
  static inline std::atomic<int> received_ = 0;
  static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may only touch lock-free atomics
  static inline std::mutex mutex_;                       ///< guards the two members below
  static inline int living_ = 0;
  static inline std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace cairn::train
