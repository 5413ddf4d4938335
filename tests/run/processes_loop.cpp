// A training loop of several processes, which are threads here. tests/tools/ranks.py has processes of MPI.
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <cairn/data/ahead.hpp>
#include <cairn/data/augment.hpp>
#include <cairn/data/shards.hpp>
#include <cairn/train/loop.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "run/examples.hpp"
#include "run/folder.hpp"
#include "thread_processes.hpp"

namespace {

using namespace thread_processes;

constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
template <int Rows>
constexpr auto loss = cross_entropy(input<"x", Rows, 6> | nn::linear<"fc1", 8> | nn::batch_norm<"bn", local> |
                                        nn::dropout<"drop", 0.25> | nn::linear<"fc2", 3>,
                                    labels<"y", 3, Rows>);
using trainer = program<loss<4>, update<averaged{adamw_options{}, 0.9}>, clip<1.0>, shards<4>, check_finite>;

const data::dataset& examples() {
  static const data::dataset set = test::examples_of(120);
  return set;
}

/// Functions that a test calls in a run: before a training step, and before the evaluation of a batch.
struct events {
  std::function<void(const process_group*, std::int64_t)> before_step = [](const process_group*, std::int64_t) {};
  std::function<void(const process_group*)> before_batch = [](const process_group*) {};
};
train::loop_options options_of(const std::filesystem::path& folder) {
  return {.epochs = 3,
          .rate = cosine{.peak = 0.02, .steps = 21, .warm_up = 3},
          .folder = folder,
          .resume = true,
          .log_every = 2,
          .average = "average",
          .shows_progress = false};
}
/// Runs a training in one process of a group, or in one process without a group. An epoch has seven training steps.
/// Returns why the run ended, and how far it came.
std::pair<train::ending, train::loop_state> run_in(process_group* group, const train::loop_options& options,
                                                   const events& during = {}) {
  std::optional<trainer> made;
  if (group == nullptr) made.emplace();
  else made.emplace(*group);
  trainer& step = *made;
  step.init(seed{1});
  train::loop run{step, options};
  const train::ending end = run([](int epoch) { return data::batches<16>(examples(), seed{5}, epoch); },
                                [&](double rate, const auto& batch) {
                                  during.before_step(group, run.state().step);
                                  return step.train({.lr = rate}, bind<"x">(batch.images), bind<"y">(batch.labels));
                                },
                                [&] {
                                  predictor<loss<8>> judge{step};
                                  return train::sum_over(step, data::batches<8>(examples()), [&](const auto& batch) {
                                    during.before_batch(group);
                                    return judge(bind<"x">(batch.images), bind<"y">(batch.labels));
                                  });
                                });
  return {end, run.state()};
}
/// Runs a training in each of `size` processes. Returns the text with which all processes ended, or an empty text.
std::string run_among(int size, const train::loop_options& options, const events& during = {},
                      std::optional<std::pair<train::ending, std::int64_t>> expected = {}) {
  return in_processes(size, [&](process_group& group) {
    const auto [end, state] = run_in(&group, options, during);
    if (expected && (end != expected->first || state.step != expected->second))
      throw std::logic_error("ended after " + std::to_string(state.step));
  });
}

/// Returns all files of a run, by name. The seconds in the rows of the log are left out.
std::map<std::string, std::string> files_of(const std::filesystem::path& run) {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    std::string& text = all[entry.path().filename()];
    text = read_bytes(entry.path());
    if (entry.path().extension() != ".csv") continue;
    std::istringstream lines(std::exchange(text, {}));
    for (std::string line; std::getline(lines, line);) text += line.substr(0, line.rfind(',')) + '\n';
  }
  return all;
}
/// Calls `use` in each of four processes. Returns the messages of the exceptions that it threw, by rank.
std::array<std::string, 4> messages_of(auto use) {
  std::array<std::string, 4> messages;
  const std::string end = in_processes(4, [&](process_group& group) {
    try {
      use(group);
    } catch (const std::exception& error) {
      messages[std::size_t(group.rank())] = error.what();
    }
  });
  BOOST_TEST(end == "");
  return messages;
}
/// Checks that rank `rank` threw `text`, and that the others threw it as the message of this rank.
void check_messages(const std::array<std::string, 4>& messages, std::size_t rank, std::string text) {
  BOOST_TEST(messages[rank] == text);
  if (text.starts_with("cairn: ")) text.erase(0, 7);
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != rank) BOOST_TEST(messages[i] == "cairn: rank " + std::to_string(rank) + " of 4: " + text);
  }
}
std::string error_output_of(auto use) {
  std::FILE* const file = std::tmpfile();
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  use();
  dup2(kept, STDERR_FILENO);
  close(kept);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(training_loops_of_several_processes)

BOOST_AUTO_TEST_CASE(any_number_of_processes_leaves_the_same_folder) {
  const folder here;
  const auto [end, state] = run_in(nullptr, options_of(here.path / "alone"));
  BOOST_TEST((end == train::ending::done));
  const auto expected = files_of(here.path / "alone");
  BOOST_TEST(expected.size() == 4U);  // two files, the best one, and the log
  for (const int size : {1, 2, 4}) {
    const auto path = here.path / std::to_string(size);
    BOOST_TEST(run_among(size, options_of(path), {}, std::pair{end, state.step}) == "");
    BOOST_TEST((files_of(path) == expected));
  }
}

BOOST_AUTO_TEST_CASE(data_in_shards_is_the_same_for_any_number_of_processes) {
  const folder here;
  const auto batches = [](int epoch) {
    return data::batches<4>(examples(), seed{5}, epoch).changed([](auto images, random_sequence& random) {
      data::mirror(images, {2, 3}, random);
    });
  };
  const auto go = [&](auto& step, const std::filesystem::path& path, auto data) {
    step.init(seed{1});
    train::loop run{step, {.epochs = 2, .folder = path, .resume = true, .log_every = 1, .shows_progress = false}};
    run(data, [&](double rate, const auto& batch) {
      return step.train({.lr = rate},
                        [&](int s) { return inputs(bind<"x">(batch[s].images), bind<"y">(batch[s].labels)); });
    });
    return files_of(path);
  };
  trainer alone;
  const auto expected = go(alone, here.path / "alone", [&](int epoch) { return data::shards<4>(batches(epoch)); });
  for (const int size : {2, 4}) {
    const auto path = here.path / std::to_string(size);
    const std::string end = in_processes(size, [&](process_group& group) {
      trainer step{group};
      go(step, path, [&](int epoch) { return data::ahead(data::shards<4>(batches(epoch), group)); });
    });
    BOOST_TEST(end == "");
    BOOST_TEST((files_of(path) == expected));
  }
}

BOOST_AUTO_TEST_CASE(a_request_in_one_process_stops_all_after_the_same_step) {
  const folder here;
  run_in(nullptr, options_of(here.path / "whole"));
  const auto expected = files_of(here.path / "whole");
  for (const auto& [number, at, first, then] :
       {std::array{SIGUSR1, 4, 4, 2}, {SIGINT, 6, 2, 4}, {SIGINT, 9, 2, 1}, {SIGUSR1, 20, 4, 1}}) {
    const auto path = here.path / std::to_string(at);
    events asked;
    asked.before_step = [&](const process_group* group, std::int64_t step) {
      if (step == at && group->rank() == group->size() - 1) std::raise(number);
    };
    BOOST_TEST(run_among(first, options_of(path), asked, std::pair{train::ending::asked, at + 1}) == "");
    char newest[40];
    std::snprintf(newest, sizeof newest, "step-%010d.safetensors", at + 1);
    BOOST_TEST(files_of(path).contains(newest));
    // a program of one process goes on, or several processes do
    if (then == 1) run_in(nullptr, options_of(path));
    else BOOST_TEST(run_among(then, options_of(path)) == "");
    BOOST_TEST(files_of(path)["log.csv"] == expected.at("log.csv"));
    BOOST_TEST((files_of(path)["best.safetensors"] == expected.at("best.safetensors")));
    BOOST_TEST((files_of(path)["step-0000000021.safetensors"] == expected.at("step-0000000021.safetensors")));
  }
}
BOOST_AUTO_TEST_CASE(a_request_in_a_validation_stops_all_after_it) {
  const folder here;
  events asked;
  asked.before_batch = [](const process_group* group) {
    if (group->rank() == 1) std::raise(SIGUSR1);
  };
  BOOST_TEST(run_among(4, options_of(here.path / "run"), asked, std::pair{train::ending::asked, 7}) == "");
}
BOOST_AUTO_TEST_CASE(sigterm_ends_a_process_that_waits) {
  const folder here;
  events ends;
  ends.before_step = [&](const process_group* group, std::int64_t step) {
    if (step != 3 || group->rank() != 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // rank 0 waits by now
    std::raise(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  const std::string end = run_among(2, options_of(here.path / "run"), ends);
  BOOST_TEST(end.starts_with("rank 0 got SIGTERM while it waited for rank 1 in step 4, "));
}

BOOST_AUTO_TEST_CASE(a_failure_in_rank_0_is_thrown_in_all_processes) {
  const folder here;
  const auto options = options_of(here.path / "run");
  const auto run = [&](process_group& group) { run_in(&group, options); };
  {
    const auto lock = train::run_folder(options.folder).lock();
    check_messages(messages_of(run), 0,
                   "cairn: " + options.folder + ": expected a folder without an owner, got a run that is under way");
  }
  run_in(nullptr, options);
  auto others = options;
  others.resume = false;
  const auto begins = messages_of([&](process_group& group) { run_in(&group, others); });
  BOOST_TEST(begins[0].find("or .resume = true to go on with it") != std::string::npos);
  check_messages(begins, 0, begins[0]);
  others = options;
  others.average = {};
  const auto changes = messages_of([&](process_group& group) { run_in(&group, others); });
  BOOST_TEST(changes[3].find("run.average: expected 'average', got ''") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(a_log_that_cannot_be_written_ends_all_processes) {
  const folder here;
  const auto options = options_of(here.path / "run");
  std::array<std::int64_t, 4> steps{};
  events spoils;
  spoils.before_step = [&](const process_group* group, std::int64_t step) {
    steps[std::size_t(group->rank())] = step;
    if (group->rank() != 0 || step != 3) return;
    std::filesystem::remove(here.path / "run/log.csv");
    std::filesystem::create_directory(here.path / "run/log.csv");
  };
  const auto messages = messages_of([&](process_group& group) { run_in(&group, options, spoils); });
  BOOST_TEST(messages[0].find("expected a file to append to") != std::string::npos);
  check_messages(messages, 0, messages[0]);
  BOOST_TEST((steps == std::array<std::int64_t, 4>{4, 4, 4, 4}));  // the step after the row
}
BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_thrown_in_all_processes) {
  const folder here;
  const auto messages = messages_of([&](process_group& group) {
    trainer step{group};
    step.init(seed{1});
    step.save(here.path / "no folder" / "file");
  });
  BOOST_TEST(messages[0].find("no folder") != std::string::npos);
  for (const std::string& each : messages) BOOST_TEST(each == messages[0]);
}
BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_ends_the_loop_of_all_processes) {
  const folder here;
  std::array<bool, 4> thrown{};
  const std::string end = in_processes(4, [&](process_group& group) {
    trainer step{group};
    step.init(seed{1});
    train::loop run{step, {.folder = here.path / "run", .shows_progress = false}};
    try {
      run([](int) { return data::batches<16>(examples()); },
          [&](double rate, const auto& batch) {
            std::vector<float> x(batch.images.data(), batch.images.data() + batch.images.size());
            if (group.rank() == 2 && step.steps() == 2) x[12 * 6 - 1] = std::numeric_limits<float>::quiet_NaN();
            return step.train({.lr = rate}, bind<"x">(x), bind<"y">(batch.labels));
          });
    } catch (const loss_error&) {
      thrown[std::size_t(group.rank())] = run.state().step == 2;
    }
  });
  BOOST_TEST(end == "");
  BOOST_TEST((thrown == std::array{true, true, true, true}));
}
BOOST_AUTO_TEST_CASE(processes_with_other_data_or_options_are_refused) {
  const auto messages = messages_of([](process_group& group) {
    trainer step{group};
    step.init(seed{1});
    train::loop run{step, {.shows_progress = false}};
    run([&](int) { return data::batches<16>(examples(), seed{group.rank() == 2 ? 1U : 2U}, 0); },
        [&](double, const auto&) { return 0.0; });
  });
  for (const std::string& each : messages)
    BOOST_TEST(each == "cairn: ranks 0 and 2 differ in the data or the options of the training loop");
}

BOOST_AUTO_TEST_CASE(values_of_batches_are_summed_in_their_order) {
  const auto value_of = [](const auto& batch) { return 1 / (1.0F + batch.images(0, 0)); };
  trainer alone;
  double expected = 0;
  for (const auto& batch : data::batches<8>(examples())) expected += static_cast<double>(value_of(batch));
  BOOST_TEST(train::sum_over(alone, data::batches<8>(examples()), value_of) == expected);
  for (const int size : {2, 4}) {
    std::atomic<int> calls = 0;
    const std::string end = in_processes(size, [&](process_group& group) {
      trainer step{group};
      const double found = train::sum_over(step, data::batches<8>(examples()), [&](const auto& batch) {
        ++calls;
        return value_of(batch);
      });
      if (found != expected) throw std::logic_error("another sum");
    });
    BOOST_TEST(end == "");
    BOOST_TEST(calls == 15);
  }
  const auto messages = messages_of([](process_group& group) {
    trainer step{group};
    train::sum_over(step, data::batches<8>(examples()), [&](const auto&) {
      if (group.rank() == 3) throw std::runtime_error("a label is missing");
      return 0;
    });
  });
  check_messages(messages, 3, "a label is missing");
}
// Other calls would give each process the numbers of another call.
BOOST_AUTO_TEST_CASE(processes_in_different_calls_end) {
  const auto zero = [](const auto&) { return 0; };
  const std::string sums = in_processes(2, [&](process_group& group) {
    trainer step{group};
    if (group.rank() == 0) train::sum_over(step, data::batches<8>(examples()), zero);
    else train::sum_over(step, data::batches<16>(examples()), zero);
  });
  BOOST_TEST(sums.find("differ in which function they call together, or in its data") != std::string::npos);
  const folder here;
  const auto messages = messages_of([&](process_group& group) {
    trainer step{group};
    train::loop{step, {.folder = group.rank() == 0 ? (here.path / "run").string() : "", .shows_progress = false}};
  });
  for (const std::string& each : messages)
    BOOST_TEST(each == "cairn: ranks 0 and 1 differ in the data or the options of the training loop");
}
BOOST_AUTO_TEST_CASE(a_loop_goes_on_listening_after_a_loop_in_it) {
  std::array<bool, 2> stopped{};
  const std::string end = in_processes(2, [&](process_group& group) {
    trainer step{group}, inner{group};
    step.init(seed{1});
    inner.init(seed{1});
    const auto train_in = [](trainer& of) {
      return [&of](double rate, const auto& batch) {
        return of.train({.lr = rate}, bind<"x">(batch.images), bind<"y">(batch.labels));
      };
    };
    const auto data = [](int) { return data::batches<16>(examples()); };
    train::loop run{step, {.epochs = 2, .shows_progress = false}};
    int epochs = 0;
    const auto validate = [&] {
      train::loop{inner, {.epochs = 1, .shows_progress = false}}(data, train_in(inner));
      if (++epochs == 1 && group.rank() == 1) std::raise(SIGUSR1);
      return 0.0;
    };
    stopped[std::size_t(group.rank())] = run(data, train_in(step), validate) == train::ending::asked && epochs == 1;
  });
  BOOST_TEST(end == "");
  BOOST_TEST((stopped == std::array{true, true}));
}

BOOST_AUTO_TEST_CASE(a_line_says_which_process_is_the_slowest) {
  auto options = options_of({});
  options.epochs = 1;
  options.average = {};
  options.shows_progress = true;
  events slow;
  slow.before_step = [](const process_group* group, std::int64_t) {
    if (group != nullptr && group->rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  };
  options.resume = false;
  options.log_every = 0;
  const std::string lines = error_output_of([&] { run_among(4, options, slow); });
  BOOST_TEST(lines.find("the slowest process was rank 2: each of the others waited 0.") != std::string::npos);
  BOOST_TEST(std::ranges::count(lines, '\n') == 2);  // one process shows the progress, and this line
  const std::string of_one = error_output_of([&] { run_in(nullptr, options, slow); });
  BOOST_TEST(of_one.find("slowest") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
