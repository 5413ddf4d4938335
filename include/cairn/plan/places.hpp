// Addresses outside the arena. Leaves lie where the program or the user keeps them. Constants lie in memory if kernels
// read them from there. Gradients are computed at their final address, and so are the values from which they are
// accumulated.
#pragma once

#include "cairn/plan/model.hpp"
#include "cairn/plan/overwrite.hpp"

namespace cairn::plans {

/// bytes of a constant that kernels read from memory, for every type
inline constexpr std::int64_t constant_bytes = 8;
/// alignment of every value in bytes: a cache line, and the widest register
inline constexpr std::int64_t alignment = 64;
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The memory from which an address counts.
enum base : int {
  arena_base,
  gradient_base,   ///< the block of gradients
  number_base,     ///< numbers of update rules
  key_base,        ///< keys by which updates round
  constant_base,   ///< constants that are read from memory
  position_base,   ///< positions of generated arrays
  unwritten_base,  ///< stands for the address of a value that is not written to memory
  workspace_base,  ///< workspace, if it lies outside the arena
  stored_base,     ///< values stored for the backward pass, if they lie outside the arena
  elsewhere_base,  ///< memory that the user of a program gives for snapshots
  /// From here on, each leaf has a base of its own. Two kinds of bases follow the bases of the leaves:
  /// - In a program, each moment has a base of its own, because two programs may share some moments and not others.
  /// - In the body of a scan, the results have bases, and then the gradients of leaves.
  leaf_base
};

/// An address that is known before there is memory: a base and an offset.
struct address {
  int base = arena_base;
  std::int64_t offset = 0;  ///< offset in bytes
};

/// A value that is not computed at its final address and is copied there. Examples are a gradient that is also
/// something else, and the new value of a parameter that other operations still read. Gradients are copied as soon as
/// all of them are complete; other values are copied at the end of the training step.
struct late_copy {
  int value = none;
  address to;
};

/// The addresses of all values that have no slot of the arena.
template <int Nodes, int Leaves, int Results, int Carries>
struct addresses {
  address of[Nodes] = {};          ///< by value: its address
  bool outside_arena[Nodes] = {};  ///< computed values whose address lies outside the arena
  bool output[Nodes] = {};         ///< values that are results of the program
  /// by leaf: offset in the block of parameters, where trained ones come first, or in that of caches
  std::int64_t leaf_offset[Leaves] = {};
  /// by leaf: offset in the block of gradients, which has the same order as that of parameters
  std::int64_t gradient_offset[Leaves] = {};
  std::int64_t moment_offset[Carries] = {};  ///< by carry: offset of its moment in the block of moments
  late_copy copies[Leaves + Results + Carries] = {};
  int constants[Nodes] = {};  ///< values that kernels, results or gradients read from memory
  int copy_count = 0, constant_count = 0;
  std::int64_t trained_bytes = 0, parameter_bytes = 0, gradient_bytes = 0, moment_bytes = 0;
  std::int64_t cache_bytes = 0;
  std::int64_t stored_base_bytes = 0;  ///< bytes of the values that are stored outside the arena
  std::int64_t elsewhere_bytes = 0;    ///< bytes in memory that the user gives
};

namespace detail {
template <result_bases How, class Graph, class Schedule, class Steps, class Loops, class Ranges>
struct address_finder {
  static constexpr bool apart = How != result_bases::together;
  static constexpr int nodes = Schedule::capacity;
  const Graph& g;
  const Schedule& s;
  const Steps& f;
  const Loops& l;
  const Ranges& ranges;
  addresses<nodes, Graph::size.leaves + 1, apart ? Graph::output_capacity : 0, std::size(Schedule{}.carries)> out{};

  constexpr address result_address(int i) const { return {leaf_base + g.leaf_count + i, 0}; }
  constexpr address gradient_address(int leaf) const {
    if (apart) return {leaf_base + g.leaf_count + g.output_count + leaf, 0};
    return {gradient_base, out.gradient_offset[leaf]};
  }

  /// Returns the offset in the block of gradients that corresponds to `offset` in the block of parameters.
  constexpr std::int64_t gradient_offset_of(int leaf, std::int64_t offset) const {
    const graphs::result_info& made = g.leaf_op(leaf).results[0];
    return offset * (made.as_float().bytes / made.bytes);
  }
  constexpr void find_leaves() {
    bool trained[Graph::size.leaves + 1] = {};
    // a parameter with a gradient that stays after the training step; all of them have one type
    int any_trained = none;
    for (int i = 0; i < g.leaf_count; ++i) {
      trained[i] = s.gradient[i] != none;
      if (trained[i] && g.leaf_op(i).what == graphs::role::parameter) any_trained = i;
    }
    for (int i = 0; i < s.carry_count; ++i) trained[s.carries[i].leaf] = true;
    for (const bool first : {true, false}) {
      for (int i = 0; i < g.leaf_count; ++i) {
        const graphs::operation& leaf = g.leaf_op(i);
        if (leaf.what != graphs::role::parameter || trained[i] != first) continue;
        out.leaf_offset[i] = out.parameter_bytes;
        out.parameter_bytes += aligned(leaf.results[0].bytes);
      }
      if (first) out.trained_bytes = out.parameter_bytes;
    }
    for (int i = 0; i < g.leaf_count; ++i) out.gradient_offset[i] = gradient_offset_of(i, out.leaf_offset[i]);
    if (any_trained != none) out.gradient_bytes = gradient_offset_of(any_trained, out.trained_bytes);
    for (int i = 0; i < g.leaf_count; ++i) {
      const graphs::operation& leaf = g.leaf_op(i);
      if (leaf.what == graphs::role::input && s.gradient[i] != none) {
        out.gradient_offset[i] = out.gradient_bytes;
        out.gradient_bytes += aligned(leaf.results[0].bytes);
      }
      if (leaf.what == graphs::role::cache) {
        out.leaf_offset[i] = out.cache_bytes;
        out.cache_bytes += aligned(leaf.results[0].bytes);
      }
      if (s.leaf_value[i] != none) out.of[s.leaf_value[i]] = {leaf_base + i, 0};
    }
  }

  /// Finds the addresses of the constants that need memory. A constant that is an immediate operand of a fused loop
  /// needs none.
  constexpr void find_constants() {
    for (int m = 0; m < f.member_count; ++m) {
      const graphs::node& n = s.nodes[f.members[m]];
      if (n.op->what != graphs::role::kernel || n.result_index > 0) continue;
      for (int i = 0; i < n.op->argument_count; ++i) find_constant(f.memory_root[s.arguments[n.first + i]]);
    }
    for (int i = 0; i < l.input_count; ++i) {
      if (l.inputs[i].through_map || !cairn::detail::same_address(l.inputs[i].generate, nullptr))
        find_constant(l.inputs[i].source);
    }
    for (int i = 0; i < s.output_count; ++i) find_constant(f.memory_root[s.outputs[i]]);
    for (int i = 0; i < g.leaf_count; ++i) {
      if (s.gradient[i] != none) find_constant(f.memory_root[s.gradient[i]]);
    }
  }
  constexpr void find_constant(int v) {
    if (s.op(v).what == graphs::role::generated) out.of[v] = {position_base, 0};
    if (s.op(v).what != graphs::role::constant || out.of[v].base == constant_base) return;
    out.of[v] = {constant_base, out.constant_count * constant_bytes};
    out.constants[out.constant_count++] = v;
  }

  /// Puts snapshots one behind another in the memory that the user gives. They do not share memory, because the
  /// user's memory is meant for large data.
  constexpr void find_elsewhere() {
    for (int m = 0; m < f.member_count; ++m) {
      const int v = f.members[m];
      if (!s.result(v).in_user_memory || !f.external[v]) continue;
      out.outside_arena[v] = true;
      out.of[v] = {elsewhere_base, out.elsewhere_bytes};
      out.elsewhere_bytes += aligned(s.result(v).bytes);
    }
  }

  /// Finds the addresses of the results, and of the values that are stored for the backward pass, if they lie outside
  /// the arena.
  constexpr void find_results() {
    for (int i = 0; i < s.output_count; ++i) {
      const int v = f.memory_root[s.outputs[i]];
      out.output[v] = true;
      if (!apart) continue;
      if (f.step_of[v] == none || out.outside_arena[v]) {
        out.copies[out.copy_count++] = {s.outputs[i], result_address(i)};
      } else {
        out.outside_arena[v] = true;
        out.of[v] = result_address(i);
      }
    }
    for (int m = 0; How == result_bases::apart_and_stored && m < f.member_count; ++m) {
      const int v = f.members[m];
      if (f.step_of[v] >= f.turn || ranges.last[v] < f.turn || !f.external[v] || out.outside_arena[v]) continue;
      out.outside_arena[v] = true;
      out.of[v] = {stored_base, out.stored_base_bytes};
      out.stored_base_bytes += aligned(s.result(v).bytes);
    }
  }

  /// Returns true if plan step `index` may write its result `w` over its argument `v`.
  constexpr bool takes_memory_of(int index, int w, int v) const {
    bool may = false;
    for_each_overwritable(s, f, l, ranges, out, index, w, [&](int read) { return may |= read == v; });
    return may;
  }
  /// Returns true if value `v` may be computed at the address of the gradient of `leaf`. There are two exceptions:
  /// - If the address holds an earlier gradient, `v` must be computed after the last read of that gradient, or over it.
  /// - If the forward pass can run without the backward pass, no value of the forward pass gets such an address.
  ///
  /// If `leaf` is none, the address is that of a result or of a stored value.
  constexpr bool is_free_for(int leaf, int v) const {
    const int index = f.step_of[v];
    if (index == none || leaf == none) return index != none;
    if (apart && index < f.turn) return false;
    const int earlier = s.earlier[leaf];
    if (earlier == none || index > ranges.last[earlier]) return true;
    return index == ranges.last[earlier] && takes_memory_of(index, v, earlier);
  }
  /// Puts the gradients at their final addresses. A value over which a gradient is written has the same address, if it
  /// is free.
  constexpr void find_gradients() {
    int leaf_of[nodes];  // by value at the address of a gradient: the leaf of the gradient
    for (int& leaf : leaf_of) leaf = none;
    for (int i = 0; i < g.leaf_count; ++i) {
      if (s.gradient[i] == none) continue;
      const int v = f.memory_root[s.gradient[i]];
      if (f.step_of[v] != none && !out.outside_arena[v] && !out.output[v]) {
        out.outside_arena[v] = true;
        out.of[v] = gradient_address(i);
        leaf_of[v] = i;
        if (s.earlier[i] != none) out.of[s.earlier[i]] = out.of[v];
      } else {
        out.copies[out.copy_count++] = {s.gradient[i], gradient_address(i)};
      }
    }
    for (int m = f.member_count; m-- > 0;) {
      const int w = f.members[m];
      if (!out.outside_arena[w]) continue;
      for_each_overwritable(s, f, l, ranges, out, f.step_of[w], w, [&](int v) {
        if (out.outside_arena[v] || !is_free_for(leaf_of[w], v)) return false;
        leaf_of[v] = leaf_of[w];
        out.of[v] = out.of[w];
        return out.outside_arena[v] = true;
      });
    }
  }

  /// Returns true if a fused loop may write `after`, the new value of `before`, over `before`. The fused loop must be
  /// the last to read `before`, and it must read it at the element that it writes.
  constexpr bool loop_may_overwrite(int before, int after) const {
    const int index = f.step_of[after];
    if (ranges.last[before] != index || kernel_reads(s, f, index, before)) return false;
    for (int i = l.of[index].input_begin; i < l.of[index].input_end; ++i) {
      if (l.inputs[i].source == before) return l.inputs[i].overwritable() && reads_at_own_element(s, f, l, index, i);
    }
    return false;
  }
  /// Finds the addresses of the moments, of the new values of moments and parameters, and of the numbers and keys of
  /// update rules.
  constexpr void find_carried() {
    for (int i = 0; i < s.number_count; ++i)
      out.of[s.first_number + i] = {number_base, i * s.result(s.first_number + i).bytes};
    for (int i = 0; i < s.carry_count; ++i) {
      const auto [before, after, leaf, moment, key] = s.carries[i];
      for (int word = 0; key != none && word < 2; ++word)
        out.of[key + word] = {key_base, (2 * leaf + word) * s.result(key).bytes};
      if (moment != none) {
        out.of[before] = {leaf_base + g.leaf_count + i, 0};
        out.moment_offset[i] = out.moment_bytes;
        out.moment_bytes += aligned(s.result(before).bytes);
      }
      if (loop_may_overwrite(before, after)) {
        out.outside_arena[after] = true;
        out.of[after] = out.of[before];
      } else {
        out.copies[out.copy_count++] = {after, out.of[before]};
      }
    }
  }

  /// Returns true if `after`, the new value of a cache, may be computed over the cache's value `before`. `before` must
  /// be unused by then, except that the step that computes `after` may overwrite it.
  constexpr bool may_overwrite_cache(int after, int before) const {
    const int index = f.step_of[after];
    if (index == none || out.outside_arena[after]) return false;
    return before == none || ranges.last[before] < index || takes_memory_of(index, after, before);
  }
  constexpr void find_caches() {
    int next = g.result_count;
    for (int i = 0; !apart && i < g.leaf_count; ++i) {
      if (g.leaves[i].next_value == none) continue;
      const int value = s.outputs[next++], after = f.memory_root[value];
      if (g.leaf_op(i).what != graphs::role::cache) continue;
      const address own{leaf_base + i, 0};
      if (may_overwrite_cache(after, s.leaf_value[i])) {
        out.outside_arena[after] = true;
        out.of[after] = own;
      } else {
        out.copies[out.copy_count++] = {value, own};
      }
    }
  }
};
}  // namespace detail

template <result_bases How, class Graph, class Schedule, class Steps, class Loops, class Ranges>
constexpr auto find_fixed_addresses(const Graph& g, const Schedule& s, const Steps& f, const Loops& l,
                                    const Ranges& ranges) {
  detail::address_finder<How, Graph, Schedule, Steps, Loops, Ranges> p{g, s, f, l, ranges};
  p.find_leaves();
  p.find_constants();
  p.find_elsewhere();
  p.find_results();
  p.find_gradients();
  p.find_carried();
  p.find_caches();
  return p.out;
}

}  // namespace cairn::plans
