// The long run of what tests/run/file_faults.cpp and loop.cpp do in short: damaged files, and writers and whole runs that
// are killed.
//   mutate [number of files, in millions] [the first of them]
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <unistd.h>

#include "killed.hpp"
#include "killed_run.hpp"
#include "mutated.hpp"

namespace {

constexpr int kills = 1000, kills_of_runs = 200;
constexpr unsigned longest = 60;  // seconds that a thousand files may take, or one of them hangs

int read_files(std::uint64_t first, std::uint64_t end) {
  mutated::trial trial;
  std::uint64_t number = first;
  try {
    for (; number < end; ++number) {
      if (number % 1000 == 0) ::alarm(longest);
      trial.read(mutated::file(number));
    }
  } catch (const std::exception& e) {
    std::printf("FAIL file %" PRIu64 ": %s\n", number, e.what());
    return 1;
  }
  ::alarm(0);
  std::printf("%" PRIu64 " files: %" PRIu64 " taken, %" PRIu64 " refused; up to %zu bytes beyond the file's\n",
              end - first, trial.result.sound, trial.result.refused, trial.result.most);
  return 0;
}

/// Calls kill(folder); 1 if it throws, else 0.
int in_folder(auto kill) {
  std::string name = (std::filesystem::temp_directory_path() / "cairn-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  int failed = 0;
  try {
    kill(folder);
  } catch (const std::exception& e) {
    std::printf("FAIL kills: %s\n", e.what());
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
  const int failed = in_folder(kill_writers) + in_folder(kill_runs) + read_files(first, first + millions * 1'000'000);
  std::printf("%d passed, %d failed\n", 3 - failed, failed);
  return failed;
}
