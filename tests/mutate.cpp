// The long version of tests/run/file_faults.cpp and tests/run/loop.cpp. It reads damaged files of parameters and of
// data, and kills writers and whole runs.
// mutate [number of files, in millions] [number of the first file]
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include "killed.hpp"
#include "killed_run.hpp"
#include "mutated_data.hpp"

namespace {

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
/// Returns all numbers that a program saves.
std::string bytes_of(auto& step) {
  const cairn::memory_plan m = step.memory();
  const auto counters = step.random();
  return std::string(reinterpret_cast<const char*>(step.parameters().data()),
                     static_cast<std::size_t>(m.parameter_bytes + m.moment_bytes)) +
         std::to_string(step.steps()) + ' ' + std::to_string(counters.step) + ' ' + std::to_string(counters.from.value);
}

constexpr int kills = 1000, kills_of_runs = 200, damaged_runs = 300'000;
constexpr unsigned longest = 60;  // the limit in seconds for a thousand files; a reader that takes longer hangs

/// Calls read(trial, number) for the numbers from `first` to `end` - 1.
int read_files(const char* kind, std::uint64_t first, std::uint64_t end, auto read) {
  mutated::trial trial;
  std::uint64_t number = first;
  try {
    for (; number < end; ++number) {
      if (number % 1000 == 0) ::alarm(longest);
      read(trial, number);
    }
  } catch (const std::exception& e) {
    std::printf("FAIL %s %" PRIu64 ": %s\n", kind, number, e.what());
    return 1;
  }
  ::alarm(0);
  std::printf("%" PRIu64 " %s: %" PRIu64 " taken, %" PRIu64 " refused; up to %zu bytes beyond the file's\n",
              end - first, kind, trial.result.sound, trial.result.refused, trial.result.most);
  return 0;
}

/// Lets a program load damaged saved runs. If the program accepts a file, it must be able to continue. If it rejects a
/// file, nothing may have changed.
void load_runs(const std::filesystem::path& folder) {
  using namespace cairn;
  constexpr auto runs = state<"runs", initial{}>;
  constexpr auto loss = mean(square(updated(param<"w", 2, 3>, runs, runs + 1_c)));
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
  step.train();
  step.save(folder / "saved");
  const std::string saved = read_bytes(folder / "saved");
  const mutated::memory_file file;
  int taken = 0, refused = 0;
  for (std::uint64_t number = 0; number < damaged_runs; ++number) {
    if (number % 1000 == 0) ::alarm(longest);
    file.write(mutated::damaged(saved, mutated::draws_of(number)));
    const std::string before = bytes_of(step);
    try {
      step.load(file.path());
      ++taken;
      step.train();
      step.load(folder / "saved");
    } catch (const file::file_error&) {
      ++refused;
      if (bytes_of(step) != before) throw std::runtime_error("a file that was refused has changed a program");
    }
  }
  ::alarm(0);
  std::printf("%d damaged runs: %d taken and gone on with, %d refused, which changed nothing\n", damaged_runs, taken,
              refused);
}
/// Calls test(folder). Returns 1 if it throws, and 0 otherwise.
int in_folder(auto test) {
  std::string name = (std::filesystem::temp_directory_path() / "cairn-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  int failed = 0;
  try {
    test(folder);
  } catch (const std::exception& e) {
    std::printf("FAIL: %s\n", e.what());
    failed = 1;
  }
  std::filesystem::remove_all(folder);
  return failed;
}
void kill_writers(const std::filesystem::path& folder) {
  const auto found = killed::times(kills, folder, 6000, 1);
  std::printf("%d kills: %d old files, %d new ones; %d while one was written\n", kills, found.old_files,
              found.new_files, found.left_beside);
}
void kill_runs(const std::filesystem::path& folder) {
  const auto found = killed_run::times(kills_of_runs, folder, 60'000, 1);
  std::printf("%d kills of %d runs: each ended with the bits of one that was not killed\n", found.kills, found.runs);
}

}  // namespace

int main(int count, char** arguments) {
  const std::uint64_t millions = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 10;
  const std::uint64_t first = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  const std::uint64_t end = first + millions * 1'000'000;
  const int failed = in_folder(kill_writers) + in_folder(kill_runs) + in_folder(load_runs) +
                     read_files("files", first, end, [](auto& to, auto number) { to.read(mutated::file(number)); }) +
                     read_files("files of data", first, end, mutated::read_data);
  std::printf("%d passed, %d failed\n", 5 - failed, failed);
  return failed;
}
