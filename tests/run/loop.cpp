// The training loop: its options, and runs that are interrupted. A run that ended at any moment continues with the same
// bits.
#include "cairn/train/loop.hpp"

#include "cairn/cairn.hpp"
#include "cairn/data/ahead.hpp"
#include "cairn/data/windows.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <memory>
#include <ranges>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "killed_run.hpp"
#include "run/comma_locale.hpp"
#include "run/examples.hpp"
#include "run/folder.hpp"

using namespace cairn;

namespace {

constexpr auto result =
    input<"x", 4, 6> | nn::linear<"fc1", 8> | nn::batch_norm<"bn"> | nn::dropout<"drop", 0.25> | nn::linear<"fc2", 3>;
constexpr auto loss = cross_entropy(result, labels<"y", 3, 4>);
using program_of = program<loss, update<averaged{adamw_options{}, 0.9}>, clip<1.0>>;

const data::dataset& examples() {
  static const data::dataset set = test::examples_of(30);
  return set;
}
std::vector<double> all_numbers(program_of& step) {
  std::vector<double> all;
  step.for_each_parameter(
      [&](std::string_view, auto view) { all.insert(all.end(), view.data(), view.data() + view.size()); });
  return all;
}
const auto shuffled = [](int epoch) { return data::ahead(data::batches<4>(examples(), seed{5}, epoch)); };
auto going(program_of& step, auto before) {
  return [&step, before](double rate, const auto& batch) {
    before(step);
    return step.train({.lr = rate}, bind<"x">(batch.images), bind<"y">(batch.labels));
  };
}
const auto nothing = [](auto&) {};
std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::istringstream in(read_bytes(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
/// Returns the rows of the log of a run, without the seconds.
std::vector<std::string> log_of(const std::filesystem::path& run) {
  auto lines = lines_of(run / "log.csv");
  for (std::string& line : lines) line.resize(line.rfind(','));
  return lines;
}
/// Returns what a function writes to the error output.
std::string error_output_of(auto function) {
  std::FILE* file = std::tmpfile();
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  function();
  dup2(kept, STDERR_FILENO);
  close(kept);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loop_suite)

BOOST_AUTO_TEST_CASE(the_loop_equals_a_loop_by_hand) {
  program_of by_hand, looped;
  by_hand.init(seed{1});
  looped.init(seed{1});
  const cosine rate{.peak = 0.02, .steps = 21, .warm_up = 3};
  std::int64_t done = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto [x, y] : data::batches<4>(examples(), seed{5}, epoch))
      by_hand.train({.lr = rate(done++)}, bind<"x">(x), bind<"y">(y));
  }
  train::loop run{looped, {.epochs = 3, .rate = rate, .shows_progress = false}};
  BOOST_TEST((run(shuffled, going(looped, nothing)) == train::ending::done));
  BOOST_TEST(done == 21);
  BOOST_TEST(run.state().step == 21);
  BOOST_TEST(all_numbers(looped) == all_numbers(by_hand));
}

BOOST_AUTO_TEST_CASE(a_stopped_run_continues_with_the_same_bits) {
  const auto rate = step_rate{.peak = 0.02, .every = 5};
  const folder there;
  program_of whole;
  whole.init(seed{1});
  train::loop all{whole,
                  {.epochs = 3, .rate = rate, .folder = there.path / "run", .log_every = 2, .shows_progress = false}};
  all(shuffled, going(whole, nothing), [] { return 0.0; });
  for (const int stop_at : {1, 4, 7, 8, 20}) {  // the seventh training step ends an epoch
    const folder here;
    const train::loop_options options{.epochs = 3,
                                      .rate = rate,
                                      .folder = here.path / "run",
                                      .resume = true,
                                      .log_every = 2,
                                      .shows_progress = false};
    {
      program_of step;
      step.init(seed{1});
      train::loop run{step, options};
      int steps = 0;
      const auto stopping = [&](auto&) {
        if (++steps == stop_at) std::raise(stop_at % 2 == 0 ? SIGTERM : SIGINT);
      };
      BOOST_TEST((run(shuffled, going(step, stopping), [] { return 0.0; }) == train::ending::asked));
      BOOST_TEST(steps == stop_at);
    }
    program_of step;
    step.init(seed{99});
    train::loop run{step, options};
    BOOST_TEST(run.state().step == stop_at);
    BOOST_TEST((run(shuffled, going(step, nothing), [] { return 0.0; }) == train::ending::done));
    BOOST_TEST(all_numbers(step) == all_numbers(whole));
    BOOST_TEST(log_of(here.path / "run") == log_of(there.path / "run"), boost::test_tools::per_element());
    BOOST_TEST(log_of(here.path / "run").size() == 13U);
  }
}
BOOST_AUTO_TEST_CASE(a_rate_on_a_plateau_continues_after_each_epoch) {
  const std::vector<double> validations{3, 4, 2, 2, 5, 1.5, 3, 3};
  const auto options_in = [](const folder& here) {
    return train::loop_options{.epochs = 8,
                               .rate = on_plateau{.peak = 0.02, .factor = 0.5, .patience = 1, .cooldown = 1},
                               .folder = here.path / "run",
                               .resume = true,
                               .shows_progress = false};
  };
  const auto validated = [&](auto& run) { return validations[static_cast<std::size_t>(run.state().epoch)]; };
  const folder there, here;
  program_of whole;
  whole.init(seed{1});
  on_plateau plateau{.peak = 0.02, .factor = 0.5, .patience = 1, .cooldown = 1};
  auto by_reference = options_in(there);
  by_reference.rate = std::ref(plateau);
  train::loop all{whole, by_reference};
  all(shuffled, going(whole, nothing), [&] { return validated(all); });
  for (int epoch = 0; epoch < 8; ++epoch) {
    program_of step;
    step.init(seed{1});
    train::loop run{step, options_in(here)};
    BOOST_TEST(run.state().epoch == epoch);
    const auto stopping = [&] {
      std::raise(SIGTERM);
      return validated(run);
    };
    BOOST_TEST((run(shuffled, going(step, nothing), stopping) == train::ending::asked));
    if (epoch == 7) BOOST_TEST(all_numbers(step) == all_numbers(whole));
  }
  BOOST_TEST(log_of(here.path / "run") == log_of(there.path / "run"), boost::test_tools::per_element());
  BOOST_TEST(log_of(here.path / "run").back().starts_with("56,7,0.01,"), log_of(here.path / "run").back());
  program_of step;
  step.init(seed{1});
  auto options = options_in(here);
  options.rate = on_plateau{.peak = 0.02, .factor = 0.25, .patience = 1, .cooldown = 1};
  BOOST_CHECK_EXCEPTION((train::loop{step, options}), file::file_error, [](const auto& e) {
    return std::string_view(e.what()).find("run.rate: expected 'on_plateau peak 0.02 factor 0.5 patience 1 ") !=
           std::string_view::npos;
  });
  options.rate = constant_rate{0.02};
  BOOST_CHECK_THROW((train::loop{step, options}), file::file_error);
  options.accepts_changes = true;
  train::loop{step, options};
}
BOOST_AUTO_TEST_CASE(a_signal_in_a_validation_stops_the_run_after_it) {
  const folder here;
  program_of step;
  step.init(seed{1});
  train::loop run{step, {.epochs = 2, .folder = here.path / "run", .shows_progress = false}};
  const auto asking = [] {
    std::raise(SIGTERM);
    return 0.0;
  };
  BOOST_TEST((run(shuffled, going(step, nothing), asking) == train::ending::asked));
  BOOST_TEST(run.state().epoch == 1);
  BOOST_TEST((run(shuffled, going(step, nothing), asking) == train::ending::asked));
  BOOST_TEST(run.state().epoch == 2);
}
BOOST_AUTO_TEST_CASE(a_removed_log_continues_with_the_next_rows) {
  const folder here;
  train::loop_options options{
      .epochs = 1, .folder = here.path / "run", .resume = true, .log_every = 2, .shows_progress = false};
  for (const std::size_t rows : {4U, 4U, 8U}) {
    program_of step;
    step.init(seed{1});
    train::loop(step, options)(shuffled, going(step, nothing));
    BOOST_TEST(log_of(here.path / "run").size() == 1 + rows);
    if (options.epochs++ == 1) std::filesystem::remove(here.path / "run" / "log.csv");
  }
}
BOOST_AUTO_TEST_CASE(a_file_that_no_loop_saved_is_refused) {
  const folder here;
  const train::run_folder run(here.path / "run");
  run.lock();
  program_of saved, step;
  saved.init(seed{1});
  saved.save(run.path_at_step(7));  // saved without a loop
  step.init(seed{2});
  const auto before = all_numbers(step);
  BOOST_CHECK_THROW(train::loop(step, {.folder = here.path / "run", .resume = true}), file::format_error);
  BOOST_TEST(all_numbers(step) == before);
}

BOOST_AUTO_TEST_CASE(a_run_killed_at_any_moment_ends_with_the_same_bits) {
  const folder here;
  const auto found = killed_run::times(12, here.path, 60'000, 1);
  BOOST_TEST(found.kills >= 12);
}
BOOST_AUTO_TEST_CASE(a_killed_run_over_microbatches_ends_with_the_same_bits) {
  const folder here;
  const auto found = killed_run::times<killed_run::program_in_parts>(6, here.path, 60'000, 2);
  BOOST_TEST(found.kills >= 6);
}
BOOST_AUTO_TEST_CASE(the_log_of_a_run_over_microbatches_has_the_norm_of_the_gradients) {
  const folder here;
  static_cast<void>(killed_run::end_of<killed_run::program_in_parts>(here.path / "run", false));
  std::ifstream log(train::run_folder(here.path / "run").log());
  std::string row;
  std::getline(log, row);
  int rows = 0;
  for (; std::getline(log, row); ++rows) {
    std::istringstream fields(row);
    std::string field;
    for (int i = 0; i < 5; ++i) std::getline(fields, field, ',');
    BOOST_TEST(std::stod(field) > 0);
  }
  BOOST_TEST(rows >= 80);
}

BOOST_AUTO_TEST_CASE(the_last_and_the_best_files_are_kept) {
  const folder here;
  program_of step;
  step.init(seed{1});
  train::loop run{step,
                  {.epochs = 4, .folder = here.path / "run", .keep = 2, .average = "average", .shows_progress = false}};
  const std::vector<double> validations{3, 1, 2, 1.5};
  std::size_t epoch = 0;
  std::vector<double> best;
  run(shuffled, going(step, nothing), [&] {
    if (epoch == 1) best = all_numbers(step);
    return validations[epoch++];
  });
  const std::vector<std::string> expected{"best.safetensors", "log.csv", "step-0000000021.safetensors",
                                          "step-0000000028.safetensors"};
  BOOST_TEST(names_in(here.path / "run") == expected);
  BOOST_TEST(run.state().best == 1);
  BOOST_TEST(run.state().best_epoch == 1);
  program_of loaded;
  loaded.load(here.path / "run" / "best.safetensors");
  BOOST_TEST(all_numbers(loaded) == best);  // the averages, with which the validation was computed
  const auto lines = lines_of(here.path / "run" / "log.csv");
  BOOST_TEST(lines.size() == 5U);
  BOOST_TEST(lines[0] == "step,epoch,rate,loss,gradient_norm,validation,seconds");
  BOOST_TEST(std::ranges::count(lines[2], ',') == 6);
  BOOST_TEST(lines[2].starts_with("14,1,0.001,"), lines[2]);
}

BOOST_AUTO_TEST_CASE(the_run_ends_early_without_improvement) {
  program_of step;
  step.init(seed{1});
  train::loop run{step, {.epochs = 9, .patience = 2, .higher_is_better = true, .shows_progress = false}};
  const std::vector<double> validations{1, 2, 1, 2, 5, 5, 5, 5, 5};
  std::size_t epoch = 0;
  BOOST_TEST((run(shuffled, going(step, nothing), [&] { return validations[epoch++]; }) == train::ending::no_better));
  BOOST_TEST(epoch == 4U);  // the second was the best, and the next two were not better
}

BOOST_AUTO_TEST_CASE(a_run_that_has_ended_says_so) {
  program_of step;
  step.init(seed{1});
  train::loop run{step, {.epochs = 2, .patience = 1, .batch = 4}};
  const auto once_more = [&] {
    return error_output_of([&] { run(shuffled, going(step, nothing), [] { return 0.0; }); });
  };
  BOOST_TEST(once_more().find("already") == std::string::npos);
  BOOST_TEST(once_more() == "the run has already ended, after epoch 2 of 2\n");
}

BOOST_AUTO_TEST_CASE(meaningless_options_are_refused) {
  program_of step;
  step.init(seed{1});
  const auto refuses = [&](const train::loop_options& options, std::string_view text) {
    const auto says = [&](const std::invalid_argument& e) { return e.what() == text; };
    BOOST_CHECK_EXCEPTION((train::loop{step, options}), std::invalid_argument, says);
  };
  refuses({.epochs = 0}, "cairn: loop_options.epochs: expected 1 or more, got 0");
  refuses({.rate = nullptr}, "cairn: loop_options.rate: expected a function, got 0");
  refuses({.resume = true}, "cairn: loop_options.resume: expected false without a .folder, got 1");
  refuses({.keep = 0}, "cairn: loop_options.keep: expected 1 or more, got 0");
  refuses({.save_every = -1}, "cairn: loop_options.save_every: expected 0 or more, finite in float, got -1");
  refuses({.log_every = -1}, "cairn: loop_options.log_every: expected 0 or more, finite in float, got -1");
  refuses({.accepts_changes = true}, "cairn: loop_options.accepts_changes: expected false without a .folder, got 1");
  refuses({.save_every = 5}, "cairn: loop_options.save_every: expected 0 without a .folder, got 5");
  refuses({.log_every = 5}, "cairn: loop_options.log_every: expected 0 without a .folder, got 5");
  refuses({.patience = -1}, "cairn: loop_options.patience: expected 0 or more, finite in float, got -1");
  refuses({.batch = 0}, "cairn: loop_options.batch: expected 1 or more, got 0");
  const auto refuses_without_validation = [&](const train::loop_options& options, std::string_view text) {
    const auto says = [&](const std::invalid_argument& e) { return e.what() == text; };
    train::loop run{step, options};
    BOOST_CHECK_EXCEPTION(run(shuffled, going(step, nothing)), std::invalid_argument, says);
    BOOST_TEST(step.steps() == 0);
  };
  refuses_without_validation({.patience = 2}, "cairn: loop_options.patience: expected 0 without a validation, got 2");
  refuses_without_validation({.higher_is_better = true},
                             "cairn: loop_options.higher_is_better: expected false without a validation, got 1");
  refuses({.rate = on_plateau{.peak = 0.1}, .higher_is_better = true},
          "cairn: loop_options.higher_is_better: expected as in the on_plateau of .rate, got 1");
  refuses_without_validation({.rate = on_plateau{.peak = 0.1}},
                             "cairn: loop_options.rate: expected no on_plateau without a validation, got 1");
  refuses_without_validation({.average = "average"},
                             "cairn: loop_options.average: expected empty without a validation, got 1");
}

BOOST_AUTO_TEST_CASE(a_refused_rate_leaves_no_run_in_the_folder) {
  const folder here;
  program_of step;
  step.init(seed{1});
  train::loop_options options{.folder = here.path / "run", .shows_progress = false};
  const auto go_on = [&] { return train::loop{step, options}(shuffled, going(step, nothing), [] { return 1.0; }); };
  using rate_of_step = std::function<double(std::int64_t)>;
  for (const rate_of_step& refused :
       {rate_of_step(on_plateau{.peak = 0.1, .factor = 10}), rate_of_step(constant_rate{-1}),
        rate_of_step([](std::int64_t) { return -1.0; })}) {
    options.rate = refused;
    BOOST_CHECK_THROW(go_on(), std::invalid_argument);
    BOOST_TEST(names_in(here.path / "run").empty());
  }
  options.rate = constant_rate{0.1};
  BOOST_TEST((go_on() == train::ending::done));
}

BOOST_AUTO_TEST_CASE(nan_is_never_the_best_validation) {
  program_of step;
  step.init(seed{1});
  const double nan = std::nan("");
  for (const std::vector<double>& validations : {std::vector{nan, 3., nan, 2., 4.}, std::vector{nan, nan, nan}}) {
    train::loop run{step, {.epochs = 5, .patience = 2, .shows_progress = false}};
    std::size_t epoch = 0;
    run(shuffled, going(step, nothing), [&] { return validations[epoch++]; });
    if (validations.size() == 5) BOOST_TEST(run.state().best == 2);
    else BOOST_TEST(epoch == 2U);
  }
}

BOOST_AUTO_TEST_CASE(looking_into_a_folder_changes_nothing) {
  const folder here;
  const std::string unfinished = here.plain(".cairn-123.part", "of a process that is no more").filename();
  here.plain("download.part", "of somebody");
  here.plain("best.safetensors.999999999-1.part", "of somebody");
  here.plain("step-final.safetensors", "a copy of the user's");
  here.plain("step-0000000000.safetensors", "");
  here.plain("step-0000000005.safetensors", "");
  here.plain("step-10000000001.safetensors", "");
  here.plain("step-9999999999.safetensors", "");
  here.plain("step-99999999999999999999.safetensors", "beyond all numbers");
  const train::run_folder run(here.path);
  BOOST_TEST(run.newest() == here.path / "step-10000000001.safetensors");
  BOOST_TEST(run.newest_step() == 10000000001);
  BOOST_TEST(names_in(here.path).size() == 9U);
  run.lock();
  run.keep_last(2);
  std::vector<std::string> expected{"best.safetensors.999999999-1.part",     "download.part",
                                    "step-10000000001.safetensors",          "step-9999999999.safetensors",
                                    "step-99999999999999999999.safetensors", "step-final.safetensors"};
  BOOST_TEST(names_in(here.path) == expected, boost::test_tools::per_element());
  run.keep_last(0);
  expected.erase(expected.begin() + 3);
  BOOST_TEST(names_in(here.path) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_folder_has_one_owner) {
  const folder here;
  const train::run_folder run(here.path / "run");
  {
    const auto lock = run.lock();
    BOOST_CHECK_EXCEPTION(run.lock(), file::write_error, [](const auto& e) { return e.reason == EWOULDBLOCK; });
    program_of step;
    step.init(seed{1});
    BOOST_CHECK_THROW(train::loop(step, {.folder = here.path / "run"}), file::write_error);
  }
  int ready[2];
  BOOST_REQUIRE(::pipe(ready) == 0);
  const ::pid_t child = ::fork();
  if (child == 0) {
    const auto lock = run.lock();
    const ::ssize_t told = ::write(ready[1], "x", 1);
    for (;;) ::pause();
    ::_exit(static_cast<int>(told));
  }
  char told = 0;
  BOOST_REQUIRE(::read(ready[0], &told, 1) == 1);
  BOOST_CHECK_THROW(run.lock(), file::write_error);
  ::kill(child, SIGKILL);  // after this, no lock is left
  ::waitpid(child, nullptr, 0);
  run.lock();
  ::close(ready[0]), ::close(ready[1]);
}

/// Starts a run in another process, which is killed in its n-th training step or validation.
void killed_at(const std::filesystem::path& run, int call) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    program_of step;
    step.init(seed{1});
    int calls = 0;
    const auto validate = [&] {
      if (++calls == call) std::raise(SIGKILL);
      return 1.0;
    };
    const auto go = going(step, [&](auto&) {
      if (++calls == call) std::raise(SIGKILL);
    });
    train::loop(step, {.epochs = 2, .folder = run, .resume = true, .shows_progress = false})(shuffled, go, validate);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}
std::string bytes_of_end(const std::filesystem::path& run) {
  const train::run_folder folder(run);
  return read_bytes(folder.newest()) + read_bytes(folder.best());
}
void resumed(const std::filesystem::path& run, seed from) {
  program_of step;
  step.init(from);
  train::loop(step, {.epochs = 2, .folder = run, .resume = true, .shows_progress = false})(
      shuffled, going(step, nothing), [] { return 1.0; });
}

// An epoch has seven training steps. Runs end before anything is saved, in the first validation, and in the next epoch.
BOOST_AUTO_TEST_CASE(a_run_killed_in_its_first_epoch_continues) {
  const folder here;
  resumed(here.path / "whole", seed{1});
  for (const int call : {1, 7, 8, 9}) {
    const auto run = here.path / std::to_string(call);
    killed_at(run, call);
    // This is as if the process had been killed right before it saved the best file.
    if (call == 9) std::filesystem::remove(run / "best.safetensors");
    resumed(run, seed{99});
    BOOST_TEST((bytes_of_end(run) == bytes_of_end(here.path / "whole")), call);
  }
}

/// Starts a run for one epoch, or continues one.
template <class Program = program_of>
void go_on(const train::loop_options& options, auto data, auto... validate) {
  Program step;
  step.init(seed{1});
  train::loop run{step, options};
  const auto go = [&](double rate, const auto& batch) {
    return step.train({.lr = rate}, bind<"x">(batch.images), bind<"y">(batch.labels));
  };
  run(data, go, validate...);
}
/// Checks that the loop refuses to continue, with a message that contains `line`. It must continue if the change is
/// accepted.
template <class Program = program_of>
void refuses(train::loop_options options, auto data, const std::string& line, auto... validate) {
  const auto before = names_in(options.folder);
  BOOST_CHECK_EXCEPTION(go_on<Program>(options, data, validate...), file::file_error, [&](const auto& e) {
    BOOST_TEST(std::string(e.what()).find(line) != std::string::npos, e.what());
    return true;
  });
  BOOST_TEST(names_in(options.folder) == before);
  options.accepts_changes = true;
  BOOST_CHECK_NO_THROW(go_on<Program>(options, data, validate...));
}

BOOST_AUTO_TEST_CASE(a_different_run_is_refused_with_the_difference) {
  const auto other_seed = [](int epoch) { return data::batches<4>(examples(), seed{6}, epoch); };
  const auto in_order = [](int) { return data::batches<4>(examples()); };
  data::dataset larger = examples();
  larger.labels.push_back(0), larger.images.resize(larger.images.size() + 6);
  const auto more = [&](int epoch) { return data::batches<4>(larger, seed{5}, epoch); };
  const auto fewer = [](int epoch) { return std::views::take(data::batches<4>(examples(), seed{5}, epoch), 3); };
  const auto few_of_others = [](int epoch) {
    return std::views::take(data::batches<4>(examples(), seed{6}, epoch), 3);
  };
  constexpr auto loss_of_two = cross_entropy(
      input<"x", 2, 6> | nn::linear<"fc1", 8> | nn::batch_norm<"bn"> | nn::dropout<"drop", 0.25> | nn::linear<"fc2", 3>,
      labels<"y", 3, 2>);
  using batches_of_two = program<loss_of_two, update<averaged{adamw_options{}, 0.9}>, clip<1.0>>;
  const auto twos = [](int epoch) { return data::batches<2>(examples(), seed{5}, epoch); };
  using other_beta = program<loss, update<averaged{adamw_options{.beta2 = 0.99}, 0.9}>, clip<1.0>>;
  using other_decay = program<loss, update<averaged{adamw_options{}, 0.99}>, clip<1.0>>;
  using other_clip = program<loss, update<averaged{adamw_options{}, 0.9}>, clip<2.0>>;

  for (const int stopped_at : {7, 9}) {  // at the end of an epoch, and within the next epoch
    const folder here;
    train::loop_options options{.epochs = 1, .folder = here.path / "run", .shows_progress = false};
    const auto anew = [&](auto data) {
      std::filesystem::remove_all(options.folder);
      int done = 0;
      program_of step;
      step.init(seed{1});
      train::loop_options first = options;
      first.epochs = 2, first.resume = false;
      const auto stopping = [&](auto&) {
        if (++done == stopped_at) std::raise(SIGTERM);
      };
      train::loop(step, first)(data, going(step, stopping));
      options.epochs = 3, options.resume = true;
    };
    anew(shuffled);
    refuses(options, other_seed,
            "\n  run.data: expected 'batches of 4 of 30 examples, shuffled by seed 5', got 'batches of "
            "4 of 30 examples, shuffled by seed 6'");
    anew(shuffled);
    refuses(options, in_order, "\n  run.data: expected");
    anew(shuffled);
    refuses(options, more, "got 'batches of 4 of 31 examples");
    anew(shuffled);
    refuses(options, fewer, "\n  run.batches: expected '7', got '3'");
    anew(fewer);
    refuses(options, few_of_others, "\n  run.data: expected");  // std's adaptors do not hide the data
    anew(shuffled);
    refuses<batches_of_two>(options, twos, "\n  run.inputs: expected 'x {4, 6}, y {4}', got 'x {2, 6}, y {2}'");
    anew(shuffled);
    refuses<other_beta>(options, shuffled, "\n  run.optimizer: expected");
    anew(shuffled);
    refuses<other_decay>(options, shuffled, "\n  run.optimizer: expected");
    anew(shuffled);
    refuses<other_clip>(options, shuffled, "\n  run.optimizer: expected");
    anew(shuffled);
    options.rate = constant_rate{2e-3};
    refuses(options, shuffled, "\n  run.rate: expected '0.001', got '0.002'");
    options.rate = constant_rate{1e-3};
    anew(shuffled);
    const auto judged = [] { return 1.0; };  // these options need a validation
    options.higher_is_better = true;
    refuses(options, shuffled, "\n  run.higher_is_better: expected 'false', got 'true'", judged);
    options.higher_is_better = false;
    anew(shuffled);
    options.average = "average";
    refuses(options, shuffled, "\n  run.average: expected '', got 'average'", judged);
    options.average = "";
    anew(shuffled);
    // These options do not influence the numbers.
    options.keep = 5, options.save_every = 3, options.log_every = 2, options.patience = 3;
    BOOST_CHECK_NO_THROW(go_on(options, shuffled, judged));
  }
}

BOOST_AUTO_TEST_CASE(accepted_changes_of_data_restart_the_epoch) {
  const folder here;
  train::loop_options options{.epochs = 1, .folder = here.path / "run", .shows_progress = false};
  program_of step;
  step.init(seed{1});
  int done = 0;
  const auto stopping = [&](auto&) {
    if (++done == 5) std::raise(SIGTERM);
  };
  train::loop(step, options)(shuffled, going(step, stopping));
  options.resume = options.accepts_changes = true;
  const auto fewer = [](int epoch) { return std::views::take(data::batches<4>(examples(), seed{5}, epoch), 3); };
  train::loop run{step, options};
  run(fewer, going(step, stopping));
  BOOST_TEST(done == 8);
  BOOST_TEST(run.state().step == 8);
}

BOOST_AUTO_TEST_CASE(the_best_file_holds_averages_and_parameters) {
  const folder here;
  program_of step, best, other;
  step.init(seed{1});
  train::loop(step, {.folder = here.path / "run", .average = "average", .shows_progress = false})(
      shuffled, going(step, nothing), [] { return 1.0; });
  const auto parameters = all_numbers(step);
  step.exchange("average");
  const auto texts = best.load(here.path / "run" / "best.safetensors");
  BOOST_TEST(all_numbers(best) == all_numbers(step));  // the averages, which are for predictions
  BOOST_TEST(texts.at("cairn.exchanged") == "average");
  best.exchange("average");
  BOOST_TEST(all_numbers(best) == parameters);  // the parameters, for further training
}

BOOST_AUTO_TEST_CASE(a_foreign_log_is_not_overwritten) {
  const folder here;
  const auto run = here.path / "run", log = run / "log.csv";
  train::loop_options options{.folder = run, .log_every = 2, .shows_progress = false};
  go_on(options, shuffled);
  const std::string whole = read_bytes(log);
  const auto rows = log_of(run);
  options.resume = true, options.epochs = 2;

  for (const std::string& other : {std::string("my,own\n1,2\n"), std::string("\x1b[2J")}) {
    here.plain("run/log.csv", other);
    BOOST_CHECK_THROW(go_on(options, shuffled), file::format_error);
    BOOST_TEST(read_bytes(log) == other);
  }
  std::filesystem::remove(log);
  std::filesystem::create_directory(log);
  BOOST_CHECK_THROW(go_on(options, shuffled), file::format_error);
  std::filesystem::remove(log);

  // Rows that a crash left incomplete, and rows of training steps that are repeated.
  here.plain("run/log.csv",
             whole + "8,1,0.0" + std::string(9, '\0') + "\n9,1,0.00110,1,0.001,2,,,3\n10,1,0.001,1.5,,,0.1\n12,1");
  const auto stops = [] {
    std::raise(SIGTERM);
    return 1.0;
  };
  go_on(options, shuffled, stops);
  const auto now = log_of(run);
  BOOST_TEST(std::vector(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(rows.size())) == rows);
  BOOST_TEST(now.size() == 2 * rows.size() - 1);
  BOOST_TEST(now[rows.size()].starts_with("8,1,0.001,"), now[rows.size()]);

  // A log without its runs, which have been moved elsewhere.
  for (const auto& name : names_in(run))
    if (name != "log.csv") std::filesystem::remove(run / name);
  const std::string alone = read_bytes(log);
  for (const bool resume : {false, true}) {
    options.resume = resume;
    BOOST_CHECK_THROW(go_on(options, shuffled), file::file_error);
    BOOST_TEST(read_bytes(log) == alone);
  }
}

BOOST_AUTO_TEST_CASE(files_of_a_run_keep_modes_and_links) {
  const folder here;
  const auto run = here.path / "run";
  std::filesystem::create_directories(run);
  const auto elsewhere = here.path / "elsewhere.safetensors";
  std::filesystem::create_symlink(elsewhere, run / "best.safetensors");
  train::loop_options options{.folder = run, .shows_progress = false};
  go_on(options, shuffled, [] { return 2.0; });
  BOOST_TEST(std::filesystem::is_symlink(run / "best.safetensors"));
  for (const auto& file : {elsewhere, run / "log.csv"})
    std::filesystem::permissions(file, std::filesystem::perms(0600));
  options.resume = true, options.epochs = 2;
  go_on(options, shuffled, [] { return 1.0; });
  for (const auto& file : {elsewhere, run / "log.csv"})
    BOOST_TEST((std::filesystem::status(file).permissions() == std::filesystem::perms(0600)));
  BOOST_TEST(file::reader(elsewhere).metadata().at("loop.best") == "1");
}

BOOST_AUTO_TEST_CASE(logs_have_decimal_points_in_any_locale) {
  const folder here;
  const comma_locale commas;
  go_on({.folder = here.path / "run", .log_every = 2, .shows_progress = false}, shuffled);
  for (const std::string& row : lines_of(here.path / "run" / "log.csv")) {
    BOOST_TEST(std::ranges::count(row, ',') == 6, row);
    if (row[0] != 's') BOOST_TEST(row.find(",0.001,") != row.npos, row);
  }
}

BOOST_AUTO_TEST_CASE(impossible_states_of_a_run_are_refused) {
  const folder here;
  const auto run = here.path / "run";
  train::loop_options options{.folder = run, .shows_progress = false};
  go_on(options, shuffled);
  options.resume = true, options.epochs = 2;
  const std::string path = train::run_folder(run).newest();
  const file::reader in(path);
  const std::vector tensors(in.tensors().begin(), in.tensors().end());
  const std::vector<std::pair<std::string, std::string>> absurd{{"loop.epoch", "2147483647"},
                                                                {"loop.epoch", "-1"},
                                                                {"loop.position", "9223372036854775807"},
                                                                {"loop.position", "8"},
                                                                {"loop.step", "8"},
                                                                {"loop.step", "9223372036854775807"},
                                                                {"loop.rows", "9223372036854775807"},
                                                                {"loop.best_epoch", "9"},
                                                                {"loop.best", "one\n"},
                                                                {"cairn.steps", "9223372036854775806"}};
  for (const auto& [name, text] : absurd) {
    auto texts = in.metadata();
    texts[name] = text;
    file::write(path, tensors, texts);
    BOOST_CHECK_THROW(go_on(options, shuffled), file::format_error);
  }
  file::write(path, tensors, in.metadata());
  // The file itself contains another number.
  std::filesystem::copy_file(path, run / "step-9000000000000000000.safetensors");
  BOOST_CHECK_THROW(go_on(options, shuffled), file::format_error);
}

BOOST_AUTO_TEST_CASE(impossible_states_of_an_on_plateau_are_refused) {
  const folder here;
  program_of step;
  step.init(seed{1});
  train::loop_options options{.epochs = 3,
                              .rate = on_plateau{.peak = 0.1, .cooldown = 2},
                              .folder = here.path / "run",
                              .shows_progress = false};
  train::loop{step, options}(shuffled, going(step, nothing), [] { return 1.0; });
  options.resume = true;
  const std::string path = train::run_folder(here.path / "run").newest();
  const file::reader in(path);
  const auto numbers = all_numbers(step);
  const auto said = [&](const auto& change) {
    auto texts = in.metadata();
    change(texts);
    file::write(path, in.tensors(), texts);
    std::string text;
    try {
      train::loop{step, options};
    } catch (const file::format_error& e) {
      text = e.what();
    }
    BOOST_TEST(all_numbers(step) == numbers);
    return text;
  };
  BOOST_TEST(said([](auto&) {}) == "");
  const std::pair<const char*, const char*> absurd[] = {
      {"rate.worse", "4"},      {"rate.worse", "-1"},      {"rate.worse", "9223372036854775807"},
      {"rate.cooling", "3"},    {"rate.cooling", "-1"},    {"rate.cooling", "9223372036854775807"},
      {"rate.reductions", "4"}, {"rate.reductions", "-1"}, {"rate.reductions", "9223372036854775807"},
  };
  for (const auto& [name, text] : absurd) {
    const std::string refusal = said([&](auto& texts) { texts[name] = text; });
    BOOST_TEST(refusal.ends_with("expected counts of an on_plateau that can go on, got others"), name << " " << text);
  }
  BOOST_TEST(said([](auto& texts) { texts["rate.best"] = "one"; }).ends_with("a number as rate.best, got 'one'"));
  for (const char* name : {"rate.best", "rate.worse", "rate.cooling", "rate.reductions"}) {
    const std::string refusal = said([&](auto& texts) { texts.erase(name); });
    BOOST_TEST(refusal.ends_with(name + std::string(" next to other numbers of an on_plateau, got nothing")), refusal);
  }
}

BOOST_AUTO_TEST_CASE(programs_that_cannot_be_resumed_or_averaged_are_refused) {
  const folder here;
  program<loss> beside;
  beside.init(seed{1});
  using beside_loop = train::loop<program<loss>>;
  BOOST_CHECK_THROW(beside_loop(beside, {.folder = here.path / "run", .resume = true}), program_error);
  BOOST_TEST(!std::filesystem::exists(here.path / "run"));
  program_of step;
  step.init(seed{1});
  BOOST_CHECK_THROW(train::loop(step, {.average = "mean"}), program_error);
}

BOOST_AUTO_TEST_CASE(a_folder_with_a_run_is_not_overwritten) {
  const folder here;
  program_of step;
  step.init(seed{1});
  const train::loop_options options{.folder = here.path / "run", .shows_progress = false};
  train::loop(step, options)(shuffled, going(step, nothing), [] { return 0.0; });
  const auto before = names_in(here.path / "run");
  BOOST_CHECK_THROW(train::loop(step, options), file::file_error);
  BOOST_TEST(names_in(here.path / "run") == before);
  for (const auto& name : names_in(here.path / "run"))
    if (name.starts_with("step-")) std::filesystem::remove(here.path / "run" / name);
  for (const bool resume : {false, true})  // also if only the best file is left
    BOOST_CHECK_THROW(train::loop(step, {.folder = here.path / "run", .resume = resume}), file::file_error);
  here.plain("flat", "a file");
  BOOST_CHECK_THROW(train::loop(step, {.folder = here.path / "flat"}), file::write_error);
}

BOOST_AUTO_TEST_CASE(an_error_in_a_step_keeps_saved_files_and_restores_signals) {
  const folder here;
  program_of step;
  step.init(seed{1});
  train::loop run{step, {.folder = here.path / "run", .save_every = 2, .shows_progress = false}};
  int steps = 0;
  const auto failing = [&](auto&) {
    if (++steps == 4) throw std::runtime_error("broken");
  };
  BOOST_CHECK_THROW(run(shuffled, going(step, failing)), std::runtime_error);
  struct sigaction now{};
  ::sigaction(SIGINT, nullptr, &now);
  BOOST_TEST((now.sa_handler == SIG_DFL));
  BOOST_TEST(names_in(here.path / "run").size() == 2U);  // the file of step 2, and the log
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_the_process) {
  for (const int second : {SIGINT, SIGTERM}) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      program_of step;
      step.init(seed{1});
      train::loop run{step, {.shows_progress = false}};
      const auto twice = [second](auto&) {
        std::raise(SIGINT);
        std::raise(second);
      };
      run(shuffled, going(step, twice));
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    BOOST_TEST(WIFSIGNALED(status));
    BOOST_TEST(WTERMSIG(status) == second);
  }
}

BOOST_AUTO_TEST_CASE(simultaneous_loops_restore_signals) {
  struct sigaction before{}, now{};
  ::sigaction(SIGINT, nullptr, &before);
  {
    auto first = std::make_unique<train::stop_requests>();
    const train::stop_requests second;
    std::raise(SIGINT);
    BOOST_TEST(first->received() == SIGINT);
    BOOST_TEST(second.received() == SIGINT);
    first.reset();  // the first loop began first and ends first
    ::sigaction(SIGINT, nullptr, &now);
    BOOST_TEST((now.sa_handler == SIG_DFL));  // the next signal ends the process
  }
  ::sigaction(SIGINT, nullptr, &now);
  BOOST_TEST((now.sa_handler == before.sa_handler));
  const train::stop_requests later;
  BOOST_TEST(later.received() == 0);
}

BOOST_AUTO_TEST_CASE(an_ignored_signal_stays_ignored) {
  std::signal(SIGINT, SIG_IGN);
  program_of step;
  step.init(seed{1});
  train::loop run{step, {.shows_progress = false}};
  const auto twice = [](auto&) {
    std::raise(SIGINT);
    std::raise(SIGINT);
  };
  BOOST_TEST((run(shuffled, going(step, twice)) == train::ending::done));
  BOOST_TEST((std::signal(SIGINT, SIG_DFL) == SIG_IGN));
}

BOOST_AUTO_TEST_CASE(rows_that_pad_a_batch_count_neither_in_the_loss_nor_in_the_accuracy) {
  constexpr auto of_some = []<int Rows>() {
    const auto logits = input<"x", Rows, 6> | nn::linear<"fc", 3>;
    const auto y = labels<"y", 4, Rows>;
    return outputs(cross_entropy<nn::cross_entropy_options{.ignore_index = 3}>(logits, y), accuracy(logits, y));
  };
  program<of_some.operator()<16>()> padded;
  program<of_some.operator()<14>()> exact;
  padded.init(seed{1});
  exact.init(seed{1});
  auto batches = data::batches<16>(examples(), {.last = data::last_batch::padded});  // of 30 examples
  auto last = batches.begin();
  const auto [x, y] = *++last;
  const auto [loss, right] = padded.value_and_grad(bind<"x">(x), bind<"y">(y));
  const auto [loss_of_14, right_of_14] =
      exact.value_and_grad(bind<"x">(std::span(x.data(), std::size_t{14 * 6})), bind<"y">(y.template first<14>()));
  BOOST_TEST(std::abs(loss - loss_of_14) < 1e-6);
  BOOST_TEST(right * 16 == right_of_14 * 14);
  BOOST_TEST(right > 0);
  const auto g = padded.grad<"fc.weight">(), wanted = exact.grad<"fc.weight">();
  for (std::size_t i = 0; i < g.size(); ++i) BOOST_TEST(std::abs(g.begin()[i] - wanted.begin()[i]) < 1e-6);
}

BOOST_AUTO_TEST_CASE(batches_read_ahead_are_the_same_batches) {
  for (const int epoch : {0, 1}) {
    auto plain = data::batches<4>(examples(), seed{3}, epoch);
    auto ahead = data::ahead(data::batches<4>(examples(), seed{3}, epoch));
    BOOST_TEST(ahead.size() == 7);
    auto at = plain.begin();
    for (auto [x, y] : ahead) {
      const auto [expected_x, expected_y] = *at++;
      BOOST_TEST(std::equal(x.data(), x.data() + 24, expected_x.data()));
      BOOST_TEST(std::ranges::equal(y, expected_y));
    }
    BOOST_TEST((at == plain.end()));
  }
  auto left = data::ahead(data::batches<4>(examples(), seed{3}, 0));  // destroyed in the middle, and before it began
  left.begin();
  BOOST_CHECK_THROW(left.begin(), std::logic_error);
  auto unused = data::ahead(data::batches<4>(examples(), seed{3}, 0));
}
BOOST_AUTO_TEST_CASE(batches_read_ahead_may_be_moved_at_any_time) {
  auto plain = data::batches<4>(examples(), seed{3}, 1);
  auto begun = data::ahead(data::batches<4>(examples(), seed{3}, 1));
  auto unused = data::ahead(data::batches<4>(examples(), seed{4}, 1));
  auto at = begun.begin();
  unused = std::move(begun);  // `unused` had not begun
  auto last = std::move(unused);
  int count = 0;
  for (auto [expected_x, expected_y] : plain) {
    const auto [x, y] = *at;
    BOOST_TEST(std::equal(x.data(), x.data() + 24, expected_x.data()));
    BOOST_TEST(std::ranges::equal(y, expected_y));
    if (++count == 3) begun = std::move(last);
    ++at;
  }
  BOOST_TEST((at == begun.end()));
  BOOST_CHECK_THROW(last.begin(), std::logic_error);
  BOOST_CHECK_THROW(begun.begin(), std::logic_error);
}
BOOST_AUTO_TEST_CASE(iterators_of_moved_batches_throw) {
  auto shuffled_ones = data::batches<4>(examples(), seed{3}, 1);
  auto at = shuffled_ones.begin();
  auto moved = std::move(shuffled_ones);
  BOOST_CHECK_THROW(*at, std::logic_error);
  const std::vector<std::int32_t> tokens(100, 1);
  auto windows = data::windows<2, 4>(tokens, seed{1}, 0);
  auto window = windows.begin();
  auto others = std::move(windows);
  BOOST_CHECK_THROW(*window, std::logic_error);
  BOOST_TEST((*others.begin()).inputs(0, 0) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
