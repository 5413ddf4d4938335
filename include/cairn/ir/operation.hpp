// From an operation's type to what the graph says of it: the last place where the type is at hand.
#pragma once

#include "cairn/expr/linalg.hpp"
#include "cairn/ir/builder.hpp"

namespace cairn {

/// Runs an operation's kernel. Declared here, defined in kernel/: models can be checked without any kernel.
template <class Op, class Real, class... Tensors>
void run(void* const* operands, int threads);
/// Applies an elementwise operation to one register. Defined in kernel/elementwise.hpp.
template <class Op, class Real>
void run_lanes(void* result, const void* const* arguments);

namespace ir {

/// An elementwise operation's code as an object, whose address can be part of a template argument.
template <class Op, class Real>
inline constexpr lane_code lanes_of{&run_lanes<Op, Real>};

template <shape S>
inline constexpr shape the_shape = S;

/// Completes what every operation says of its result.
template <class Real, shape Result>
constexpr void describe_result(operation& o) {
  o.element_bytes = o.element == kind::real ? static_cast<int>(sizeof(Real)) : 4;
  o.count = Result.count();
  o.bytes = o.count * o.element_bytes;
  o.same_shape = &the_shape<Result>;
}

/// What lowering is for: the element type, how many times the graph will be differentiated, and whether it is a
/// program's, which trains, or a predictor's.
template <class Real, int Order, bool Training>
struct target {
  using real = Real;
  static constexpr int order = Order;
  static constexpr bool training = Training;
};

constexpr std::uint32_t mix(std::uint32_t hash, std::uint32_t more) { return (hash ^ more) * 0x01000193U; }
constexpr std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5U;
  for (char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

/// What loops take in beside elementwise operations: sums, by their axes, and single matrix products. These alone, and
/// nothing that derives from them, for a loop does not call their kernels.
template <class Op>
struct in_loops {
  static constexpr axis_set summed = 0;
  static constexpr product multiplied(const auto&...) { return {}; }
};
template <axis_set Axes, bool Keep>
struct in_loops<sum_op<Axes, Keep>> : in_loops<void> {
  static constexpr axis_set summed = Axes;
};
template <bool TransposeA, bool TransposeB>
struct in_loops<matmul_op<TransposeA, TransposeB>> : in_loops<void> {
  static constexpr product multiplied(const shape& a, const shape& b) {
    using op = matmul_op<TransposeA, TransposeB>;
    const product each = op::one(a, b);
    return op::result(a, b).count() == std::int64_t{each.m} * each.n ? each : product{};
  }
};

/// How the expression E becomes nodes: count(counter&) bounds how many, into<Target>(builder&) appends them and
/// returns the value's node.
template <class E>
struct lowering;

template <class Op, class Target, class... Tensors>
struct vjp_of;

template <class Op, class Target, class... Tensors>
inline constexpr operation operation_of = [] {
  using real = typename Target::real;
  operation o{.name = Op::name,
              .what = Op::view          ? role::view
                      : Op::elementwise ? role::elementwise
                                        : role::kernel,
              .element = Op::element,
              .result = Op::result(Tensors::shape...)};
  o.arguments = static_cast<int>(sizeof...(Tensors));
  static_assert(sizeof...(Tensors) <= max_arguments);
  o.flops = Op::flops(Tensors::shape...);
  describe_result<real, Op::result(Tensors::shape...)>(o);
  o.scratch = workspace{Op::template scratch<sizeof(real), Tensors::shape...>};
  o.summed = in_loops<Op>::summed;
  o.multiplied = in_loops<Op>::multiplied(Tensors::shape...);
  o.in_place = Op::in_place;
  o.hash = hash_of(Op::name);
  if constexpr (Op::elementwise) o.lanes = &lanes_of<Op, real>;
  else if constexpr (!Op::view) o.run = &run<Op, real, Tensors...>;
  if constexpr (Target::order > 0) {
    using vjp = vjp_of<Op, target<real, Target::order - 1, Target::training>, Tensors...>;
    if constexpr (vjp::any) {
      o.vjp = &vjp::append;
      o.vjp_nodes = vjp::nodes;
    }
  }
  return o;
}();

template <class Leaf, class Real>
inline constexpr operation leaf_operation = [] {
  operation o{.name = "leaf", .what = role::input, .element = Leaf::element, .result = Leaf::shape};
  describe_result<Real, Leaf::shape>(o);
  lowering<Leaf>::describe(o);
  return o;
}();

}  // namespace ir
}  // namespace cairn
