// What a processor can do at most: `report::roof_of<float>(threads)` measures its multiply-adds in registers, and the
// bytes that it moves, in half a second.
#pragma once

#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace cairn::report {

/// Bytes a second of a triad over arrays of so many bytes in all: large ones lie in memory, smaller ones in a cache.
struct reach {
  std::int64_t bytes;
  double rate;
};

/// No kernel is faster: Williams et al., Roofline (2009), with a roof for each size of operands.
struct roof {
  double flops = 0;            ///< a second
  std::vector<reach> moved{};  ///< by size, from the smallest on

  double rate(std::int64_t bytes) const {
    const auto fits = std::ranges::find_if(moved, [&](const reach& r) { return bytes <= r.bytes; });
    return fits == moved.end() ? moved.back().rate : fits->rate;
  }
  double seconds_of_work(std::int64_t operations) const { return static_cast<double>(operations) / flops; }
  double seconds_of_memory(std::int64_t bytes) const { return static_cast<double>(bytes) / rate(bytes); }
};

namespace detail {
using clock = std::chrono::steady_clock;
inline double seconds_between(clock::time_point begin, clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// The most work a second of what runs of `body` reach in a twentieth of a second.
inline double best_rate(double work, auto body) {
  double best = 0;
  const auto start = clock::now();
  for (auto begin = start; seconds_between(start, begin) < 0.05;) {
    body();
    const auto end = clock::now();
    best = std::max(best, work / seconds_between(begin, end));
    begin = end;
  }
  return best;
}

/// As many chains as hide the latency of a multiply-add wherever two start in a cycle.
template <class Real, std::size_t... Chain>
[[gnu::noinline]] Real multiply_adds(int rounds, std::index_sequence<Chain...>) {
  using numbers = kernel::lanes<Real>;
  volatile Real start = 1;  // read for each chain, or all would be one
  numbers sums[]{numbers::fill(static_cast<Real>(Chain) + start)...};
  const numbers factor = numbers::fill(Real(0.999)), term = numbers::fill(Real(0.001));
  for (int i = 0; i < rounds; ++i) ((sums[Chain] = fused(sums[Chain], factor, term)), ...);
  return sum((sums[Chain] + ...));
}
template <class Real>
double measure_flops(int threads) {
  static constexpr int chains = 16, rounds = 20'000;
  return best_rate(2.0 * kernel::lanes<Real>::width * chains * rounds * threads, [&] {
    kernel::in_parts(threads, [](int) {
      [[maybe_unused]] volatile const Real used = multiply_adds<Real>(rounds, std::make_index_sequence<chains>{});
    });
  });
}

/// a = b + c x, two read and one written, of `count` numbers each; a multiple of a register's.
template <class Real>
[[gnu::noinline]] void triad(Real* a, const Real* b, const Real* c, Real x, std::int64_t count) {
  using numbers = kernel::lanes<Real>;
  for (std::int64_t i = 0; i < count; i += numbers::width)
    fused(numbers::load(c + i), numbers::fill(x), numbers::load(b + i)).store(a + i);
}
/// From what a core's first cache holds to what no cache does, each thread with arrays of its own.
template <class Real>
std::vector<reach> measure_memory(int threads) {
  constexpr std::int64_t smallest = 1 << 16, largest = 1 << 28, pass = 1 << 22;
  std::vector<reach> found;
  const std::unique_ptr<Real[]> all(new Real[largest / sizeof(Real)]);
  const auto each = [&](std::int64_t bytes, std::int64_t times, auto body) {
    const std::int64_t count = bytes / 3 / threads / 64 * 64 / static_cast<std::int64_t>(sizeof(Real));
    kernel::in_parts(threads, [&](int part) {
      for (std::int64_t k = 0; k < times; ++k) body(all.get() + 3 * count * part, count);
    });
  };
  each(largest, 1, [](Real* a, std::int64_t count) { std::fill_n(a, 3 * count, Real{1}); });
  for (std::int64_t bytes = largest; bytes >= smallest * threads; bytes /= 4) {
    const std::int64_t times = std::max<std::int64_t>(pass * threads / bytes, 1);
    const double rate = best_rate(static_cast<double>(bytes * times), [&] {
      each(bytes, times, [](Real* a, std::int64_t count) { triad(a, a + count, a + 2 * count, Real(0.5), count); });
    });
    found.insert(found.begin(), {bytes, std::max(rate, found.empty() ? 0 : found.front().rate)});
  }
  return found;
}
}  // namespace detail

/// Of products in a program over Real, on so many threads.
template <class Real>
roof roof_of(int threads) {
  return {detail::measure_flops<Real>(threads), detail::measure_memory<Real>(threads)};
}

}  // namespace cairn::report
