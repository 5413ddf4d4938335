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

/// Whether a program can have more than one.
#ifdef _OPENMP
inline constexpr bool threads_exist = true;
#else
inline constexpr bool threads_exist = false;
#endif

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
