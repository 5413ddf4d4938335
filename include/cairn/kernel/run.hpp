// From an operation to its kernel. `compute(op, signature<Real, Tensors...>, operands)` is an operation's kernel for
// arguments of those static tensors; operands are the results, null where nobody reads one, then the arguments, and
// scratch where the operation asks for it. With a fourth parameter, an int, it is told how many threads it may use, and
// has scratch for each; with a `const kernel::launch&` all else, too. It is found by argument-dependent lookup of the
// operation, so that users can add operations of their own.
#pragma once

#include "cairn/ir/operation.hpp"
#include "cairn/kernel/tiles.hpp"

namespace cairn {

namespace kernel {
/// What a kernel is told when it runs.
struct launch {
  int threads = 1;
  /// Gets the first result in tiles, which is not stored then; null where it is. Of operations that say `tiles`.
  const tile_reader* reader = nullptr;
  /// By argument, how far its rows lie apart; 0 where they are whole. Null where all are. Of those that say
  /// `reads_rows`.
  const std::int64_t* rows_apart = nullptr;

  std::int64_t apart(int argument) const { return rows_apart == nullptr ? 0 : rows_apart[argument]; }
  /// For kernels that ask for threads alone.
  operator int() const { return threads; }
};
}  // namespace kernel

/// The program's type and the arguments of a kernel.
template <class Real, class... Tensors>
struct signature {};

namespace detail {
template <class Op, class Real, class... Tensors>
void call_kernel(void* const* operands, const kernel::launch& how) {
  constexpr signature<computed_as<Real, Tensors...>, Tensors...> arguments;
  if constexpr (requires { compute(Op{}, arguments, operands, how); }) compute(Op{}, arguments, operands, how);
  else if constexpr (requires { compute(Op{}, arguments, operands); }) compute(Op{}, arguments, operands);
  else
    static_assert(report_of<mistake<no_kernel, top_scope, fact::operation<Op::name, tensor_fact<Tensors>...>>>{}.shown);
}
}  // namespace detail

template <class Op, class Real, class... Tensors>
void run(const void* constants, void* const* operands, int threads) {
  detail::call_kernel<Op, Real, Tensors...>(operands, {threads, nullptr, static_cast<const std::int64_t*>(constants)});
}
template <class Op, class Real, class... Tensors>
void run_tiles(const void* constants, void* const* operands, int threads, const void* reader) {
  detail::call_kernel<Op, Real, Tensors...>(operands, {threads, static_cast<const kernel::tile_reader*>(reader),
                                                       static_cast<const std::int64_t*>(constants)});
}

}  // namespace cairn
