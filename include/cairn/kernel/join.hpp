// Tensors joined along an axis, and parts cut out of them. For each index of the axes before that axis, a tensor has a
// run of numbers that lie side by side: runs are copied whole.
#pragma once

#include "cairn/core/shape.hpp"
#include "cairn/kernel/threads.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cairn::kernel {

/// Numbers for one index of the axes before `axis`.
constexpr std::int64_t run_length(const shape& s, int axis) {
  std::int64_t n = 1;
  for (int k = axis; k < s.rank; ++k) n *= s.extent[k];
  return n;
}

/// Calls body(i, part, parts) for each of Rows rows of Length numbers. Threads share the rows, or the only one: then
/// each does its part of it.
template <std::int64_t Rows, std::int64_t Length, class Body>
void for_each_row(int threads, Body body) {
  constexpr int most_parts = parts_of(40 * Rows * Length, Rows == 1 ? Length : Rows);
  const int parts = std::min(most_parts, threads);
  in_parts(parts, [=](int part) {
    if constexpr (Rows == 1) {
      body(std::int64_t{0}, part, parts);
    } else {
      const range own = share(Rows, 1, part, parts);
      for (auto i = own.begin; i < own.end; ++i) body(i, 0, 1);
    }
  });
}

/// A part of a run of N numbers; all of a short run is a few moves of registers.
template <std::int64_t N, class Real>
[[gnu::always_inline]] inline void copy_run(const Real* in, Real* out, int part, int parts) {
  if (parts == 1) {
    std::memcpy(out, in, N * sizeof(Real));
  } else {
    const range own = share(N, 64 / sizeof(Real), part, parts);
    std::copy(in + own.begin, in + own.end, out + own.begin);
  }
}
template <std::int64_t N, class Real>
[[gnu::always_inline]] inline void clear_run(Real* out, int part, int parts) {
  const range own = parts == 1 ? range{0, N} : share(N, 64 / sizeof(Real), part, parts);
  std::fill(out + own.begin, out + own.end, Real{0});
}

/// out = the tensors `in`, of shapes First and More, one after the other along Axis.
template <class Real, int Axis, shape First, shape... More>
void concatenate(const std::array<const Real*, 1 + sizeof...(More)>& in, Real* out, int threads = 1) {
  constexpr std::int64_t length = (run_length(First, Axis) + ... + run_length(More, Axis));
  for_each_row<First.count() / run_length(First, Axis), length>(threads, [=](std::int64_t i, int part, int parts) {
    Real* to = out + i * length;
    const auto append = [&]<std::int64_t N>(const Real* from, std::integral_constant<std::int64_t, N>) {
      copy_run<N>(from + i * N, to, part, parts);
      to += N;
    };
    const Real* const* from = in.data();
    append(*from, std::integral_constant<std::int64_t, run_length(First, Axis)>{});
    (append(*++from, std::integral_constant<std::int64_t, run_length(More, Axis)>{}), ...);
  });
}

/// out = elements [Begin, End) of `in` {From} along Axis.
template <class Real, shape From, int Axis, int Begin, int End>
void slice(const Real* in, Real* out, int threads = 1) {
  constexpr std::int64_t step = run_length(From, Axis), each = step / From[Axis], length = (End - Begin) * each;
  for_each_row<From.count() / step, length>(threads, [=](std::int64_t i, int part, int parts) {
    copy_run<length>(in + i * step + Begin * each, out + i * length, part, parts);
  });
}

/// out = `in` {From} between zeros: along Axis, of Extent, it begins at Begin.
template <class Real, shape From, int Axis, int Begin, int Extent>
void pad(const Real* in, Real* out, int threads = 1) {
  constexpr std::int64_t length = run_length(From, Axis), each = length / From[Axis], step = Extent * each;
  constexpr std::int64_t before = Begin * each, after = step - before - length;
  for_each_row<From.count() / length, step>(threads, [=](std::int64_t i, int part, int parts) {
    Real* const to = out + i * step;
    clear_run<before>(to, part, parts);
    copy_run<length>(in + i * length, to + before, part, parts);
    clear_run<after>(to + before + length, part, parts);
  });
}

}  // namespace cairn::kernel
