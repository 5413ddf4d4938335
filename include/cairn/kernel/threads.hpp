// These functions share the work of a kernel between threads. The threads are those of OpenMP if the program is
// compiled with OpenMP (-fopenmp); otherwise there is one thread.
//
// A kernel is divided into parts that write different numbers. The order of the operations that compute a number does
// not depend on the part that contains the number. Thus a training step has the same bits for any number of threads.
// Each thread uses the same float mode as the training step.
#pragma once

#include "cairn/cost/parts.hpp"
#include "cairn/kernel/float_mode.hpp"

#ifdef _OPENMP
#include <atomic>
#include <exception>
#include <omp.h>
#include <pthread.h>
#endif

namespace cairn::kernels {

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
/// Calls work(body, part) for each part, each on its own OpenMP thread, in the default float mode. An exception must
/// not leave an OpenMP thread. Therefore the function catches exceptions and rethrows the first one after all parts
/// have ended. The function is compiled once and serves every kind of work.
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

/// Calls body(part) for each part from 0 to parts - 1, with one thread for each part.
template <class Body>
void in_parts(int parts, Body body) {
  if (parts == 1) return body(0);
#ifdef _OPENMP
  call_on_threads(parts, [](void* own, int part) { (*static_cast<Body*>(own))(part); }, &body);
#else
  for (int part = 0; part < parts; ++part) body(part);
#endif
}

/// Work on the range [0, extent) that can be divided at multiples of `unit`. Each thread gets a share of the range. One
/// thread gets the whole range if `work` is too small for a second thread.
struct shares {
  std::int64_t work, extent, unit = 1;

  template <class Body>
  void operator()(int threads, Body body) const {
    const int parts = threads == 1 ? 1 : std::min(parts_of(work, (extent + unit - 1) / unit), threads);
    if (parts == 1) return body(costs::range{0, extent});
    in_parts(parts, [this, parts, &body](int part) { body(costs::share(extent, unit, part, parts)); });
  }
};

}  // namespace cairn::kernels
