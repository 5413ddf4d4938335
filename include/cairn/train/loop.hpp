// The training loop. It runs a program over epochs, validates, sets learning rates, stops early, writes a log, and
// saves the run in a folder. A run that ended at any moment can be resumed from its folder and computes the same bits
// as a run that never stopped. Every part of the training loop is optional. Users can write a loop of their own without
// it.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/file/saving.hpp"
#include "cairn/train/loop_options.hpp"
#include "cairn/train/loop_state.hpp"
#include "cairn/train/processes.hpp"
#include "cairn/train/progress.hpp"
#include "cairn/train/run_facts.hpp"
#include "cairn/train/run_folder.hpp"
#include "cairn/train/schedule.hpp"
#include "cairn/train/stop.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace cairn::train {

/// Why a run ended: all epochs are done, the validation did not get better for `patience` epochs, or a signal asked the
/// run to stop.
enum class ending : std::uint8_t { done, no_better, asked };

namespace detail {
struct no_validation {};
template <class Validate>
inline constexpr bool validates = !std::same_as<Validate, no_validation>;

/// Data is a function of the epoch that returns the batches of the epoch, a range with size().
template <class Data>
concept gives_batches = requires(Data& data, std::invoke_result_t<Data&, int>& batches) {
  *batches.begin();
  batches.size();
};
/// Returns the mistake of giving a loop no function of the epoch as `Data`, or a function `Go` that does no training
/// step with a batch of `Data`, or sound.
template <class Data, class Go>
constexpr auto problem_of_step_function() {
  if constexpr (!gives_batches<Data>) {
    return lang::mistake<misuse::no_batches_of_loop, lang::top_scope, fact::given<Data>>{};
  } else {
    using batches = std::invoke_result_t<Data&, int>;
    using batch = decltype(*std::declval<batches&>().begin());
    if constexpr (!std::invocable<Go&, double, batch>)
      return lang::mistake<misuse::no_step_of_loop, lang::top_scope, fact::given<Go>>{};
    else if constexpr (requires(std::invoke_result_t<Go&, double, batch> loss) { static_cast<double>(loss); })
      return lang::sound{};
    else
      return lang::mistake<misuse::no_step_of_loop, lang::top_scope,
                           fact::given<std::invoke_result_t<Go&, double, batch>>>{};
  }
}
/// Returns the mistake of giving a loop a validation that is no function of no arguments, or that returns no number,
/// or sound.
template <class Validate>
constexpr auto problem_of_validation() {
  if constexpr (!validates<Validate> || requires(Validate& validate) { static_cast<double>(validate()); })
    return lang::sound{};
  else return lang::mistake<misuse::no_validation_of_loop, lang::top_scope, fact::given<Validate>>{};
}
}  // namespace detail

/// Runs a program over epochs.
///
///   train::loop run{step, {.epochs = 5, .rate = cosine{.peak = 1e-3, .steps = 2340}, .folder = "run",
///                          .resume = true}};
///   run([&](int epoch) { return data::batches<128>(set.train, seed{1}, epoch); },
///       [&](double rate, const auto& batch) { return step.train({.lr = rate}, bind<"x">(batch.images), ...); },
///       [&] { return accuracy(step); });
///
/// The program must outlive the training loop. SIGINT and SIGTERM end the run after the training step that is under
/// way; if there is a folder, the run is saved then. The moments of the program's update rules are saved with the
/// program. An optimizer that is separate from the program is not saved. While a training loop lives, no other training
/// loop can use its folder.
///
/// If several processes share the shards of the program, all of them make the training loop and call it. Rank 0 alone
/// writes files and shows progress. All processes take the same decisions. They also take SIGUSR1 as a request to stop.
/// A request in one process ends the run of all processes after the same training step. If a file cannot be saved, all
/// processes throw the same exception. If anything else fails in a process, this process throws as below, and the
/// others throw program_error with its message. `sum_over` shares a validation among the processes.
template <class Program>
class loop {
 public:
  /// Takes the folder, and resumes the run in it if `resume` is true and the folder holds a run. Throws
  /// - std::invalid_argument if an option has a value that is not allowed;
  /// - program_error if the program cannot exchange its parameters with the moment `average`, or if `resume` is true
  ///   and the program does not update its own parameters;
  /// - file::write_error if the folder cannot be made or another run has taken it;
  /// - file::file_error if the folder holds a run and `resume` is false, if the saved run has another optimizer or
  ///   other options, or if a best file or a log is there without a saved run;
  /// - whatever `load` throws.
  explicit loop(Program& program, loop_options options)
      : program_(program), options_(std::move(options)), team_(detail::group_of(program)) {
    cairn::detail::check_settings("loop_options", options_.settings());
    if (!options_.average.empty()) Program::check_exchange(options_.average);
    check_equal_decisions();
    if (team_.rank() > 0) options_.shows_progress = false;
    if (options_.folder.empty()) return;
    if (options_.resume && !Program::updates_parameters)
      refuse(program_error(
          "cairn: a run with an optimizer beside its program cannot be resumed, for the optimizer would begin anew; "
          "have the program update<...> its parameters"));
    facts_ = detail::facts_of(program_);
    facts_.emplace("run.higher_is_better", options_.higher_is_better ? "true" : "false");
    facts_.emplace("run.average", options_.average);
    folder_.emplace(options_.folder);
    std::string path;
    team_.in_first([&] { path = take_folder(); });
    path = team_.text_of_first(std::move(path));
    is_new_ = path.empty();
    if (!is_new_) team_.together([&] { resume(path); });
    state_.rows = team_.all_of(state_.rows)[0];
  }

  /// Runs the remaining epochs and returns why the run ended. If no epoch remains, a line says so, unless
  /// `shows_progress` is false.
  ///
  /// `data(epoch)` returns the batches of an epoch, a range with size(). `go(rate, batch)` does one training step and
  /// returns its loss. `validate()` returns how good the program is. If there are several processes, the result of
  /// rank 0 counts.
  ///
  /// Throws std::invalid_argument if there is no `validate` and an option says what is done with validations, if an
  /// epoch has no batches, or if a learning rate is negative or not finite. Throws file::write_error if the run cannot
  /// be saved. The next call then saves it. Throws program_error if the program has changed since the loop resumed its
  /// run or could not save it, or if `data`, `go` or `validate` calls the loop. A resumed run throws file::file_error
  /// if its data has changed, unless `accepts_changes` is set.
  ///
  /// Rejects: a `go` that does not take a rate and a batch, or a `validate` that takes an argument, or one of the two
  /// that does not return a number.
  template <class Data, class Go, class Validate = detail::no_validation>
  ending operator()(Data data, Go go, Validate validate = {}) {
    using problem = decltype(lang::first_problem(detail::problem_of_step_function<Data, Go>(),
                                                 detail::problem_of_validation<Validate>()));
    static_assert(lang::report_of<problem>{}.shown);
    if constexpr (std::same_as<problem, lang::sound>) return run_epochs(data, go, validate);
    else return ending::done;
  }

  /// Returns how far the run has come.
  const loop_state& state() const { return state_; }

 private:
  using team = detail::team<std::remove_pointer_t<decltype(detail::group_of(std::declval<Program&>()))>>;
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

  template <class Validate>
  ending run_epochs(auto& data, auto& go, Validate& validate) {
    const running begun(is_running_);
    team_.together([&] { check_unchanged(); });
    const typename team::listening now(team_);
    start_ = std::chrono::steady_clock::now();
    save_what_is_due();  // the run may have been killed, or the disk may have been full
    constexpr bool validates = detail::validates<Validate>;
    if (!validates) cairn::detail::check_settings("loop_options", options_.settings_without_validation());
    const auto has_ended = [&] { return state_.epoch >= options_.epochs || (validates && has_no_patience_left()); };
    if (options_.shows_progress && has_ended())
      std::fprintf(stderr, "the run has already ended, after epoch %d of %d\n", state_.epoch, options_.epochs);
    while (!has_ended()) {
      if (!run_epoch(data, go)) return ending::asked;
      end_epoch(validate);
      if (team_.must_stop()) return ending::asked;
    }
    return state_.epoch < options_.epochs ? ending::no_better : ending::done;
  }
  /// Throws program_error if the program is not as the loop left it, and the loop relies on that.
  void check_unchanged() {
    if (left_ && *left_ != program_position())
      refuse(
          program_error("cairn: the program was initialized, loaded or trained after this training loop had resumed "
                        "its run or could not save it"));
  }
  /// Marks the loop as running while an object of this class lives. Throws program_error if the loop runs already.
  class running {
   public:
    explicit running(bool& is_running) : is_running_(is_running) {
      if (std::exchange(is_running_, true))
        refuse(program_error("cairn: a training loop was called by a function that the same loop calls"));
    }
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running() { is_running_ = false; }

   private:
    bool& is_running_;
  };
  /// Takes the folder. Returns the path of the file from which the run goes on, or an empty text if the run is new.
  std::string take_folder() {
    lock_ = folder_->lock();
    const std::string path = folder_->newest();
    if (!path.empty() && !options_.resume)
      refuse(file::file_error(options_.folder, "a folder without a run, or .resume = true to go on with it", "a run"));
    if (path.empty()) {
      for (const std::string& left : {folder_->best(), folder_->log()}) {
        if (std::filesystem::exists(left))
          refuse(file::file_error(options_.folder, "a step-*.safetensors to go on from, or an empty folder",
                                  cairn::detail::text_of({left, " alone"})));
      }
      log_.emplace(folder_->log(), 0);
    }
    return path;
  }
  /// Has the program go on from a file. If this throws, neither the program of this process nor the folder has changed.
  void resume(const std::string& path) {
    saved_ = file::detail::opened(path).metadata;
    state_ = detail::state_in(path, saved_);
    if (on_plateau* const rate = plateau()) {
      // If the on_plateau has changed, the run may have cooled longer than its cooldown is now.
      const std::int64_t most_cooling =
          options_.accepts_changes ? std::numeric_limits<std::int64_t>::max() : rate->cooldown;
      detail::read_plateau(rate->state, state_.epoch, most_cooling, path, saved_);
    }
    if (team_.rank() == 0 && state_.step != folder_->newest_step())
      refuse(file::format_error(path, "as many steps as its name says", detail::exact(state_.step)));
    if (state_.step > 0) rate_ = options_.rate(state_.step - 1);
    if (check_same_run(facts()) && has_other_measure()) {
      state_.best = not_a_number;
      state_.best_epoch = state_.epoch - 1;
      if (on_plateau* const rate = plateau()) rate->state.best = not_a_number, rate->state.worse = 0;
    }
    if (team_.rank() == 0) {
      log_.emplace(folder_->log(), state_.step);
      state_.rows = log_->rows();  // the log has fewer rows than were saved if it was removed
    }
    program_.load(path);
    left_ = program_position();
    for (const auto& [name, text] : saved_) {
      // The saved facts of the data hold until an epoch begins.
      if (name.starts_with("run.")) facts_.emplace(name, text);
    }
    best_is_due_ = state_.position == 0 && !std::isnan(state_.best) && state_.best_epoch == state_.epoch - 1;
  }
  std::pair<std::int64_t, random_state> program_position() { return {program_.steps(), program_.random()}; }
  on_plateau* plateau() { return const_cast<on_plateau*>(options_.plateau()); }
  /// Returns the facts that describe the run, as far as they are known.
  file::metadata facts() const {
    file::metadata all = facts_;
    // The rate of an on_plateau depends on results, so its settings are compared.
    if (const on_plateau* const rate = options_.plateau())
      all.insert_or_assign("run.rate", detail::text_of_rate(*rate));
    else if (state_.step > 0) all.insert_or_assign("run.rate", detail::significant(rate_, 9));
    return all;
  }
  /// Compares the saved facts with `now`. Throws if they differ, unless `accepts_changes` is set. Returns true if they
  /// differ.
  bool check_same_run(const file::metadata& now) const {
    const std::string others = detail::lines_of_differences(saved_, now);
    if (!others.empty() && !options_.accepts_changes)
      refuse(file::file_error(options_.folder, "the run as it was, or .accepts_changes = true", "another:" + others));
    return !others.empty();
  }
  /// Returns true if the results of the saved run cannot be compared with later results.
  bool has_other_measure() const {
    const auto differs = [&](const char* name) {
      const auto saved = saved_.find(name);
      return saved == saved_.end() || saved->second != facts_.at(name);
    };
    return differs("run.higher_is_better") || differs("run.average");
  }
  static file::metadata facts_of_data(std::int64_t size, const auto& begin) {
    return {{"run.batches", detail::exact(size)}, {"run.data", detail::description_of(begin)}};
  }
  /// Returns the facts of the data with which the saved facts of a resumed run are compared, or nothing if the next
  /// epoch has these facts. Data may differ from epoch to epoch, and a run that was saved at the end of
  /// an epoch has the facts of that epoch's data. This data must not be asked for after that of the next epoch, because
  /// the function may put both into the same memory.
  file::metadata facts_of_saved_epoch(auto& data) {
    if (saved_.empty() || state_.position > 0 || state_.epoch == 0) return {};
    auto batches = data(state_.epoch - 1);
    return facts_of_data(static_cast<std::int64_t>(batches.size()), batches.begin());
  }
  /// Prepares an epoch with the facts `now`. If the run was resumed, compares its saved facts with `last`, or with
  /// `now` if `last` is empty. If the run is new, saves its beginning.
  void begin_epoch(const file::metadata& last, const file::metadata& now) {
    if (!saved_.empty()) {
      bool has_changed = false;
      team_.together([&] { has_changed = check_same_run(last.empty() ? now : last); });
      if (has_changed) state_.position = 0, state_.loss_sum = 0;
      saved_.clear();
    }
    for (const auto& [name, text] : now) facts_.insert_or_assign(name, text);
    check_equal_decisions();
    if (is_new_) {
      static_cast<void>(next_rate());  // a rate that is refused leaves no run in the folder
      save();
    }
    if (folder_) team_.try_in_first([&] { log_->begin(); });
  }

  /// Throws in all processes if they could take different decisions.
  void check_equal_decisions() {
    if (!team_.is_alone()) team_.check_equal(decisions(), "the data or the options of the training loop");
  }
  /// Returns a text of everything on which decisions of the training loop depend.
  std::string decisions() const {
    std::string text;
    for (const auto& [name, fact] : facts_) text += cairn::detail::text_of({name, "=", fact, ";"});
    const bool changes = options_.accepts_changes, saves = !options_.folder.empty();
    for (const std::int64_t number :
         {std::int64_t{options_.epochs}, options_.save_every, options_.log_every, std::int64_t{options_.patience},
          std::int64_t{options_.higher_is_better}, std::int64_t{changes}, std::int64_t{saves}, state_.step})
      text += cairn::detail::text_of({detail::exact(number), ";"});
    return text + options_.average;
  }
  bool has_no_patience_left() const {
    return options_.patience > 0 && state_.epoch - state_.best_epoch > options_.patience;
  }
  /// Returns the learning rate of the next training step.
  double next_rate() const {
    const double rate = options_.rate(state_.step);
    cairn::detail::check_settings("loop_options", std::array{setting::not_negative("rate", rate)});
    return rate;
  }
  /// Runs one epoch. Returns true if the epoch came to its end, and false if a signal stopped the run before that. A
  /// signal in the epoch's last training step does not count here, because the epoch then ends as any other.
  bool run_epoch(auto& data, auto& go) {
    const file::metadata last = facts_of_saved_epoch(data);
    auto batches = data(state_.epoch);
    const auto size = static_cast<std::int64_t>(batches.size());
    if (size < 1) refuse(std::invalid_argument("cairn: train::loop: expected 1 batch or more in an epoch, got 0"));
    auto at = batches.begin();
    begin_epoch(last, facts_of_data(size, at));
    if (state_.position > size)
      refuse(file::format_error(options_.folder, "a position within the epoch of " + detail::exact(size) + " batches",
                                detail::exact(state_.position)));
    std::optional<progress<>> bar;
    if (options_.shows_progress)
      bar.emplace(
          epoch_plan{state_.epoch, options_.epochs, std::max<std::int64_t>(size - state_.position, 1), options_.batch});
    std::ranges::advance(at, state_.position, batches.end());
    for (; at != batches.end(); ++at) {
      rate_ = next_rate();
      const auto loss = static_cast<double>(go(rate_, *at));
      ++state_.step;
      ++state_.position;
      state_.loss_sum += loss;
      if (bar) bar->advance(loss);
      if (state_.position == size) break;
      const bool stops = team_.must_stop();
      if (is_due(options_.log_every)) write_row(loss, not_a_number);
      if (stops || is_due(options_.save_every)) save();
      if (stops) return false;
    }
    return true;
  }
  /// Returns true if something that happens every `every` training steps happens after this one. Returns false if
  /// `every` is 0.
  bool is_due(std::int64_t every) const { return every > 0 && state_.step % every == 0; }

  template <class Validate>
  void end_epoch(Validate& validate) {
    const double mean = state_.loss_sum / static_cast<double>(std::max<std::int64_t>(state_.position, 1));
    double result = not_a_number;
    if constexpr (detail::validates<Validate>) {
      exchanged averages(program_, options_.average);
      result = static_cast<double>(validate());
      averages.end();
    }
    result = team_.end_epoch(result, options_.shows_progress);
    // If the row cannot be written, the call ends here, and a repeated call validates again.
    write_row(mean, result);
    team_.raise_failure();
    if constexpr (detail::validates<Validate>) {
      const bool better = options_.higher_is_better ? result > state_.best : result < state_.best;
      if (better || (std::isnan(state_.best) && !std::isnan(result))) {
        state_.best = result;
        state_.best_epoch = state_.epoch;
        best_is_due_ = true;
      }
    }
    if (on_plateau* const rate = plateau()) rate->observe(result);
    ++state_.epoch;
    state_.position = 0;
    state_.loss_sum = 0;
    save_is_due_ = true;
    left_ = program_position();
    save_what_is_due();
  }
  /// Saves the run and the best of it, as far as they are not saved. The run is saved first. If the process ends
  /// between the two saves, the resumed run saves the best.
  void save_what_is_due() {
    if (save_is_due_) save();
    save_best();
    left_.reset();
  }
  /// Puts averages in the place of the parameters. `end` puts the parameters back. If an exception comes before `end`,
  /// the destructor puts them back.
  class exchanged {
   public:
    exchanged(Program& program, const std::string& moment) : program_(program), moment_(moment) { change(); }
    exchanged(const exchanged&) = delete;
    exchanged& operator=(const exchanged&) = delete;
    void end() {
      has_ended_ = true;
      change();
    }
    ~exchanged() {
      if (has_ended_) return;
#ifdef __cpp_exceptions
      try {
        change();
      } catch (...) {  // the program was moved from or has other moments now, and the first exception goes on
      }
#else
      change();
#endif
    }

   private:
    void change() {
      if (!moment_.empty()) program_.exchange(moment_);
    }
    Program& program_;
    const std::string& moment_;
    bool has_ended_ = false;
  };

  file::metadata texts() const {
    file::metadata all = facts();
    all.merge(detail::texts_of(state_));
    if (const on_plateau* const rate = options_.plateau()) {
      plateau_state known = rate->state;
      detail::for_each_part(known, [&](const char* name, auto number) { all.emplace(name, detail::exact(number)); });
    }
    return all;
  }
  void save() {
    team_.raise_failure();
    if (!folder_) return;
    program_.save(folder_->path_at_step(state_.step), texts());
    is_new_ = save_is_due_ = false;
    team_.in_first([&] { folder_->keep_last(options_.keep); });
  }
  void save_best() {
    if (!best_is_due_ || !folder_) return;
    exchanged averages(program_, options_.average);
    program_.save(folder_->best(), texts());
    averages.end();
    best_is_due_ = false;
  }
  double gradient_norm() {
    if constexpr (requires { program_.gradient_norm(); }) return program_.gradient_norm();
    else return not_a_number;
  }
  void write_row(double loss, double validation) {
    if (!folder_) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    const double norm = gradient_norm();
    team_.try_in_first(
        [&] { log_->write({state_.step, state_.epoch, rate_, loss, norm, validation, passed.count()}); });
    ++state_.rows;
  }

  Program& program_;
  loop_options options_;
  team team_;
  std::optional<run_folder> folder_;
  file::detail::descriptor lock_;       ///< keeps other runs out of the folder
  std::optional<detail::run_log> log_;  ///< rank 0 has it
  loop_state state_;
  file::metadata facts_, saved_;  ///< what the run is, and what the file says from which the run is resumed
  double rate_ = 0;               ///< learning rate of the last training step
  bool best_is_due_ = false;      ///< the program is still to be saved as the best
  bool save_is_due_ = false;      ///< the end of the last epoch is still to be saved
  bool is_new_ = false;           ///< there is a folder, and nothing has been saved in it
  bool is_running_ = false;       ///< a call of the loop is under way
  /// steps() and random() of the program as the loop left it, while the loop relies on them: after it has resumed its
  /// run, and until the end of an epoch is saved
  std::optional<std::pair<std::int64_t, random_state>> left_;
  std::chrono::steady_clock::time_point start_;
};

/// Reports that a loop was made of something that has no training steps, or of a program that is const, and accepts
/// every use, so that no second error follows.
template <class Other>
  requires(std::is_const_v<Other> || !requires { Other::updates_parameters; })
class loop<Other> {
  using given = std::conditional_t<an_expression<std::remove_const_t<Other>>, std::remove_const_t<Other>, fact::object>;
  static_assert(
      lang::report_of<lang::mistake<misuse::no_program_of_loop, lang::top_scope, fact::given<given>>>{}.shown);

 public:
  loop(Other&, const loop_options&) {}
  ending operator()(const auto&...) { return ending::done; }
  loop_state state() const { return {}; }
};

}  // namespace cairn::train

#include "cairn/base/macros_back.hpp"
