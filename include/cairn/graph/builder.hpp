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
  };

  node* nodes = nullptr;
  int* arguments = nullptr;
  leaf* leaves = nullptr;
  region* regions = nullptr;
  stored_value* stored_values = nullptr;
  tag* tags = nullptr;  ///< null while gradients are appended, because policies cannot name what gradients compute
  char* names = nullptr;
  /// The number of nodes and arguments for which there is room, if the tables can grow.
  int room = std::numeric_limits<int>::max(), argument_room = std::numeric_limits<int>::max();
  int node_count = 0, argument_count = 0, leaf_count = 0, region_count = 1, stored_value_count = 0, tag_count = 0,
      character_count = 0;
  int shared_count = 0;     ///< applications of shared layers so far
  int top_level_depth = 0;  ///< how many expressions of the top level are being lowered inside of a region
  mistakes wrong = {};

  stack<int> bindings;
  memo known;
  stack<char> path;
  stack<int> reused;  ///< values that one region computes and another region uses
  int first_binding = 0;
  int current_region = 0;  ///< the region of the values that are appended
  int open_region = 0;     ///< the innermost open region

 private:
  template <class T>  // stands before its callers, because otherwise clang cannot evaluate it in constant evaluation
  constexpr void grow(T*& table, int count, int& room_for) {
    room_for *= 2;
    T* const more = new T[static_cast<std::size_t>(room_for)]{};
    for (int i = 0; i < count; ++i) more[i] = table[i];
    delete[] table;
    table = more;
    if constexpr (std::is_same_v<T, node>) own_nodes_ = more;
    else own_arguments_ = more;
  }

 public:
  /// Returns the first result of an operation, and appends the results if they are new.
  ///
  /// A function of parameters, states and constants alone is computed once, even if several regions need it. It then
  /// belongs to the innermost region that contains all of them. There is one exception: if all arguments of a segment
  /// are functions of this kind, the user wants the segment to recompute its interior, so its values are not shared.
  constexpr int find_or_append(const operation* op, const int* values) {
    op = form_for(op, values);
    bool from_parameters =
        op->argument_count > 0 && !detail::same_address(tags, nullptr) && !regions[open_region].is_parameter_function;
    for (int i = 0; from_parameters && i < op->argument_count; ++i) from_parameters = is_parameter_function(values[i]);
    if (!from_parameters) return append(op, values);
    std::uint32_t hash = op->hash;
    for (int i = 0; i < op->argument_count; ++i) {
      const operation& by = *nodes[values[i]].op;
      hash = detail::mix(hash, is_constant(by.what) ? by.hash : static_cast<std::uint32_t>(values[i]));
    }
    int& bucket = parameter_function_buckets_[hash % 256];
    for (int i = bucket - 1; i != none; i = parameter_functions_[i].next) {
      const int v = parameter_functions_[i].node;
      if (!is_application(v, op, values)) continue;
      move_out(v, common_region(nodes[v].region, current_region));
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
  /// Appends the results of an operation, and the conversions of arguments and results that it needs. Returns the first
  /// result.
  constexpr int append(const operation* op, const int* values) {
    if (op->bf16_handling == rounding::as_typed) return append_plain(op, values);
    if (op->bf16_handling == rounding::follows_arguments) return append_following(op, values);
    op = form_for(op, values);
    stack<int> converted;
    for (int i = 0; i < op->argument_count; ++i)
      converted.push(op->takes_bf16(i) ? as_bf16(values[i]) : widen(values[i]));
    const int first = append_plain(op, converted.begin());
    for (int v = first; v < first + op->result_count; ++v) {
      if (nodes[v].result->is_rounded) nodes[v].bf16_version = append_plain(nodes[v].result->to_bf16, &v);
    }
    return first;
  }

  // Values that are stored rounded to bf16. A kernel computes floats, and a conversion in a fused loop rounds them. A
  // conversion of an argument to the type that a kernel reads is not differentiated: the gradient of the converted
  // argument belongs to the argument.

  /// Returns the form of an operation that fits these arguments. If the argument that decides is a float that was never
  /// rounded, the form reads floats only.
  constexpr const operation* form_for(const operation* op, const int* values) const {
    return !detail::same_address(op->with_float_arguments, nullptr) &&
                   is_unrounded_float(values[op->precision_argument])
               ? op->with_float_arguments
               : op;
  }
  /// Returns the value that is read instead of v: the bf16 version of v, if v is rounded, or v itself.
  constexpr int read_instead_of(int v) const { return nodes[v].bf16_version != none ? nodes[v].bf16_version : v; }
  /// If v is a conversion that was added for an operation that reads another type, returns the value before the
  /// conversion. Otherwise returns v.
  constexpr int before_conversion(int v) const {
    return nodes[v].op->converts && nodes[argument(v, 0)].bf16_version != v ? argument(v, 0) : v;
  }
  /// Returns the value to which the gradient of v belongs: the value before any rounding, conversion or recomputation.
  constexpr int gradient_owner(int v) const {
    const int before = nodes[v].float_version_of != none ? nodes[v].float_version_of : before_conversion(v);
    return nodes[before].op->converts ? argument(before, 0) : before;
  }
  /// Returns true if v is a float that was never rounded to bf16.
  constexpr bool is_unrounded_float(int v) const {
    return !is_bf16(v) && nodes[v].bf16_version == none && !nodes[v].op->converts;
  }
  /// Returns true if the gradient of v is float: v was never rounded, or it is a parameter that is stored as bf16.
  constexpr bool has_float_gradient(int v) const { return is_weight(v) || is_unrounded_float(v); }
  /// Returns v as float, for a sum of gradients or as a result of a program, predictor or scan.
  /// - If v was rounded from a float value, returns the float value.
  /// - If v was computed in bf16, and its number is at least `first`, recomputes v in float.
  /// - An older value is converted. A value that is not bf16 is returned as it is.
  constexpr int as_float(int v, int first = 0) {
    if (nodes[v].op->converts && is_bf16(v)) return argument(v, 0);
    const bool again = is_bf16(v) && v >= first && !detail::same_address(float_form_of(v), nullptr);
    return again ? recompute_as_float(v, first) : widen(v);
  }

 private:
  constexpr bool only_moves(int v) const { return nodes[v].op->what == role::view || nodes[v].op->what == role::map; }
  /// Returns true if v is a parameter that is stored as bf16, or a view or map of one. The value of a parameter is
  /// exact in bf16, because it was not rounded from a float.
  constexpr bool is_weight(int v) const {
    if (!is_bf16(v)) return false;
    while (only_moves(v)) v = argument(v, 0);
    return nodes[v].op->what == role::parameter;
  }
  constexpr bool is_bf16(int v) const { return nodes[v].result->element.type == dtype::bf16; }
  constexpr int widen(int v) {
    const operation* const by = nodes[v].result->to_float;
    return is_bf16(v) && !detail::same_address(by, nullptr) ? convert(by, v) : v;
  }
  constexpr int as_bf16(int v) {
    if (nodes[v].op->converts && !is_bf16(v)) return argument(v, 0);
    if (is_bf16(v) || detail::same_address(nodes[v].result->to_bf16, nullptr)) return v;
    return nodes[v].bf16_version != none ? nodes[v].bf16_version : convert(nodes[v].result->to_bf16, v);
  }
  /// Returns v converted by operation `by`. A region and the regions inside of it share one conversion. A conversion
  /// that was appended for a gradient is shared only with values that have the same open region.
  constexpr int convert(const operation* by, int v) {
    if (const int known_as = nodes[v].conversion; known_as != none) {
      const node& there = nodes[known_as];
      const bool ordinary = there.open_region == there.region || there.open_region == open_region;
      if (ordinary && common_region(there.region, current_region) == there.region) return known_as;
    }
    const int conversion = find_or_append(by, &v);
    return nodes[v].conversion = conversion;
  }
  /// Returns the operation that computes the bf16 value v in float, or null. If the type of a result follows the types
  /// of the arguments, the operation is v's own.
  constexpr const operation* float_form_of(int v) const {
    const operation* const op = nodes[v].op;
    return op->bf16_handling == rounding::follows_arguments ? op : op->with_float_results;
  }
  /// Recomputes in float a value v that is computed in bf16. The value is recomputed at most once in a region. It is
  /// recomputed from the same arguments or, if the operation only moves its argument, from the float form of the
  /// argument.
  constexpr int recompute_as_float(int v, int first) {
    const operation* const by = float_form_of(v);
    stack<int> values;
    for (int i = 0; i < by->argument_count; ++i)
      values.push(only_moves(v) ? as_float(argument(v, i), first) : argument(v, i));
    for (int u = v + 1; u < node_count; ++u) {
      const bool same = detail::same_address(nodes[u].op, by) && nodes[u].region == current_region && !is_bf16(u);
      if (same && nodes[u].result_index == nodes[v].result_index && is_application(u, by, values.begin())) return u;
    }
    const int result_index = nodes[v].result_index, first_result = append_plain(by, values.begin());
    for (int r = 0; r < by->result_count; ++r) {
      nodes[first_result + r].float_version_of = v - result_index + r;
      nodes[first_result + r].order = nodes[v].order;
    }
    return first_result + result_index;
  }
  /// Appends an operation of rounding::follows_arguments: its results are rounded if an argument is. A parameter that
  /// is stored as bf16 does not count as rounded, except in a view or a map, which keeps the type of its argument.
  constexpr int append_following(const operation* op, const int* values) {
    bool rounded = false;
    const bool only_moves = op->what != role::elementwise;
    for (int i = 0; i < op->argument_count; ++i) rounded |= is_bf16(values[i]) && (only_moves || !is_weight(values[i]));
    const int first = append_plain(op, values);
    for (int v = first; rounded && v < first + op->result_count; ++v) {
      const result_info& r = *nodes[v].result;
      if (r.is_rounded || (only_moves && !detail::same_address(r.to_bf16, nullptr)))
        nodes[v].result = r.to_bf16->results;
    }
    return first;
  }
  constexpr int append_plain(const operation* op, const int* values) {
    if (node_count + op->result_count > room) grow(nodes, node_count, room);
    if (argument_count + op->argument_count > argument_room) grow(arguments, argument_count, argument_room);
    const int first_argument = argument_count, first_result = node_count;
    for (int i = 0; i < op->argument_count; ++i) arguments[argument_count++] = values[i];
    for (int r = 0; r < op->result_count; ++r)
      nodes[node_count++] = {op, op->results + r, first_argument, r, current_region, open_region, 0};
    return first_result;
  }

 public:
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
  /// Makes the builder write nodes and arguments to tables of its own. These tables grow, and the builder deletes them.
  constexpr void write_apart(const sizes& expected) {
    room = expected.nodes + 1;
    argument_room = expected.arguments + 1;
    nodes = own_nodes_ = new node[static_cast<std::size_t>(room)]{};
    arguments = own_arguments_ = new int[static_cast<std::size_t>(argument_room)]{};
  }
  constexpr builder() = default;
  builder(const builder&) = delete;
  constexpr ~builder() {
    delete[] own_nodes_;
    delete[] own_arguments_;
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
    const frame before{first_binding, known.open(), path.count(), open_region};
    bool from_parameters = what == region_kind::segment && !detail::same_address(tags, nullptr);
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
    const frame before{first_binding, known.open(), path.count(), open_region};
    current_region = region;
    first_binding = bindings.count();
    return before;
  }
  constexpr void close(const frame& before) {
    bindings.shrink(first_binding);
    first_binding = before.bindings;
    known.close(before.memo);
    path.shrink(before.path);
    current_region = open_region = before.region;
  }

  /// Returns the number of the leaf with this name, and appends the leaf if it is new. A name that is used several
  /// times is one leaf. A random key is an exception: each application of a shared layer has a key of its own. If
  /// `prefixed`, the path of the open scopes is put before the name, unless the name begins with '/'.
  constexpr int leaf_of(const operation* op, std::string_view name, bool prefixed) {
    const int length = path.count();
    if (prefixed && name[0] == '/') {
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

  /// Notes that `value` is the result of the layer that uses this parameter. If another layer uses it, too, this is a
  /// mistake. An expression of the top level that is used in several regions is computed in each of them. It does not
  /// count as a second layer.
  constexpr void note_layer(int parameter, int value) {
    if (regions[current_region].shared_application > 0 || top_level_depth > 0) return;
    int& earlier = layers_[parameter];
    if (earlier == none) {
      earlier = value;
    } else if (wrong.applied_twice == none && earlier != value) {
      wrong.applied_twice = parameter;
      wrong.first_layer = earlier;
      wrong.second_layer = value;
    }
  }

  /// Makes v the next value of a state, after the training step. If v is bf16, its float version is appended in the
  /// region of v.
  constexpr void set_next_value(int state, int v) {
    const int region = std::exchange(current_region, nodes[v].region),
              opened = std::exchange(open_region, nodes[v].open_region);
    const int next = as_float(v);
    current_region = region, open_region = opened;
    int& next_value = leaves[state].next_value;
    if (next_value != none && next_value != next) wrong.updated_twice = state;
    next_value = next;
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
      equal = a == values[i] || before_conversion(a) == values[i] ||
              (is_constant(nodes[a].op->what) && detail::same_address(nodes[a].op, nodes[values[i]].op));
    }
    return equal;
  }
  /// Returns the innermost region that contains regions a and b. A region has a larger number than the regions around
  /// it.
  constexpr int common_region(int a, int b) const {
    while (a != b) {
      int& inner = a > b ? a : b;
      inner = regions[inner].parent;
    }
    return a;
  }
  /// Moves a value, and the values that it is computed from, to region `to`, which contains their regions.
  constexpr void move_out(int v, int to) {
    if (nodes[v].region == to || is_leaf(nodes[v].op->what)) return;
    const int head = v - nodes[v].result_index;
    for (int u = head; u < head + nodes[v].op->result_count; ++u) {
      nodes[u].region = nodes[u].open_region = to;
      if (const int r = nodes[u].bf16_version; r != none) nodes[r].region = nodes[r].open_region = to;
    }
    for (int i = 0; i < nodes[v].op->argument_count; ++i) {
      const int a = argument(v, i);
      move_out(a, common_region(nodes[a].region, to));
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
  node* own_nodes_ = nullptr;
  int* own_arguments_ = nullptr;
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
