// From an operation to its kernel. `compute(op, signature<Real, Tensors...>, operands)` is an operation's kernel for
// arguments of those static tensors; operands are the results, null where nobody reads one, then the arguments, and
// scratch where the operation asks for it. With a fourth parameter, an int, it is told how many threads it may use, and
// has scratch for each; with a `const kernel::launch&` all else, too. It is found by argument-dependent lookup of the
// operation, so that users can add operations of their own.
#pragma once

#include "cairn/graph/operation.hpp"
#include "cairn/kernel/tiles.hpp"

#include <span>

namespace cairn {

namespace kernel {
/// The information that a kernel gets when it runs.
struct launch {
  int threads = 1;
  /// Gets the first result in tiles, which is not stored then; null where it is. Of operations that say `tiles`.
  const tile_reader* reader = nullptr;
  /// Makes rows of the first argument, which are not there before, or follows; null where nobody does. Of operations
  /// that say `takes_rows`, or `gives_rows`.
  const row_maker* maker = nullptr;
  /// Rows that lie apart, of operations that say `reads_rows`; pieces, which are operands in place of their argument,
  /// of those that say `reads_pieces`.
  ir::argument_table arguments = {};

  std::int64_t apart(int argument) const {
    return arguments.rows_apart == nullptr ? 0 : arguments.rows_apart[argument];
  }
  /// The columns of all pieces; `whole` where no argument is joined.
  std::span<const int> pieces_or(std::span<const int> whole) const {
    if (arguments.pieces == nullptr) return whole;
    return {arguments.pieces, static_cast<std::size_t>(arguments.piece_count)};
  }
  /// Calls visit(some) for all of `own`, rows of the first argument of so many bytes each, once they are there. Those
  /// of a loop are made, or read by the one that follows, a few at a time, while they are in the first-level cache.
  template <class Visit>
  void in_rows(range own, std::int64_t row_bytes, Visit visit) const {
    if (maker == nullptr) return visit(own);
    const std::int64_t few = std::max<std::int64_t>(4 * 1024 / row_bytes, 1);
    for (range some{own.begin, own.begin}; some.begin < own.end; some.begin = some.end) {
      some.end = std::min(some.begin + few, own.end);
      if (!maker->follows) maker->make(some);
      visit(some);
      if (maker->follows) maker->make(some);
    }
  }
  /// Lets a kernel whose fourth parameter is an int receive the number of threads alone.
  operator int() const { return threads; }
};
}  // namespace kernel

/// The program's type and the arguments of a kernel.
template <class Real, class... Tensors>
struct signature {};

namespace detail {
/// Declares the name, so that no class or object of a user's hides the kernels.
void compute();

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
  kernel::launch how{.threads = threads};
  if (constants != nullptr) how.arguments = *static_cast<const ir::argument_table*>(constants);
  detail::call_kernel<Op, Real, Tensors...>(operands, how);
}
template <class Op, class Real, class... Tensors>
void run_tiles(const void* constants, void* const* operands, int threads, const void* reader) {
  detail::call_kernel<Op, Real, Tensors...>(operands,
                                            {.threads = threads,
                                             .reader = static_cast<const kernel::tile_reader*>(reader),
                                             .arguments = *static_cast<const ir::argument_table*>(constants)});
}
template <class Op, class Real, class... Tensors>
void run_rows(const void* constants, void* const* operands, int threads, const void* maker) {
  detail::call_kernel<Op, Real, Tensors...>(operands,
                                            {.threads = threads,
                                             .maker = static_cast<const kernel::row_maker*>(maker),
                                             .arguments = *static_cast<const ir::argument_table*>(constants)});
}

}  // namespace cairn
