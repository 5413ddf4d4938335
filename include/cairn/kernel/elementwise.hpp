// Elementwise operations on registers, and the loop that runs a fused group of them.
#pragma once

#include "cairn/expr/elementwise.hpp"
#include "cairn/ir/operation.hpp"
#include "cairn/kernel/simd.hpp"
#include "cairn/kernel/threads.hpp"

#include <numbers>
#include <utility>

namespace cairn {

namespace kernel {
/// A number in every lane.
template <class V>
[[gnu::always_inline]] inline V all(double x) {
  if constexpr (std::floating_point<V>) return static_cast<V>(x);
  else return V::fill(static_cast<decltype(sum(V{}))>(x));
}
}  // namespace kernel

// `lanewise(op, x...)` is an operation on one register V, or on one number. It is found by argument-dependent lookup
// of the operation, so that users can add operations of their own.

template <class V>
[[gnu::always_inline]] inline V lanewise(add_op, V a, V b) {
  return a + b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sub_op, V a, V b) {
  return a - b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(mul_op, V a, V b) {
  return a * b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(div_op, V a, V b) {
  return a / b;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(neg_op, V a) {
  return -a;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(exp_op, V a) {
  using kernel::exp;
  return exp(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(log_op, V a) {
  using kernel::log;
  return log(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sqrt_op, V a) {
  using kernel::sqrt;
  return sqrt(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(tanh_op, V a) {
  using kernel::tanh;
  return tanh(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(square_op, V a) {
  return a * a;
}
template <shape To, class V>
[[gnu::always_inline]] inline V lanewise(expand_op<To>, V a) {
  return a;
}
template <class V>
[[gnu::always_inline]] inline V lanewise(sigmoid_op, V a) {
  using kernel::exp;
  const V one = kernel::all<V>(1);
  return one / (one + exp(-a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(relu_op, V a) {
  using kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0);
  return select(greater(zero, a), zero, a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(step_op, V a) {
  using kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0);
  return select(greater(a, zero), kernel::all<V>(1), zero);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(maximum_op, V a, V b) {
  using kernel::equal, kernel::greater, kernel::select;
  return select(greater(a, b), a, select(equal(a, a), b, a));
}
template <class V>
[[gnu::always_inline]] inline V lanewise(share_op, V a, V b) {
  using kernel::equal, kernel::greater, kernel::select;
  const V zero = kernel::all<V>(0);
  return select(greater(a, b), kernel::all<V>(1), select(equal(a, b), kernel::all<V>(0.5), zero));
}

namespace kernel {
/// Phi(x), the normal distribution.
template <class V>
[[gnu::always_inline]] inline V normal_distribution(V x) {
  const V half = all<V>(0.5);
  return half + half * erf(x * all<V>(std::numbers::sqrt2 / 2));
}
}  // namespace kernel

template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_op, V a) {
  return a * kernel::normal_distribution(a);
}
template <class V>
[[gnu::always_inline]] inline V lanewise(gelu_slope_op, V a) {
  using kernel::exp;
  constexpr double density_at_zero = 0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;
  const V density = kernel::all<V>(density_at_zero) * exp(a * a * kernel::all<V>(-0.5));
  return kernel::normal_distribution(a) + a * density;
}

/// The operation behind a pointer: `result` and `arguments` point to registers. A barrier keeps the compiler from
/// merging an operation with its neighbours, so that a value has the same bits in whichever loop it is computed.
template <class Op, class Real>
[[gnu::always_inline]] inline void run_lanes(void* result, const void* const* arguments) {
  using V = kernel::lanes<Real>;
  const auto argument = [&](int i) { return *static_cast<const V*>(arguments[i]); };
  V& out = *static_cast<V*>(result);
  if constexpr (requires(V x) { lanewise(Op{}, x); }) out = lanewise(Op{}, argument(0));
  else if constexpr (requires(V x) { lanewise(Op{}, x, x); }) out = lanewise(Op{}, argument(0), argument(1));
  else out = lanewise(Op{}, argument(0), argument(1), argument(2));
  barrier(out);
}

namespace kernel {

/// An operand that a loop reads: repeated along some axes of the loop, or an immediate constant.
struct loop_operand {
  axis_set stretched = 0;
  bool constant = false;
  double immediate = 0;
};

/// An operation of a loop; argument k >= 0 is the result of operation k, k < 0 is input -k - 1.
struct loop_operation {
  const ir::lane_code* lanes = nullptr;
  int argument[ir::max_arguments] = {};
  bool stored = false;
};

template <auto... V>
struct values {
  static constexpr int count = static_cast<int>(sizeof...(V));
};

/// One pass over `Extents`: loads the inputs, applies the operations in order, stores the results that are read
/// elsewhere. Operands: the stored results, then the inputs that are no constants. A result may lie over an input
/// that is not repeated.
template <class Real, shape Extents, class Inputs, class Code>
struct loop;
template <class Real, shape Extents, loop_operand... Input, loop_operation... Code>
struct loop<Real, Extents, values<Input...>, values<Code...>> {
  using V = lanes<Real>;
  static constexpr int inputs = static_cast<int>(sizeof...(Input)), operations = static_cast<int>(sizeof...(Code));
  static constexpr int stored = (0 + ... + Code.stored);
  static constexpr int inner = Extents.rank == 0 ? 1 : Extents[-1];
  static constexpr std::int64_t outer = Extents.count() / inner;

  struct cursor {
    Real* out[stored];
    const Real* in[inputs + 1];
  };

  /// Threads share the rows, or the only row. An operation counts as ten, a number moved as forty.
  static void run(void* const* operands, int threads = 1) {
    constexpr std::int64_t work = Extents.count() * (10 * operations + 40 * (stored + inputs));
    constexpr std::int64_t extent = outer > 1 ? outer : inner, unit = outer > 1 ? 1 : V::width;
    constexpr int most = parts_of(work, extent / unit + 1);
    const int parts = std::min(most, threads);
    in_parts(parts, [=](int part) {
      const range own = share(extent, unit, part, parts);
      if constexpr (outer > 1) rows(operands, own, {0, inner});
      else rows(operands, {0, 1}, own);
    });
  }

 private:
  static void rows(void* const* operands, range rows, range columns) {
    cursor base;
    for (int k = 0; k < stored; ++k) base.out[k] = static_cast<Real*>(operands[k]);
    int next = stored, k = 0;
    ((base.in[k++] = Input.constant ? nullptr : static_cast<const Real*>(operands[next++])), ...);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      cursor at = base;
      for (Real*& out : at.out) out += row * inner;
      k = 0;
      ((at.in[k++] += row_offset<Input>(row)), ...);
      int i = static_cast<int>(columns.begin);
      for (; i + V::width <= columns.end; i += V::width) step<false>(at, i, V::width);
      if constexpr (inner % V::width != 0)
        if (i < columns.end) step<true>(at, i, inner % V::width);
    }
  }

  /// Whether an operand is one number along a row.
  template <loop_operand Operand>
  static constexpr bool repeats = (Operand.stretched << 1 >> Extents.rank & 1U) != 0;

  /// Where an operand's row begins.
  template <loop_operand Operand>
  [[gnu::always_inline]] static std::int64_t row_offset(std::int64_t row) {
    if constexpr (Operand.constant) return 0;
    std::int64_t offset = 0, stride = repeats<Operand> ? 1 : inner;
    for (int axis = Extents.rank - 2; axis >= 0; --axis) {
      if ((Operand.stretched >> axis & 1U) == 0) {
        offset += row % Extents.extent[axis] * stride;
        stride *= Extents.extent[axis];
      }
      row /= Extents.extent[axis];
    }
    return offset;
  }

  template <bool Tail, loop_operand Operand>
  [[gnu::always_inline]] static V load(const Real* from, int i, int n) {
    if constexpr (Operand.constant) return V::fill(static_cast<Real>(Operand.immediate));
    else if constexpr (repeats<Operand>) return V::fill(*from);
    else if constexpr (Tail) return V::load(from + i, n);
    else return V::load(from + i);
  }

  template <bool Tail>
  [[gnu::always_inline]] static void step(const cursor& at, int i, int n) {
    int k = 0;
    const V in[inputs + 1] = {load<Tail, Input>(at.in[k++], i, n)...};
    V result[operations];
    k = 0;
    (apply<Code>(result, in, k++), ...);
    k = 0;
    int out = 0;
    ((Code.stored ? store<Tail>(result[k], at.out[out++], i, n) : void(), ++k), ...);
  }

  template <loop_operation Operation>
  [[gnu::always_inline]] static void apply(V* result, const V* in, int k) {
    constexpr auto lanes = Operation.lanes->run;
    const void* arguments[ir::max_arguments];
    for (int i = 0; i < ir::max_arguments; ++i) {
      const int a = Operation.argument[i];
      arguments[i] = a < 0 ? in + (-1 - a) : result + a;
    }
    lanes(result + k, arguments);
  }

  template <bool Tail>
  [[gnu::always_inline]] static void store(V value, Real* to, int i, int n) {
    if constexpr (Tail) value.store(to + i, n);
    else value.store(to + i);
  }
};

}  // namespace kernel
}  // namespace cairn
