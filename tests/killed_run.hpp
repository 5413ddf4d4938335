// Kills training runs at random moments and starts them again. They must end with the same bits as a run that was
// never killed.
#pragma once

#include "cairn/cairn.hpp"
#include "cairn/data/ahead.hpp"
#include "cairn/train/loop.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace killed_run {

using namespace cairn;

template <int Rows>
constexpr auto result = input<"x", Rows, 6> | nn::linear<"fc1", 64> | nn::batch_norm<"bn"> | nn::dropout<"drop", 0.25> |
                        nn::linear<"fc2", 3>;
template <int Rows>
constexpr auto loss = cross_entropy(result<Rows>, labels<"y", 3, Rows>);
using rule = update<averaged{adamw_options{}, 0.9}>;
using program_of = program<loss<4>, rule>;
using program_in_parts = program<loss<2>, rule, microbatch<2>>;

inline data::dataset examples() {
  data::dataset made;
  made.features = 6;
  made.classes = 3;
  for (int i = 0; i < 80; ++i) {
    made.labels.push_back(i % 3);
    for (int k = 0; k < 6; ++k) made.images.push_back(static_cast<float>((i * 7 + k * k) % 13) / 13);
  }
  return made;
}

/// Runs the training to its end. Returns all results of the run: parameters, states and moments, the best result, and
/// the log.
template <class Program>
std::string end_of(const std::filesystem::path& folder, bool resume) {
  const data::dataset set = examples();
  Program step;
  step.init(seed{1});
  train::loop run{step,
                  {.epochs = 4,
                   .rate = cosine{.peak = 0.01, .steps = 80},
                   .folder = folder,
                   .resume = resume,
                   .save_every = 1,
                   .log_every = 1,
                   .average = "average",
                   .shows_progress = false}};
  double sum = 0;
  run([&](int epoch) { return data::ahead(data::batches<4>(set, seed{5}, epoch)); },
      [&](double rate, const auto& b) { return step.train({.lr = rate}, bind<"x">(b.images), bind<"y">(b.labels)); },
      [&] {
        predictor<loss<4>> judge{step};
        sum = 0;
        for (auto [x, y] : data::batches<4>(set)) sum += static_cast<double>(judge(bind<"x">(x), bind<"y">(y)));
        return sum;
      });
  const file::reader end(train::run_folder(folder).newest()), best(train::run_folder(folder).best());
  std::string all;
  for (const file::reader* one : {&end, &best}) {
    for (const auto& [name, text] : one->metadata()) all += cairn::detail::text_of({name, "=", text, ";"});
    for (const file::tensor& tensor : one->tensors())
      all.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  std::ifstream log(train::run_folder(folder).log());
  for (std::string row; std::getline(log, row);) all += row.substr(0, row.rfind(','));  // without the seconds
  return all;
}

struct tally {
  int runs = 0, kills = 0;
};

/// Kills runs `count` times in all, each time after at most `longest` microseconds, and starts them again. Throws if a
/// run that was killed ends otherwise than a run that was never killed.
template <class Program = program_of>
tally times(int count, const std::filesystem::path& folder, unsigned longest, std::uint64_t seed) {
  const std::string expected = end_of<Program>(folder / "whole", false);
  std::mt19937_64 draw(seed);
  tally found;
  while (found.kills < count) {
    const auto here = folder / ("run" + std::to_string(found.runs++));
    for (bool ended = false; !ended;) {
      const ::pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
          end_of<Program>(here, true);
        } catch (const std::exception& e) {
          std::fprintf(stderr, "%s\n", e.what());
          ::_exit(1);
        }
        ::_exit(0);
      }
      ::usleep(static_cast<unsigned>(draw() % longest));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) != 0) throw std::runtime_error("a run did not go on");
      ended = WIFEXITED(status);
      found.kills += !ended;
    }
    if (end_of<Program>(here, true) != expected) throw std::runtime_error("a run that was killed ended with other bits");
    std::filesystem::remove_all(here);
  }
  return found;
}

}  // namespace killed_run
