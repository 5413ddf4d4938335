// This file finds the kernel of an operation and calls it. The kernel is the function
// `compute(op, signature<Real, Tensors...>, operands, how)`; `Tensors` are the static tensors of the operation's
// arguments. `operands` holds pointers in this order:
// - the results; the pointer of an unused result is null;
// - the arguments;
// - the workspace, if the operation asks for workspace.
// `how` is a `const kernels::launch&`. A kernel of a user may have an int in its place, which is the number of threads
// that it may use, or no fourth parameter. A kernel that gets the number of threads has workspace for each of them.
// Argument-dependent lookup of the operation finds `compute`, so users can add operations of their own.
#pragma once

#include "cairn/graph/operation.hpp"
#include "cairn/kernel/launch.hpp"

#include <concepts>

namespace cairn {

/// The number type of the program and the static tensors of a kernel's arguments.
template <class Real, class... Tensors>
struct signature {};

}  // namespace cairn

namespace cairn::detail {
/// Declares the name `compute` as a function, so that no class or object of a user hides the kernels.
void compute();

/// An argument that converts to a T and to no other type. An int would convert to bool or double.
template <class T>
struct only_as {
  const T& value;
  template <std::same_as<T> U>
  operator U() const {
    return value;
  }
};
/// An argument that converts to any type.
struct as_anything {
  template <class T>
  operator T() const;
};
/// An argument of a type that only a parameter with a deduced type takes.
struct as_itself {};

template <class Op, class Arguments, class... How>
concept kernel_takes = requires(void* const* operands, How... how) { compute(Op{}, Arguments{}, operands, how...); };

/// Returns true if the operation declares something that its kernel learns from a kernels::launch alone: tiles, rows of
/// a fused loop, rows that lie apart, or pieces.
template <class Op, class Real, class... Tensors>
constexpr bool needs_launch() {
  const making first = Op::makes(0, static_cast<int>(sizeof(Real)), Tensors::shape...);
  bool needs = first.tiles != tiling::none || first.one_for_each_row;
  for (int i = 0; i < static_cast<int>(sizeof...(Tensors)); ++i) {
    const reading read = Op::reads(i, Tensors::shape...);
    needs |= read.rows_from_loop || read.row_axes > 0 || read.in_pieces;
  }
  return needs;
}

template <class Op, class Real, class... Tensors>
void call_kernel(void* const* operands, const kernels::launch& how) {
  using arguments = signature<computed_as<Real, Tensors...>, Tensors...>;
  using operation = fact::operation<Op::name, tensor_fact<Tensors>...>;
  if constexpr (kernel_takes<Op, arguments, as_itself>)
    static_assert(report_of<mistake<misuse::wrong_launch, top_scope, operation>>{}.shown);
  else if constexpr (kernel_takes<Op, arguments, only_as<kernels::launch>>) compute(Op{}, arguments{}, operands, how);
  else if constexpr (needs_launch<Op, computed_as<Real, Tensors...>, Tensors...>())
    static_assert(report_of<mistake<misuse::no_launch, top_scope, operation>>{}.shown);
  else if constexpr (kernel_takes<Op, arguments, only_as<int>>) compute(Op{}, arguments{}, operands, how.threads);
  else if constexpr (kernel_takes<Op, arguments>) compute(Op{}, arguments{}, operands);
  else if constexpr (kernel_takes<Op, arguments, as_anything>)
    static_assert(report_of<mistake<misuse::wrong_launch, top_scope, operation>>{}.shown);
  else static_assert(report_of<mistake<misuse::no_kernel, top_scope, operation>>{}.shown);
}
}  // namespace cairn::detail

namespace cairn::kernels {

template <class Op, class Real, class... Tensors>
void run(const void* constants, void* const* operands, int threads) {
  launch how;
  if (constants != nullptr) how = *static_cast<const launch*>(constants);
  how.threads = threads;
  cairn::detail::call_kernel<Op, Real, Tensors...>(operands, how);
}

}  // namespace cairn::kernels
