// The builder, to which lowering writes: the tables of a graph, the open scopes with their bindings, and the path of
// names.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/graph/graph.hpp"

#include <limits>
#include <utility>

namespace cairn::graphs {

/// Counts what lowering will append to a scope. Equal types are counted once.
struct counter {
  sizes total;

  /// Returns true if the type is new, and adds it. The height of a type is the key of its entry in the hash table.
  constexpr bool add_if_new(const char* type, int height) {
    return seen_.find(type, height) == none && seen_.add(type, height, 0) == 0;
  }

 private:
  memo seen_;
};

/// Writes the tables of a graph. A scope is open for each call that is being lowered. The scope's bindings are the
/// values of the call's placeholders. Its memo has the values of the expression types seen in the scope, so that equal
/// expressions become one node.
struct builder {
  /// The state of the outer scope while an inner scope is open.
  struct frame {
    int bindings, memo, path, region;
    bool in_rule;
  };

  node* nodes = nullptr;
  int* arguments = nullptr;
  leaf* leaves = nullptr;
  region* regions = nullptr;
  stored_value* stored_values = nullptr;
  tag* tags = nullptr;
  char* names = nullptr;
  /// The number of nodes and arguments for which there is room, if the tables can grow.
  int room = std::numeric_limits<int>::max(), argument_room = std::numeric_limits<int>::max();
  int node_count = 0, argument_count = 0, leaf_count = 0, region_count = 1, stored_value_count = 0, tag_count = 0,
      character_count = 0;
  stack<gradient_pair> gradient_pairs;
  int shared_count = 0;     ///< applications of shared layers so far
  int top_level_depth = 0;  ///< how many expressions of the top level are being lowered inside of a region
  int most_groups = 1;      ///< as in the graph
  mistakes wrong = {};

  stack<int> bindings;
  memo known;
  stack<char> path;
  stack<int> reused;  ///< values that one region computes and another region uses
  int first_binding = 0;
  int current_region = 0;  ///< the region of the values that are appended
  int open_region = 0;     ///< the innermost open region
  /// True while a gradient rule is appended. The values of a rule have no tags, because policies cannot name what a
  /// gradient computes.
  bool in_rule = false;

  /// Returns the first result of an operation, and appends the results if they are new.
  ///
  /// A function of parameters, states and constants alone is computed once, even if several regions need it. It then
  /// belongs to the innermost region that contains all of them. There is one exception: if all arguments of a segment
  /// are functions of this kind, the user wants the segment to recompute its interior, so its values are not shared.
  constexpr int find_or_append(const operation* op, const int* values) {
    if (in_rule || op->argument_count == 0 || regions[open_region].is_parameter_function) return append(op, values);
    for (int i = 0; i < op->argument_count; ++i) {
      if (!is_parameter_function(values[i])) return append(op, values);
    }
    std::uint32_t hash = op->hash;
    for (int i = 0; i < op->argument_count; ++i) {
      const operation& by = *nodes[values[i]].op;
      hash = detail::mix(hash, is_constant(by.what) ? by.hash : static_cast<std::uint32_t>(values[i]));
    }
    int& bucket = parameter_function_buckets_[hash % 256];
    for (int i = bucket - 1; i != none; i = parameter_functions_[i].next) {
      const int v = parameter_functions_[i].node;
      if (!is_application(v, op, values)) continue;
      move_out(v, common_region(regions, nodes[v].region, current_region));
      reused.push(v);
      return v;
    }
    const int first = append(op, values);
    parameter_functions_.push({first, bucket - 1});
    bucket = parameter_functions_.count();
    while (is_parameter_function_.count() < node_count)
      is_parameter_function_.push(is_parameter_function_.count() >= first);
    return first;
  }
  /// Appends the results of an operation. Returns the first result.
  constexpr int append(const operation* op, const int* values) {
    if (node_count + op->result_count > room) nodes = own_nodes_.resize(room *= 2);
    if (argument_count + op->argument_count > argument_room) arguments = own_arguments_.resize(argument_room *= 2);
    const int first_argument = argument_count, first_result = node_count;
    for (int i = 0; i < op->argument_count; ++i) arguments[argument_count++] = values[i];
    for (int r = 0; r < op->result_count; ++r)
      nodes[node_count++] = {op, op->results + r, first_argument, r, current_region, open_region, 0};
    return first_result;
  }
  /// Appends a leaf, which belongs to region 0.
  constexpr int append_leaf(const operation* op) {
    const int value = append(op, nullptr);
    nodes[value].region = nodes[value].open_region = 0;
    return value;
  }

  /// Makes the builder write to the tables of graph `g`.
  constexpr void write_to(auto& g) {
    nodes = g.nodes;
    arguments = g.arguments;
    leaves = g.leaves;
    regions = g.regions;
    stored_values = g.stored_values;
    tags = g.tags;
    names = g.names;
  }
  /// Makes the builder write nodes and arguments to tables of its own, which grow.
  constexpr void write_apart(const sizes& expected) {
    nodes = own_nodes_.resize(room = expected.nodes + 1);
    arguments = own_arguments_.resize(argument_room = expected.arguments + 1);
  }

  constexpr int argument(int v, int i) const { return arguments[nodes[v].first + i]; }
  constexpr int root(int v) const {
    while (nodes[v].op->what == role::view) v = argument(v, 0);
    return v;
  }

  /// Appends a name to the path, after a '.' if the path is not empty.
  constexpr void extend_path(std::string_view name) {
    if (path.count() > 0) path.push('.');
    for (char c : name) path.push(c);
  }
  /// Appends `before` and the decimal digits of `number` to the path.
  constexpr void number_path(char before, int number) {
    path.push(before);
    char digits[8] = {};
    int length = 0;
    for (int rest = number; length == 0 || rest > 0; rest /= 10) digits[length++] = static_cast<char>('0' + rest % 10);
    while (length > 0) path.push(digits[--length]);
  }
  constexpr std::string_view full_path() const { return {path.begin(), path.size()}; }
  /// Writes a name to the graph's characters and returns where it begins.
  constexpr int write_name(std::string_view name) {
    const int begin = character_count;
    for (char c : name) names[character_count++] = c;
    return begin;
  }

  /// Opens a scope with a region of its own and binds `count` values to its placeholders. The caller passes the
  /// returned frame to close().
  constexpr frame open(region_kind what, const int* values, int count) {
    const frame before{first_binding, known.open(), path.count(), open_region, in_rule};
    bool from_parameters = what == region_kind::segment && !in_rule;
    for (int i = 0; from_parameters && i < count; ++i) from_parameters = is_parameter_function(values[i]);
    const region& outer = regions[open_region];
    regions[region_count] = {.parent = open_region,
                             .what = what,
                             .is_parameter_function = from_parameters || outer.is_parameter_function,
                             .shared_application = outer.shared_application,
                             .first_reused = reused.count()};
    current_region = open_region = region_count++;
    first_binding = bindings.count();
    for (int i = 0; i < count; ++i) bindings.push(values[i]);
    return before;
  }
  /// Opens a scope for a gradient rule. The values of the rule belong to `region`, which is the region of the value
  /// that is being differentiated.
  constexpr frame open_rule(int region) {
    const frame before{first_binding, known.open(), path.count(), open_region, in_rule};
    current_region = region;
    first_binding = bindings.count();
    in_rule = true;
    return before;
  }
  constexpr void close(const frame& before) {
    bindings.shrink(first_binding);
    first_binding = before.bindings;
    known.close(before.memo);
    path.shrink(before.path);
    current_region = open_region = before.region;
    in_rule = before.in_rule;
  }

  /// Returns the number of the leaf with this name, and appends the leaf if it is new. A name that is used several
  /// times is one leaf. A random key is an exception: each application of a shared layer has a key of its own. If
  /// `prefixed`, the path of the open scopes is put before the name, unless the name begins with '/'.
  constexpr int leaf_of(const operation* op, std::string_view name, bool prefixed) {
    const int length = path.count();
    if (prefixed && name.starts_with('/')) {
      prefixed = false;
      name.remove_prefix(1);
    }
    extend_path(name);
    if (const int application = regions[current_region].shared_application; application > 0 && op->what == role::random)
      number_path('#', application);
    const int found = find_or_append_leaf(op, prefixed ? full_path() : name);
    path.shrink(length);
    return found;
  }

  /// Appends a leaf without a name, which is bound by its position. Returns its number.
  constexpr int nameless_leaf(const operation* op) {
    leaves[leaf_count] = {append_leaf(op), 0, 0, none};
    layers_.push(none);
    return leaf_count++;
  }

  /// Notes that `value` is the result of the layer that uses this leaf, which is a parameter or a random key. If
  /// another layer uses the leaf, too, this is a mistake. An expression of the top level that is used in several
  /// regions is computed in each of them. It does not count as a second layer.
  constexpr void note_layer(int leaf, int value) {
    if (regions[current_region].shared_application > 0 || top_level_depth > 0) return;
    int& earlier = layers_[leaf];
    if (earlier == none) {
      earlier = value;
    } else if (wrong.applied_twice == none && earlier != value) {
      wrong.applied_twice = leaf;
      wrong.first_layer = earlier;
      wrong.second_layer = value;
    }
  }

  /// Makes v the next value of a state, after the training step.
  constexpr void set_next_value(int state, int v, shard_join join) {
    int& next_value = leaves[state].next_value;
    if (next_value != none && (next_value != v || leaves[state].join != join)) wrong.updated_twice = state;
    next_value = v;
    leaves[state].join = join;
  }

 private:
  constexpr int find_or_append_leaf(const operation* op, std::string_view name) {
    int& bucket = buckets_[(detail::hash_of(name) + static_cast<std::uint32_t>(op->what)) % 256];
    for (int i = bucket - 1; i != none; i = leaves[i].next) {
      const operation*& there = nodes[leaves[i].node].op;
      if (there->what == op->what &&
          std::string_view(names + leaves[i].name, static_cast<std::size_t>(leaves[i].name_length)) == name) {
        if (!there->same_leaf(*op)) {
          wrong.conflict = i;
          wrong.rival = op;
        } else if (!there->has_initial()) {
          there = op;
        }
        return i;
      }
    }
    const int value = append_leaf(op);
    leaves[leaf_count] = {value, write_name(name), static_cast<int>(name.size()), bucket - 1};
    bucket = leaf_count + 1;
    layers_.push(none);
    return leaf_count++;
  }

  /// Returns true if v is a function of parameters, states and constants alone.
  constexpr bool is_parameter_function(int v) const {
    const role what = nodes[v].op->what;
    return is_persistent(what) || is_constant(what) ||
           (v < is_parameter_function_.count() && is_parameter_function_[v]);
  }
  /// Returns true if v is a result of this operation, applied to these values or to equal constants.
  constexpr bool is_application(int v, const operation* op, const int* values) const {
    bool equal = detail::same_address(nodes[v].op, op);
    for (int i = 0; equal && i < op->argument_count; ++i) {
      const int a = argument(v, i);
      equal =
          a == values[i] || (is_constant(nodes[a].op->what) && detail::same_address(nodes[a].op, nodes[values[i]].op));
    }
    return equal;
  }
  /// Moves a value, and the values that it is computed from, to region `to`, which contains their regions.
  constexpr void move_out(int v, int to) {
    if (nodes[v].region == to || is_leaf(nodes[v].op->what)) return;
    const int head = v - nodes[v].result_index;
    for (int u = head; u < head + nodes[v].op->result_count; ++u) nodes[u].region = nodes[u].open_region = to;
    for (int i = 0; i < nodes[v].op->argument_count; ++i) {
      const int a = argument(v, i);
      move_out(a, common_region(regions, nodes[a].region, to));
    }
  }

  struct parameter_function {
    int node, next;
  };
  stack<parameter_function>
      parameter_functions_;            // the values that are functions of parameters, states and constants alone
  stack<bool> is_parameter_function_;  // by node, up to the last parameter function
  int parameter_function_buckets_[256] = {};
  stack<int> layers_;  // by leaf: the result of the layer that uses it
  int buckets_[256] = {};
  stack<node> own_nodes_;
  stack<int> own_arguments_;
};

/// Counts in builder::top_level_depth, during its lifetime, that an expression of the top level is being lowered inside
/// of a region.
struct top_level_expression {
  builder& b;
  bool counted;
  constexpr top_level_expression(builder& to, bool of_top_level) : b(to), counted(of_top_level && to.open_region != 0) {
    b.top_level_depth += counted;
  }
  top_level_expression(const top_level_expression&) = delete;
  constexpr ~top_level_expression() { b.top_level_depth -= counted; }
};

}  // namespace cairn::graphs
