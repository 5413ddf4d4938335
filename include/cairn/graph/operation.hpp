// From an operation's type to what the graph says of it: the last place where the type is at hand.
#pragma once

#include "cairn/base/philox.hpp"
#include "cairn/lang/convert.hpp"
#include "cairn/graph/builder.hpp"

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

/// A conversion of elements, for values that are stored rounded.
template <dtype To, dtype From, class Real>
constexpr operation described_conversion(const result& made) {
  operation o;
  o.name = as_op<To>::name;
  o.hash = hash_of(o.name);
  o.what = role::elementwise;
  o.arguments = 1;
  o.made = &made;
  o.flops = made.count;
  o.lanes = &lanes_of<as_op<To>, Real, type_list<To>, From>;
  o.converts = true;
  return o;
}
template <class Real, shape S>
inline constexpr result wide_result = described({S, {}}, bytes_of<dtype::real, Real>, the_shape<S>);
template <class Real, shape S>
inline constexpr operation widening = described_conversion<dtype::real, dtype::bf16, Real>(wide_result<Real, S>);
template <class Real, shape S>
inline constexpr result rounded_result = [] {
  result r = described({S, {dtype::bf16}}, bytes_of<dtype::bf16, Real>, the_shape<S>);
  r.widen = &widening<Real, S>;
  return r;
}();
template <class Real, shape S>
inline constexpr operation rounding_to_bf16 =
    described_conversion<dtype::bf16, dtype::real, Real>(rounded_result<Real, S>);

/// What lowering is for: the element type, how many times the graph will be differentiated, and whether it is a
/// program's, which trains, or a predictor's. Inputs: whether some gradient by an input may be asked for.
template <class Numbers, int Order, bool Training, bool Inputs = false>
struct target {
  using numbers = Numbers;
  using real = cairn::detail::real_type_of<Numbers>;
  static constexpr bool rounds = !std::is_same_v<Numbers, real>;  ///< what is computed is stored as bf16
  static constexpr int order = Order;
  static constexpr bool training = Training, inputs = Inputs;
};

/// What lowering may append where arguments and results are converted: one conversion each, or the results in floats.
template <class Target>
constexpr sizes with_conversions(sizes s) {
  if (!Target::rounds) return s;
  const int more = s.nodes + s.arguments;
  s.nodes += more;
  s.arguments += s.arguments + more;  // once more in floats
  s.keeps += more;
  return s;
}

/// How the expression E becomes nodes: count(counter&) bounds how many, into<Target>(builder&) appends them and
/// returns the value's node.
template <class E>
struct lowering;

/// The gradient rules of an operation: graph/vjp.hpp.
template <class Op, class Target, class... Tensors>
struct vjp_of;

/// Whether an operation's kernel takes an argument in bf16.
template <class Op, class Numbers>
constexpr bool takes_bf16(int i) {
  return Op::takes_bf16(i) || (cairn::detail::rounds_weights<Numbers> && Op::takes_weights(i));
}

/// What an operation does about arguments and results that are stored as bf16.
template <class Op, class Numbers, class... Tensors>
inline constexpr rounding rounding_of = [] {
  using real = cairn::detail::real_type_of<Numbers>;
  constexpr bool mixed = !std::is_same_v<Numbers, real>;
  constexpr dtype common = cairn::detail::common_type_of<Tensors...>;
  bool takes = false;
  for (int i = 0; i < static_cast<int>(sizeof...(Tensors)); ++i) takes |= takes_bf16<Op, Numbers>(i);
  if (takes && (std::is_same_v<stored_as<common, real>, bf16> || (mixed && common == dtype::real)))
    return rounding::takes;
  if (!mixed) return rounding::typed;
  return Op::elementwise || Op::view || Op::mapped ? rounding::follows : rounding::widens;
}();

/// Whether a kernel makes a result in bf16 of floats.
template <class Op, rounding Rounded, class... Tensors>
constexpr bool makes_bf16(const tensor_type& made, int result) {
  if (Rounded != rounding::takes && (Rounded != rounding::widens || made.element.type != dtype::real)) return false;
  if (Rounded == rounding::takes && Op::argument_kind(0) == kind::any) return false;
  return Op::makes_bf16(result, Tensors::shape...);
}

/// Whether a state becomes a result.
template <class Op>
constexpr bool is_next_state(int result, std::size_t arguments) {
  for (int i = 0; i < static_cast<int>(arguments); ++i) {
    if (Op::becomes(i).result == result) return true;
  }
  return false;
}
/// What an operation makes. Of results that are to be rounded, the kernel makes floats, or, unless it is Wide, bf16, as
/// it says; sums and next states are not to be. One that moves numbers of any kind makes bf16 of such.
template <class Op, class Numbers, bool Wide, rounding Rounded, tensor_type Made, int R, class... Tensors>
constexpr result result_described() {
  using real = cairn::detail::real_type_of<Numbers>;
  constexpr const shape& only = the_shape<static_cast<const shape&>(Made)>;
  constexpr bool taken = Rounded == rounding::takes && kind_of(Made.element.type) == kind::real;
  constexpr bool makes = makes_bf16<Op, Rounded, Tensors...>(Made, R);
  if constexpr ((taken && Op::argument_kind(0) == kind::any) || (makes && !Wide)) {
    result r = rounded_result<real, only>;
    r.overwrites = Op::overwrites(R);
    return r;
  }
  constexpr bool rounds = !makes && (taken || (Rounded != rounding::typed && Made.element.type == dtype::real));
  constexpr dtype type = taken ? dtype::real : Made.element.type;
  result r = described({Made, {type, Made.element.bound}}, bytes_of<type, real>, only, Op::overwrites(R));
  if constexpr (rounds) r.round = &rounding_to_bf16<real, only>;
  const bool is_typed = Made.element.type == dtype::bf16;  // by the user
  r.rounds = rounds && !Op::sums(R) && (is_typed || Made.count() > 1) && !is_next_state<Op>(R, sizeof...(Tensors));
  return r;
}
template <class Op, class Numbers, bool Wide, class... Tensors>
inline constexpr auto results_made = []<std::size_t... R>(std::index_sequence<R...>) {
  constexpr const auto& made = cairn::detail::results_of<Op, Tensors...>;
  return std::array{
      result_described<Op, Numbers, Wide, rounding_of<Op, Numbers, Tensors...>, made[R], static_cast<int>(R),
                       Tensors...>()...};
}(std::make_index_sequence<cairn::detail::results_of<Op, Tensors...>.size()>{});

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

template <class Tensor, class Axes>
struct in_bf16;
template <class Tensor, std::size_t... Axis>
struct in_bf16<Tensor, std::index_sequence<Axis...>> {
  using type = tensor<element_type{dtype::bf16}, Tensor::shape.extent[Axis]...>;
};
/// An argument as a kernel takes it.
template <bool Rounded, class Tensor>
struct argument_taken {
  using type = Tensor;
};
template <class Tensor>
  requires(kind_of(Tensor::element.type) == kind::real)
struct argument_taken<true, Tensor>
    : in_bf16<Tensor, std::make_index_sequence<static_cast<std::size_t>(Tensor::shape.rank)>> {};
/// The kernel of an operation, of arguments as it takes them.
template <class Op, class Real, class... Tensors>
struct kernel_with {
  static constexpr int bytes = sizeof(cairn::detail::computed_as<cairn::detail::real_type_of<Real>, Tensors...>);
  static constexpr bool takes_bf16(int i) {
    constexpr bool taken[]{Tensors::element.type == dtype::bf16..., false};
    return taken[i];
  }
  static constexpr kernel_pointer run() { return &cairn::run<Op, Real, Tensors...>; }
  static constexpr paired_pointer run_tiles() { return &cairn::run_tiles<Op, Real, Tensors...>; }
  static constexpr paired_pointer run_rows() { return &cairn::run_rows<Op, Real, Tensors...>; }
};
template <class Op, class Numbers, rounding Rounded, bool Makes, class Indices, class... Tensors>
struct kernel_taking;
template <class Op, class Numbers, rounding Rounded, bool Makes, std::size_t... I, class... Tensors>
struct kernel_taking<Op, Numbers, Rounded, Makes, std::index_sequence<I...>, Tensors...>
    : kernel_with<Op,
                  std::conditional_t<Makes, cairn::detail::floats_rounded, cairn::detail::real_type_of<Numbers>>,
                  typename argument_taken<Rounded == rounding::takes && takes_bf16<Op, Numbers>(I), Tensors>::type...> {
};
}  // namespace detail

/// Whether an operation's kernel makes any of its results in bf16.
template <class Op, rounding Rounded, class... Tensors>
inline constexpr bool makes_any = [] {
  constexpr const auto& made = cairn::detail::results_of<Op, Tensors...>;
  for (std::size_t r = 0; r < made.size(); ++r) {
    if (makes_bf16<Op, Rounded, Tensors...>(made[r], static_cast<int>(r))) return true;
  }
  return false;
}();

template <class Op, class Target, bool Wide, class... Tensors>
constexpr operation described_operation();
template <class Op, class Target, class... Tensors>
inline constexpr operation operation_of = described_operation<Op, Target, false, Tensors...>();
template <class Op, class Target, class... Tensors>
inline constexpr operation wide_operation_of = described_operation<Op, Target, true, Tensors...>();

/// The same operation, whose kernel takes floats alone. Its results are floats that nothing rounds.
template <class Op>
struct exact_operation : Op {
  static constexpr bool sums(int) { return true; }
  static constexpr bool takes_bf16(int) { return false; }
  static constexpr bool takes_weights(int) { return false; }
};

template <class Op, class Target, bool Wide, class... Tensors>
constexpr operation described_operation() {
  using real = typename Target::real;
  constexpr rounding rounded = rounding_of<Op, typename Target::numbers, Tensors...>;
  constexpr const auto& made = results_made<Op, typename Target::numbers, Wide, Tensors...>;
  constexpr bool makes = !Wide && makes_any<Op, rounded, Tensors...>;
  using kernel = detail::kernel_taking<Op, typename Target::numbers, rounded, makes,
                                       std::index_sequence_for<Tensors...>, Tensors...>;
  constexpr int bytes = kernel::bytes;
  static_assert(!Op::elementwise || shaped_alike(made.data(), static_cast<int>(made.size())),
                "cairn: the results of an elementwise operation have one shape");
  operation o;
  o.name = Op::name;
  o.hash = hash_of(Op::name);
  o.what = Op::view ? role::view : Op::mapped ? role::map : Op::elementwise ? role::elementwise : role::kernel;
  o.arguments = static_cast<int>(sizeof...(Tensors));
  o.results = static_cast<int>(made.size());
  o.made = made.data();
  o.rounded = rounded;
  o.takes_bf16 = &kernel::takes_bf16;
  if constexpr (makes) o.wide = &wide_operation_of<Op, Target, Tensors...>;
  if constexpr (Op::exact >= 0 && Target::rounds && rounded == rounding::takes &&
                ((Tensors::element.type == dtype::real) && ...)) {
    o.exact = &operation_of<exact_operation<Op>, Target, Tensors...>;
    o.exact_argument = Op::exact;
  }
  if constexpr (detail::says_flops<Op>) o.flops = Op::flops(Tensors::shape...);
  else o.flops = made[0].count;
  o.contraction = Op::contraction;
  o.multiplies_halves = Op::contraction && rounded == rounding::takes;
  if constexpr (Op::mapped) {
    o.map = axes_read<Op, Tensors...>.data();
  }
  if constexpr (Op::elementwise || Op::mapped) {
    o.lanes = lanes_with<Op, real, Tensors...>(std::make_index_sequence<made.size()>{});
  } else if constexpr (!Op::view) {
    o.run = kernel::run();
    o.summed = Op::summed;
    o.tiles = Op::tiles(bytes, Tensors::shape...);
    if constexpr (Op::tiles(bytes, Tensors::shape...) != tiling::none)
      o.run_tiles = kernel::run_tiles();
    o.takes_rows = Op::takes_rows(Tensors::shape...);
    o.gives_rows = Op::gives_rows(Tensors::shape...);
    if constexpr (Op::takes_rows(Tensors::shape...) || Op::gives_rows(Tensors::shape...))
      o.run_rows = kernel::run_rows();
    o.scratch = Op::scratch(bytes, Tensors::shape...);
    o.number_bytes = bytes;
    o.joins = Op::joins(Tensors::shape...);
    o.of_single_numbers = Op::of_single_numbers(Tensors::shape...);
    o.reads_rows = &Op::reads_rows;
    for (int i = 0; i < std::min(o.arguments, 64); ++i)
      o.reads_pieces |= std::uint64_t{Op::reads_pieces(i, Tensors::shape...)} << i;
  }
  if constexpr (Target::order > 0) {
    using vjp = vjp_of<Op, target<typename Target::numbers, Target::order - 1, Target::training>, Tensors...>;
    vjp::describe(o);
  }
  return o;
}
/// Tensor: that of the leaf; constants have the type of what they meet.
template <class Numbers, class Tensor>
inline constexpr result leaf_result = [] {
  using real = cairn::detail::real_type_of<Numbers>;
  constexpr dtype type = Tensor::element.type;
  result r = described({Tensor::shape, Tensor::element}, bytes_of<type, real>, the_shape<Tensor::shape>);
  if constexpr (!std::is_same_v<Numbers, real> && type == dtype::real)
    r.round = &rounding_to_bf16<real, Tensor::shape>;
  return r;
}();
template <class Leaf>
constexpr operation described_leaf(const result& made) {
  operation o;
  o.name = "leaf";
  o.made = &made;
  lowering<Leaf>::describe(o);
  return o;
}
template <class Leaf, class Numbers, class Tensor = tensor_of<Leaf>>
inline constexpr operation leaf_operation = described_leaf<Leaf>(leaf_result<Numbers, Tensor>);
/// A parameter, where these are stored as bf16.
template <class Leaf, class Numbers>
inline constexpr operation rounded_leaf_operation =
    described_leaf<Leaf>(rounded_result<cairn::detail::real_type_of<Numbers>, Leaf::shape>);

}  // namespace ir
}  // namespace cairn
