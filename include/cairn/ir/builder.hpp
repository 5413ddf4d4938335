// Where lowering writes: the tables of a graph, the open scopes with their bindings, and the path of names.
#pragma once

#include "cairn/ir/graph.hpp"

#include <limits>

namespace cairn::ir {

/// Counts what lowering will append to a scope, equal types once.
struct counter {
  sizes total;

  /// Whether the type is new; types are told apart fastest by their height.
  constexpr bool first(const char* type, int height) {
    return seen_.find(type, height) == none && seen_.add(type, height, 0) == 0;
  }

 private:
  memo seen_;
};

/// Where lowering writes. A scope is open for each call being lowered: its bindings are the values of its
/// placeholders, its memo the values of the expression types seen in it, so that equal expressions are one
/// node.
struct builder {
  struct frame {
    int bindings, memo, path, segment, depth, nested;
  };

  node* nodes = nullptr;
  leaf* leaves = nullptr;
  segment* segments = nullptr;
  tag* tags = nullptr;  ///< none while gradients are appended: what they compute, policies cannot keep
  char* names = nullptr;
  int room = std::numeric_limits<int>::max();  ///< of nodes, where these are to grow
  int node_count = 0, leaf_count = 0, segment_count = 1, tag_count = 0, character_count = 0;
  int conflict = none;
  const operation* rival = nullptr;
  misfit wrong_policy = {};
  int independent = none;
  int updated_twice = none;
  int blocks = 0;  ///< of the segments around each other, so many of the outermost are lowered as blocks

  stack<int> bindings;
  memo known;
  stack<char> path;
  int first_binding = 0, segment_now = 0, depth = 0, nested = 0;

  constexpr int append(const operation* op, const int* arguments, int count) {
    if (node_count == room) grow();
    node& n = nodes[node_count];
    n.op = op;
    n.segment = segment_now;
    n.visible = depth;
    for (int i = 0; i < count; ++i) n.argument[i] = arguments[i];
    return node_count++;
  }

  /// Has the tables of a graph written, with so many of the outermost segments as blocks.
  constexpr void write_to(auto& g, int outermost) {
    nodes = g.nodes;
    leaves = g.leaves;
    segments = g.segments;
    tags = g.tags;
    names = g.names;
    blocks = outermost;
  }

  constexpr void extend_path(std::string_view name) {
    if (path.count() > 0) path.push('.');
    for (char c : name) path.push(c);
  }
  constexpr std::string_view full_path() const { return {path.begin(), path.size()}; }
  constexpr int keep(std::string_view name) {
    const int begin = character_count;
    for (char c : name) names[character_count++] = c;
    return begin;
  }

  /// Opens a scope; the caller closes it with what this returns.
  constexpr frame open(const int* arguments, int count) {
    const frame before{first_binding, known.open(), path.count(), segment_now, depth, nested};
    first_binding = bindings.count();
    for (int i = 0; i < count; ++i) bindings.push(arguments[i]);
    return before;
  }
  constexpr void open_segment(std::string_view name, bool may_be_useless) {
    if (nested++ < blocks) return;
    const int length = path.count();
    extend_path(name);
    segments[segment_count] = {segment_now, ++depth, keep(full_path()), path.count(), may_be_useless};
    path.shrink(length);
    segment_now = segment_count++;
  }
  /// Keeps a value inside of the open segment, and what it views, for those outside.
  constexpr void save(int v) {
    for (;; v = nodes[v].argument[0]) {
      node& n = nodes[v];
      if (n.visible < depth || n.op->arguments == 0) return;
      n.visible = depth - 1;
      n.saved = depth == 1;
      if (n.op->what != role::view) return;
    }
  }
  constexpr void close(const frame& before) {
    bindings.shrink(first_binding);
    first_binding = before.bindings;
    known.close(before.memo);
    path.shrink(before.path);
    segment_now = before.segment;
    depth = before.depth;
    nested = before.nested;
  }

  /// The number of the leaf of a name: one leaf however often it is mentioned.
  constexpr int leaf_of(const operation* op, std::string_view name, bool prefixed) {
    const int length = path.count();
    if (prefixed && name[0] == '/') {
      prefixed = false;
      name.remove_prefix(1);
    }
    extend_path(name);
    const int found = find_or_append(op, prefixed ? full_path() : name);
    path.shrink(length);
    return found;
  }

  /// Has a state become `next` after the step: a result that lies until then where the forward pass put it.
  constexpr void update(int state, int next) {
    int& after = leaves[state].after;
    if (after != 0 && after != next + 1) updated_twice = state;
    after = next + 1;
    for (int v = next; nodes[v].visible > 0; v = nodes[v].argument[0]) {
      nodes[v].visible = 0;
      if (nodes[v].op->what != role::view) break;
    }
  }

 private:
  constexpr void grow() {
    room *= 2;
    node* const more = new node[static_cast<std::size_t>(room)]{};
    for (int v = 0; v < node_count; ++v) more[v] = nodes[v];
    delete[] nodes;
    nodes = more;
  }
  constexpr int find_or_append(const operation* op, std::string_view name) {
    std::uint32_t hash = static_cast<std::uint32_t>(op->what);
    for (char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
    int& bucket = buckets_[hash % 256];
    for (int i = bucket - 1; i != none; i = leaves[i].next) {
      const node& known = nodes[leaves[i].node];
      if (known.op->what == op->what &&
          std::string_view(names + leaves[i].name, static_cast<std::size_t>(leaves[i].name_length)) == name) {
        if (!known.op->same_leaf(*op)) {
          conflict = i;
          rival = op;
        }
        return i;
      }
    }
    const int made = append(op, nullptr, 0);
    nodes[made].segment = nodes[made].visible = 0;
    leaves[leaf_count] = {made, keep(name), static_cast<int>(name.size()), bucket - 1};
    bucket = leaf_count + 1;
    return leaf_count++;
  }

  int buckets_[256] = {};
};

}  // namespace cairn::ir
