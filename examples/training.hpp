// The common part of the training programs. They compare the memory and the time of a training step with and without
// ckpt. Then they train in a run that is saved and logged, and that can continue after it was interrupted.
#pragma once

#include <algorithm>
#include <cairn/cairn.hpp>
#include <cairn/report/page.hpp>
#include <cairn/report/profile.hpp>
#include <cairn/report/tables.hpp>
#include <cairn/report/timeline.hpp>
#include <cairn/train/loop.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace training {

using namespace cairn;

/// A program is compiled for the largest number of threads that it may use, because each thread has workspace in the
/// arena. OpenMP knows how many threads there are.
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

/// Measures the milliseconds of a training step with ckpt and without. Both times are medians. The two programs run in
/// turn, 15 times each. After ten seconds the measurement ends early, but not before three runs each.
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

/// Returns how many bytes of its arena a training step writes, and the parameters after two training steps.
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

/// Prints the memory of a training step with and without ckpt, of One and OnePlain. Then prints the times of Step and
/// Plain, which may be compiled for more threads. Draws the memory in the picture that the arguments name.
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
  }
  std::cout << '\n' << std::flush;
}

/// An epoch: the largest number of training steps, the number of examples in a batch, and whether a higher result of
/// an epoch is better.
struct plan {
  std::int64_t steps, batch;
  bool higher_is_better;
};

/// Trains in a run that is saved and logged, and that can continue. `batches(seed, epoch)` returns the batches of an
/// epoch. `go(step, rate, batch)` runs a training step and returns its loss. `judge(step)` prints the result of an
/// epoch and returns it. `bound` is a batch with which one training step is measured at the end.
template <class Step>
void train(Step& step, const arguments& given, const plan& epoch, auto batches, auto go, auto judge,
           const auto&... bound) {
  use(given.threads);
  step.init(seed{given.seed});
  const std::int64_t steps = given.epochs * epoch.steps;
  const cosine rate{.peak = given.lr, .steps = steps, .warm_up = std::min(given.warm_up, steps - 1)};
  const bool is_saved = !given.run.empty();
  cairn::train::loop loop{step,
                          {.epochs = given.epochs,
                           .rate = rate,
                           .folder = given.run,
                           .resume = given.resume,
                           .save_every = is_saved ? 200 : 0,
                           .log_every = is_saved ? 20 : 0,
                           .higher_is_better = epoch.higher_is_better,
                           .batch = epoch.batch}};
  if (loop.state().step > 0) std::printf("goes on after %lld steps\n", static_cast<long long>(loop.state().step));
  const auto ended = loop(
      // The seed of the run is saved with the run.
      [&](int number) { return batches(step.random().from, number); },
      [&](double lr, const auto& b) { return go(step, lr, b); },
      [&] {
        std::printf("epoch %d/%d  ", loop.state().epoch + 1, given.epochs);
        const double result = judge(step);
        std::fflush(stdout);
        return result;
      });
  if (is_saved) {
    const cairn::train::run_folder folder(given.run);
    if (ended == cairn::train::ending::asked) {
      std::cout << "ended early and saved; this goes on: " << given.again << '\n';
    } else {
      std::cout << "the best weights: " << folder.best() << "\nits log: " << folder.log() << '\n' << std::flush;
      std::ofstream page(given.run + "/profile.html");
      report::page(page, report::profile(step, bound...));
      if (!page.flush()) throw std::runtime_error("cannot write " + given.run + "/profile.html");
      std::cout << "a step in a browser: " << given.run << "/profile.html\n";
    }
  }
  if (!given.picture.empty()) std::cout << "the memory of a step: " << given.picture << '\n';
}

}  // namespace training
