// The code of the loops: for each fused group its operands, its operations and its extents, and which loops
// are equal.
#pragma once

#include "cairn/pass/fuse.hpp"

#include <bit>

namespace cairn::pass {

/// One operand of a loop: a value, or an immediate constant.
struct loop_input {
  int value = none;
  axis_set stretched = 0;  ///< axes of the loop along which it is repeated
  bool constant = false;
  double immediate = 0;

  constexpr bool same_code(const loop_input& other) const {
    return stretched == other.stretched && constant == other.constant &&
           (!constant ||  // -0 is not 0
            std::bit_cast<std::uint64_t>(immediate) == std::bit_cast<std::uint64_t>(other.immediate));
  }
};

/// One operation of a loop; argument k >= 0 is the result of operation k, k < 0 is input -k - 1. A product and a sum
/// have no code for a register: the one comes first and is given to the loop, the other is made of its argument.
struct loop_operation {
  const ir::lane_code* lanes = nullptr;
  int argument[ir::max_arguments] = {};
  bool stored = false;  ///< read outside the loop

  constexpr bool same_code(const loop_operation& other) const {
    return lanes == other.lanes && stored == other.stored && argument[0] == other.argument[0] &&
           argument[1] == other.argument[1] && argument[2] == other.argument[2] && argument[3] == other.argument[3];
  }
};

struct loop {
  int input_begin = 0, input_end = 0;      ///< in loops::inputs; empty for kernels
  shape extents;                           ///< with axes merged that all operands treat alike
  axis_set summed = 0;                     ///< of these, those over which its sum goes
  const ir::operation* product = nullptr;  ///< its first member, where it begins with a product
  int same_as = 0;                         ///< the first step with an equal loop
};

template <int Nodes>
struct loops {
  loop_operation code[Nodes] = {};  ///< by position in fused::members
  loop_input inputs[2 * Nodes] = {};
  loop of[Nodes] = {};  ///< by step
  int input_count = 0;
};

namespace detail {
template <class Schedule, class Fused>
struct loop_writer {
  static constexpr int nodes = Schedule::capacity;
  const Schedule& s;
  const Fused& f;
  loops<nodes> out{};
  int input_number[nodes] = {};  ///< by value, of the last loop that reads it: one more than its place in inputs
  int buckets[256] = {}, chain[nodes] = {};

  constexpr int input_of(const loop& l, int v, const ir::operation& whole) {
    if (input_number[v] > l.input_begin) return input_number[v] - 1 - l.input_begin;
    const ir::operation& source = *s.nodes[f.root[v]].op;
    loop_input& in = out.inputs[out.input_count];
    in.value = v;
    if (source.what == ir::role::constant) {
      in.constant = true;
      in.immediate = source.value;
    } else if (s.nodes[v].op->count != whole.count) {
      in.stretched = stretched_axes(s.nodes[v].op->result, whole.result);
    }
    input_number[v] = ++out.input_count;
    return out.input_count - 1 - l.input_begin;
  }

  /// Merges neighbouring axes that every operand treats alike, and drops axes of extent 1. A sum treats those apart
  /// over which it goes, and a product its columns.
  constexpr void merge_axes(loop& l, const shape& extents) {
    axis_set treatment[max_rank] = {};  // by axis, the inputs stretched along it
    const int last = l.input_end - l.input_begin;
    const axis_set apart = l.product == nullptr ? l.summed : axis_set{1} << (extents.rank - 1);
    bool alike = apart == 0;
    for (int axis = 0; axis < extents.rank; ++axis) treatment[axis] = (apart >> axis & 1U) << last;
    for (int i = l.input_begin; i < l.input_end; ++i) {
      if (out.inputs[i].stretched == 0) continue;
      alike = false;
      for (int axis = 0; axis < extents.rank; ++axis) {
        treatment[axis] |= (out.inputs[i].stretched >> axis & 1U) << (i - l.input_begin);
      }
    }
    if (alike) {
      const std::int64_t count = extents.count();
      l.extents.rank = count == 1 ? 0 : 1;
      l.extents.extent[0] = count == 1 ? 0 : static_cast<int>(count);
      return;
    }
    axis_set merged[max_rank] = {};
    int rank = 0;
    for (int axis = 0; axis < extents.rank; ++axis) {
      if (extents.extent[axis] == 1) continue;
      if (rank > 0 && merged[rank - 1] == treatment[axis]) {
        l.extents.extent[rank - 1] *= extents.extent[axis];
      } else {
        merged[rank] = treatment[axis];
        l.extents.extent[rank++] = extents.extent[axis];
      }
    }
    l.extents.rank = rank;
    const auto treated = [&](int operand) {
      axis_set axes = 0;
      for (int axis = 0; axis < rank; ++axis) axes |= (merged[axis] >> operand & 1U) << axis;
      return axes;
    };
    for (int i = l.input_begin; i < l.input_end; ++i) {
      if (out.inputs[i].stretched != 0) out.inputs[i].stretched = treated(i - l.input_begin);
    }
    if (l.summed != 0) l.summed = treated(last);
  }

  /// Writes a loop's code; the result tells it from most others.
  constexpr std::uint32_t write(const step& st, loop& l) {
    const ir::operation& whole = *s.nodes[f.members[st.begin]].op;
    std::uint32_t hash = static_cast<std::uint32_t>(whole.count);
    l.input_begin = out.input_count;
    for (int m = st.begin; m < st.end; ++m) {
      const ir::node& n = s.nodes[f.members[m]];
      loop_operation& o = out.code[m];
      o.lanes = n.op->lanes;
      o.stored = f.external[f.members[m]];
      hash = ir::mix(hash, n.op->hash + o.stored);
      if (n.op->summed != 0) l.summed = n.op->summed;
      if (n.op->multiplied.m > 0) {
        l.product = n.op;
        continue;
      }
      for (int i = 0; i < n.op->arguments; ++i) {
        const int a = n.argument[i];
        o.argument[i] = f.step_of[a] == f.step_of[f.members[m]] ? f.position[a] - st.begin : -1 - input_of(l, a, whole);
      }
    }
    l.input_end = out.input_count;
    merge_axes(l, whole.result);
    return hash ^ hash >> 16;
  }

  constexpr bool equal(int one, int two) const {
    const step &p = f.steps[one], &q = f.steps[two];
    const loop &a = out.of[one], &b = out.of[two];
    if (p.end - p.begin != q.end - q.begin || a.input_end - a.input_begin != b.input_end - b.input_begin ||
        a.extents != b.extents || a.summed != b.summed || a.product != b.product)
      return false;
    for (int m = 0; m < p.end - p.begin; ++m) {
      if (!out.code[p.begin + m].same_code(out.code[q.begin + m])) return false;
    }
    for (int i = 0; i < a.input_end - a.input_begin; ++i) {
      if (!out.inputs[a.input_begin + i].same_code(out.inputs[b.input_begin + i])) return false;
    }
    return true;
  }

  /// Equal loops of different layers share one kernel.
  constexpr int first_equal(int index, std::uint32_t hash) {
    int& bucket = buckets[hash % 256];
    for (int other = bucket - 1; other != none; other = chain[other]) {
      if (equal(other, index)) return other;
    }
    chain[index] = bucket - 1;
    bucket = index + 1;
    return index;
  }
};
}  // namespace detail

/// Writes the code of all loops.
template <class Schedule, class Fused>
constexpr auto write_loops(const Schedule& s, const Fused& f) {
  detail::loop_writer<Schedule, Fused> w{s, f};
  for (int i = 0; i < f.step_count; ++i) {
    if (!f.steps[i].loop) continue;
    const std::uint32_t hash = w.write(f.steps[i], w.out.of[i]);
    w.out.of[i].same_as = w.first_equal(i, hash);
  }
  return w.out;
}

}  // namespace cairn::pass
