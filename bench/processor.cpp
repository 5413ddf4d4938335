// Measures the limits of a processor. `processor THREADS` prints the FLOP/s of float multiply-adds in registers, and
// the bytes/s of a triad over arrays that are far larger than the caches.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int width =
#if defined(__AVX512F__)
    16;
#elif defined(__AVX__)
    8;
#else
    4;
#endif
using vec [[gnu::vector_size(width * sizeof(float))]] = float;

/// Returns the most work per second of `tries` tries, for all threads together. Each try is short, so that some tries
/// are not disturbed by other programs. `prepare(thread)` returns the function that a thread runs.
double best(int threads, int tries, double work, auto prepare) {
  using clock = std::chrono::steady_clock;
  double most = 0;
  std::barrier together(threads);
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      auto body = prepare(t);
      body();
      for (int i = 0; i < tries; ++i) {
        together.arrive_and_wait();
        const auto begin = clock::now();
        body();
        together.arrive_and_wait();
        const std::chrono::duration<double> taken = clock::now() - begin;
        if (t == 0) most = std::max(most, threads * work / taken.count());
      }
    });
  }
  running.clear();
  return most;
}

volatile float start = 0, sink;

/// Measures FLOP/s. 16 chains hide the latency of a multiply-add on processors that start two of them per cycle. The
/// first value of each chain comes from a volatile variable, so the compiler cannot merge the chains.
double flops(int threads) {
  constexpr int chains = 16, rounds = 250'000;
  return best(threads, 500, 2.0 * width * chains * rounds, [](int) {
    return [] {
      vec sum[chains];
      for (vec& s : sum) s = vec{} + start;
      const vec a = vec{} + (start + 0.999F), b = vec{} + (start + 0.001F);
      for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
        for (vec& s : sum) s = s * a + b;
      }
      vec all = {};
      for (const vec& s : sum) all += s;
      sink = all[0];
    };
  });
}

/// Measures bytes/s with a = b + s c. The arrays have 32 MiB each, two are read and one is written. If the processor
/// reads memory before it writes it, these reads are not counted.
double bandwidth(int threads) {
  constexpr std::size_t size = std::size_t{1} << 23;
  return best(threads, 100, 3.0 * size * sizeof(float), [](int) {
    return [a = std::vector<float>(size), b = std::vector<float>(size, 1), c = std::vector<float>(size, 2)]() mutable {
      const float s = start + 3;
      for (std::size_t i = 0; i < size; ++i) a[i] = b[i] + s * c[i];
      sink = a[size / 2];
    };
  });
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::max(std::atoi(arguments[1]), 1) : 1;
  std::printf("{\"flops\": %.4g, \"bandwidth\": %.4g}\n", flops(threads), bandwidth(threads));
}
