// Work shared by threads: OpenMP's, where a program is compiled with it (-fopenmp).
//
// A kernel is cut into parts that write different numbers, and each number is computed in the same order in whichever
// part it lies, so that a step has the same bits for any number of threads. Each thread rounds as a step does.
#pragma once

#include "cairn/cost/parts.hpp"
#include "cairn/kernel/float_mode.hpp"

#ifdef _OPENMP
#include <atomic>
#include <exception>
#include <omp.h>
#include <pthread.h>
#endif

namespace cairn::kernel {

/// True if the program is compiled with OpenMP, so that it can use more than one thread.
#ifdef _OPENMP
inline constexpr bool threads_exist = true;
#else
inline constexpr bool threads_exist = false;
#endif

#ifdef _OPENMP
/// True in a process that was forked from one that had used threads. The child has none of the
/// parent's worker threads, but libgomp would wait for the worker threads for ever.
inline bool threads_were_lost = false;
#endif

/// Returns the number of threads that a plan step gets: at most `wanted`, at most the maximum of OpenMP, and exactly 1
/// without OpenMP or after a fork that lost the threads.
inline int threads_at_hand([[maybe_unused]] int wanted) {
#ifdef _OPENMP
  const int threads = threads_were_lost ? 1 : std::min(wanted, omp_get_max_threads());
  if (threads > 1) {
    [[maybe_unused]] static const int watched = pthread_atfork(nullptr, nullptr, [] { threads_were_lost = true; });
  }
  return threads;
#else
  return 1;
#endif
}

#ifdef _OPENMP
/// Calls work(body, part) for each part, on a thread of OpenMP each, in the mode of a step. An exception must not leave
/// such a thread: the first comes when all parts have ended. Compiled once, whatever the work.
[[gnu::noinline]] inline void call_on_threads(int parts, void (*work)(void* body, int part), void* body) {
  [[maybe_unused]] std::atomic_flag has_thrown;
  [[maybe_unused]] std::exception_ptr thrown;
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    const default_float_mode mode;
#if __cpp_exceptions
    try {
      work(body, part);
    } catch (...) {
      if (!has_thrown.test_and_set()) thrown = std::current_exception();
    }
#else
    work(body, part);
#endif
  }
#if __cpp_exceptions
  if (thrown) std::rethrow_exception(thrown);
#endif
}
#endif

/// Calls body(part) for each part, on as many threads.
template <class Body>
void in_parts(int parts, Body body) {
  if (parts == 1) return body(0);
#ifdef _OPENMP
  call_on_threads(parts, [](void* own, int part) { (*static_cast<Body*>(own))(part); }, &body);
#else
  for (int part = 0; part < parts; ++part) body(part);
#endif
}

/// Some work that can be cut at multiples of `unit`: a share of [0, extent) for each thread, or all of it for one where
/// it is not worth a second.
struct shares {
  std::int64_t work, extent, unit = 1;

  template <class Body>
  void operator()(int threads, Body body) const {
    const int parts = threads == 1 ? 1 : std::min(parts_of(work, (extent + unit - 1) / unit), threads);
    if (parts == 1) return body(range{0, extent});
    in_parts(parts, [this, parts, &body](int part) { body(share(extent, unit, part, parts)); });
  }
};

}  // namespace cairn::kernel
