// Tensors joined along an axis. For each index of the axes before that axis, a tensor has a run of numbers that lie
// side by side: runs are copied whole.
#pragma once

#include "cairn/expr/concatenate.hpp"
#include "cairn/kernel/run.hpp"
#include "cairn/kernel/threads.hpp"

#include <cstring>

namespace cairn {

namespace kernel {

/// Bytes for one index of the axes before `axis`.
constexpr std::int64_t run_bytes(const shape& s, int axis, std::int64_t number_bytes) {
  std::int64_t n = number_bytes;
  for (int k = axis < 0 ? s.rank + axis : axis; k < s.rank; ++k) n *= s.extent[k];
  return n;
}

/// Some arrays, by the bytes of a run of each, and how many runs they have.
struct joined_runs {
  const std::int64_t* bytes;
  int count;
  std::int64_t runs, step;  ///< the bytes of all
};

/// out = the arrays `in` one after the other, run by run. Threads share the runs, or the bytes of the only one.
[[gnu::noinline]] inline void concatenate(const joined_runs& all, void* const* in, void* out, int threads = 1) {
  const bool one = all.runs == 1;
  const std::int64_t work = 10 * all.runs * all.step;  // a number moved counts as forty
  shares{work, one ? all.step : all.runs, one ? 64 : 1}(threads, [&all, in, out, one](range own) {
    std::byte* const to = static_cast<std::byte*>(out);
    const range runs = one ? range{0, 1} : own, bytes = one ? own : range{0, all.step};
    for (auto run = runs.begin; run < runs.end; ++run) {
      std::int64_t begin = 0;
      for (int i = 0; i < all.count; begin += all.bytes[i++]) {
        const std::int64_t first = std::max(bytes.begin, begin), last = std::min(bytes.end, begin + all.bytes[i]);
        if (first >= last) continue;
        std::memcpy(to + run * all.step + first,
                    static_cast<const std::byte*>(in[i]) + run * all.bytes[i] + first - begin,
                    static_cast<std::size_t>(last - first));
      }
    }
  });
}

}  // namespace kernel

template <int Axis, class Real, class X, class... More>
void compute(concatenate_op<Axis>, signature<Real, X, More...>, void* const* p, int threads) {
  constexpr std::int64_t size = sizeof(stored_as<X::element.type, Real>);
  static constexpr std::int64_t bytes[]{kernel::run_bytes(X::shape, Axis, size),
                                        kernel::run_bytes(More::shape, Axis, size)...};
  constexpr kernel::joined_runs all{
      bytes, 1 + static_cast<int>(sizeof...(More)), X::shape.count() * size / bytes[0],
      (kernel::run_bytes(X::shape, Axis, size) + ... + kernel::run_bytes(More::shape, Axis, size))};
  kernel::concatenate(all, p + 1, p[0], threads);
}

}  // namespace cairn
