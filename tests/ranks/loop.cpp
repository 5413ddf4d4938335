// A training loop of several processes, for tests/tools/ranks.py: loop FOLDER [WORD VALUE]...
//
// The folder must have the same files for any number of processes. Each process says its number at the beginning, and
// in the end why the run ended and after which training step. Rank 0 says when a training step has ended.
//
// word   value
// alone  1: makes a program of one process
// pause  how many milliseconds each process sleeps in a training step
// fault  what goes wrong in training step 4: `wait`, in which rank 1 sleeps, `busy`, in which rank 0 sleeps for a second,
//        or `log`, in which rank 0 puts a folder in the place of the log
#include <cairn/cairn.hpp>
#include <cairn/data/ahead.hpp>
#include <cairn/data/augment.hpp>
#include <cairn/data/shards.hpp>
#include <cairn/mpi.hpp>
#include <cairn/train/loop.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unistd.h>

namespace {

using namespace cairn;

constexpr nn::batch_norm_options local{.statistics = nn::batch_statistics::local};
template <int Rows>
constexpr auto loss = cross_entropy(input<"x", Rows, 12> | nn::linear<"fc1", 32> | nn::batch_norm<"bn", local> |
                                        nn::dropout<"drop", 0.25> | nn::linear<"fc2", 3>,
                                    labels<"y", 3, Rows>);
using trainer = program<loss<4>, update<averaged{adamw_options{}, 0.9}>, clip<1.0>, shards<8>>;

data::dataset examples() {
  data::dataset made;
  made.features = 12;
  made.classes = 3;
  random_sequence draw(seed{11}, 0);
  for (int i = 0; i < 640; ++i) {
    made.labels.push_back(i % 3);
    for (int k = 0; k < 12; ++k) made.images.push_back(uniform(draw()) + static_cast<float>(i % 3 == k));
  }
  return made;
}

using words = std::map<std::string, std::string>;

/// Trains three epochs of twenty steps.
void run_all(trainer& step, const mpi::ranks* all, words given) {
  const data::dataset set = examples();
  const int rank = all == nullptr ? 0 : all->rank();
  const std::string folder = given["folder"], fault = given["fault"];
  const auto pause = static_cast<unsigned>(given.contains("pause") ? std::stoi(given["pause"]) : 0);
  std::printf("rank %d: process %d\n", rank, static_cast<int>(getpid()));
  std::fflush(stdout);
  step.init(seed{42});
  train::loop run{step,
                  {.epochs = 3,
                   .rate = cosine{.peak = 0.02, .steps = 60},
                   .folder = folder,
                   .resume = true,
                   .log_every = 1,
                   .average = "average",
                   .batch = 32}};
  const auto batches = [&](int epoch) {
    return data::shards<8>(data::batches<4>(set, seed{5}, epoch).changed([](auto images, random_sequence& random) {
      data::mirror(images, {3, 4}, random);
    }));
  };
  const auto go = [&](double rate, const auto& batch) {
    usleep(1000 * pause);
    if (run.state().step == 3) {
      if (fault == "wait" && rank == 1) sleep(60);
      if (fault == "busy" && rank == 0) sleep(1);
      if (fault == "log" && rank == 0) {
        std::filesystem::remove(folder + "/log.csv");
        std::filesystem::create_directory(folder + "/log.csv");
      }
    }
    const float found =
        step.train({.lr = rate}, [&](int s) { return inputs(bind<"x">(batch[s].images), bind<"y">(batch[s].labels)); });
    if (rank == 0) {
      std::printf("step %d\n", static_cast<int>(run.state().step) + 1);
      std::fflush(stdout);
    }
    return found;
  };
  const train::ending end = run(batches, go, [&] {
    predictor<loss<16>> judge{step};
    return train::sum_over(step, data::batches<16>(set),
                           [&](const auto& batch) { return judge(bind<"x">(batch.images), bind<"y">(batch.labels)); });
  });
  std::printf("rank %d: %s after step %d\n", rank, end == train::ending::asked ? "asked to stop" : "done",
              static_cast<int>(run.state().step));
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  words given{{"folder", arguments[1]}};
  for (int i = 2; i + 1 < count; i += 2) given[arguments[i]] = arguments[i + 1];
  try {
    if (given.contains("alone")) {
      trainer step;
      run_all(step, nullptr, given);
      return 0;
    }
    mpi::ranks all{count, arguments};
    trainer step{all};
    try {
      run_all(step, &all, given);
    } catch (const std::exception& error) {  // mpirun may end a process as soon as another one has left mpi::ranks
      std::fprintf(stderr, "%s\n", error.what());
      throw;
    }
  } catch (const std::exception&) {
    return 3;
  }
}
