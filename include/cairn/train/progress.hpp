// Shows how far training has come. A terminal shows one line that is redrawn; a file or a pipe gets plain lines.
#pragma once

#include "cairn/base/decimal.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/train/sample_mean.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cairn {

/// The work of one epoch: `steps` > 0 training steps of `batch` examples each. Epochs are counted from 0.
struct epoch_plan {
  int epoch = 0;
  int epochs = 1;
  std::int64_t steps = 1;
  std::int64_t batch = 1;

  constexpr std::array<setting, 4> settings() const {
    return {setting::not_negative("epoch", epoch), setting::at_least_one("epochs", epochs),
            setting::at_least_one("steps", static_cast<double>(steps)),
            setting::at_least_one("batch", static_cast<double>(batch))};
  }
};

/// Returns a time as minutes and seconds, preceded by hours if there are any: 0:07, 12:30, 1:00:00. Seconds are rounded
/// up.
inline std::string clock_text(double seconds) {
  const auto s = static_cast<long long>(std::clamp(std::ceil(seconds), 0.0, 1e9));
  char text[32];
  if (s < 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  }
  return text;
}

/// Returns a line about an epoch of which `done` steps are done. If `columns` is 0, the line is plain. Otherwise the
/// line has a bar, if there is room for one, and fills all columns of a terminal except the last one, after which a
/// terminal would wrap it.
inline std::string progress_line(const epoch_plan& plan, std::int64_t done, double loss, double seconds,
                                 int columns = 0) {
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(plan.steps));
  const double rate = seconds > 0 ? static_cast<double>(done * plan.batch) / seconds : 0;
  const bool finished = done >= plan.steps;
  const std::string time = finished   ? "in " + clock_text(seconds)
                           : done > 0 ? clock_text(seconds / part - seconds) + " left"
                                      : "";
  char text[160];
  std::snprintf(text, sizeof text, "epoch %d/%d ", plan.epoch + 1, plan.epochs);
  std::string line = text;
  std::snprintf(text, sizeof text, "%3d%%  loss %s  %s examples/s  %s", static_cast<int>(100 * part),
                detail::significant(loss, 4).c_str(), detail::with_places(rate, 0).c_str(), time.c_str());
  if (columns == 0) return line + text;

  const auto room = static_cast<std::size_t>(columns - 1);
  const auto used = line.size() + std::string_view(text).size() + 3;  // the 3 characters are the brackets and a space
  if (constexpr std::size_t least = 8, most = 40; used + least <= room) {
    const auto width = std::min(room - used, most);
    const auto full = static_cast<std::size_t>(part * static_cast<double>(width));
    line += '[' + std::string(full, '=') + std::string(width - full, ' ') + "] ";
  }
  line += text;
  line.resize(room, ' ');
  return line;
}

namespace detail {
/// The clock and the terminal that `progress` uses. Tests replace them by their own.
struct outside_world {
  /// Returns the seconds since some fixed moment. <chrono> is not used, because compilers take a tenth of a second to
  /// read it.
  static double seconds() {
    std::timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  /// Returns the width of a terminal in characters, or 0 if the file is no terminal.
  static int columns(std::FILE* file) {
    if (isatty(fileno(file)) == 0) return 0;
    struct winsize size{};
    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
  }
};
}  // namespace detail

/// Shows the progress of one epoch. Create it as `progress bar{{.epoch = 0, .epochs = 5, .steps = 468}}`, and call
/// `bar.advance(loss)` after each training step. The loss that it shows is the mean over the epoch so far. The
/// constructor throws std::invalid_argument if a setting of the plan has a value that is not allowed.
template <class World = detail::outside_world>
class progress {
 public:
  explicit progress(const epoch_plan& plan, std::FILE* file = stderr)
      : plan_(plan),
        file_(file),
        terminal_(World::columns(file) > 0),
        start_(World::seconds()),
        next_(terminal_ ? start_ : start_ + pause()) {
    detail::check_settings("epoch_plan", plan.settings());
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() {
    if (drawn_) std::fputc('\n', file_);
  }

  /// Notes one training step with its loss. A line is shown after the last step, and before that at most ten times a
  /// second on a terminal and every ten seconds elsewhere.
  void advance(double loss) {
    ++done_;
    loss_.add(loss);
    const double now = World::seconds();
    if (now < next_ && done_ != plan_.steps) return;
    next_ = now + pause();
    if (terminal_) {
      drawn_ = true;
      show("\r", World::columns(file_), now, "");
    } else {
      show("", 0, now, "\n");
    }
  }

  /// Returns the mean of the losses so far; NaN before the first one.
  double loss() const { return loss_.value(); }

 private:
  /// Returns the seconds between two lines.
  double pause() const { return terminal_ ? 0.1 : 10; }
  void show(const char* before, int columns, double now, const char* after) {
    const auto line = progress_line(plan_, done_, loss(), now - start_, columns);
    std::fprintf(file_, "%s%s%s", before, line.c_str(), after);
    std::fflush(file_);
  }

  epoch_plan plan_;
  std::FILE* file_;
  bool terminal_;
  bool drawn_ = false;
  double start_;
  double next_;  ///< the time from which on a line is shown
  sample_mean loss_;
  std::int64_t done_ = 0;
};

}  // namespace cairn
