// Kills processes while they write a file. They must leave the old file or the new file.
#pragma once

#include "cairn/file/safetensors.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace killed {

/// Writes file number n. Each element and the metadata contain the number.
inline void write(const std::string& path, std::int64_t n) {
  const std::vector<std::int64_t> numbers(20'000, n);
  const std::vector<cairn::file::tensor> tensors = {
      {"n", cairn::file::dtype::i64, {20'000}, std::as_bytes(std::span(numbers))}};
  cairn::file::write(path, tensors, {{"n", std::to_string(n)}});
}

/// Returns the number in the file. Throws if the file contains several numbers.
inline std::int64_t read(const std::string& path) {
  const cairn::file::reader saved(path);
  const std::int64_t n = std::stoll(saved.metadata().at("n"));
  const std::vector<std::int64_t> numbers(20'000, n);
  if (!std::ranges::equal(saved.find("n")->bytes, std::as_bytes(std::span(numbers))))
    throw std::runtime_error("a mixture");
  return n;
}

/// Counts which file was found after each kill, and how many unfinished files were left next to it.
struct tally {
  int old_files = 0, new_files = 0, left_beside = 0;
};

/// Starts a process that writes one number after another to a file in the folder, and kills it after at most `longest`
/// microseconds. Repeats this `count` times. Throws if the file is neither the last file that was written completely
/// nor the next one.
inline tally times(int count, const std::filesystem::path& folder, unsigned longest, std::uint64_t seed) {
  const std::string path = folder / "saved";
  // The counter is in memory that both processes see.
  void* const shared =
      ::mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& written = *new (shared) std::atomic<std::int64_t>(0);
  std::mt19937_64 draw(seed);
  tally result;
  write(path, 0);
  for (int i = 0; i < count; ++i) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      // The process ends with its parent, for whatever reason the parent ends.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (std::int64_t n = written + 1;; ++n) {
        write(path, n);
        written = n;
      }
    }
    ::usleep(static_cast<unsigned>(draw() % longest));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::int64_t found = read(path);
    if (found != written && found != written + 1) throw std::runtime_error("neither the old file nor the new one");
    ++(found == written ? result.old_files : result.new_files);
    written = found;
    for (const auto& one : std::filesystem::directory_iterator(folder))
      if (one.path().extension() == ".part") result.left_beside += std::filesystem::remove(one.path());
  }
  ::munmap(shared, sizeof(std::atomic<std::int64_t>));
  return result;
}

}  // namespace killed
