// A run that can be left alone: epochs, validation, learning rates, early stopping, a log, and a folder from which it
// goes on, whenever it ended, with the same bits. All of it is optional; a loop of one's own needs none.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/file/saving.hpp"
#include "cairn/train/progress.hpp"
#include "cairn/train/run_facts.hpp"
#include "cairn/train/run_folder.hpp"
#include "cairn/train/schedule.hpp"
#include "cairn/train/stop.hpp"

#include <array>
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
  /// If true, a run goes on even if its data, its optimizer or an option has changed. If the data has changed, the
  /// epoch under way begins anew.
  bool accepts_changes = false;
  int keep = 2;                 ///< of what was saved, so many last ones; the best stays beside
  std::int64_t save_every = 0;  ///< steps; at the end of each epoch alone if 0
  std::int64_t log_every = 0;   ///< the same
  int patience = 0;             ///< ends after so many epochs without a better validation; never if 0
  bool higher_is_better = false;
  /// The moment that validates and is saved as the best in place of parameters: "average" (see averaged).
  std::string average = {};
  bool shows_progress = true;
  std::int64_t batch = 1;  ///< examples in a step: the progress bar shows how many a second

  std::array<setting, 8> settings() const {
    return {setting::at_least_one("epochs", epochs),
            {"rate", 0, bool(rate), "a function"},
            {"resume", 1, !resume || !folder.empty(), "false without a .folder"},
            setting::at_least_one("keep", keep),
            setting::not_negative("save_every", static_cast<double>(save_every)),
            setting::not_negative("log_every", static_cast<double>(log_every)),
            setting::not_negative("patience", patience),
            setting::at_least_one("batch", static_cast<double>(batch))};
  }
  /// Those that say what is done with validations, of a run without.
  std::array<setting, 3> settings_without_validation() const {
    return {{{"patience", static_cast<double>(patience), patience == 0, "0 without a validation"},
             {"higher_is_better", 1, !higher_is_better, "false without a validation"},
             {"average", 1, average.empty(), "empty without a validation"}}};
  }
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
      refuse(file::format_error(path, file::text_of({"a number as ", name}), file::detail::shown(text)));
  });
  constexpr std::int64_t most = std::int64_t{1} << 62;  // so that a run can go on
  const bool counts = s.epoch >= 0 && s.epoch < std::numeric_limits<int>::max() && s.position >= 0 &&
                      s.position <= s.step && s.step <= most && s.rows >= 0 && s.rows <= most && s.best_epoch >= -1 &&
                      s.best_epoch < s.epoch;
  if (!counts)
    refuse(file::format_error(path, "epoch, position, step, rows and best epoch of a loop that can go on", "others"));
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
/// folder. What the program's rules keep is saved with it; an optimizer beside the program is not. As long as the loop
/// lives, no other one uses its folder.
template <class Program>
class loop {
 public:
  /// Goes on from what is saved, if that is asked for and there is any. Throws as load does, file::write_error where
  /// there can be no such folder or another run has it, and file::file_error where it has a run that is not to be
  /// resumed, or one with another optimizer or other options. Throws std::invalid_argument where an option has a value
  /// that cannot be meant.
  explicit loop(Program& program, loop_options options) : program_(program), options_(std::move(options)) {
    cairn::detail::check_settings("loop_options", options_.settings());
    if (!options_.average.empty()) Program::check_exchange(options_.average);
    if (options_.folder.empty()) return;
    if (options_.resume && !Program::updates_parameters)
      refuse(program_error(
          "cairn: a run with an optimizer beside its program cannot be resumed, for the optimizer would begin anew; "
          "have the program update<...> its parameters"));
    facts_ = detail::facts_of(program_);
    facts_.emplace("run.higher_is_better", options_.higher_is_better ? "true" : "false");
    facts_.emplace("run.average", options_.average);
    folder_.emplace(options_.folder);
    lock_ = folder_->take();
    const std::string path = folder_->newest();
    if (path.empty()) {
      for (const std::string& left : {folder_->best(), folder_->log()}) {
        if (std::filesystem::exists(left))
          refuse(file::file_error(options_.folder, "a step-*.safetensors to go on from, or an empty folder",
                                  file::text_of({left, " alone"})));
      }
      log_.emplace(folder_->log(), 0);
    } else if (options_.resume) {
      resume(path);
    } else {
      refuse(file::file_error(options_.folder, "a folder without a run, or .resume = true to go on with it", "a run"));
    }
  }

  /// data(epoch) gives the batches of an epoch, with a size(); go(rate, batch) does a step and returns its loss;
  /// validate() says how good the program is. Without it, throws std::invalid_argument where
  /// an option says what is done with validations.
  template <class Data, class Go, class Validate = detail::no_validation>
  ending operator()(Data data, Go go, Validate validate = {}) {
    const stop_requests requests;
    start_ = std::chrono::steady_clock::now();
    save_best();  // in case the run so far was killed, or the disk was full, when it was due
    constexpr bool validates = !std::same_as<Validate, detail::no_validation>;
    if (!validates) cairn::detail::check_settings("loop_options", options_.settings_without_validation());
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

  /// Has the program go on from a file. Changes nothing where it throws.
  void resume(const std::string& path) {
    saved_ = file::detail::opened(path).metadata;
    state_ = detail::state_in(path, saved_);
    if (state_.step != folder_->newest_step())
      refuse(file::format_error(path, "as many steps as its name says", detail::exact(state_.step)));
    if (state_.step > 0) rate_ = options_.rate(state_.step - 1);
    refuse_others(facts());
    log_.emplace(folder_->log(), state_.step);
    state_.rows = log_->rows();  // fewer where the log was removed
    program_.load(path);
    for (const auto& [name, text] : saved_) {
      if (name.starts_with("run.")) facts_.emplace(name, text);  // of the data, until an epoch begins
    }
    best_is_due_ = state_.position == 0 && state_.epoch > 0 && state_.best_epoch == state_.epoch - 1;
  }
  /// What the run is, as far as it is known.
  file::metadata facts() const {
    file::metadata all = facts_;
    if (state_.step > 0) all.insert_or_assign("run.rate", detail::significant(rate_, 9));
    return all;
  }
  /// Throws where the run that is saved is another one, unless that is accepted; returns true if it is another one.
  bool refuse_others(const file::metadata& now) const {
    const std::string others = detail::others_among(saved_, now);
    if (!others.empty() && !options_.accepts_changes)
      refuse(file::file_error(options_.folder, "the run as it was, or .accepts_changes = true", "another:" + others));
    return !others.empty();
  }
  static file::metadata facts_of_data(std::int64_t size, const auto& begin) {
    return {{"run.batches", detail::exact(size)}, {"run.data", detail::description_of(begin)}};
  }
  /// Before an epoch: compares its data with that of the run that goes on, and saves what a new run begins with. Data
  /// may differ from epoch to epoch, so that of the last epoch under way is compared.
  void begin_epoch(auto& data, const file::metadata& now) {
    if (!saved_.empty()) {
      file::metadata last = now;
      if (state_.position == 0 && state_.epoch > 0) {
        auto batches = data(state_.epoch - 1);
        last = facts_of_data(static_cast<std::int64_t>(batches.size()), batches.begin());
      }
      if (refuse_others(last)) state_.position = 0, state_.loss_sum = 0;
      saved_.clear();
    }
    for (const auto& [name, text] : now) facts_.insert_or_assign(name, text);
    if (folder_ && folder_->newest().empty()) save();
    if (log_) log_->begin();
  }

  bool is_late() const { return options_.patience > 0 && state_.epoch - state_.best_epoch > options_.patience; }
  /// Whether it came to its end: in its last step an epoch that is asked to stop ends as any other.
  bool run_epoch(auto& data, auto& go, const stop_requests& requests) {
    auto batches = data(state_.epoch);
    const auto size = static_cast<std::int64_t>(batches.size());
    if (size < 1) refuse(std::invalid_argument("cairn: train::loop: expected 1 batch or more in an epoch, got 0"));
    auto at = batches.begin();
    begin_epoch(data, facts_of_data(size, at));
    if (state_.position > size)
      refuse(file::format_error(options_.folder, "a position within the epoch of " + detail::exact(size) + " batches",
                                detail::exact(state_.position)));
    std::optional<progress<>> bar;
    if (options_.shows_progress)
      bar.emplace(
          epoch_plan{state_.epoch, options_.epochs, std::max<std::int64_t>(size - state_.position, 1), options_.batch});
    std::ranges::advance(at, state_.position, batches.end());
    for (; at != batches.end(); ++at) {
      rate_ = options_.rate(state_.step);
      cairn::detail::check_settings("loop_options", std::array{setting::not_negative("rate", rate_)});
      const auto loss = static_cast<double>(go(rate_, *at));
      ++state_.step;
      ++state_.position;
      state_.loss_sum += loss;
      if (bar) bar->advance(loss);
      if (state_.position == size) break;
      const bool stops = requests.received() != 0;
      if (is_turn(options_.log_every)) write_row(loss, nothing);
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
        best_is_due_ = true;
      }
    }
    write_row(mean, result);
    ++state_.epoch;
    state_.position = 0;
    state_.loss_sum = 0;
    // In this order: without the best, a run that ends here goes on and saves the best then.
    save();
    save_best();
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

  file::metadata texts() const {
    file::metadata all = facts();
    all.merge(detail::texts_of(state_));
    return all;
  }
  void save() {
    if (!folder_) return;
    program_.save(folder_->saved_at(state_.step), texts());
    folder_->keep_last(options_.keep);
  }
  void save_best() {
    if (!std::exchange(best_is_due_, false) || !folder_) return;
    const exchanged averages(program_, options_.average);
    program_.save(folder_->best(), texts());
  }
  double gradient_norm() {
    if constexpr (!Program::keeps_gradients) return nothing;
    else if constexpr (Program::updates_parameters) return program_.gradient_norm();
    else return kernel::length_of(program_.gradients().data(), std::ssize(program_.gradients()), 1);
  }
  void write_row(double loss, double validation) {
    if (!log_) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    log_->write({state_.step, state_.epoch, rate_, loss, gradient_norm(), validation, passed.count()});
    state_.rows = log_->rows();
  }

  Program& program_;
  loop_options options_;
  std::optional<run_folder> folder_;
  file::detail::descriptor lock_;  ///< of the folder
  std::optional<run_log> log_;
  loop_state state_;
  file::metadata facts_, saved_;  ///< what the run is, and what the file says from which it goes on
  double rate_ = 0;               ///< of the last step
  bool best_is_due_ = false;      ///< to be saved as the best
  std::chrono::steady_clock::time_point start_;
};

}  // namespace cairn::train

#include "cairn/base/macros_back.hpp"
