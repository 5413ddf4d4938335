// Helpers that the tests of kernels share. They provide numbers to compute with, results with guarded memory around
// them, and ways to run kernels as plan steps run them.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cairn/graph/loop_table.hpp>
#include <cairn/kernel/run.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "worse.hpp"

namespace kernel_check {

template <class Real>
inline constexpr double epsilon = std::numeric_limits<Real>::epsilon();
template <class Real>
inline constexpr Real infinity = std::numeric_limits<Real>::infinity();
template <class Real>
inline constexpr Real no_number = std::numeric_limits<Real>::quiet_NaN();

/// The extents at which the kernels are tested. They lie around one, two, four and more registers of every width.
template <int... N>
struct sizes {};
using awkward = sizes<1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100>;
using few = sizes<1, 3, 8, 17, 33>;

template <int... N, class Test>
void for_each(sizes<N...>, Test test) {
  (test.template operator()<N>(), ...);
}

/// Numbers in [-scale, scale), which are the same in every run. The vector has exactly n elements, so that a sanitizer
/// notices reads past its end.
template <class Real>
std::vector<Real> numbers(std::int64_t n, Real scale = 1) {
  static std::uint32_t state = 1;
  std::vector<Real> values(static_cast<std::size_t>(n));
  for (Real& x : values) {
    state = state * 1664525U + 1013904223U;
    x = (static_cast<Real>(state >> 8) / (1 << 23) - 1) * scale;
  }
  return values;
}

/// `normal` returns a number as the instructions for bf16 read it. `add_product` computes what these instructions add.
/// A product is exact, unless it is too small for a processor without fused multiply-adds.
inline float normal(float x) { return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0F, x) : x; }
inline float add_product(cairn::bf16 a, cairn::bf16 b, float sum) {
  const float x = normal(static_cast<float>(a)), y = normal(static_cast<float>(b));
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return normal(std::fma(x, y, sum));
#else
  return normal(normal(x * y) + sum);
#endif
}
/// Random numbers that are already rounded to bf16.
inline std::vector<cairn::bf16> drawn_halves(std::int64_t n, float scale = 1) {
  std::vector<cairn::bf16> out;
  for (const float x : numbers<float>(n, scale)) out.emplace_back(x);
  return out;
}

inline std::vector<std::int32_t> labels(int n, int classes) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(n));
  std::int32_t label = 0;
  for (auto& x : values) x = label = (label * 7 + 3) % classes;
  return values;
}

/// n numbers that lie between other numbers and are not aligned to registers.
template <class Real>
class guarded {
  static constexpr std::size_t margin = 34;
  static constexpr Real untouched = static_cast<Real>(93.0F);
  std::vector<Real> cells;

 public:
  explicit guarded(std::int64_t n) : cells(static_cast<std::size_t>(n) + 2 * margin, untouched) {}
  explicit guarded(const std::vector<Real>& values) : guarded(std::ssize(values)) {
    std::copy(values.begin(), values.end(), data());
  }
  Real* data() { return cells.data() + margin; }
  bool intact() const {
    for (std::size_t i = 0; i < margin; ++i)
      for (const Real& cell : {cells[i], cells[cells.size() - 1 - i]})
        if (std::memcmp(&cell, &untouched, sizeof cell) != 0) return false;
    return true;
  }
};

/// Returns the largest value of |x - y| / bound(i). A result that is not a number always counts as a failure.
template <class Real, class Bound>
double worst(const Real* x, const Real* y, std::int64_t n, Bound bound) {
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = worse(most, std::abs(double{x[i]} - double{y[i]}) / bound(i));
  return most;
}

/// A tensor of the program's numbers, or of elements of another type.
template <cairn::shape S, cairn::element_type E = {}>
struct array {
  static constexpr cairn::shape shape = S;
  static constexpr cairn::element_type element = E;
};

/// Runs the kernel of Op on tensors of these types. The operands are the results, then the arguments, then the
/// workspace. Checks take function pointers, so that they are compiled once for all shapes.
using kernel_pointer = void (*)(std::vector<const void*>, int);
template <class Op, class Real, class... Tensors>
void run_kernel(std::vector<const void*> operands, int threads = 1) {
  cairn::kernels::run<Op, Real, Tensors...>(nullptr, const_cast<void* const*>(operands.data()), threads);
}

/// The table for a fused loop over {extents}. Each input is repeated along the given axes.
class table_of {
  std::vector<std::int64_t> strides;
  cairn::graphs::loop_table table;

 public:
  table_of(const cairn::shape& extents, std::initializer_list<cairn::detail::axis_set> repeated_along) {
    table.columns = extents[-1];
    table.rows = extents.count() / table.columns;
    table.outer = extents.rank - 1;
    for (int axis = 0; axis < table.outer; ++axis) table.extent[axis] = extents.extent[axis];
    for (const cairn::detail::axis_set repeated : repeated_along) {
      for (int axis = 0; axis < table.outer; ++axis) {
        std::int64_t stride = 1;
        for (int k = axis + 1; k < extents.rank; ++k) stride *= (repeated >> k & 1U) != 0 ? 1 : extents.extent[k];
        strides.push_back((repeated >> axis & 1U) != 0 ? 0 : stride);
      }
    }
    table.strides = strides.data();
  }
  table_of(const table_of&) = delete;
  const cairn::graphs::loop_table& operator*() const { return table; }
};

}  // namespace kernel_check
