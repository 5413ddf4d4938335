// Work shared by threads: OpenMP's, where a program is compiled with it (-fopenmp).
//
// A kernel is cut into parts that write different numbers, and each number is computed in the same order in whichever
// part it lies, so that a step has the same bits for any number of threads.
#pragma once

#include "cairn/core/parts.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace cairn::kernel {

/// Threads that a step gets of those it wants.
inline int threads_at_hand([[maybe_unused]] int wanted) {
#ifdef _OPENMP
  return std::min(wanted, omp_get_max_threads());
#else
  return 1;
#endif
}

/// Calls body(part) for each part.
template <class Body>
void in_parts(int parts, Body body) {
  if (parts == 1) return body(0);
#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1) num_threads(parts)
#endif
  for (int part = 0; part < parts; ++part) body(part);
}

/// Calls body(own) for each thread's share of [0, Extent), cut at multiples of Unit; once where the work is not worth a
/// second thread.
template <std::int64_t Work, std::int64_t Extent, std::int64_t Unit = 1, class Body>
void in_shares(int threads, Body body) {
  constexpr int most = parts_of(Work, (Extent + Unit - 1) / Unit);
  if constexpr (most == 1) {
    body(range{0, Extent});
  } else {
    const int parts = std::min(most, threads);
    in_parts(parts, [=](int part) { body(share(Extent, Unit, part, parts)); });
  }
}

}  // namespace cairn::kernel
