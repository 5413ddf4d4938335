// How far a run of the training loop has come, and what its on_plateau knows, as texts in a saved file.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/read_number.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/file/header.hpp"
#include "cairn/train/run_facts.hpp"
#include "cairn/train/schedule.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace cairn::train {

/// How far a run has come. All of these fields are saved in the program's file.
struct loop_state {
  int epoch = 0;              ///< number of the epoch that is under way or comes next, counted from 0
  std::int64_t position = 0;  ///< training steps done in this epoch
  std::int64_t step = 0;      ///< training steps done in the whole run
  std::int64_t rows = 0;      ///< rows that the log has
  double loss_sum = 0;        ///< sum of the losses of this epoch's training steps so far
  /// Best result of a validation; NaN before the first one.
  double best = std::numeric_limits<double>::quiet_NaN();
  /// The epoch with the best result; -1 before the first one. If the result was forgotten, the last epoch before that.
  int best_epoch = -1;
};

namespace detail {
/// Calls use(name, number) for each field of a `loop_state`. The name is the field's name in a saved file.
void for_each_part(auto& state, auto use) {
  use("loop.epoch", state.epoch);
  use("loop.position", state.position);
  use("loop.step", state.step);
  use("loop.rows", state.rows);
  use("loop.loss_sum", state.loss_sum);
  use("loop.best", state.best);
  use("loop.best_epoch", state.best_epoch);
}
inline file::metadata texts_of(const loop_state& state) {
  file::metadata texts;
  for_each_part(state, [&](const char* name, auto number) { texts.emplace(name, exact(number)); });
  return texts;
}
inline loop_state state_in(const std::string& path, const file::metadata& texts) {
  loop_state s;
  for_each_part(s, [&](const char* name, auto& to) {
    const auto found = texts.find(name);
    const std::string text = found == texts.end() ? "nothing" : found->second;
    if (!cairn::detail::is_number(text, to))
      refuse(file::format_error(path, cairn::detail::text_of({"a number as ", name}), file::detail::shown(text)));
  });
  const bool counts = s.epoch >= 0 && s.epoch < std::numeric_limits<int>::max() && s.position >= 0 &&
                      s.position <= s.step && s.step <= setting::most_steps && s.rows >= 0 &&
                      s.rows <= setting::most_steps && s.best_epoch >= -1 && s.best_epoch < s.epoch;
  if (!counts)
    refuse(file::format_error(path, "epoch, position, step, rows and best epoch of a loop that can go on", "others"));
  return s;
}
/// Calls use(name, number) for each number that an on_plateau knows, with the name of the number in a saved file.
void for_each_part(plateau_state& state, auto use) {
  use("rate.best", state.best);
  use("rate.worse", state.worse);
  use("rate.cooling", state.cooling);
  use("rate.reductions", state.reductions);
}
/// Reads what an on_plateau knew when a run was saved after `epochs` epochs. If the run had another rate, the state
/// stays as it is. No count can be larger than `epochs`, because there is one result in each epoch. `most_cooling` is
/// the largest number of results to come that do not count.
inline void read_plateau(plateau_state& state, std::int64_t epochs, std::int64_t most_cooling, const std::string& path,
                         const file::metadata& texts) {
  plateau_state read;
  std::string missing;
  int found_count = 0;
  for_each_part(read, [&](const char* name, auto& to) {
    const auto found = texts.find(name);
    if (found == texts.end()) {
      missing = name;
      return;
    }
    ++found_count;
    if (!cairn::detail::is_number(found->second, to))
      refuse(
          file::format_error(path, cairn::detail::text_of({"a number as ", name}), file::detail::shown(found->second)));
  });
  if (found_count == 0) return;
  if (!missing.empty())
    refuse(file::format_error(path, cairn::detail::text_of({missing, " next to other numbers of an on_plateau"}),
                              "nothing"));
  const auto is_count = [](std::int64_t count, std::int64_t most) { return count >= 0 && count <= most; };
  if (!is_count(read.worse, epochs) || !is_count(read.reductions, epochs) || !is_count(read.cooling, most_cooling))
    refuse(file::format_error(path, "counts of an on_plateau that can go on", "others"));
  state = read;
}
inline std::string text_of_rate(const on_plateau& rate) {
  std::string text = "on_plateau";
  for (const setting& one : rate.settings()) text += text_of({" ", one.name, " ", significant(one.value, 9)});
  return text_of({text, rate.is_absolute ? " is_absolute" : ""});
}
}  // namespace detail

}  // namespace cairn::train

#include "cairn/base/macros_back.hpp"
