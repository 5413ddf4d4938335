// cairn's side of a scenario: reads the tensors that all contestants share, and steps when it is told to.
// peer.py is the same for Python; scenario.py says what is spoken.
#pragma once

#include "cairn/cairn.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace contestant {

/// `PROGRAM FOLDER FORM`: where the tensors are, and `plain` or `ckpt`.
struct arguments {
  std::string folder;
  bool ckpt;
  arguments(int count, char** given)
      : folder(count == 3 ? given[1] : ""), ckpt(count == 3 && given[2] == std::string_view("ckpt")) {
    if (count != 3) throw std::invalid_argument("takes the folder of the tensors, and plain or ckpt");
  }

  template <class T>
  void read(std::string_view name, std::span<T> to) const {
    std::ifstream file(folder + '/' + std::string(name), std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size_bytes()))) {
      throw std::runtime_error("cannot read the tensor " + std::string(name));
    }
  }
  template <class T>
  std::vector<T> tensor(std::string_view name, std::size_t size) const {
    std::vector<T> out(size);
    read<T>(name, out);
    return out;
  }
  /// Parameters of a program.
  template <cairn::fixed_string... Name>
  void load(auto& step) const {
    (read<float>(Name, {step.template param<Name>().data(), step.template param<Name>().size()}), ...);
  }
  /// All parameters of a program; states are left as they are.
  void load_all(auto& step) const {
    step.for_each_parameter([this](std::string_view name, auto view) {
      if (!name.ends_with(".running_mean") && !name.ends_with(".running_var"))
        read<float>(name, {view.data(), view.size()});
    });
  }
};

/// The counters of heap.cpp; 0 where it is not preloaded.
inline long heap(const char* name) {
  const auto count = reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, name));
  return count ? count() : 0;
}

/// Speaks with scenario.py until it hangs up. `step` makes one step and returns its loss; `bytes` are those that the
/// plan of Program has to move at the least, 0 where that does not limit it.
template <class Program>
void serve(auto step, std::int64_t bytes = 0) {
  const float first = step();
  step();
  const long before = heap("heap_live");
  heap("heap_peak_reset");
  step();
  const long heap_bytes = heap("heap_peak") - before;
  step();
  const float later = step();
  std::printf("ready {\"first\": %.9g, \"later\": %.9g, \"memory\": %lld, \"flops\": %lld, \"bytes\": %lld}\n",
              static_cast<double>(first), static_cast<double>(later),
              static_cast<long long>(Program::memory().peak_bytes + heap_bytes),
              static_cast<long long>(Program::flops().total()), static_cast<long long>(bytes));
  std::fflush(stdout);
  std::string word;
  for (int count = 0; std::cin >> word >> count && word == "run";) {
    step();  // what the others left in the caches is not ours to pay for
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) step();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::printf("%.9g\n", taken.count());
    std::fflush(stdout);
  }
}

}  // namespace contestant
