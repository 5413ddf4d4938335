// Being asked to stop, by Ctrl-C or by who ends the machine's programs.
#pragma once

#include <array>
#include <csignal>

namespace cairn::train {

/// While it lives, the first SIGINT or SIGTERM does nothing but to be noted; the second has its usual effect. At most one
/// lives at a time.
class stop_requests {
 public:
  stop_requests() {
    received_ = 0;
    struct sigaction noting{};
    noting.sa_handler = [](int number) { received_ = number; };
    noting.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &noting, &before_[i]);
  }
  stop_requests(const stop_requests&) = delete;
  stop_requests& operator=(const stop_requests&) = delete;
  ~stop_requests() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }

  /// The signal that came; 0 if none did.
  int received() const { return received_; }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM};
  static inline volatile std::sig_atomic_t received_ = 0;
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace cairn::train
