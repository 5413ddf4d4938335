// What the programs that train share: their arguments, the memory and the time of a step beside those without ckpt, and
// a run that is saved, logged and goes on where it ended.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cairn/cairn.hpp>
#include <cairn/report/page.hpp>
#include <cairn/report/profile.hpp>
#include <cairn/report/tables.hpp>
#include <cairn/report/timeline.hpp>
#include <cairn/train/loop.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace training {

using namespace cairn;

/// A program is compiled for the most threads that it may use, each of which has scratch in the arena; OpenMP says how
/// many there are.
#ifdef _OPENMP
inline int cores(int most) { return std::min(most, omp_get_max_threads()); }
inline void use(int threads) { omp_set_num_threads(threads); }
template <int Most>
using at_most = threads<Most>;
#else
inline int cores(int) { return 1; }
inline void use(int) {}
template <int>
using at_most = threads<1>;
#endif

struct arguments {
  std::string name, about;
  int epochs;
  double lr;
  int threads;
  std::string picture = {};  ///< a file for the memory of a step; none where it is empty
  std::string run = {};      ///< a folder for weights, log and profile; none where it is empty
  bool resume = false;
  std::uint64_t seed = 1;
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string data_is = "FOLDER", about_data = "the four gzipped IDX files";
  std::string about_epochs = "times through the training set";
  std::int64_t warm_up = 0;  ///< steps in which the learning rate rises to what is asked
  std::string again = {};    ///< the command line that goes on with this run
};

/// A command line as a shell takes it again.
inline std::string in_shell(int argc, char** argv) {
  constexpr std::string_view special = " \t\"'`\\$&|;<>()*?[]{}#~!";
  std::string line;
  for (int i = 0; i < argc; ++i) {
    if (i > 0) line += ' ';
    for (const char* at = argv[i]; *at != '\0'; ++at) {
      if (special.find(*at) != special.npos) line += '\\';
      line += *at;
    }
  }
  return line;
}

/// Takes a number that is all of the text and that `good` accepts: CLI11 alone wraps a seed of -1 around.
template <class Number>
CLI::Validator number(const std::string& expected, auto good) {
  return {[=](const std::string& text) {
            Number value{};
            const char* const end = text.data() + text.size();
            const auto read = std::from_chars(text.data(), end, value);
            const bool ok = read.ec == std::errc{} && read.ptr == end && good(value);
            return ok ? "" : "expected " + expected + ", got '" + text + "'";
          },
          ""};
}

/// Arguments that are not understood, or the wish for help, end the program here.
inline arguments read(int argc, char** argv, arguments given) {
  CLI::App app(given.about, given.name);
  app.add_option("--data", given.data, given.about_data)->type_name(given.data_is);
  app.add_option("--epochs", given.epochs, given.about_epochs)
      ->check(number<int>("1 to 1000", [](int n) { return n >= 1 && n <= 1000; }))
      ->type_name("N");
  app.add_option("--seed", given.seed, "of the parameters and of the order of the data")
      ->check(number<std::uint64_t>("0 to 2^64 - 1", [](std::uint64_t) { return true; }))
      ->type_name("N");
  app.add_option("--lr", given.lr, "learning rate at the start; falls to 0 along a cosine")
      ->check(number<double>("a number above 0", [](double rate) { return rate > 0 && std::isfinite(rate); }))
      ->type_name("X");
  app.add_option("--threads", given.threads, "on which it trains; the results are the same for any number")
      ->check(number<int>("1 to " + std::to_string(given.threads),
                          [most = given.threads](int n) { return n >= 1 && n <= most; }))
      ->type_name("N");
  app.add_option("--picture", given.picture, "where to draw the memory of a step, as an SVG image")->type_name("FILE");
  const auto* const run =
      app.add_option("--run", given.run, "where to keep weights, a log, and a profile of a step")->type_name("FOLDER");
  app.add_flag("--resume", given.resume, "go on with what is in that folder")->needs(const_cast<CLI::Option*>(run));
  for (CLI::Option* option : app.get_options()) {
    if (option->get_name() != "--help" && option->get_name() != "--resume") option->capture_default_str();
  }
  app.failure_message(
      [&](const CLI::App*, const CLI::Error& e) { return given.name + ": " + std::string(e.what()) + '\n'; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& e) {
    std::exit(app.exit(e));
  }
  given.again = in_shell(argc, argv) + (given.resume ? "" : " --resume");
  return given;
}

/// Milliseconds of a step with ckpt and without: medians of 15, or in ten seconds of three or more, taken in turns.
template <class Step, class Plain>
report::timed measure_time(seed s, int threads, const auto&... bound) {
  use(threads);
  const auto milliseconds = [&](auto& step) {
    const auto start = std::chrono::steady_clock::now();
    step.train(bound...);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  Step ours;
  Plain theirs;
  ours.init(s);
  theirs.init(s);
  std::vector<double> with, without;
  for (double passed = 0; with.size() < 15 && (with.size() < 3 || passed < 1e4);
       passed += with.back() + without.back()) {
    with.push_back(milliseconds(ours));
    without.push_back(milliseconds(theirs));
  }
  std::ranges::sort(with);
  std::ranges::sort(without);
  return {threads, with[with.size() / 2], without[without.size() / 2]};
}

/// What a step touches of its arena, and the parameters that two leave.
template <class Step>
auto measure(seed s, const auto&... bound) {
  struct {
    std::int64_t touched;
    std::vector<float> parameters;
  } out;
  Step step;
  step.init(s);
  out.touched = report::touched_bytes(step, bound...);
  out.parameters.assign(step.parameters().begin(), step.parameters().end());
  return out;
}

/// Prints the memory of a step beside that without ckpt, of One and OnePlain, and their times, of Step and Plain, which
/// may be compiled for more threads; and draws its memory where that is wanted.
template <class One, class OnePlain, class Step = One, class Plain = OnePlain>
void compare(const arguments& given, const auto&... bound) {
  const seed s{given.seed};
  use(1);
  const auto ours = measure<One>(s, bound...);
  const auto theirs = measure<OnePlain>(s, bound...);
  std::vector times{measure_time<Step, Plain>(s, 1, bound...)};
  if (given.threads > 1) times.push_back(measure_time<Step, Plain>(s, given.threads, bound...));
  report::segment_table<One>(std::cout);
  std::cout << '\n';
  report::step_table<One, OnePlain>(std::cout, report::touched{ours.touched, theirs.touched}, times);
  std::cout << "parameters after two steps with and without ckpt: "
            << (ours.parameters == theirs.parameters ? "equal in every bit" : "different") << '\n';
  if (!given.picture.empty()) {
    std::ofstream file(given.picture);
    report::timeline<One, OnePlain>(file);
    if (!file.flush()) throw std::runtime_error("cannot write " + given.picture);
    std::cout << "its memory: " << given.picture << '\n';
  }
  std::cout << '\n' << std::flush;
}

/// What an epoch is: so many steps of a batch of so many examples; and which results are better.
struct plan {
  std::int64_t steps, batch;
  bool higher_is_better;
};

/// Trains as a run that is saved, logged and goes on: `batches(seed, epoch)` are those of an epoch, `go(step, rate,
/// batch)` makes a step and returns its loss, `judge(step)` prints what an epoch has come to, and returns it. `bound`
/// is a batch, of which a step is measured in the end.
template <class Step>
void train(Step& step, const arguments& given, const plan& epoch, auto batches, auto go, auto judge,
           const auto&... bound) {
  use(given.threads);
  step.init(seed{given.seed});
  const cosine rate{.peak = given.lr, .steps = given.epochs * epoch.steps, .warm_up = given.warm_up};
  cairn::train::loop loop{step,
                          {.epochs = given.epochs,
                           .rate = rate,
                           .folder = given.run,
                           .resume = given.resume,
                           .save_every = 200,
                           .log_every = 20,
                           .higher_is_better = epoch.higher_is_better,
                           .batch = epoch.batch}};
  if (loop.state().step > 0) std::printf("goes on after %lld steps\n", static_cast<long long>(loop.state().step));
  const auto ended = loop(
      // The seed of the run, which is saved with it.
      [&](int number) { return batches(step.random().from, number); },
      [&](double lr, const auto& b) { return go(step, lr, b); },
      [&] {
        std::printf("epoch %d/%d  ", loop.state().epoch + 1, given.epochs);
        const double result = judge(step);
        std::fflush(stdout);
        return result;
      });
  if (given.run.empty()) return;
  const cairn::train::run_folder folder(given.run);
  if (ended == cairn::train::ending::asked) {
    std::cout << "ended early and saved; this goes on: " << given.again << '\n';
  } else {
    std::ofstream page(given.run + "/profile.html");
    report::page(page, report::profile(step, bound...));
    if (!page.flush()) throw std::runtime_error("cannot write " + given.run + "/profile.html");
    std::cout << "the best weights: " << folder.best() << "\nits log: " << folder.log()
              << "\na step in a browser: " << given.run << "/profile.html\n";
  }
}

}  // namespace training
