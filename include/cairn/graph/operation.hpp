// Describes operations for the graph. The types of operations are known in this file, and no longer in the passes.
#pragma once

#include "cairn/base/philox.hpp"
#include "cairn/base/type_name.hpp"
#include "cairn/graph/builder.hpp"
#include "cairn/graph/storage.hpp"
#include "cairn/lang/convert.hpp"

namespace cairn {

namespace kernels {
/// Runs an operation's kernel. It is declared here and defined in kernel/, so models can be checked without any kernel.
template <class Op, class Real, class... Tensors>
void run(const void* constants, void* const* operands, int threads);
/// Applies an elementwise operation to one register of each argument. `Results` is a list of the results' types.
template <class Op, class Real, class Results, dtype... Arguments>
void run_lanes(void* const* results, const void* const* arguments);
}  // namespace kernels

namespace graphs {

template <dtype...>
struct type_list {};

/// An elementwise operation's code as an object. The object's address can be part of a template argument.
template <class Op, class Real, class Results, dtype... Arguments>
inline constexpr lane_code lanes_of{&kernels::run_lanes<Op, Real, Results, Arguments...>};

/// One object for each shape, so that two shapes are equal exactly if their addresses are.
template <shape S>
inline constexpr shape the_shape = S;

/// Bytes of an element in a program over Real.
template <dtype T, class Real>
inline constexpr std::int64_t bytes_of = sizeof(stored_as<T, Real>);

/// Describes a result with the properties that results of all operations have. `only` is the_shape of the result.
constexpr result_info describe_result(const tensor_type& tensor, std::int64_t bytes, const shape& only) {
  return {only, tensor.element, only.count(), only.count() * bytes, &only};
}

/// Describes a conversion of elements to or from bf16, for values that are stored rounded.
template <dtype To, dtype From, class Real>
constexpr operation describe_conversion(const result_info& result) {
  operation o;
  o.name = lang::as_op<To>::name;
  o.hash = detail::hash_of(o.name);
  o.what = role::elementwise;
  o.argument_count = 1;
  o.results = &result;
  o.flops = result.count;
  o.lanes = &lanes_of<lang::as_op<To>, Real, type_list<To>, From>;
  o.converts = true;
  return o;
}
template <class Real, shape S>
inline constexpr result_info wide_result = describe_result({S, {}}, bytes_of<dtype::real, Real>, the_shape<S>);
template <class Real, shape S>
inline constexpr operation widening = describe_conversion<dtype::real, dtype::bf16, Real>(wide_result<Real, S>);
template <class Real, shape S>
inline constexpr result_info rounded_result = [] {
  result_info r = describe_result({S, {dtype::bf16}}, bytes_of<dtype::bf16, Real>, the_shape<S>);
  r.to_float = &widening<Real, S>;
  return r;
}();
template <class Real, shape S>
inline constexpr operation rounding_to_bf16 =
    describe_conversion<dtype::bf16, dtype::real, Real>(rounded_result<Real, S>);

/// The purpose of a graph. `Numbers` is the program's element type, or floats_rounded and its like. `Order` is how many
/// times the graph will be differentiated. `Training` is true for a program and false for a predictor. `Inputs` is true
/// if a gradient by an input may be wanted. `Divides` is true if the program divides its batch. `Groups` is the most
/// groups of rows on which a layer in nn::tiled<up_to<N>> runs. `Shards` is the number of shards of the batch.
template <class Numbers, int Order, bool Training, bool Inputs = false, bool Divides = false, int Groups = 1,
          int Shards = 1>
struct target {
  using numbers = Numbers;
  using real = cairn::detail::real_type_of<Numbers>;
  static constexpr bool rounds = !std::is_same_v<Numbers, real>;  ///< computed values are stored as bf16
  static constexpr int order = Order;
  static constexpr bool training = Training, inputs = Inputs, divides = Divides;
  static constexpr int groups = Groups, shards = Shards;
};

/// Returns the room that a graph of size `s` needs after the pass that decides what is stored as bf16 (plan/store.hpp).
/// If values are rounded, each argument and each result may get a conversion.
template <class Target>
constexpr sizes with_conversions(sizes s) {
  if (!Target::rounds) return s;
  const int more = s.nodes + s.arguments;
  s.nodes += more;
  s.arguments += more;
  s.rounds = true;
  return s;
}

/// Lowers the expression E. count(counter&) adds an upper bound for the number of its nodes. into<Target>(builder&)
/// appends the nodes and returns the number of the expression's value.
template <class E>
struct lowering;

/// The gradient rules of an operation. graph/vjp.hpp defines them.
template <class Op, class Target, class... Tensors>
struct vjp_of;

/// Returns true if a result of the operation is the next value of a state.
template <class Op>
constexpr bool is_next_state(int result, std::size_t arguments) {
  for (int i = 0; i < static_cast<int>(arguments); ++i) {
    if (Op::becomes(i).result == result) return true;
  }
  return false;
}
/// Describes a result that is stored in the type that the operation states.
template <class Real, tensor_type Made>
inline constexpr result_info typed_result = [] {
  result_info r = describe_result(Made, bytes_of<Made.element.type, Real>, the_shape<static_cast<const shape&>(Made)>);
  r.has_type_bf16 = Made.element.type == dtype::bf16;
  return r;
}();
/// Describes result number R of an operation that has bf16 arguments, or is in a program that stores values as bf16.
/// The kernel computes bf16 in two cases:
/// - The kernel rounds this result itself, as `makes` says, and `Wide` is false.
/// - The operation moves numbers of any kind, and its argument is bf16.
///
/// Otherwise the kernel computes floats. `rounds` then says whether a conversion to bf16 follows. It does not follow
/// for statistics, for next states, and for single numbers, unless the user gave a single number the type bf16.
template <class Op, bool Wide, class Storage, std::size_t R, std::size_t Arguments>
constexpr result_info describe_rounded_result() {
  using real = typename Storage::real;
  constexpr const tensor_type& made = Storage::made[R];
  constexpr const shape& only = the_shape<static_cast<const shape&>(made)>;
  constexpr bool reads_bf16 = Storage::handling == rounding::reads_bf16 && kind_of(made.element.type) == kind::real;
  constexpr bool kernel_rounds_it = Storage::rounds(R);
  if constexpr ((reads_bf16 && Op::argument_kind(0) == kind::any) || (kernel_rounds_it && !Wide)) {
    result_info r = rounded_result<real, only>;
    r.has_type_bf16 = made.element.type == dtype::bf16;
    return r;
  } else {
    constexpr bool rounds = !kernel_rounds_it && (reads_bf16 || made.element.type == dtype::real);
    constexpr dtype type = reads_bf16 ? dtype::real : made.element.type;
    result_info r = describe_result({made, {type, made.element.bound}}, bytes_of<type, real>, only);
    if constexpr (rounds || kernel_rounds_it) r.to_bf16 = &rounding_to_bf16<real, only>;
    r.has_type_bf16 = made.element.type == dtype::bf16;
    r.is_rounded = rounds && !Storage::makings[R].is_statistic && (r.has_type_bf16 || made.count() > 1) &&
                   !is_next_state<Op>(static_cast<int>(R), Arguments);
    return r;
  }
}
template <class Op, bool Wide, class Storage, std::size_t R, std::size_t Arguments>
constexpr result_info describe_result_of() {
  result_info r;
  if constexpr (Storage::is_typed) r = typed_result<typename Storage::real, Storage::made[R]>;
  else r = describe_rounded_result<Op, Wide, Storage, R, Arguments>();
  r.overwrites = Storage::makings[R].overwrites;
  return r;
}
template <class Op, class Numbers, bool Wide, class... Tensors>
inline constexpr auto result_infos_of = []<std::size_t... R>(std::index_sequence<R...>) {
  return std::array{describe_result_of<Op, Wide, storage_of<Op, Numbers, Tensors...>, R, sizeof...(Tensors)>()...};
}(std::make_index_sequence<lang::results_of<Op, Tensors...>.size()>{});

/// Returns true if all results have one shape. The results of an elementwise operation must.
constexpr bool have_one_shape(const result_info* results, int count) {
  for (int r = 1; r < count; ++r) {
    if (results[r].extents != results[0].extents) return false;
  }
  return true;
}

/// A table with the maps of all axes of a result.
template <class Op, class X>
inline constexpr auto axis_maps_of = [] {
  std::array<axis_map, max_rank> map{};
  for (int axis = 0; axis < max_rank; ++axis) {
    map[static_cast<std::size_t>(axis)] =
        axis < X::shape.rank ? Op::map(X::shape, axis) : axis_map{0, 1, 1, nn::edge::none};
  }
  return map;
}();

/// Returns the code of an elementwise operation for the types of its results and arguments.
template <class Op, class Real, class... Tensors, std::size_t... R>
constexpr const lane_code* lanes_for(std::index_sequence<R...>) {
  constexpr const auto& tensors = lang::results_of<Op, Tensors...>;
  return &lanes_of<Op, Real, type_list<tensors[R].element.type...>, Tensors::element.type...>;
}

namespace detail {
/// The kernel of an operation. `Real` is the program's type, or floats_rounded if the kernel rounds results itself.
template <class Op, class Real>
struct kernel_of {
  template <class... Read>
  struct with {
    static constexpr kernel_pointer run() { return &kernels::run<Op, Real, Read...>; }
  };
};
}  // namespace detail

/// The properties that an operation has for all shapes.
template <class Op>
inline constexpr operation properties_of = [] {
  operation o;
  o.name = Op::name;
  o.hash = cairn::detail::hash_of_type<Op>();
  o.what = Op::view ? role::view : Op::mapped ? role::map : Op::elementwise ? role::elementwise : role::kernel;
  o.contraction = Op::contraction;
  o.averages_over_shards = Op::averages_over_shards;
  return o;
}();

template <class Op, class Target, bool Wide, class... Tensors>
constexpr operation describe_operation();
template <class Op, class Target, class... Tensors>
inline constexpr operation operation_of = describe_operation<Op, Target, false, Tensors...>();
template <class Op, class Target, class... Tensors>
inline constexpr operation float_result_operation_of = describe_operation<Op, Target, true, Tensors...>();

/// A form of an operation with a kernel that reads floats only. Its results are floats that are never rounded.
template <class Op>
struct reading_floats : Op {
  static constexpr reading reads(int i, const auto&... x) {
    reading out = Op::reads(i, x...);
    out.numbers = reading::as_float;
    out.decides_precision = false;
    return out;
  }
  static constexpr making makes(int r, int bytes, const auto&... x) {
    making out = Op::makes(r, bytes, x...);
    out.is_statistic = true;
    return out;
  }
};

namespace detail {
template <class... T>
concept all_former = (std::same_as<T, const lang::former_member> && ...);
/// True if an operation declares no member that operations no longer have.
template <class Op>
concept has_no_former_member = requires {
  requires all_former<decltype(Op::takes_rows), decltype(Op::reads_rows), decltype(Op::reads_pieces),
                      decltype(Op::takes_bf16), decltype(Op::takes_weights), decltype(Op::exact), decltype(Op::tiles),
                      decltype(Op::gives_rows), decltype(Op::joins), decltype(Op::overwrites), decltype(Op::summed),
                      decltype(Op::makes_bf16), decltype(Op::sums)>;
};
}  // namespace detail

template <class Op, class Target, bool Wide, class... Tensors>
constexpr operation describe_operation() {
  if constexpr (!detail::has_no_former_member<Op>)
    static_assert(lang::report_of<lang::mistake<misuse::former_member, lang::top_scope,
                                                fact::operation<Op::name, lang::tensor_fact<Tensors>...>>>{}
                      .shown);
  using numbers = typename Target::numbers;
  using real = typename Target::real;
  using stored = storage_of<Op, numbers, Tensors...>;
  constexpr const auto& results = result_infos_of<Op, numbers, Wide, Tensors...>;
  constexpr bool rounds = !Wide && stored::rounds_any;
  static_assert(!Op::elementwise || have_one_shape(results.data(), static_cast<int>(results.size())),
                "cairn: the results of an elementwise operation have one shape");
  operation o = properties_of<Op>;
  o.argument_count = static_cast<int>(sizeof...(Tensors));
  o.result_count = static_cast<int>(results.size());
  o.results = results.data();
  o.flops = Op::flops(Tensors::shape...);
  if (o.flops < 0) o.flops = results[0].count;
  o.bf16_handling = stored::handling;
  o.reads_bf16 = stored::reads_bf16;
  if constexpr (!stored::is_typed) {
    o.has_bf16_product = Op::contraction && stored::handling == rounding::reads_bf16;
    if constexpr (rounds) o.with_float_results = &float_result_operation_of<Op, Target, Tensors...>;
    if constexpr (stored::precision_argument != none && Target::rounds && stored::handling == rounding::reads_bf16 &&
                  ((Tensors::element.type == dtype::real) && ...)) {
      o.with_float_arguments = &operation_of<reading_floats<Op>, Target, Tensors...>;
      o.precision_argument = stored::precision_argument;
    }
  }
  if constexpr (Op::mapped) o.map = axis_maps_of<Op, Tensors...>.data();
  if constexpr (Op::elementwise || Op::mapped) {
    o.lanes = lanes_for<Op, real, Tensors...>(std::make_index_sequence<results.size()>{});
  } else if constexpr (!Op::view) {
    using made_as = std::conditional_t<rounds, cairn::detail::floats_rounded, real>;
    o.run = stored::template with<detail::kernel_of<Op, made_as>::template with>::run();
    o.readings = stored::readings;
    o.made = stored::makings[0];
    o.kernel_workspace = Op::scratch(stored::bytes, Tensors::shape...);
    o.number_bytes = stored::bytes;
    o.of_single_numbers = Op::of_single_numbers(Tensors::shape...);
    for (int i = 0; i < std::min(o.argument_count, 64); ++i)
      o.keeps_rows |= std::uint64_t{Op::keeps_rows(i, Tensors::shape...)} << i;
  }
  if constexpr (Target::order > 0) {
    using vjp =
        vjp_of<Op, target<numbers, Target::order - 1, Target::training, false, false, 1, Target::shards>, Tensors...>;
    vjp::describe(o);
  }
  return o;
}
/// The result of a leaf. `Tensor` is the leaf's own tensor type, except for constants. A constant has the element type
/// of the values with which it is combined.
template <class Numbers, class Tensor>
inline constexpr result_info leaf_result = [] {
  using real = cairn::detail::real_type_of<Numbers>;
  constexpr dtype type = Tensor::element.type;
  result_info r = describe_result({Tensor::shape, Tensor::element}, bytes_of<type, real>, the_shape<Tensor::shape>);
  r.has_type_bf16 = type == dtype::bf16;
  if constexpr (!std::is_same_v<Numbers, real> && type == dtype::real)
    r.to_bf16 = &rounding_to_bf16<real, Tensor::shape>;
  return r;
}();
template <class Leaf>
constexpr operation describe_leaf(const result_info& result) {
  operation o;
  o.name = "leaf";
  o.results = &result;
  lowering<Leaf>::describe(o);
  return o;
}
template <class Leaf, class Numbers, class Tensor = lang::tensor_of<Leaf>>
inline constexpr operation leaf_operation = describe_leaf<Leaf>(leaf_result<Numbers, Tensor>);
/// The operation of a parameter, if parameters are stored as bf16.
template <class Leaf, class Numbers>
inline constexpr operation rounded_leaf_operation =
    describe_leaf<Leaf>(rounded_result<cairn::detail::real_type_of<Numbers>, Leaf::shape>);

}  // namespace graphs
}  // namespace cairn
