// Where lowering writes: the tables of a graph, the open scopes with their bindings, and the path of names.
#pragma once

#include "cairn/base/hash.hpp"
#include "cairn/graph/graph.hpp"

#include <limits>
#include <utility>

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
    int bindings, memo, path, region;
  };

  node* nodes = nullptr;
  int* arguments = nullptr;
  leaf* leaves = nullptr;
  region* regions = nullptr;
  keep* keeps = nullptr;
  tag* tags = nullptr;  ///< none while gradients are appended: what they compute, policies cannot keep
  char* names = nullptr;
  /// How many nodes and arguments there is room for, where these are to grow.
  int room = std::numeric_limits<int>::max(), argument_room = std::numeric_limits<int>::max();
  int node_count = 0, argument_count = 0, leaf_count = 0, region_count = 1, keep_count = 0, tag_count = 0,
      character_count = 0;
  int shared_count = 0;  ///< applications of shared layers
  int outside = 0;       ///< how many expressions of the top level are being lowered in bodies
  mistakes wrong = {};

  stack<int> bindings;
  memo known;
  stack<char> path;
  stack<int> reused;  ///< values that other bodies made
  int first_binding = 0;
  int region_now = 0;  ///< of what is appended
  int home_now = 0;    ///< the innermost open one

 private:
  template <class T>  // before its callers, or clang has no body for it in constant evaluation
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
  /// The results of an operation in a body; returns the first. What is made of parameters, states and constants alone
  /// is computed once, however many bodies need it: outside of those that do not share it. But not what a segment is
  /// there for.
  constexpr int compute(const operation* op, const int* of) {
    op = form_for(op, of);
    bool fixed = op->arguments > 0 && !same_address(tags, nullptr) && !regions[home_now].own_parameters;
    for (int i = 0; fixed && i < op->arguments; ++i) fixed = is_fixed(of[i]);
    if (!fixed) return append(op, of);
    std::uint32_t hash = op->hash;
    for (int i = 0; i < op->arguments; ++i) {
      const operation& made_by = *nodes[of[i]].op;
      hash = mix(hash, is_constant(made_by.what) ? made_by.hash : static_cast<std::uint32_t>(of[i]));
    }
    int& bucket = fixed_buckets_[hash % 256];
    for (int i = bucket - 1; i != none; i = fixed_[i].next) {
      const int v = fixed_[i].node;
      if (!computes(v, op, of)) continue;
      move_out(v, common(nodes[v].region, region_now));
      reused.push(v);
      return v;
    }
    const int made = append(op, of);
    fixed_.push({made, bucket - 1});
    bucket = fixed_.count();
    while (is_fixed_.count() < node_count) is_fixed_.push(is_fixed_.count() >= made);
    return made;
  }
  /// Appends the results of an operation, and conversions of its arguments and results where it asks for such; returns
  /// the first.
  constexpr int append(const operation* op, const int* of) {
    if (op->rounded == rounding::typed) return append_as_it_is(op, of);
    if (op->rounded == rounding::follows) return append_following(op, of);
    op = form_for(op, of);
    stack<int> taken;
    for (int i = 0; i < op->arguments; ++i) taken.push(op->takes_bf16(i) ? in_bf16(of[i]) : widened(of[i]));
    const int made = append_as_it_is(op, taken.begin());
    for (int v = made; v < made + op->results; ++v) {
      if (nodes[v].made->rounds) nodes[v].rounded = append_as_it_is(nodes[v].made->round, &v);
    }
    return made;
  }

  // Values that are stored rounded to bf16. A kernel makes floats, and a conversion, which a loop does, rounds them; a
  // conversion of what an argument is to what a kernel takes is no part of what is differentiated.

  /// An operation as it takes these arguments: floats alone, where the one that counts is such.
  constexpr const operation* form_for(const operation* op, const int* of) const {
    return !same_address(op->exact, nullptr) && is_exact(of[op->exact_argument]) ? op->exact : op;
  }
  /// What is read in place of a result.
  constexpr int value(int v) const { return nodes[v].rounded != none ? nodes[v].rounded : v; }
  /// The value that an argument is, where it is converted for the operation that takes it.
  constexpr int unconverted(int v) const {
    return nodes[v].op->converts && nodes[argument(v, 0)].rounded != v ? argument(v, 0) : v;
  }
  /// The value whose gradient that of v is.
  constexpr int differentiated(int v) const {
    const int of = nodes[v].copy_of != none ? nodes[v].copy_of : unconverted(v);
    return nodes[of].op->converts ? argument(of, 0) : of;
  }
  /// Whether it is a float that nothing rounded.
  constexpr bool is_exact(int v) const { return !is_bf16(v) && nodes[v].rounded == none && !nodes[v].op->converts; }
  /// Whether the gradient of a value is of floats: the value was not rounded, or is as exact.
  constexpr bool is_float(int v) const { return is_weight(v) || is_exact(v); }
  /// The value in floats, for a sum of gradients or for who is outside. What a kernel made is not rounded; nor, from
  /// value `first` on, what is made in bf16: that is made in floats instead.
  constexpr int in_floats(int v, int first = 0) {
    if (nodes[v].op->converts && is_bf16(v)) return argument(v, 0);
    const bool again = is_bf16(v) && v >= first && !same_address(in_floats_by(v), nullptr);
    return again ? made_in_floats(v, first) : widened(v);
  }

 private:
  constexpr bool moves(int v) const { return nodes[v].op->what == role::view || nodes[v].op->what == role::map; }
  /// Whether it is a parameter that is stored as bf16, or moved from there: as exact as a float.
  constexpr bool is_weight(int v) const {
    if (!is_bf16(v)) return false;
    while (moves(v)) v = argument(v, 0);
    return nodes[v].op->what == role::parameter;
  }
  constexpr bool is_bf16(int v) const { return nodes[v].made->element.type == dtype::bf16; }
  constexpr int widened(int v) {
    const operation* const by = nodes[v].made->widen;
    return is_bf16(v) && !same_address(by, nullptr) ? converted(by, v) : v;
  }
  constexpr int in_bf16(int v) {
    if (nodes[v].op->converts && !is_bf16(v)) return argument(v, 0);
    if (is_bf16(v) || same_address(nodes[v].made->round, nullptr)) return v;
    return nodes[v].rounded != none ? nodes[v].rounded : converted(nodes[v].made->round, v);
  }
  /// A conversion of v: one for a region and those in it.
  constexpr int converted(const operation* by, int v) {
    if (const int known_as = nodes[v].converted; known_as != none) {
      const node& there = nodes[known_as];
      const bool ordinary = there.home == there.region || there.home == home_now;
      if (ordinary && common(there.region, region_now) == there.region) return known_as;
    }
    const int made = compute(by, &v);
    return nodes[v].converted = made;
  }
  /// What makes a value in floats that is bf16: where the result follows the arguments, the operation itself.
  constexpr const operation* in_floats_by(int v) const {
    const operation* const op = nodes[v].op;
    return op->rounded == rounding::follows ? op : op->wide;
  }
  /// Returns a value that is made in bf16 as float32: recomputed once in a region, from the same arguments or, if the
  /// operation moves its argument, from the float32 form of that.
  constexpr int made_in_floats(int v, int first) {
    const operation* const by = in_floats_by(v);
    stack<int> of;
    for (int i = 0; i < by->arguments; ++i) of.push(moves(v) ? in_floats(argument(v, i), first) : argument(v, i));
    for (int u = v + 1; u < node_count; ++u) {
      const bool same = same_address(nodes[u].op, by) && nodes[u].region == region_now && !is_bf16(u);
      if (same && nodes[u].number == nodes[v].number && computes(u, by, of.begin())) return u;
    }
    const int number = nodes[v].number, made = append_as_it_is(by, of.begin());
    for (int r = 0; r < by->results; ++r) {
      nodes[made + r].copy_of = v - number + r;
      nodes[made + r].order = nodes[v].order;
    }
    return made + number;
  }
  /// An operation that computes what it is given: rounded if an argument is. What moves a parameter moves its type.
  constexpr int append_following(const operation* op, const int* of) {
    bool rounded = false;
    const bool moves = op->what != role::elementwise;
    for (int i = 0; i < op->arguments; ++i) rounded |= is_bf16(of[i]) && (moves || !is_weight(of[i]));
    const int made = append_as_it_is(op, of);
    for (int v = made; rounded && v < made + op->results; ++v) {
      const result& r = *nodes[v].made;
      if (r.rounds || (moves && !same_address(r.round, nullptr))) nodes[v].made = r.round->made;
    }
    return made;
  }
  constexpr int append_as_it_is(const operation* op, const int* of) {
    if (node_count + op->results > room) grow(nodes, node_count, room);
    if (argument_count + op->arguments > argument_room) grow(arguments, argument_count, argument_room);
    const int first = argument_count, made = node_count;
    for (int i = 0; i < op->arguments; ++i) arguments[argument_count++] = of[i];
    for (int r = 0; r < op->results; ++r) nodes[node_count++] = {op, op->made + r, first, r, region_now, home_now, 0};
    return made;
  }

 public:
  /// Appends what belongs to no region: a leaf.
  constexpr int append_leaf(const operation* op) {
    const int made = append(op, nullptr);
    nodes[made].region = nodes[made].home = 0;
    return made;
  }

  /// Has the tables of a graph written.
  constexpr void write_to(auto& g) {
    nodes = g.nodes;
    arguments = g.arguments;
    leaves = g.leaves;
    regions = g.regions;
    keeps = g.keeps;
    tags = g.tags;
    names = g.names;
  }
  /// Has nodes and arguments written to tables of their own, which grow and end with this.
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

  constexpr void extend_path(std::string_view name) {
    if (path.count() > 0) path.push('.');
    for (char c : name) path.push(c);
  }
  constexpr void number_path(char before, int number) {
    path.push(before);
    char digits[8] = {};
    int length = 0;
    for (int rest = number; length == 0 || rest > 0; rest /= 10) digits[length++] = static_cast<char>('0' + rest % 10);
    while (length > 0) path.push(digits[--length]);
  }
  constexpr std::string_view full_path() const { return {path.begin(), path.size()}; }
  constexpr int write_name(std::string_view name) {
    const int begin = character_count;
    for (char c : name) names[character_count++] = c;
    return begin;
  }

  /// Opens a scope, a region of its own; the caller closes it with what this returns.
  constexpr frame open(part what, const int* of, int count) {
    const frame before{first_binding, known.open(), path.count(), home_now};
    bool fixed = what == part::segment && !same_address(tags, nullptr);
    for (int i = 0; fixed && i < count; ++i) fixed = is_fixed(of[i]);
    const region& around = regions[home_now];
    regions[region_count] = {.parent = home_now,
                             .what = what,
                             .own_parameters = fixed || around.own_parameters,
                             .shared = around.shared,
                             .first_reused = reused.count()};
    region_now = home_now = region_count++;
    first_binding = bindings.count();
    for (int i = 0; i < count; ++i) bindings.push(of[i]);
    return before;
  }
  /// The same for a gradient rule, whose values belong to the region of the value that it is for.
  constexpr frame open_rule(int region) {
    const frame before{first_binding, known.open(), path.count(), home_now};
    region_now = region;
    first_binding = bindings.count();
    return before;
  }
  constexpr void close(const frame& before) {
    bindings.shrink(first_binding);
    first_binding = before.bindings;
    known.close(before.memo);
    path.shrink(before.path);
    region_now = home_now = before.region;
  }

  /// The number of the leaf of a name: one leaf however often it is mentioned, but a key for each shared application.
  constexpr int leaf_of(const operation* op, std::string_view name, bool prefixed) {
    const int length = path.count();
    if (prefixed && name[0] == '/') {
      prefixed = false;
      name.remove_prefix(1);
    }
    extend_path(name);
    if (const int application = regions[region_now].shared; application > 0 && op->what == role::random)
      number_path('#', application);
    const int found = find_or_append(op, prefixed ? full_path() : name);
    path.shrink(length);
    return found;
  }

  /// The number of a leaf that no name leads to: bound by position.
  constexpr int nameless_leaf(const operation* op) {
    leaves[leaf_count] = {append_leaf(op), 0, 0, none};
    layers_.push(none);
    return leaf_count++;
  }

  /// Notes what the layer of a parameter gives. An expression of the top level that a body uses is computed in it once
  /// more, and is no second layer.
  constexpr void apply(int parameter, int value) {
    if (regions[region_now].shared > 0 || outside > 0) return;
    int& earlier = layers_[parameter];
    if (earlier == none) {
      earlier = value;
    } else if (wrong.applied_twice == none && earlier != value) {
      wrong.applied_twice = parameter;
      wrong.first_layer = earlier;
      wrong.second_layer = value;
    }
  }

  /// Has a state become a value after the step, in floats, which are made where the value is.
  constexpr void update(int state, int v) {
    const int region = std::exchange(region_now, nodes[v].region), home = std::exchange(home_now, nodes[v].home);
    const int next = in_floats(v);
    region_now = region, home_now = home;
    int& after = leaves[state].after;
    if (after != none && after != next) wrong.updated_twice = state;
    after = next;
  }

 private:
  constexpr int find_or_append(const operation* op, std::string_view name) {
    int& bucket = buckets_[(hash_of(name) + static_cast<std::uint32_t>(op->what)) % 256];
    for (int i = bucket - 1; i != none; i = leaves[i].next) {
      const operation*& there = nodes[leaves[i].node].op;
      if (there->what == op->what &&
          std::string_view(names + leaves[i].name, static_cast<std::size_t>(leaves[i].name_length)) == name) {
        if (!there->same_leaf(*op)) {
          wrong.conflict = i;
          wrong.rival = op;
        } else if (!there->says_start()) {
          there = op;
        }
        return i;
      }
    }
    const int made = append_leaf(op);
    leaves[leaf_count] = {made, write_name(name), static_cast<int>(name.size()), bucket - 1};
    bucket = leaf_count + 1;
    layers_.push(none);
    return leaf_count++;
  }

  constexpr bool is_fixed(int v) const {
    const role what = nodes[v].op->what;
    return is_kept(what) || is_constant(what) || (v < is_fixed_.count() && is_fixed_[v]);
  }
  /// Whether v is an operation on these values, or on equal constants.
  constexpr bool computes(int v, const operation* op, const int* of) const {
    bool equal = same_address(nodes[v].op, op);
    for (int i = 0; equal && i < op->arguments; ++i) {
      const int a = argument(v, i);
      equal = a == of[i] || unconverted(a) == of[i] ||
              (is_constant(nodes[a].op->what) && same_address(nodes[a].op, nodes[of[i]].op));
    }
    return equal;
  }
  /// The innermost region that contains both; the numbers of those around it are smaller.
  constexpr int common(int a, int b) const {
    while (a != b) {
      int& inner = a > b ? a : b;
      inner = regions[inner].parent;
    }
    return a;
  }
  /// Has a value, and what it is made of, belong to a region around it.
  constexpr void move_out(int v, int to) {
    if (nodes[v].region == to || is_leaf(nodes[v].op->what)) return;
    const int head = v - nodes[v].number;
    for (int u = head; u < head + nodes[v].op->results; ++u) {
      nodes[u].region = nodes[u].home = to;
      if (const int r = nodes[u].rounded; r != none) nodes[r].region = nodes[r].home = to;
    }
    for (int i = 0; i < nodes[v].op->arguments; ++i) {
      const int a = argument(v, i);
      move_out(a, common(nodes[a].region, to));
    }
  }

  struct fixed_value {
    int node, next;
  };
  stack<fixed_value> fixed_;  // made of parameters, states and constants alone
  stack<bool> is_fixed_;      // by node, up to the last of them
  int fixed_buckets_[256] = {};
  stack<int> layers_;  // by leaf: what its layer gives
  int buckets_[256] = {};
  node* own_nodes_ = nullptr;
  int* own_arguments_ = nullptr;
};

/// Lives while an expression is lowered that belongs to the top level, perhaps in a body.
struct read_outside {
  builder& b;
  bool counted;
  constexpr read_outside(builder& to, bool of_top_level) : b(to), counted(of_top_level && to.home_now != 0) {
    b.outside += counted;
  }
  read_outside(const read_outside&) = delete;
  constexpr ~read_outside() { b.outside -= counted; }
};

}  // namespace cairn::ir
