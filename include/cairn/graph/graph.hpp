// The graph: plain tables that the passes read and write in constant evaluation. The passes know no expression types.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/base/map.hpp"
#include "cairn/base/reversal.hpp"
#include "cairn/graph/memo.hpp"
#include "cairn/lang/leaf.hpp"
#include "cairn/lang/outputs.hpp"

#include <bit>
#include <cstdint>
#include <string_view>

namespace cairn::graphs {

/// The sort of a value, which decides how the passes treat it.
enum class role : std::uint8_t {
  input,      ///< bound to an array at each training step
  parameter,  ///< lives in the program
  cache,      ///< lives in the predictor
  random,     ///< the key of a random operation; each training step has a new one
  /// A value that earlier training steps left: a gradient that is accumulated, or a moment. This training step writes
  /// the next value to the same memory.
  accumulated,
  /// A number that each training step has anew: of an update rule, the same for all parameters, or of a batch, the same
  /// for all microbatches.
  number,
  constant,     ///< an immediate scalar
  generated,    ///< an array that is computed from the positions of its elements wherever it is read
  view,         ///< the argument in another shape, without a plan step and without memory
  map,          ///< elements of the argument in another order; read in place, or copied by a fused loop
  elementwise,  ///< computed by a fused loop
  kernel,       ///< a plan step of its own, unless a fused loop computes it, too
};
constexpr bool is_leaf(role r) { return r < role::view; }
/// Returns true if the value stays from one training step, or call of a predictor, to the next.
constexpr bool is_persistent(role r) { return r == role::parameter || r == role::cache; }
constexpr bool is_constant(role r) { return r == role::constant || r == role::generated; }

struct builder;
struct sizes;

/// A kernel. The operands of an operation are its results, its arguments in order, and its workspace if it needs one. A
/// result that is unused is null. An argument that is a concatenation read in place is replaced by its pieces. The
/// operands of a fused loop are its results and its inputs, and then the operands of the kernel with which the loop
/// shares a plan step, if any. `constants` describes the plan step. For an operation, it is a kernels::launch or null.
using kernel_pointer = void (*)(const void* constants, void* const* operands, int threads);
/// The code of an elementwise operation for one register of each argument. The pointers point to registers.
struct lane_code {
  void (*run)(void* const* results, const void* const* arguments);
};
/// Computes `count` elements of a generated array, beginning at element number `position` in row-major order.
struct generator {
  void (*run)(double* elements, std::int64_t position, int count);
};
/// Appends the gradients of the arguments of value `node` to the graph, if they are wanted, and adds them to
/// `gradient`. `wanted` and `gradient` are tables by node. `gradient` is none for a node that has no gradient yet.
using vjp_pointer = void (*)(builder&, int node, const bool* wanted, int* gradient);

/// Says how an operation treats values that are stored rounded to bf16.
enum class rounding : std::uint8_t {
  as_typed,           ///< the types of the model's expressions alone decide; no conversion is added
  follows_arguments,  ///< the results are rounded if an argument is
  reads_bf16,         ///< the kernel reads some arguments as bf16; the kernel or a conversion rounds the results
  reads_float         ///< the kernel reads floats only; the kernel or a conversion rounds the results
};

struct operation;

/// A result of an operation.
struct result_info {
  shape extents;
  element_type element;
  std::int64_t count = 0, bytes = 0;
  const shape* same_shape = nullptr;   ///< one address for each shape, because addresses are cheaper to compare
  int overwrites = none;               ///< index of the argument that the result may overwrite in memory
  bool always_in_memory = false;       ///< has memory even if it is unused
  bool in_user_memory = false;         ///< is in memory that the user of the program gives
  bool overwritten_by_reader = false;  ///< its reader overwrites it, so each time it is computed it can be read once
  const operation *to_bf16 = nullptr, *to_float = nullptr;  ///< conversions to bf16, if it may be rounded, and to float
  /// True if the result is rounded to bf16. The floats that a kernel computes are rounded by a conversion. The result
  /// of an elementwise operation is rounded if an argument is bf16. Never rounded are sums, next states and single
  /// numbers. An operation that only moves numbers keeps their type.
  bool is_rounded = false;
  bool has_type_bf16 = false;  ///< the user gave the result the type bf16, so it is not a real number that is rounded

  /// Returns the same result with elements of type float. It describes the result's gradient, and also the value
  /// before it is rounded.
  constexpr const result_info& as_float() const;
  /// Returns true if this result can overwrite `other`, each element one element.
  constexpr bool covers(const result_info& other) const { return bytes == other.bytes && count == other.count; }
};

/// An operation with its shapes and its functions. It is made where the operation's type is known. There is one object
/// for each distinct combination of operation, shapes and elements, and its address identifies it.
struct operation {
  std::string_view name;
  role what = role::kernel;
  int argument_count = 0, result_count = 1;
  const result_info* results = nullptr;  ///< by result
  std::int64_t flops = 0;
  std::uint32_t hash = 0;  ///< of the operation's type, with the numbers that are part of it; 0 for leaves

  // Properties that the operation's type declares. lang/operation.hpp explains them.
  const reading* readings = nullptr;  ///< by argument; null if all are the default
  making made = {};                   ///< how the first result is made
  bool contraction = false;
  bool of_single_numbers = false;
  bool averages_over_shards = false;
  bool has_bf16_product = false;  ///< is a contraction of bf16, or a scan with one in its body
  bool updates = false;           ///< computes the next value of a parameter or of a moment, and overwrites it
  rounding bf16_handling = rounding::as_typed;
  bool (*reads_bf16)(int) = nullptr;  ///< by argument: true if the kernel is compiled to read it as bf16
  /// If the kernel computes bf16: the same operation with results of type float.
  const operation* with_float_results = nullptr;
  /// A form of the operation with a kernel that reads floats only, or null. It is used if argument number
  /// `precision_argument` is a float that was never rounded.
  const operation* with_float_arguments = nullptr;
  int precision_argument = 0;
  bool converts = false;          ///< is a conversion to or from bf16 that plan/store.hpp added
  const axis_map* map = nullptr;  ///< by axis
  std::uint64_t keeps_rows = 0;   ///< a bit for each of the first 64 arguments; see `op::keeps_rows`
  workspace kernel_workspace = {};
  int number_bytes = 0;  ///< bytes of a number of `kernel_workspace`

  // Properties of a scan, which has a plan of its own.
  std::int64_t (*workspace_of_plan)(int threads) = nullptr;  ///< bytes of its workspace
  std::int64_t recomputed = 0;                               ///< the part of `flops` that recomputes values
  loop_counts counts = {};

  // Properties of leaves.
  double value = 0;                     ///< value of a constant
  const generator* generate = nullptr;  ///< code that computes a generated array
  initial start = {};
  bool trainable = false;

  kernel_pointer run = nullptr;
  const lane_code* lanes = nullptr;
  vjp_pointer vjp = nullptr;             ///< gradient rule for the cotangents of all results
  vjp_pointer vjp_first = nullptr;       ///< gradient rule for the first cotangent alone, if the operation has one
  int vjp_nodes = 0, vjp_arguments = 0;  ///< the most nodes and arguments that a gradient rule appends

  constexpr bool has_workspace() const {
    return kernel_workspace.numbers(1) > 0 || !detail::same_address(workspace_of_plan, nullptr);
  }
  constexpr std::int64_t workspace_bytes(int threads) const {
    return detail::same_address(workspace_of_plan, nullptr) ? kernel_workspace.numbers(threads) * number_bytes
                                                            : workspace_of_plan(threads);
  }
  /// Returns how argument number i is read.
  constexpr reading reads(int i) const { return detail::same_address(readings, nullptr) ? reading{} : readings[i]; }
  constexpr int operands() const { return result_count + argument_count + (has_workspace() ? 1 : 0); }

  constexpr bool has_initial() const { return start.drawn != initial::law::unspecified; }
  /// Returns true if two leaves with one name can be the same leaf.
  constexpr bool same_leaf(const operation& other) const {
    return results[0].extents == other.results[0].extents && results[0].element == other.results[0].element &&
           trainable == other.trainable && (start == other.start || !has_initial() || !other.has_initial());
  }
};

constexpr const result_info& result_info::as_float() const {
  return detail::same_address(to_float, nullptr) ? *this : *to_float->results;
}

/// A value: one result of an operation that is applied to earlier values. The results of one application are
/// neighbours in the table.
struct node {
  const operation* op;
  const result_info* result;
  int first;         ///< where its arguments begin in the table of arguments
  int result_index;  ///< which result of the operation it is
  int region;        ///< the innermost region; a gradient is in the region of the value that it is the gradient of
  /// the region that was open when the value was appended; for a gradient, where the gradient was taken
  int open_region;
  int order;  ///< 0 for values of the model, 1 for gradients, 2 for gradients of gradients, and so on

  int bf16_version = none;  ///< the value that is read instead of this one, because it is rounded to bf16, or none
};

/// Says that `value` is a gradient of value `of`, or a term of it.
struct gradient_pair {
  int value = none, of = none;
};

/// A named leaf.
struct leaf {
  int node = none;
  int name = 0, name_length = 0;         ///< in graphs::names
  int next = none;                       ///< the next leaf in the hash chain
  int next_value = none;                 ///< for a state that a training step updates: its next value
  shard_join join = shard_join::unsaid;  ///< for such a state: how the next values of shards are joined
  int mean_of = none;                    ///< for a number that is a mean over the microbatches of a batch: the value
};

/// A name by which policies find a value.
struct tag {
  int node = none;
  int name = 0, name_length = 0;
};

/// Regions, in which values are computed. They are numbered in the order in which they begin. Region 0 is the program.
enum class region_kind : std::uint8_t { program, block, stage, iteration, segment };
struct region {
  int parent = none;
  region_kind what = region_kind::program;
  int name = 0, name_length = 0;  ///< the path of a segment
  bool may_be_useless = false;
  /// True if this region is, or is inside of, a segment that is a function of parameters, states and constants alone.
  /// Its values are computed here and are not shared with other regions.
  bool is_parameter_function = false;
  int shared_application = 0;  ///< the number of the application of a shared layer to which the region belongs, or 0
  int first_reused = 0;        ///< how many values in builder::reused are older than the region
  /// For segments of a chain: a bit for each predicate or tag of their policies. The bit is set if a value of this or
  /// an earlier segment of the chain fits the predicate or has the tag.
  std::uint64_t policies_met = 0;
};

/// Returns the innermost region that contains regions a and b. A region has a larger number than the regions around it.
constexpr int common_region(const region* regions, int a, int b) {
  while (a != b) {
    int& inner = a > b ? a : b;
    inner = regions[inner].parent;
  }
  return a;
}

/// A value inside a segment `region` that the segment's policies store for the backward pass.
struct stored_value {
  int node = none, region = none;
};

/// A policy that selects no value of its segment, or a tag in a policy that no value of the segment has.
struct misfit {
  int region = 0;  ///< the segment, or 0 if there is no misfit
  int policy = 0;
  int name = 0, name_length = 0;  ///< the tag
};

/// An operation of a tiled layer that mixes rows, or a state that the layer updates.
struct mixed_rows {
  static constexpr int most_shown = 4;  ///< the most arguments of an operation that a message shows
  int groups = 0;
  std::string_view name;  ///< the name of the operation or the state
  int argument_count = 0;
  const result_info* arguments[most_shown] = {};
  bool updates_state = false;
};

/// Mistakes that only lowering can find. Each is none if the mistake was not made.
struct mistakes {
  int conflict = none;               ///< a leaf with a name that another leaf has, too
  const operation* rival = nullptr;  ///< the other leaf
  misfit policy = {};
  int independent = none;       ///< a value by which a function is differentiated that does not depend on the value
  int updated_twice = none;     ///< a state that would become two different values
  int applied_twice = none;     ///< a parameter or a random key that two layers use
  int gradient_of_scan = none;  ///< the pullback of a scan, if a gradient of the pullback is taken
  int first_layer = none, second_layer = none;  ///< the results of the two layers that use `applied_twice`
  const mixed_rows* rows = nullptr;             ///< the fault of a tiled layer, or null
};

/// The number of entries in each table of a graph, or an upper bound for it.
struct sizes {
  int nodes = 0, arguments = 0, leaves = 0, regions = 0, segments = 0, stored_values = 0, tags = 0, characters = 0,
      updates = 0;
  int depth = 0;        ///< how deep segments are nested
  bool rounds = false;  ///< computed values may be rounded to bf16, so the table of gradient pairs has room

  constexpr sizes& operator+=(const sizes& more) {
    nodes += more.nodes;
    arguments += more.arguments;
    leaves += more.leaves;
    regions += more.regions;
    segments += more.segments;
    stored_values += more.stored_values;
    tags += more.tags;
    characters += more.characters;
    updates += more.updates;
    depth = std::max(depth, more.depth);
    rounds |= more.rounds;
    return *this;
  }
  /// Returns the sizes of `n` copies.
  friend constexpr sizes operator*(int n, const sizes& s) {
    return {n * s.nodes, n * s.arguments,  n * s.leaves,  n * s.regions, n * s.segments, n * s.stored_values,
            n * s.tags,  n * s.characters, n * s.updates, s.depth,       s.rounds};
  }
  /// Adds the characters of a prefix of this length to all names.
  constexpr void prefix_names(int characters_more) { characters += (leaves + segments) * characters_more; }
};

/// Values in the order of their computation, and their arguments.
template <int Nodes, int Arguments>
struct values {
  static constexpr int capacity = Nodes, argument_capacity = Arguments;
  node nodes[Nodes] = {};
  int arguments[Arguments] = {};
  int node_count = 0, argument_count = 0;

  constexpr int argument(int v, int i) const { return arguments[nodes[v].first + i]; }
  constexpr const operation& op(int v) const { return *nodes[v].op; }
  constexpr const result_info& result(int v) const { return *nodes[v].result; }
  /// Returns the first result of the application of an operation that computes v.
  constexpr int head(int v) const { return v - nodes[v].result_index; }
  /// Returns the value in memory that v is a view of. If v is not a view, returns v.
  constexpr int root(int v) const {
    while (nodes[v].op->what == role::view) v = argument(v, 0);
    return v;
  }
};

/// Returns a hash of the values of a graph or of a schedule: their operations, arguments and shapes, and the numbers of
/// constants and of initial laws. Two models with equal hashes compute the same, apart from functions that the user
/// wrote.
constexpr std::uint64_t hash_of_values(const auto& values) {
  std::uint64_t hash = 0;
  const auto mix = [&hash](auto number) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100000001b3;
    hash ^= hash >> 32;
  };
  for (int v = 0; v < values.node_count; ++v) {
    const operation& op = values.op(v);
    const result_info& result = values.result(v);
    mix(op.hash);
    mix(std::uint64_t{static_cast<std::uint32_t>(result.element.bound)} << 32 |
        static_cast<std::uint32_t>(static_cast<int>(result.element.type) << 16 | result.extents.rank << 8 |
                                   static_cast<int>(op.what)));
    if (op.argument_count == 0) {
      for (const double number : {op.value, op.start.fill, op.start.width}) mix(std::bit_cast<std::uint64_t>(number));
      mix(static_cast<int>(op.start.drawn) << 1 | int{op.trainable});
      mix(op.start.zero_row);
    }
    for (int axis = 0; axis < result.extents.rank; ++axis) mix(result.extents[axis]);
    for (int i = 0; i < op.argument_count; ++i) mix(values.argument(v, i));
  }
  return hash;
}

/// A model as tables.
template <sizes Size>
struct graph : values<Size.nodes + 1, Size.arguments + 1> {
  static constexpr sizes size = Size;
  static constexpr int output_capacity = max_outputs + Size.updates;
  leaf leaves[Size.leaves + 1] = {};
  region regions[Size.regions + 1] = {};
  stored_value stored_values[Size.stored_values + 1] = {};
  tag tags[Size.tags + 1] = {};
  char names[Size.characters + 1] = {};
  int leaf_count = 0, region_count = 1, stored_value_count = 0, tag_count = 0, character_count = 0;
  int outputs[output_capacity] = {};  ///< the results, then the next values of states in the order of their leaves
  int output_count = 0, result_count = 0;
  /// The gradients that the model itself takes. If nothing is rounded, the table is empty.
  gradient_pair gradient_pairs[Size.rounds ? 2 * Size.arguments + 1 : 1] = {};
  int gradient_pair_count = 0;
  int cotangent = none;  ///< the leaf that is the gradient of the first output; none if the gradient is 1
  int most_groups = 1;   ///< the largest N of the layers in nn::tiled<up_to<N>>, or 1
  mistakes wrong = {};

  constexpr std::string_view name(const auto& named) const {
    return {names + named.name, static_cast<std::size_t>(named.name_length)};
  }
  constexpr const operation& leaf_op(int i) const { return *this->nodes[leaves[i].node].op; }
  /// Returns the index of the leaf with this role and name, or none.
  constexpr int find(role what, std::string_view wanted) const {
    for (int i = 0; i < leaf_count; ++i) {
      if (leaf_op(i).what == what && name(leaves[i]) == wanted) return i;
    }
    return none;
  }
  /// Returns the number of leaves with this role.
  constexpr int count(role what) const {
    int out = 0;
    for (int i = 0; i < leaf_count; ++i) out += leaf_op(i).what == what;
    return out;
  }
};

}  // namespace cairn::graphs
