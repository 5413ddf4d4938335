// The messages between a C++ program and scenario.py, which describes them. The program reads the tensors that all
// contestants share, and makes steps when it is told to. peer.py is the same for Python. This header needs nothing of
// cairn, so a peer can include it and be compiled with options that cairn refuses.
#pragma once

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

/// The arguments of `PROGRAM FOLDER FORM`. FOLDER has the tensors. FORM is one of
/// - `plain` or `ckpt`;
/// - these after `optimizer-`, with an optimizer outside of the program;
/// - these after `bf16-`, with mixed<bf16>;
/// - for train_within, a percentage of the arena without segments.
struct arguments {
  std::string folder, form;
  bool ckpt, beside, rounded;
  arguments(int count, char** given)
      : folder(count == 3 ? given[1] : ""),
        form(count == 3 ? given[2] : ""),
        ckpt(form.ends_with("ckpt")),
        beside(form.starts_with("optimizer")),
        rounded(form.starts_with("bf16")) {
    if (count != 3) throw std::invalid_argument("expected two arguments: the folder of the tensors, and a form");
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
  /// Reads all parameters of a program from files. States do not change.
  void load(auto& step) const {
    step.for_each_parameter([this](std::string_view name, auto view) {
      if (!name.ends_with(".running_mean") && !name.ends_with(".running_var"))
        read<float>(name, {view.data(), view.size()});
    });
  }
};

/// Returns a counter of heap.cpp, or 0 if heap.cpp is not preloaded.
inline long heap(const char* name) {
  const auto count = reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, name));
  return count ? count() : 0;
}

/// What is known about a step before it runs. `bytes` is the least number of bytes that the step has to move, or 0 if
/// they do not limit the step. `note` goes to the table.
struct known {
  std::int64_t memory, flops = 0, bytes = 0, gradients = 0;
  const char* note = "";
};

/// Answers scenario.py until it closes the connection. `step` makes one step and returns its loss.
inline void serve(auto step, known of_step) {
  const auto first = step();
  step();
  const long before = heap("heap_live");
  heap("heap_peak_reset");
  step();
  const long heap_bytes = heap("heap_peak") - before;
  step();
  const auto later = step();
  std::printf(
      "ready {\"first\": %.17g, \"later\": %.17g, \"memory\": %lld, \"gradients\": %lld, \"flops\": %lld, "
      "\"bytes\": %lld, \"note\": \"%s\"}\n",
      static_cast<double>(first), static_cast<double>(later), static_cast<long long>(of_step.memory + heap_bytes),
      static_cast<long long>(of_step.gradients), static_cast<long long>(of_step.flops),
      static_cast<long long>(of_step.bytes), of_step.note);
  std::fflush(stdout);
  std::string word;
  for (int count = 0; std::cin >> word >> count && word == "run";) {
    step();  // not timed, because the caches hold the data of other contestants
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) step();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::printf("%.9g\n", taken.count());
    std::fflush(stdout);
  }
}

}  // namespace contestant
