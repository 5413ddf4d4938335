// The graph: plain tables that the passes read and write in constant evaluation. No expression types from here on.
#pragma once

#include "cairn/core/product.hpp"
#include "cairn/core/shape.hpp"
#include "cairn/ir/memo.hpp"

#include <string_view>

namespace cairn::ir {

inline constexpr int max_arguments = 4;

/// What a node is to the passes.
enum class role : std::uint8_t {
  input,        ///< bound at each step
  parameter,    ///< lives in the program
  random,       ///< the key of a random operation: made anew for each step
  gradient,     ///< a leaf's gradient of the steps before, which lies where this step's sum with it will
  constant,     ///< an immediate scalar
  view,         ///< another shape of its argument: no step, no memory
  elementwise,  ///< fused into loops
  kernel,       ///< a step of its own, unless a loop takes it in
};

struct builder;

/// A kernel: operands are the result, the arguments in order, and scratch where the operation asks for it.
/// For a fused loop: the results, then the inputs; if it begins with a product, then A, B and scratch for that.
using kernel_pointer = void (*)(void* const* operands, int threads);
/// An elementwise operation on one SIMD register; the pointers are to lanes of the program's type.
struct lane_code {
  void (*run)(void* result, const void* const* arguments);
};
/// Appends the gradients of a node's arguments to the graph and adds them to `gradient`, a table by node, 0 at first.
using vjp_pointer = void (*)(builder&, int node, const bool* wanted, int* gradient);

/// An operation with its shapes and its functions, taken while its type is at hand. One object for each distinct
/// operation, shapes and element type; its address is its identity.
struct operation {
  std::string_view name;
  role what;
  kind element;
  shape result;
  int arguments = 0;
  std::int64_t flops = 0;
  workspace scratch = {};
  axis_set summed = 0;      ///< of a sum: over which axes
  product multiplied = {};  ///< of a matrix product, if it is a single one
  int element_bytes = 0;
  bool in_place = false;
  std::uint32_t hash = 0;
  double value = 0;        ///< of a constant; of a parameter: the bound of its uniform initialization
  double fill = 0;         ///< of a parameter whose bound is 0: its initial value
  bool trainable = false;  ///< of a parameter
  int classes = 0;         ///< of labels
  kernel_pointer run = nullptr;
  const lane_code* lanes = nullptr;
  vjp_pointer vjp = nullptr;
  int vjp_nodes = 0;  ///< upper bound of what vjp appends

  constexpr std::int64_t scratch_bytes(int threads) const { return scratch.numbers(threads) * element_bytes; }

  std::int64_t count = 0, bytes = 0;  ///< of the result
  const shape* same_shape = nullptr;  ///< one address for each shape: cheaper to compare

  /// Whether two leaves of one name are one leaf.
  constexpr bool same_leaf(const operation& other) const {
    return result == other.result && element == other.element && classes == other.classes &&
           trainable == other.trainable && value == other.value && fill == other.fill;
  }
};

/// A value: an operation applied to earlier values.
struct node {
  const operation* op = nullptr;
  int argument[max_arguments] = {none, none, none, none};
  int segment = 0;     ///< innermost segment; 0 is the program outside all segments
  int visible = 0;     ///< depth of the outermost segment that this value is a result of, as seen from outside
  int order = 0;       ///< how many gradients lie between it and what is not one
  bool saved = false;  ///< the policy of an outermost segment keeps it for backward
};

/// A named leaf.
struct leaf {
  int node = none;
  int name = 0, name_length = 0;  ///< in graph::names
  int next = none;                ///< in the hash chain
  int after = 0;                  ///< of a state that a step updates: one more than the node of what it becomes
};

/// A value's name for policies.
struct tag {
  int node = none;
  int name = 0, name_length = 0;
};

/// A policy that fits no value in its segment, or a tag in it that no value has.
struct misfit {
  int segment = 0;  ///< 0 where there is none
  int policy = 0;
  int name = 0, name_length = 0;  ///< of the tag
};

struct segment {
  int parent = none, depth = 0;
  int name = 0, name_length = 0;
  bool may_be_useless = false;
  std::uint64_t found = 0;  ///< of a chain, to here: bits for what its policies ask for
};

/// How much a graph holds, or may come to hold.
struct sizes {
  int nodes = 0, leaves = 0, segments = 0, tags = 0, characters = 0, updates = 0;
  int depth = 0;  ///< of nested segments

  friend constexpr sizes operator+(const sizes& a, const sizes& b) {
    return {a.nodes + b.nodes,
            a.leaves + b.leaves,
            a.segments + b.segments,
            a.tags + b.tags,
            a.characters + b.characters,
            a.updates + b.updates,
            a.depth > b.depth ? a.depth : b.depth};
  }
  constexpr sizes& operator+=(const sizes& more) { return *this = *this + more; }
  friend constexpr sizes operator*(int n, const sizes& a) {
    return {n * a.nodes, n * a.leaves, n * a.segments, n * a.tags, n * a.characters, n * a.updates, a.depth};
  }
};

inline constexpr int max_outputs = 8;

/// A model as tables, in the order of its computation.
template <sizes Size>
struct graph {
  static constexpr sizes capacity = Size;
  static constexpr int output_capacity = max_outputs + Size.updates;
  node nodes[Size.nodes + 1] = {};
  leaf leaves[Size.leaves + 1] = {};
  segment segments[Size.segments + 1] = {};
  tag tags[Size.tags + 1] = {};
  char names[Size.characters + 1] = {};
  int node_count = 0, leaf_count = 0, segment_count = 1, tag_count = 0, character_count = 0;
  int outputs[output_capacity] = {};  ///< the results, then what states become, in the order of their leaves
  int output_count = 0, result_count = 0;
  int cotangent = none;              ///< a leaf, the gradient of the first output; none where that is 1
  int conflict = none;               ///< a leaf whose name is used for another shape
  const operation* rival = nullptr;  ///< that other leaf
  misfit wrong_policy = {};
  int independent = none;    ///< a value by which something is differentiated that does not depend on it
  int updated_twice = none;  ///< a state that is to become two different values

  constexpr std::string_view name(const auto& named) const {
    return {names + named.name, static_cast<std::size_t>(named.name_length)};
  }
  /// The leaf of a name, or none.
  constexpr int find(role what, std::string_view wanted) const {
    for (int i = 0; i < leaf_count; ++i) {
      if (nodes[leaves[i].node].op->what == what && name(leaves[i]) == wanted) return i;
    }
    return none;
  }
};

}  // namespace cairn::ir
