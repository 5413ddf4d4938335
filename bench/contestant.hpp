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
#include <type_traits>
#include <vector>

namespace contestant {

/// `PROGRAM FOLDER FORM`: where the tensors are, and `plain` or `ckpt`, or these after `optimizer-`: with an optimizer
/// beside the step.
struct arguments {
  std::string folder;
  std::string_view form;
  bool ckpt, beside;
  arguments(int count, char** given)
      : folder(count == 3 ? given[1] : ""),
        form(count == 3 ? given[2] : ""),
        ckpt(form.ends_with("ckpt")),
        beside(form.starts_with("optimizer")) {
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
  /// All parameters of a program; states are left as they are.
  void load(auto& step) const {
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

/// What is known of a step before it runs; `bytes` are those that it has to move at the least, 0 where that does not
/// limit it.
struct known {
  std::int64_t memory, flops = 0, bytes = 0;
};

/// Speaks with scenario.py until it hangs up. `step` makes one step and returns its loss.
inline void serve(auto step, known of_step) {
  const auto first = step();
  step();
  const long before = heap("heap_live");
  heap("heap_peak_reset");
  step();
  const long heap_bytes = heap("heap_peak") - before;
  step();
  const auto later = step();
  std::printf("ready {\"first\": %.17g, \"later\": %.17g, \"memory\": %lld, \"flops\": %lld, \"bytes\": %lld}\n",
              static_cast<double>(first), static_cast<double>(later),
              static_cast<long long>(of_step.memory + heap_bytes), static_cast<long long>(of_step.flops),
              static_cast<long long>(of_step.bytes));
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

template <class Program>
void serve(auto step, std::int64_t bytes = 0) {
  serve(step, {Program::memory().peak_bytes, Program::flops().total(), bytes});
}

/// Trains by a rule, with ckpt or without it, in the step or by an optimizer beside it: `feed(given, steps_of)` calls
/// steps_of(bind<...>...) with a batch.
template <auto Loss, auto Rule>
void train(int count, char** words, auto feed) {
  const arguments given(count, words);
  const auto in = [&]<class Program>(std::type_identity<Program>) {
    Program step;
    given.load(step);
    feed(given, [&](const auto&... bound) {
      if constexpr (Program::updates_parameters) {
        serve<Program>([&] { return step.train(bound...); });
      } else {
        cairn::rule_optimizer optimizer{step, Rule};
        serve<Program>([&] {
          const float loss = step.value_and_grad(bound...);
          optimizer.update();
          return loss;
        });
      }
    });
  };
  using cairn::plain, cairn::program, cairn::threads, cairn::update;
  if (given.beside)
    given.ckpt ? in(std::type_identity<program<Loss, threads<2>>>{})
               : in(std::type_identity<program<Loss, plain, threads<2>>>{});
  else
    given.ckpt ? in(std::type_identity<program<Loss, update<Rule>, threads<2>>>{})
               : in(std::type_identity<program<Loss, update<Rule>, plain, threads<2>>>{});
}

}  // namespace contestant
