// From an operation to its kernel. `compute(op, signature<Real, Tensors...>, operands)` is an operation's kernel for
// arguments of those static shapes; operands are the result, the arguments, and scratch where the operation asks for
// it. With a fourth parameter it is told how many threads it may use, and has scratch for each. It is found by
// argument-dependent lookup of the operation, so that users can add operations of their own.
#pragma once

#include "cairn/ir/operation.hpp"

namespace cairn {

/// Element type and argument shapes of a kernel.
template <class Real, class... Tensors>
struct signature {};

template <class Op, class Real, class... Tensors>
void run(void* const* operands, int threads) {
  constexpr signature<Real, Tensors...> arguments;
  if constexpr (requires { compute(Op{}, arguments, operands, threads); }) compute(Op{}, arguments, operands, threads);
  else compute(Op{}, arguments, operands);
}

}  // namespace cairn
