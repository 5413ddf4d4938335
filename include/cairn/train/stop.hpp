// Being asked to stop, by Ctrl-C or by who ends the machine's programs.
#pragma once

#include "cairn/base/compiler.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <mutex>

namespace cairn::train {

/// While one lives, the first SIGINT or SIGTERM does nothing but to be noted; the next one of either ends the process.
/// A signal that is ignored stays so. Where several live, in threads or one within another, a signal asks all of them,
/// and when the last one ends, signals are what they were before the first.
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

  /// The signal that came; 0 if none did.
  int received() const { return received_; }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM};
  static inline std::atomic<int> received_ = 0;
  static_assert(std::atomic<int>::is_always_lock_free);  // else a handler must not touch it
  static inline std::mutex mutex_;                       ///< of the two below
  static inline int living_ = 0;
  static inline std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace cairn::train
