// Measures the highest speed of a processor: `report::roof_of<float>(threads)` measures multiply-adds in registers, and
// the bytes that are moved per second. It takes about half a second.
#pragma once

#include "cairn/base/macros_aside.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace cairn::report {

/// The bytes per second of a triad (a = b + c x) over arrays of `bytes` bytes together. Large arrays lie in memory,
/// smaller ones in a cache.
struct reach {
  std::int64_t bytes;
  double rate;
};

/// An upper bound for the speed of kernels, as in Williams et al., Roofline (2009), with a roof for each size of
/// operands.
struct roof {
  double flops = 0;            ///< floating-point operations per second
  std::vector<reach> moved{};  ///< in the order of sizes, the smallest first

  /// Returns the bytes per second for operands of `bytes` bytes together.
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

/// Returns the highest work per second of at least 5 runs of `body(part)` on each thread. Each thread has a clock of
/// its own, because other programs may also use the cores.
inline double best_rate(int threads, double work, auto body) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  double best = 0;
  const auto start = clock::now();
  for (int runs = 0; runs < 5 || seconds_between(start, clock::now()) < 0.05; ++runs) {
    kernels::in_parts(threads, [&](int part) {
      const auto begin = clock::now();
      body(part);
      rates[static_cast<std::size_t>(part)] = work / seconds_between(begin, clock::now());
    });
    best = std::max(best, std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  return best;
}

/// Runs chains of dependent multiply-adds. The number of chains is large enough to hide the latency of a multiply-add
/// on processors that start two of them per cycle, and small enough to fit into 16 registers.
template <class Real, std::size_t... Chain>
[[gnu::noinline]] Real multiply_adds(int rounds, std::index_sequence<Chain...>) {
  using numbers = kernels::lanes<Real>;
  volatile Real start = 1;  // read again for each chain, because the compiler would otherwise merge the chains
  numbers sums[]{numbers::fill(static_cast<Real>(Chain) + start)...};
  const numbers factor = numbers::fill(Real(0.999)), term = numbers::fill(Real(0.001));
  for (int i = 0; i < rounds; ++i) ((sums[Chain] = fused(sums[Chain], factor, term)), ...);
  return sum((sums[Chain] + ...));
}
template <class Real>
double measure_flops(int threads) {
  static constexpr int chains = 12, rounds = 20'000;
  return best_rate(threads, 2.0 * kernels::lanes<Real>::width * chains * rounds, [](int) {
    [[maybe_unused]] volatile const Real used = multiply_adds<Real>(rounds, std::make_index_sequence<chains>{});
  });
}

/// Computes a = b + c x. Two arrays are read and one is written. Each array has `count` numbers, which is a multiple of
/// a register's numbers.
template <class Real>
[[gnu::noinline]] void triad(Real* a, const Real* b, const Real* c, Real x, std::int64_t count) {
  using kernels::fused;
  using numbers = kernels::lanes<Real>;
  for (std::int64_t i = 0; i < count; i += numbers::width)
    fused(numbers::load(c + i), numbers::fill(x), numbers::load(b + i)).store(a + i);
}
/// Measures sizes from what fits into a core's first cache to what fits into no cache. Each thread has arrays of its
/// own.
template <class Real>
std::vector<reach> measure_memory(int threads) {
  constexpr std::int64_t smallest = 1 << 16, largest = 1 << 28, each = 1 << 22;
  const auto count = [&](std::int64_t bytes) {  // numbers in one array of a thread, in whole registers
    return bytes / 3 / threads / 64 * 64 / static_cast<std::int64_t>(sizeof(Real));
  };
  const std::unique_ptr<Real[]> all(new Real[largest / sizeof(Real)]);
  kernels::in_parts(threads,
                    [&](int part) { std::fill_n(all.get() + 3 * count(largest) * part, 3 * count(largest), Real{1}); });
  std::vector<reach> found;
  for (std::int64_t bytes = largest; bytes >= smallest * threads; bytes /= 4) {
    const std::int64_t n = count(bytes), times = std::max<std::int64_t>(each * threads / bytes, 1);
    const double work = static_cast<double>(3 * n * times) * sizeof(Real);
    const double rate = best_rate(threads, work, [&](int part) {
      Real* const a = all.get() + 3 * n * part;
      for (std::int64_t k = 0; k < times; ++k) triad(a, a + n, a + 2 * n, Real(0.5), n);
    });
    found.insert(found.begin(), {bytes, std::max(rate, found.empty() ? 0 : found.front().rate)});
  }
  return found;
}
}  // namespace detail

/// Measures the roof for kernels of a program with numbers of type Real, on `threads` threads. Throws
/// std::invalid_argument if `threads` is below 1.
template <class Real>
roof roof_of(int threads) {
  cairn::detail::check_settings("roof_of", std::array{setting::at_least_one("threads", threads)});
  return {detail::measure_flops<Real>(threads), detail::measure_memory<Real>(threads)};
}

}  // namespace cairn::report

#include "cairn/base/macros_back.hpp"
