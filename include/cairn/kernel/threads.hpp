// Work shared by threads: OpenMP's, where a program is compiled with it (-fopenmp).
//
// A kernel is cut into parts that write different numbers, and each number is computed in the same order in whichever
// part it lies, so that a step has the same bits for any number of threads. Each thread rounds as a step does.
#pragma once

#include "cairn/core/parts.hpp"
#include "cairn/kernel/float_mode.hpp"

#include <atomic>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#endif

namespace cairn::kernel {

/// Whether a program can have more than one.
#ifdef _OPENMP
inline constexpr bool threads_exist = true;
#else
inline constexpr bool threads_exist = false;
#endif

#ifdef _OPENMP
/// True in a process that was forked from one that had used threads. None of these threads exists in the child, but
/// libgomp waits for them for ever.
inline bool threads_were_lost = false;
#endif

/// Threads that a step gets of those it wants.
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

/// Keeps an exception that leaves a part of some work, as none may leave a thread of OpenMP.
class part_exception {
 public:
#if __cpp_exceptions
  void keep_of(auto& body, int part) {
    try {
      body(part);
    } catch (...) {
      if (!is_kept_.test_and_set()) kept_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (kept_) std::rethrow_exception(kept_);
  }

 private:
  std::atomic_flag is_kept_;
  std::exception_ptr kept_;
#else
  static void keep_of(auto& body, int part) { body(part); }
  static void rethrow() {}
#endif
};

/// Calls body(part) for each part. Throws an exception that a part threw, when all parts have ended.
template <class Body>
void in_parts(int parts, Body body) {
  if (parts == 1) return body(0);
  part_exception thrown;
#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1) num_threads(parts)
#endif
  for (int part = 0; part < parts; ++part) {
    const default_float_mode mode;
    thrown.keep_of(body, part);
  }
  thrown.rethrow();
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
