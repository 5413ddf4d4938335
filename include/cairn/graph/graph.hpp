// The graph: plain tables that the passes read and write in constant evaluation. No expression types from here on.
#pragma once

#include "cairn/base/element.hpp"
#include "cairn/base/map.hpp"
#include "cairn/base/reversal.hpp"
#include "cairn/lang/leaf.hpp"
#include "cairn/lang/outputs.hpp"
#include "cairn/graph/memo.hpp"

#include <string_view>

namespace cairn::ir {

/// What a value is to the passes.
enum class role : std::uint8_t {
  input,        ///< bound at each step
  parameter,    ///< lives in the program
  cache,        ///< lives in the predictor
  random,       ///< the key of a random operation: made anew for each step
  earlier,      ///< what steps before left, which lies where that of this step will: a gradient so far, a moment
  number,       ///< of an update rule, the same for all parameters: made anew for each step
  constant,     ///< an immediate scalar
  generated,    ///< an array that is computed where it is read, from the positions of its elements
  view,         ///< its argument in another shape: no step, no memory
  map,          ///< elements of its argument in other places: read there, or copied by a loop
  elementwise,  ///< computed by loops
  kernel,       ///< a step of its own, unless a loop takes it in
};
constexpr bool is_leaf(role r) { return r < role::view; }
/// Whether it stays from step to step.
constexpr bool is_kept(role r) { return r == role::parameter || r == role::cache; }
constexpr bool is_constant(role r) { return r == role::constant || r == role::generated; }

struct builder;
struct sizes;

/// Of a kernel's arguments: how far rows of each lie apart, 0 where they are whole, null where all are; and how many
/// columns the pieces have, in order, of those that may be joined, null where none is.
struct argument_table {
  const std::int64_t* rows_apart = nullptr;
  const int* pieces = nullptr;
  int piece_count = 0;
};
/// A kernel. Operands are the results, none in place of those that nobody reads; then the arguments, in order, the
/// pieces of one that is joined in its place, and scratch where the operation asks for it. Of a loop: its results, then
/// its inputs; if it shares the step with a kernel, then the operands of that. `constants` is what the kernel is told
/// of the step: of an operation an argument_table, or null.
using kernel_pointer = void (*)(const void* constants, void* const* operands, int threads);
/// The same for an operation beside a loop, which is a kernel::tile_reader or a kernel::row_maker.
using paired_pointer = void (*)(const void* constants, void* const* operands, int threads, const void* loop);
/// An elementwise operation on one register of each argument; the pointers are to registers.
struct lane_code {
  void (*run)(void* const* results, const void* const* arguments);
};
/// Computes `count` elements of a generated array, from a position on: the number of an element in row-major order.
struct generator {
  void (*run)(double* elements, std::int64_t position, int count);
};
/// Appends the gradients of a value's arguments to the graph and adds them to `gradient`, a table by node, 0 at first.
using vjp_pointer = void (*)(builder&, int node, const bool* wanted, int* gradient);

/// What becomes of an operation whose arguments, or whose results, are stored rounded to bf16, in a graph where that is
/// not a matter of types: nothing; or its results are rounded if an argument is; or it takes such arguments, and makes
/// floats; or it takes and makes floats.
enum class rounding : std::uint8_t { typed, follows, takes, widens };

struct operation;

/// A result of an operation.
struct result {
  shape extents;
  element_type element;
  std::int64_t count = 0, bytes = 0;
  const shape* same_shape = nullptr;  ///< one address for each shape: cheaper to compare
  int overwrites = none;              ///< the argument over which it may be written
  bool always = false;                ///< has memory also where nobody reads it
  bool elsewhere = false;             ///< lies in memory that the user of the program gives
  bool rewritten = false;             ///< who reads it writes over it: there is one reader for each time it is made
  const operation *round = nullptr, *widen = nullptr;  ///< to bf16, where that may be asked for, and back
  /// It becomes bf16: what a kernel makes in floats, by a conversion; what elements make, where an argument is bf16.
  /// But sums, next states and single numbers do not. What moves numbers keeps their type.
  bool rounds = false;

  /// Its gradient, or what becomes of it before it is rounded: the same in floats.
  constexpr const result& in_floats() const;
  /// Whether it fits over another result, each element over one.
  constexpr bool covers(const result& other) const { return bytes == other.bytes && count == other.count; }
};

/// An operation with its shapes and its functions, taken while its type is at hand. One object for each distinct
/// operation, shapes and elements; its address is its identity.
struct operation {
  std::string_view name;
  role what = role::kernel;
  int arguments = 0, results = 1;
  const result* made = nullptr;  ///< by result
  std::int64_t flops = 0;
  std::uint32_t hash = 0;

  // What it declares: see lang/operation.hpp.
  axis_set summed = 0;
  tiling tiles = tiling::none;
  bool takes_rows = false, gives_rows = false;
  int (*reads_rows)(int) = [](int) { return 0; };  ///< by argument
  std::uint64_t reads_pieces = 0;                  ///< a bit for each argument
  bool joins = false;
  bool contraction = false;
  bool of_single_numbers = false;
  bool multiplies_halves = false;  ///< a contraction of bf16, or a loop with one in its body
  bool updates = false;            ///< its results take the places of a parameter, which is argument 0, and its moments
  rounding rounded = rounding::typed;
  bool (*takes_bf16)(int) = nullptr;  ///< by argument: what its kernel is compiled for
  const operation* wide = nullptr;    ///< the same, but its results are floats, where its kernel makes bf16
  const operation* exact = nullptr;   ///< the same, but it takes floats, for where this argument is such
  int exact_argument = 0;
  bool converts = false;          ///< rounds or widens for this
  const axis_map* map = nullptr;  ///< by axis
  workspace scratch = {};
  int number_bytes = 0;  ///< of a number of scratch

  // Of a loop, which is a plan of its own.
  std::int64_t (*scratch_of_plan)(int threads) = nullptr;  ///< in bytes
  std::int64_t recomputed = 0;                             ///< of its flops
  loop_counts counts = {};

  // Of leaves.
  double value = 0;                     ///< of a constant
  const generator* generate = nullptr;  ///< of a generated array
  initial start = {};
  bool trainable = false;

  kernel_pointer run = nullptr;
  paired_pointer run_tiles = nullptr;  ///< hands tiles to a loop
  paired_pointer run_rows = nullptr;   ///< has a loop make rows of its first argument
  const lane_code* lanes = nullptr;
  vjp_pointer vjp = nullptr;             ///< from the cotangents of all results
  vjp_pointer vjp_first = nullptr;       ///< from that of the first, where it has a rule of its own
  int vjp_nodes = 0, vjp_arguments = 0;  ///< upper bounds of what these append

  constexpr bool has_scratch() const { return scratch.numbers(1) > 0 || !same_address(scratch_of_plan, nullptr); }
  constexpr std::int64_t scratch_bytes(int threads) const {
    return same_address(scratch_of_plan, nullptr) ? scratch.numbers(threads) * number_bytes : scratch_of_plan(threads);
  }
  /// Whether argument number i may be joined.
  constexpr bool may_read_pieces(int i) const { return i < 64 && (reads_pieces >> i & 1U) != 0; }
  constexpr int operands() const { return results + arguments + (has_scratch() ? 1 : 0); }

  constexpr bool says_start() const { return start.drawn != initial::law::unsaid; }
  /// Whether two leaves of one name are one leaf.
  constexpr bool same_leaf(const operation& other) const {
    return made->extents == other.made->extents && made->element == other.made->element &&
           trainable == other.trainable && (start == other.start || !says_start() || !other.says_start());
  }
};

constexpr const result& result::in_floats() const { return same_address(widen, nullptr) ? *this : *widen->made; }

/// A value: one result of an operation applied to earlier values. Results of one application follow each other.
struct node {
  const operation* op;
  const result* made;
  int first;   ///< where its arguments begin in the table of arguments
  int number;  ///< which result it is
  int region;  ///< innermost; of a gradient, that of the value whose gradient it computes
  int home;    ///< the region in which it was written: of a gradient, where that was asked for
  int order;   ///< how many gradients lie between it and what is not one

  // In other types: none, or the value that is read in its place, one that some of its readers take, and, of a value
  // that is made once more in floats, the first one, whose gradient its own is.
  int rounded = none, converted = none, copy_of = none;
};

/// A named leaf.
struct leaf {
  int node = none;
  int name = 0, name_length = 0;  ///< in graph::names
  int next = none;                ///< in the hash chain
  int after = none;               ///< of a state that a step updates: what it becomes
};

/// A value's name for policies.
struct tag {
  int node = none;
  int name = 0, name_length = 0;
};

/// Where values are computed: bodies, in the order in which they begin; the first is the program.
enum class part : std::uint8_t { program, block, stage, iteration, segment };
struct region {
  int parent = none;
  part what = part::program;
  int name = 0, name_length = 0;  ///< the path of a segment
  bool may_be_useless = false;
  bool own_parameters = false;  ///< made of parameters alone, in a segment: computed there and nowhere else
  int shared = 0;               ///< whether its layers use the parameters of others: the number of the application
  int first_reused = 0;         ///< of the values of other bodies that are read in place of equal ones
  std::uint64_t found = 0;      ///< of a chain of segments, to here: bits for what its policies ask for
};

/// That the policies of a region keep a value inside of it for backward, where the region is a segment.
struct keep {
  int node = none, region = none;
};

/// A policy that fits no value in its segment, or a tag in it that no value has.
struct misfit {
  int region = 0;  ///< 0 where there is none
  int policy = 0;
  int name = 0, name_length = 0;  ///< of the tag
};

/// Mistakes that only lowering can see.
struct mistakes {
  int conflict = none;               ///< a leaf whose name is used for another one
  const operation* rival = nullptr;  ///< that other leaf
  misfit policy = {};
  int independent = none;       ///< a value by which something is differentiated that does not depend on it
  int updated_twice = none;     ///< a state that is to become two different values
  int applied_twice = none;     ///< a parameter of two layers
  int gradient_of_loop = none;  ///< the gradients of a loop, of which a gradient is taken
  int first_layer = none, second_layer = none;  ///< what these give
};

/// How much a graph holds, or may come to hold.
struct sizes {
  int nodes = 0, arguments = 0, leaves = 0, regions = 0, segments = 0, keeps = 0, tags = 0, characters = 0, updates = 0;
  int depth = 0;  ///< of nested segments

  constexpr sizes& operator+=(const sizes& more) {
    nodes += more.nodes;
    arguments += more.arguments;
    leaves += more.leaves;
    regions += more.regions;
    segments += more.segments;
    keeps += more.keeps;
    tags += more.tags;
    characters += more.characters;
    updates += more.updates;
    depth = std::max(depth, more.depth);
    return *this;
  }
  /// N times this.
  friend constexpr sizes operator*(int n, const sizes& s) {
    return {n * s.nodes, n * s.arguments, n * s.leaves,     n * s.regions, n * s.segments,
            n * s.keeps, n * s.tags,      n * s.characters, n * s.updates, s.depth};
  }
  /// Characters for the names inside of something whose own name has so many.
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
  constexpr const result& made(int v) const { return *nodes[v].made; }
  /// The first result of the application of which v is a result.
  constexpr int head(int v) const { return v - nodes[v].number; }
  /// The value whose memory a view reads.
  constexpr int root(int v) const {
    while (nodes[v].op->what == role::view) v = argument(v, 0);
    return v;
  }
};

/// A model as tables.
template <sizes Size>
struct graph : values<Size.nodes + 1, Size.arguments + 1> {
  static constexpr sizes size = Size;
  static constexpr int output_capacity = max_outputs + Size.updates;
  leaf leaves[Size.leaves + 1] = {};
  region regions[Size.regions + 1] = {};
  keep keeps[Size.keeps + 1] = {};
  tag tags[Size.tags + 1] = {};
  char names[Size.characters + 1] = {};
  int leaf_count = 0, region_count = 1, keep_count = 0, tag_count = 0, character_count = 0;
  int outputs[output_capacity] = {};  ///< the results, then what states become, in the order of their leaves
  int output_count = 0, result_count = 0;
  int cotangent = none;  ///< a leaf, the gradient of the first output; none where that is 1
  mistakes wrong = {};

  constexpr std::string_view name(const auto& named) const {
    return {names + named.name, static_cast<std::size_t>(named.name_length)};
  }
  constexpr const operation& leaf_op(int i) const { return *this->nodes[leaves[i].node].op; }
  /// The leaf of a name, or none.
  constexpr int find(role what, std::string_view wanted) const {
    for (int i = 0; i < leaf_count; ++i) {
      if (leaf_op(i).what == what && name(leaves[i]) == wanted) return i;
    }
    return none;
  }
};

}  // namespace cairn::ir
