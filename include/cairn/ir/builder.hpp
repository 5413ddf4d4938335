// Where lowering writes: the tables of a graph, the open scopes with their bindings, and the path of names.
#pragma once

#include "cairn/expr/concepts.hpp"
#include "cairn/ir/graph.hpp"

namespace cairn::ir {

/// A type's identity in constant evaluation: the address.
template <class T>
inline constexpr char id_of{};

/// Capacity of the tables of one open scope, and of all open ones.
inline constexpr int max_open_values = 4 * max_expression_size;
inline constexpr int max_path = 512;

/// Where lowering writes. A scope is open for each call being lowered: its bindings are the values of its
/// placeholders, its memo the values of the expression types seen in it, so that equal expressions are one node.
struct builder {
  struct memo_entry {
    const char* type;
    int input;
    int value;
  };
  struct frame {
    int bindings, memo, path, segment, depth;
  };

  node* nodes = nullptr;
  leaf* leaves = nullptr;
  segment* segments = nullptr;
  char* names = nullptr;
  int node_count = 0, leaf_count = 0, segment_count = 1, character_count = 0;
  int conflict = none;
  const operation* rival = nullptr;
  bool plain = false;  ///< lower ckpt as block

  int bindings[max_open_values] = {};
  memo_entry memo[max_open_values] = {};
  char path[max_path] = {};
  int buckets[256] = {};
  int binding_count = 0, memo_count = 0, path_length = 0;
  frame now{};

  constexpr int append(const operation* op, const int* arguments, int count) {
    node& n = nodes[node_count];
    n.op = op;
    n.segment = now.segment;
    n.visible = now.depth;
    for (int i = 0; i < count; ++i) n.argument[i] = arguments[i];
    return node_count++;
  }

  constexpr int seen(const char* type, int input = none) const {
    for (int i = memo_count; i-- > now.memo;) {
      if (memo[i].type == type && memo[i].input == input) return memo[i].value;
    }
    return none;
  }
  constexpr int remember(const char* type, int value, int input = none) {
    memo[memo_count++] = {type, input, value};
    return value;
  }

  constexpr void extend_path(std::string_view name) {
    if (path_length > 0) path[path_length++] = '.';
    for (char c : name) path[path_length++] = c;
  }
  constexpr int keep_path() {
    const int begin = character_count;
    for (int i = 0; i < path_length; ++i) names[character_count++] = path[i];
    return begin;
  }

  /// Opens a scope; the caller closes it with what this returns.
  constexpr frame open(const int* arguments, int count) {
    const frame before = now;
    now.bindings = binding_count;
    now.memo = memo_count;
    now.path = path_length;
    for (int i = 0; i < count; ++i) bindings[binding_count++] = arguments[i];
    return before;
  }
  constexpr void open_segment(std::string_view name) {
    const int length = path_length;
    extend_path(name);
    segments[segment_count] = {now.segment, now.depth + 1, keep_path(), path_length};
    path_length = length;
    now.segment = segment_count++;
    ++now.depth;
  }
  constexpr void close(const frame& before) {
    binding_count = now.bindings;
    memo_count = now.memo;
    path_length = now.path;
    now = before;
  }

  /// The leaf of a name: one node however often it is mentioned.
  constexpr int leaf_of(const operation* op, std::string_view name, bool prefixed) {
    const int length = path_length, characters = character_count;
    if (!prefixed) path_length = 0;
    if (prefixed && name[0] == '/') {
      path_length = 0;
      name.remove_prefix(1);
    }
    extend_path(name);
    const leaf fresh{node_count, keep_path(), path_length, none};
    path_length = length;
    std::uint32_t hash = static_cast<std::uint32_t>(op->what);
    for (int i = characters; i < character_count; ++i) hash = hash * 31 + static_cast<unsigned char>(names[i]);
    int& bucket = buckets[hash % 256];
    const std::string_view wanted(names + fresh.name, static_cast<std::size_t>(fresh.name_length));
    for (int i = bucket - 1; i != none; i = leaves[i].next) {
      const node& known = nodes[leaves[i].node];
      if (known.op->what == op->what &&
          std::string_view(names + leaves[i].name, static_cast<std::size_t>(leaves[i].name_length)) == wanted) {
        if (!known.op->same_leaf(*op)) {
          conflict = i;
          rival = op;
        }
        character_count = characters;
        return leaves[i].node;
      }
    }
    leaves[leaf_count] = fresh;
    leaves[leaf_count].next = bucket - 1;
    bucket = ++leaf_count;
    const int made = append(op, nullptr, 0);
    nodes[made].segment = nodes[made].visible = 0;
    return made;
  }
};

}  // namespace cairn::ir
