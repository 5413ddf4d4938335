// From an operation's type to what the graph says of it: the last place where the type is at hand.
#pragma once

#include "cairn/core/philox.hpp"
#include "cairn/ir/builder.hpp"

namespace cairn {

/// Runs an operation's kernel. Declared here, defined in kernel/: models can be checked without any kernel.
template <class Op, class Real, class... Tensors>
void run(const void* constants, void* const* operands, int threads);
/// The same, for a kernel that gives its first result to a loop.
template <class Op, class Real, class... Tensors>
void run_tiles(const void* constants, void* const* operands, int threads, const void* reader);
/// The same, for a kernel that has a loop make the rows of its first argument, or follow it through them.
template <class Op, class Real, class... Tensors>
void run_rows(const void* constants, void* const* operands, int threads, const void* maker);
/// Applies an elementwise operation to one register of each argument. Results: their types; Tensors: the arguments.
template <class Op, class Real, class Results, dtype... Arguments>
void run_lanes(void* const* results, const void* const* arguments);

namespace detail {
/// The type in which an operation computes: that of its arguments, or the program's where they have none.
template <class Real, class... Tensors>
using computed_as = stored_as<common_type_of<Tensors...>, Real>;
}  // namespace detail

namespace ir {

template <dtype...>
struct type_list {};

/// An elementwise operation's code as an object, whose address can be part of a template argument.
template <class Op, class Real, class Results, dtype... Arguments>
inline constexpr lane_code lanes_of{&run_lanes<Op, Real, Results, Arguments...>};

/// One object for each shape, so that addresses tell shapes apart.
template <shape S>
inline constexpr shape the_shape = S;

/// The bytes of an element in a program over Real.
template <dtype T, class Real>
inline constexpr std::int64_t bytes_of = sizeof(stored_as<T, Real>);

/// What every operation says of a result.
constexpr result described(const tensor_type& made, std::int64_t bytes, const shape& only, int overwrites = none) {
  return {only, made.element, only.count(), only.count() * bytes, &only, overwrites};
}

/// What lowering is for: the element type, how many times the graph will be differentiated, and whether it is a
/// program's, which trains, or a predictor's. Inputs: whether some gradient by an input may be asked for.
template <class Real, int Order, bool Training, bool Inputs = false>
struct target {
  using real = Real;
  static constexpr int order = Order;
  static constexpr bool training = Training, inputs = Inputs;
};

/// How the expression E becomes nodes: count(counter&) bounds how many, into<Target>(builder&) appends them and
/// returns the value's node.
template <class E>
struct lowering;

/// The gradient rules of an operation: ir/vjp.hpp.
template <class Op, class Target, class... Tensors>
struct vjp_of;

template <class Op, class Real, class... Tensors, std::size_t... R>
constexpr auto results_described(std::index_sequence<R...>) {
  constexpr const auto& made = cairn::detail::results_of<Op, Tensors...>;
  return std::array{described(made[R], bytes_of<made[R].element.type, Real>,
                              the_shape<static_cast<const shape&>(made[R])>, Op::overwrites(static_cast<int>(R)))...};
}
template <class Op, class Real, class... Tensors>
inline constexpr auto results_made = results_described<Op, Real, Tensors...>(
    std::make_index_sequence<cairn::detail::results_of<Op, Tensors...>.size()>{});

/// Of elementwise operations: the results have one shape.
constexpr bool shaped_alike(const result* made, int count) {
  for (int r = 1; r < count; ++r) {
    if (made[r].extents != made[0].extents) return false;
  }
  return true;
}

/// The maps of all axes of a result, in one table.
template <class Op, class X>
inline constexpr auto axes_read = [] {
  std::array<axis_map, max_rank> map{};
  for (int axis = 0; axis < max_rank; ++axis) {
    map[static_cast<std::size_t>(axis)] =
        axis < X::shape.rank ? Op::map(X::shape, axis) : axis_map{0, 1, 1, edge::none};
  }
  return map;
}();

/// The code of an elementwise operation, by the types of its results and arguments.
template <class Op, class Real, class... Tensors, std::size_t... R>
constexpr const lane_code* lanes_with(std::index_sequence<R...>) {
  constexpr const auto& made = cairn::detail::results_of<Op, Tensors...>;
  return &lanes_of<Op, Real, type_list<made[R].element.type...>, Tensors::element.type...>;
}

namespace detail {
struct other_flops {
  void flops();
};
template <class Op>
struct both_flops : Op, other_flops {};
/// Whether an operation has something of this name: then it is ambiguous in `both_flops`.
template <class Op>
concept says_flops = std::is_final_v<Op> || !requires { &both_flops<Op>::flops; };
}  // namespace detail

template <class Op, class Target, class... Tensors>
constexpr operation described_operation() {
  using real = typename Target::real;
  constexpr const auto& made = results_made<Op, real, Tensors...>;
  constexpr int bytes = sizeof(cairn::detail::computed_as<real, Tensors...>);
  static_assert(!Op::elementwise || shaped_alike(made.data(), static_cast<int>(made.size())),
                "cairn: the results of an elementwise operation have one shape");
  operation o;
  o.name = Op::name;
  o.hash = hash_of(Op::name);
  o.what = Op::view ? role::view : Op::mapped ? role::map : Op::elementwise ? role::elementwise : role::kernel;
  o.arguments = static_cast<int>(sizeof...(Tensors));
  o.results = static_cast<int>(made.size());
  o.made = made.data();
  if constexpr (detail::says_flops<Op>) o.flops = Op::flops(Tensors::shape...);
  else o.flops = made[0].count;
  o.contraction = Op::contraction;
  if constexpr (Op::mapped) {
    o.map = axes_read<Op, Tensors...>.data();
  }
  if constexpr (Op::elementwise || Op::mapped) {
    o.lanes = lanes_with<Op, real, Tensors...>(std::make_index_sequence<made.size()>{});
  } else if constexpr (!Op::view) {
    o.run = &run<Op, real, Tensors...>;
    o.summed = Op::summed;
    o.tiles = Op::tiles(bytes, Tensors::shape...);
    if constexpr (Op::tiles(bytes, Tensors::shape...) != tiling::none) o.run_tiles = &run_tiles<Op, real, Tensors...>;
    o.takes_rows = Op::takes_rows(Tensors::shape...);
    o.gives_rows = Op::gives_rows(Tensors::shape...);
    if constexpr (Op::takes_rows(Tensors::shape...) || Op::gives_rows(Tensors::shape...))
      o.run_rows = &run_rows<Op, real, Tensors...>;
    o.scratch = Op::scratch(bytes, Tensors::shape...);
    o.number_bytes = bytes;
    o.joins = Op::joins(Tensors::shape...);
    o.reads_rows = &Op::reads_rows;
    for (int i = 0; i < std::min(o.arguments, 64); ++i)
      o.reads_pieces |= std::uint64_t{Op::reads_pieces(i, Tensors::shape...)} << i;
  }
  if constexpr (Target::order > 0) {
    using vjp = vjp_of<Op, target<real, Target::order - 1, Target::training>, Tensors...>;
    vjp::describe(o);
  }
  return o;
}
template <class Op, class Target, class... Tensors>
inline constexpr operation operation_of = described_operation<Op, Target, Tensors...>();

/// Tensor: that of the leaf; constants have the type of what they meet.
template <class Real, class Tensor>
inline constexpr result leaf_result =
    described({Tensor::shape, Tensor::element}, bytes_of<Tensor::element.type, Real>, the_shape<Tensor::shape>);
template <class Leaf>
constexpr operation described_leaf(const result& made) {
  operation o;
  o.name = "leaf";
  o.made = &made;
  lowering<Leaf>::describe(o);
  return o;
}
template <class Leaf, class Real, class Tensor = tensor_of<Leaf>>
inline constexpr operation leaf_operation = described_leaf<Leaf>(leaf_result<Real, Tensor>);

}  // namespace ir
}  // namespace cairn
