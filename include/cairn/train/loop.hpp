// A run that can be left alone: epochs, validation, learning rates, early stopping, a log, and a folder from which it
// goes on, whenever it ended, with the same bits. All of it is optional; a loop of one's own needs none.
#pragma once

#include "cairn/core/macros_aside.hpp"

#include "cairn/file/saving.hpp"
#include "cairn/train/progress.hpp"
#include "cairn/train/run_folder.hpp"
#include "cairn/train/schedule.hpp"
#include "cairn/train/stop.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

namespace cairn::train {

struct loop_options {
  int epochs = 1;
  /// The learning rate by step, counted from 0 over the whole run: train/schedule.hpp has some.
  std::function<double(std::int64_t)> rate = constant_rate{1e-3};
  /// Where the run is saved, with its log; nowhere if empty. It goes on from what is there where `resume` is true.
  std::string folder = {};
  bool resume = false;
  int keep = 2;                 ///< of what was saved, so many last ones; the best stays beside
  std::int64_t save_every = 0;  ///< steps; at the end of each epoch alone if 0
  std::int64_t log_every = 0;   ///< the same
  int patience = 0;             ///< ends after so many epochs without a better validation; never if 0
  bool higher_is_better = false;
  /// The moment that validates and is saved as the best in place of parameters: "average" (see averaged).
  std::string average = {};
  bool shows_progress = true;
  std::int64_t batch = 1;  ///< examples in a step: the progress bar shows how many a second
};

/// How far a run has come; what of it is saved with the program.
struct loop_state {
  int epoch = 0;              ///< that comes next, or is under way
  std::int64_t position = 0;  ///< steps done in it
  std::int64_t step = 0;      ///< in all
  std::int64_t rows = 0;      ///< of the log
  double loss_sum = 0;        ///< of the epoch
  double best = std::numeric_limits<double>::quiet_NaN();
  int best_epoch = -1;
};

/// Why a run ended.
enum class ending : std::uint8_t { done, no_better, asked };

namespace detail {
template <class Number>
std::string exact(Number number) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;  // doubles: the shortest that comes back
  return {text, end};
}
/// Calls use(name, number) for each part of a loop's state, as it is saved.
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
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc{} || end != text.data() + text.size())
      refuse(file::format_error(path, file::text_of({"a number as ", name}), text));
  });
  if (s.epoch < 0 || s.position < 0 || s.step < 0 || s.rows < 0)
    refuse(file::format_error(path, "epoch, position, step and rows of a loop, none below 0", "others"));
  return s;
}
struct no_validation {};
}  // namespace detail

/// Runs a program over epochs:
///
///   train::loop run{step, {.epochs = 5, .rate = cosine{.peak = 1e-3, .steps = 2340}, .folder = "run",
///                          .resume = true}};
///   run([&](int epoch) { return data::batches<128>(set.train, seed{1}, epoch); },
///       [&](double rate, const auto& batch) { return step.train({.lr = rate}, bind<"x">(batch.images), ...); },
///       [&] { return accuracy(step); });
///
/// The program must outlive it. SIGINT and SIGTERM end it after the step that is under way, saved where there is a
/// folder. What the program's rules keep is saved with it; an optimizer beside the program is not.
template <class Program>
class loop {
 public:
  /// Goes on from what is saved, if that is asked for and there is any. Throws as load does, file::write_error where
  /// there can be no such folder, and file::file_error where it has a run that is not to be resumed.
  explicit loop(Program& program, loop_options options) : program_(program), options_(std::move(options)) {
    if (!options_.average.empty()) Program::check_exchange(options_.average);
    if (options_.folder.empty()) return;
    if (options_.resume && !Program::updates_parameters)
      refuse(program_error(
          "cairn: a run with an optimizer beside its program cannot be resumed, for the optimizer would begin anew; "
          "have the program update<...> its parameters"));
    folder_.emplace(options_.folder);
    folder_->take();
    const std::string path = folder_->newest();
    if (path.empty() && !folder_->is_new())
      refuse(file::file_error(options_.folder, "a step-*.safetensors to go on from, or an empty folder",
                              "the best alone"));
    if (!path.empty() && !options_.resume)
      refuse(file::file_error(options_.folder, "a folder without a run, or .resume = true to go on with it", "a run"));
    if (!path.empty()) {
      state_ = detail::state_in(path, file::reader(path).metadata());  // before anything changes
      program_.load(path);
    }
    log_.emplace(folder_->log(), state_.rows);
    state_.rows = log_->rows();  // fewer where the log was removed
  }

  /// data(epoch) gives the batches of an epoch, with a size(); go(rate, batch) does a step and returns its loss;
  /// validate() says how good the program is.
  template <class Data, class Go, class Validate = detail::no_validation>
  ending operator()(Data data, Go go, Validate validate = {}) {
    const stop_requests requests;
    start_ = std::chrono::steady_clock::now();
    constexpr bool validates = !std::same_as<Validate, detail::no_validation>;
    while (state_.epoch < options_.epochs && !(validates && is_late())) {
      if (!run_epoch(data, go, requests)) return ending::asked;
      end_epoch(validate);
      if (requests.received() != 0) return ending::asked;
    }
    return state_.epoch < options_.epochs ? ending::no_better : ending::done;
  }

  const loop_state& state() const { return state_; }

 private:
  using real = typename Program::real_type;
  static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

  bool is_late() const { return options_.patience > 0 && state_.epoch - state_.best_epoch > options_.patience; }
  /// Whether it came to its end: in its last step an epoch that is asked to stop ends as any other.
  bool run_epoch(auto& data, auto& go, const stop_requests& requests) {
    auto batches = data(state_.epoch);
    const auto size = static_cast<std::int64_t>(batches.size());
    std::optional<progress<>> bar;
    if (options_.shows_progress)
      bar.emplace(
          epoch_plan{state_.epoch, options_.epochs, std::max<std::int64_t>(size - state_.position, 1), options_.batch});
    auto at = batches.begin();
    std::ranges::advance(at, state_.position, batches.end());
    for (; at != batches.end(); ++at) {
      const double rate = options_.rate(state_.step);
      const auto loss = static_cast<double>(go(rate, *at));
      ++state_.step;
      ++state_.position;
      state_.loss_sum += loss;
      if (bar) bar->advance(loss);
      if (state_.position == size) break;
      const bool stops = requests.received() != 0;
      if (is_turn(options_.log_every)) write_row(rate, loss, nothing);
      if (stops || is_turn(options_.save_every)) save();
      if (stops) return false;
    }
    return true;
  }
  bool is_turn(std::int64_t every) const { return every > 0 && state_.step % every == 0; }

  template <class Validate>
  void end_epoch(Validate& validate) {
    const double mean = state_.loss_sum / static_cast<double>(std::max<std::int64_t>(state_.position, 1));
    double result = nothing;
    if constexpr (!std::same_as<Validate, detail::no_validation>) {
      const exchanged averages(program_, options_.average);
      result = static_cast<double>(validate());
      const bool better = options_.higher_is_better ? result > state_.best : result < state_.best;
      if (better || (state_.best_epoch < 0 && !std::isnan(result))) {
        state_.best = result;
        state_.best_epoch = state_.epoch;
        if (folder_) program_.save(folder_->best(), detail::texts_of(state_));
      }
    }
    write_row(options_.rate(state_.step - 1), mean, result);
    ++state_.epoch;
    state_.position = 0;
    state_.loss_sum = 0;
    save();
  }
  /// Has a program run with its averages while it lives.
  class exchanged {
   public:
    exchanged(Program& program, const std::string& moment) : program_(program), moment_(moment) { change(); }
    exchanged(const exchanged&) = delete;
    exchanged& operator=(const exchanged&) = delete;
    ~exchanged() { change(); }

   private:
    void change() {
      if (!moment_.empty()) program_.exchange(moment_);
    }
    Program& program_;
    const std::string& moment_;
  };

  void save() {
    if (!folder_) return;
    program_.save(folder_->saved_at(state_.step), detail::texts_of(state_));
    folder_->keep_last(options_.keep);
  }
  double gradient_norm() {
    if constexpr (!Program::keeps_gradients) return nothing;
    else if constexpr (Program::updates_parameters) return program_.gradient_norm();
    else return kernel::length_of(program_.gradients().data(), std::ssize(program_.gradients()), 1);
  }
  void write_row(double rate, double loss, double validation) {
    if (!log_) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    log_->write({state_.step, state_.epoch, rate, loss, gradient_norm(), validation, passed.count()});
    state_.rows = log_->rows();
  }

  Program& program_;
  loop_options options_;
  std::optional<run_folder> folder_;
  std::optional<run_log> log_;
  loop_state state_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace cairn::train

#include "cairn/core/macros_back.hpp"
