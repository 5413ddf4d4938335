// Concatenates tensors along an axis. For each index of the axes before that axis, a tensor has a run of numbers that
// are side by side. Each run is copied as a whole.
#pragma once

#include "cairn/kernel/run.hpp"
#include "cairn/kernel/threads.hpp"
#include "cairn/op/concatenate.hpp"

#include <cstring>

namespace cairn::kernels {

/// The sizes of concatenated arrays: their extents along the axis, the bytes of one index along the axis, and the
/// number of runs of each array. One index along the axis has the numbers of all axes after it.
struct joined_arrays {
  std::span<const int> extents;
  int whole;  ///< extent of the result
  std::int64_t index_bytes, runs;
};

/// Copies the arrays `in` to `out`, one after another, run by run. Threads share the runs. If there is only one run,
/// threads share its bytes.
[[gnu::noinline]] inline void concatenate(const joined_arrays& all, void* const* in, void* out, int threads = 1) {
  const bool one = all.runs == 1;
  const std::int64_t step = all.whole * all.index_bytes, work = 10 * all.runs * step;  // 40 for a number of 4 bytes
  shares{work, one ? step : all.runs, one ? 64 : 1}(threads, [&all, in, out, one, step](costs::range own) {
    std::byte* const to = static_cast<std::byte*>(out);
    const costs::range runs = one ? costs::range{0, 1} : own, bytes = one ? own : costs::range{0, step};
    for (auto run = runs.begin; run < runs.end; ++run) {
      std::int64_t begin = 0, end = 0;
      for (std::size_t i = 0; i < all.extents.size(); ++i, begin = end) {
        const std::int64_t size = all.extents[i] * all.index_bytes;
        end = begin + size;
        const std::int64_t first = std::max(bytes.begin, begin), last = std::min(bytes.end, end);
        if (first >= last) continue;
        std::memcpy(to + run * step + first, static_cast<const std::byte*>(in[i]) + run * size + first - begin,
                    static_cast<std::size_t>(last - first));
      }
    }
  });
}

}  // namespace cairn::kernels

namespace cairn::lang {

template <int Axis, class Real, class X, class... More>
void compute(concatenate_op<Axis>, signature<Real, X, More...>, void* const* p, const kernels::launch& how) {
  static constexpr int extents[]{X::shape[Axis], More::shape[Axis]...};
  constexpr int whole = (X::shape[Axis] + ... + More::shape[Axis]), axis = Axis < 0 ? X::shape.rank + Axis : Axis;
  constexpr std::int64_t inner = [] {
    std::int64_t n = 1;
    for (int k = axis + 1; k < X::shape.rank; ++k) n *= X::shape.extent[k];
    return n;
  }();
  const kernels::joined_arrays all{how.pieces_or(extents), whole,
                                   inner * std::int64_t{sizeof(stored_as<X::element.type, Real>)},
                                   X::shape.count() / (inner * extents[0])};
  kernels::concatenate(all, p + 1, p[0], how.threads);
}

}  // namespace cairn::lang
