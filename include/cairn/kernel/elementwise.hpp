// Elementwise operations on registers, and the loop that runs a fused group of them.
#pragma once

#include "cairn/expr/elementwise.hpp"
#include "cairn/ir/operation.hpp"
#include "cairn/kernel/reduce.hpp"

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

/// An operation of a loop; argument k >= 0 is the result of operation k, k < 0 is input -k - 1. Without lanes it is the
/// product that comes first, or the sum of its argument.
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
/// that is not repeated, unless a product comes first that reads it, or that keeps sums in its result. Summed: axes over
/// which a sum goes, of which there is at most one: all, the first or the last.
template <class Real, shape Extents, axis_set Summed, class Inputs, class Code>
struct loop;
template <class Real, shape Extents, axis_set Summed, loop_operand... Input, loop_operation... Code>
struct loop<Real, Extents, Summed, values<Input...>, values<Code...>> {
  using V = lanes<Real>;
  static constexpr int inputs = static_cast<int>(sizeof...(Input)), operations = static_cast<int>(sizeof...(Code));
  static constexpr int stored = (0 + ... + Code.stored);
  static constexpr int operands = stored + (0 + ... + !Input.constant);
  static constexpr int inner = Extents.rank == 0 ? 1 : Extents[-1];
  static constexpr std::int64_t outer = Extents.count() / inner;

  /// Threads share the rows, or the only row; where rows are summed up, columns. An operation counts as ten, a number
  /// moved as forty.
  static void run(void* const* operands, int threads = 1) {
    constexpr std::int64_t work = Extents.count() * (10 * operations + 40 * (stored + inputs));
    if constexpr (Summed != 0 && Extents.rank == 1) {
      const cursor at = start(operands);
      *at.out[total.result] = sum_all<Extents.count(), Real, work>(threads, [&at](std::int64_t begin, auto length) {
        return sum_along<length.value>(at, static_cast<int>(begin));
      });
    } else if constexpr (outer > 1 && Summed != 1) {
      in_shares<work, outer>(threads, [=](range own) { rows(operands, own, {0, inner}); });
    } else {
      in_shares<work, inner, V::width>(threads, [=](range own) { rows(operands, {0, outer}, own); });
    }
  }

  /// Brings what run_tile will read and write into the first-level cache.
  static void fetch_tile(void* const* operands, int row, int column, int height, int width) {
    const cursor base = start(operands);
    for (int r = 0; r < height; ++r) {
      const cursor at = row_of(base, row + r);
      for (int i = column; i < column + width; i += 64 / static_cast<int>(sizeof(Real))) {
        for (Real* out : at.out) fetch(out + i);
        int k = 0;
        ((Input.stretched == 0 && !Input.constant ? fetch(at.in[k] + i) : void(), ++k), ...);
      }
    }
  }

  /// The same for a tile of the product that comes first: `height` rows, `stride` apart, and `width` columns from
  /// (row, column) on.
  static void run_tile(void* const* operands, const Real* values, int stride, int row, int column, int height,
                       int width) {
    const cursor base = start(operands);
    cursor at = row_of(base, row);
    for (int r = 0; r < height; ++r, values += stride) {
      if (width == 2 * V::width) {
        step<false>(at, column, V::width, values);
        step<false>(at, column + V::width, V::width, values + V::width);
      } else {
        int i = 0;
        for (; i + V::width <= width; i += V::width) step<false>(at, column + i, V::width, values + i);
        if constexpr (inner % V::width != 0)
          if (i < width) step<true>(at, column + i, width - i, values + i);
      }
      if constexpr (Extents.rank == 2) {
        for (Real*& out : at.out) out += inner;
        int k = 0;
        ((at.in[k++] += row_offset<Input>(1)), ...);
      } else {
        at = row_of(base, row + r + 1);
      }
    }
  }

 private:
  struct cursor {
    Real* out[stored];
    const Real* in[inputs + 1];
  };
  static constexpr loop_operation code[operations]{Code...};
  static constexpr bool after_product = code[0].lanes == nullptr;
  /// The sum: which of the stored results it is, and the operation whose results it adds.
  struct sum_place {
    int result = 0, of = 0;
  };
  static constexpr sum_place total = [] {
    sum_place at;
    for (int k = 0; Summed != 0 && code[k].lanes != nullptr; ++k)
      at = {at.result + code[k].stored, code[k + 1].argument[0]};
    return at;
  }();

  static cursor start(void* const* operands) {
    cursor base;
    for (int k = 0; k < stored; ++k) base.out[k] = static_cast<Real*>(operands[k]);
    int next = stored, k = 0;
    ((base.in[k++] = Input.constant ? nullptr : static_cast<const Real*>(operands[next++])), ...);
    return base;
  }
  [[gnu::always_inline]] static cursor row_of(const cursor& base, std::int64_t row) {
    cursor at = base;
    for (int k = 0; k < stored; ++k)
      if (Summed == 0 || k != total.result) at.out[k] += row * inner;
    int k = 0;
    ((at.in[k++] += row_offset<Input>(row)), ...);
    return at;
  }

  static void rows(void* const* operands, range rows, range columns) {
    const cursor base = start(operands);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const cursor at = row_of(base, row);
      if constexpr (Summed == 2) {
        at.out[total.result][row] = sum_along<inner>(at, 0);
      } else {
        int i = static_cast<int>(columns.begin);
        for (; i + V::width <= columns.end; i += V::width) add<false>(at, i, V::width, row > 0);
        if constexpr (inner % V::width != 0)
          if (i < columns.end) add<true>(at, i, inner % V::width, row > 0);
      }
    }
  }

  /// A step; where columns are summed, its value is added to their sums.
  template <bool Tail>
  [[gnu::always_inline]] static void add(const cursor& at, int i, int n, bool more) {
    const V value = step<Tail>(at, i, n);
    if constexpr (Summed == 1) {
      Real* const to = at.out[total.result] + i;
      const V before = !more ? V::fill(0) : Tail ? V::load(to, n) : V::load(to);
      store<Tail>(before + value, to, 0, n);
    }
  }

  /// The sum of N elements of a row, from `begin` on.
  template <int N>
  static Real sum_along(const cursor& at, int begin) {
    return sum_row<N, Real>([&at, begin](int i) {
      if (N % V::width == 0 || i + V::width <= N) return step<false>(at, begin + i, V::width);
      return masked(step<true>(at, begin + i, N - i), N - i);
    });
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
        offset += (axis == 0 ? row : row % Extents.extent[axis]) * stride;
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

  /// Returns what is summed.
  template <bool Tail>
  [[gnu::always_inline]] static V step(const cursor& at, int i, int n, const Real* product = nullptr) {
    int k = 0;
    const V in[inputs + 1] = {load<Tail, Input>(at.in[k++], i, n)...};
    V result[operations];
    if constexpr (after_product) result[0] = Tail ? V::load(product, n) : V::load(product);
    k = 0;
    (apply<Code>(result, in, k++), ...);
    k = 0;
    int out = 0;
    ((Code.stored ? store_result<Code, Tail>(result[k], at.out[out++], i, n) : void(), ++k), ...);
    return result[total.of];
  }

  template <loop_operation Operation>
  [[gnu::always_inline]] static void apply(V* result, const V* in, int k) {
    if constexpr (Operation.lanes != nullptr) {
      constexpr auto lanes = Operation.lanes->run;
      const void* arguments[ir::max_arguments];
      for (int i = 0; i < ir::max_arguments; ++i) {
        const int a = Operation.argument[i];
        arguments[i] = a < 0 ? in + (-1 - a) : result + a;
      }
      lanes(result + k, arguments);
    }
  }

  template <loop_operation Operation, bool Tail>
  [[gnu::always_inline]] static void store_result(V value, Real* to, int i, int n) {
    constexpr bool is_sum = Summed != 0 && Operation.lanes == nullptr;
    if constexpr (!is_sum) store<Tail>(value, to, i, n);
  }
  template <bool Tail>
  [[gnu::always_inline]] static void store(V value, Real* to, int i, int n) {
    if constexpr (Tail) value.store(to + i, n);
    else value.store(to + i);
  }
};

}  // namespace kernel
}  // namespace cairn
