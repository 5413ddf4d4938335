// This file finds the kernel of an operation and calls it. The kernel is the function
// `compute(op, signature<Real, Tensors...>, operands)`; `Tensors` are the static tensors of the operation's arguments.
// `operands` holds pointers in this order:
// - the results; the pointer of an unused result is null;
// - the arguments;
// - the workspace, if the operation asks for workspace.
// A kernel may have a fourth parameter. If the fourth parameter is an int, the kernel receives the number of threads
// that it may use, and it has workspace for each of these threads. If the fourth parameter is a
// `const kernels::launch&`, the kernel also receives all other information about the call. Argument-dependent lookup of
// the operation finds `compute`, so users can add operations of their own.
#pragma once

#include "cairn/graph/operation.hpp"
#include "cairn/kernel/tiles.hpp"

#include <span>

namespace cairn::kernels {
/// The information that a kernel gets when it runs.
struct launch {
  int threads = 1;
  /// Receives the first result tile by tile; in this case the kernel does not store the first result. The pointer is
  /// null if the kernel stores the first result. Only operations that declare `tiles` get a reader.
  const tile_reader* reader = nullptr;
  /// Computes rows of the first argument just before the kernel reads these rows, or follows the kernel and processes
  /// each row after the kernel. The pointer is null if no fused loop does either. Only operations that declare
  /// `takes_rows` or `gives_rows` get a maker.
  const row_maker* maker = nullptr;
  /// Tells how far apart the rows of the arguments lie, for operations that declare `reads_rows`. For operations that
  /// declare `reads_pieces`, the table also describes the pieces; pieces are operands in place of their argument.
  graphs::argument_table arguments = {};

  /// Returns the distance between two rows of an argument, as `row_strides` tells it, or 0 if there is no such table.
  std::int64_t apart(int argument) const {
    return arguments.row_strides == nullptr ? 0 : arguments.row_strides[argument];
  }
  /// Returns the columns of all pieces, or `whole` if no argument is a concatenation that is read in pieces.
  std::span<const int> pieces_or(std::span<const int> whole) const {
    if (arguments.pieces == nullptr) return whole;
    return {arguments.pieces, static_cast<std::size_t>(arguments.piece_count)};
  }
  /// Calls visit(some) for consecutive ranges that together are `own`, a range of rows of `row_bytes` bytes each. If
  /// there is a maker, the ranges have a few rows (about 4 KiB), so the rows are still in the first-level cache when
  /// they are read. A maker that does not follow computes the rows before each visit. A maker that follows reads the
  /// rows after each visit. Without a maker, there is one call for all of `own`.
  template <class Visit>
  void in_rows(costs::range own, std::int64_t row_bytes, Visit visit) const {
    if (maker == nullptr) return visit(own);
    const std::int64_t few = std::max<std::int64_t>(4 * 1024 / row_bytes, 1);
    for (costs::range some{own.begin, own.begin}; some.begin < own.end; some.begin = some.end) {
      some.end = std::min(some.begin + few, own.end);
      if (!maker->follows) maker->make(some);
      visit(some);
      if (maker->follows) maker->make(some);
    }
  }
  /// Lets a kernel whose fourth parameter is an int receive the number of threads alone.
  operator int() const { return threads; }
};
}  // namespace cairn::kernels

namespace cairn {

/// The number type of the program and the static tensors of a kernel's arguments.
template <class Real, class... Tensors>
struct signature {};

}  // namespace cairn

namespace cairn::detail {
/// Declares the name `compute` as a function, so that no class or object of a user hides the kernels.
void compute();

template <class Op, class Real, class... Tensors>
void call_kernel(void* const* operands, const kernels::launch& how) {
  constexpr signature<computed_as<Real, Tensors...>, Tensors...> arguments;
  if constexpr (requires { compute(Op{}, arguments, operands, how); }) compute(Op{}, arguments, operands, how);
  else if constexpr (requires { compute(Op{}, arguments, operands); }) compute(Op{}, arguments, operands);
  else
    static_assert(
        report_of<mistake<misuse::no_kernel, top_scope, fact::operation<Op::name, tensor_fact<Tensors>...>>>{}.shown);
}
}  // namespace cairn::detail

namespace cairn::kernels {

template <class Op, class Real, class... Tensors>
void run(const void* constants, void* const* operands, int threads) {
  kernels::launch how{.threads = threads};
  if (constants != nullptr) how.arguments = *static_cast<const graphs::argument_table*>(constants);
  cairn::detail::call_kernel<Op, Real, Tensors...>(operands, how);
}
template <class Op, class Real, class... Tensors>
void run_tiles(const void* constants, void* const* operands, int threads, const void* reader) {
  cairn::detail::call_kernel<Op, Real, Tensors...>(
      operands, {.threads = threads,
                 .reader = static_cast<const kernels::tile_reader*>(reader),
                 .arguments = *static_cast<const graphs::argument_table*>(constants)});
}
template <class Op, class Real, class... Tensors>
void run_rows(const void* constants, void* const* operands, int threads, const void* maker) {
  cairn::detail::call_kernel<Op, Real, Tensors...>(
      operands, {.threads = threads,
                 .maker = static_cast<const kernels::row_maker*>(maker),
                 .arguments = *static_cast<const graphs::argument_table*>(constants)});
}

}  // namespace cairn::kernels
