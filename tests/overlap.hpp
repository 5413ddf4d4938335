// Checks the law of the arena: no two values that live at the same time share a byte, and the arena ends where the
// last value ends. The check derives live ranges from what the plan steps read and write. It does not use the live
// ranges that the passes computed.
#pragma once

#include "static/plan.hpp"

namespace cairn::test {

/// Returns true if the value exists before the first plan step and another value takes its place at the end. Examples
/// are an accumulated gradient, a moment, a parameter that the training step updates, and a cache.
template <class Plan>
constexpr bool is_followed(int v) {
  const auto& s = Plan::schedule;
  if (s.op(v).what == graphs::role::accumulated || s.op(v).what == graphs::role::cache) return true;
  for (int i = 0; i < s.carry_count; ++i) {
    if (s.carries[i].before == v) return true;
  }
  return false;
}
/// Returns true if the value exists before the first plan step and must not be written over.
template <class Plan>
constexpr bool is_given(int v) {
  return is_leaf(Plan::schedule.nodes[v]) && !is_followed<Plan>(v);
}

/// Returns the value that owns the memory of `v`. Views and maps without a plan step of their own have no memory.
template <class Plan>
constexpr int memory_of(int v) {
  const auto& s = Plan::schedule;
  while (is_view(s.nodes[v]) || (s.op(v).what == graphs::role::map && Plan::steps.step_of[v] == graphs::none))
    v = s.argument(v, 0);
  return v;
}

/// Calls visit(value) with each value that owns a part of the memory of `v`. A concatenation that is read in place has
/// the memory of its arguments.
template <class Plan>
constexpr void for_each_memory(int v, auto visit) {
  const auto& s = Plan::schedule;
  const int m = memory_of<Plan>(v);
  if (!s.op(m).made.joins || Plan::steps.step_of[m] != graphs::none) return visit(m);
  for (int i = 0; i < s.op(m).argument_count; ++i) for_each_memory<Plan>(s.argument(m, i), visit);
}

/// Calls `visit(value, overwritable)` for each value that a plan step reads. `overwritable` is true if result `w` may be
/// written over the value. A kernel that reads the rows of a fused loop reads results of its own plan step. So does a
/// fused loop that follows a kernel. Such a loop may write over the rows, because the kernel has already read them.
template <class Plan>
constexpr void for_each_operand(int index, int w, auto visit) {
  const auto& s = Plan::schedule;
  const plans::plan_step& step = Plan::steps.steps[index];
  const int head = Plan::steps.members[step.loop_begin], kernel = step.kernel;
  // A kernel with tiles may keep partial sums in a result until the result is complete.
  const bool sums = step.loop_reads_tiles && s.op(kernel).made.tiles == tiling::summed_in_result;
  const bool by_kernel =
      !step.loop_reads_tiles && kernel != graphs::none && w >= kernel && w < kernel + s.op(kernel).result_count;
  const bool of_loop = step.has_loop() && !by_kernel;
  const auto read = [&](int value, bool overwritable) {
    for_each_memory<Plan>(value, [&](int v) {
      if (!is_given<Plan>(v)) visit(v, overwritable && v == memory_of<Plan>(value));
    });
  };
  for (int i = Plan::loops.of[index].input_begin; i < Plan::loops.of[index].input_end; ++i) {
    const plans::loop_input& in = Plan::loops.inputs[i];
    const bool in_order = s.op(in.value).what != graphs::role::map || in.value == in.source;
    const bool by_element = in_order && s.result(in.value).count == s.result(head).count;
    const bool in_turn = of_loop ? s.nodes[w].result_index == 0 || s.op(w).updates
                                 : s.result(w).overwrites == 0 && !step.loop_reads_rows;
    read(in.source, !sums && by_element && in_turn);
  }
  if (kernel == graphs::none) return;
  for (int i = 0; i < s.op(kernel).argument_count; ++i) {
    const int a = s.argument(kernel, i);
    const bool in_order = s.op(a).what != graphs::role::map || Plan::steps.step_of[a] != graphs::none;
    const bool by_row = step.loop_reads_rows && s.result(a).count == s.result(head).count;
    read(a, in_order && (of_loop ? by_row : !step.loop_reads_rows && s.result(w).overwrites == i));
  }
}

enum class fault {
  none,
  read_too_early,
  never_read,
  overlap,
  scratch_overlaps,
  outside,
  unaligned,
  arena_too_large,
  not_followed,
};

/// Returns the number of bytes behind a base.
template <class Plan>
constexpr std::int64_t bytes_at(int base) {
  if (base == plans::arena_base) return Plan::layout.peak_bytes;
  if (base == plans::gradient_base) return Plan::addresses.gradient_bytes;
  const int leaf = base - plans::leaf_base, carry = leaf - Plan::graph.leaf_count;
  if (carry >= 0 && carry < Plan::schedule.carry_count)
    return Plan::schedule.result(Plan::schedule.carries[carry].before).bytes;
  return leaf < 0 || carry >= 0 ? 0 : Plan::graph.leaf_op(leaf).results[0].bytes;
}

/// Returns true if all new values of parameters, moments and caches are computed in the memory of the old values, or
/// are copied there at the end.
template <class Plan>
constexpr bool all_followed() {
  constexpr const auto& s = Plan::schedule;
  const auto same = [](const plans::address& a, const plans::address& b) {
    return a.base == b.base && a.offset == b.offset;
  };
  const auto follows = [&](int after, const plans::address& before) {
    bool found = same(Plan::layout.of[after], before);
    for (int k = 0; k < Plan::addresses.copy_count; ++k)
      found |= Plan::addresses.copies[k].value == after && same(Plan::addresses.copies[k].to, before);
    return found;
  };
  bool all = true;
  for (int i = 0; i < s.carry_count; ++i) all &= follows(s.carries[i].after, Plan::layout.of[s.carries[i].before]);
  int next = Plan::graph.result_count;
  for (int i = 0; i < Plan::graph.leaf_count; ++i) {
    if (Plan::graph.leaves[i].next_value == graphs::none) continue;
    const int after = s.outputs[next++];
    if (Plan::graph.leaf_op(i).what == graphs::role::cache) all &= follows(after, {plans::leaf_base + i, 0});
  }
  return all;
}

template <class Plan>
constexpr fault judged() {
  constexpr const auto& s = Plan::schedule;
  constexpr const auto& f = Plan::steps;
  constexpr const auto& l = Plan::layout;
  constexpr int end = f.step_count;
  struct range {
    int base;
    std::int64_t begin, end;
    constexpr bool meets(const range& r) const { return base == r.base && begin < r.end && r.begin < end; }
  };
  const auto range_of = [&](int v) { return range{l.of[v].base, l.of[v].offset, l.of[v].offset + s.result(v).bytes}; };

  int born[s.node_count + 1] = {}, dies[s.node_count + 1] = {};
  for (int v = 0; v < s.node_count; ++v) born[v] = is_followed<Plan>(v) ? -1 : end;
  for (int i = 0; i < end; ++i) {
    bool early = false;
    for_each_operand<Plan>(i, f.members[f.steps[i].begin], [&](int v, bool) {
      early |= born[v] >= i && !((f.steps[i].kernel_reads_rows() || f.steps[i].loop_reads_rows) && f.step_of[v] == i);
      dies[v] = i;
    });
    if (early) return fault::read_too_early;
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) born[f.members[m]] = i;
  }
  for (int i = 0; i < s.output_count; ++i) dies[memory_of<Plan>(s.outputs[i])] = end;
  for (int i = 0; i < Plan::graph.leaf_count; ++i) {
    if (s.gradient[i] != graphs::none) dies[memory_of<Plan>(s.gradient[i])] = end;
  }
  for (int i = 0; i < s.carry_count; ++i) dies[memory_of<Plan>(s.carries[i].after)] = end;
  if (!all_followed<Plan>()) return fault::not_followed;

  int living[s.node_count + 1] = {};
  int count = 0;
  for (int v = 0; v < s.node_count; ++v) {
    if (born[v] >= 0) continue;
    for (int k = 0; k < count; ++k) {
      if (range_of(v).meets(range_of(living[k]))) return fault::overlap;
    }
    if (range_of(v).end > bytes_at<Plan>(l.of[v].base)) return fault::outside;
    living[count++] = v;
  }
  std::int64_t highest = 0, living_bytes = 0, most_bytes = 0;
  const auto arena_bytes = [&](int v) {
    return l.of[v].base == plans::arena_base ? plans::aligned(s.result(v).bytes) : 0;
  };
  for (int i = 0; i < end; ++i) {
    const plans::plan_step& step = f.steps[i];
    for (int m = step.begin; m < step.end; ++m) {
      const int w = f.members[m];
      if (!f.external[w]) continue;
      const bool taken =
          step.kernel_reads_rows() ? s.argument(step.kernel, 0) == w : step.loop_reads_rows && m < step.loop_begin;
      if (dies[w] <= i && !taken && !s.result(w).always_in_memory) return fault::never_read;
      const range mine = range_of(w);
      bool over_another = false;
      for (int k = 0; k < count; ++k) {
        const int v = living[k];
        if (!mine.meets(range_of(v))) continue;
        bool may = dies[v] == i && mine.begin == range_of(v).begin && mine.end == range_of(v).end;
        for_each_operand<Plan>(i, w, [&](int read, bool overwritable) { may &= read != v || overwritable; });
        if (!may) return fault::overlap;
        over_another = true;
      }
      living[count++] = w;
      if (!over_another) living_bytes += arena_bytes(w);
      if (mine.begin % 64 != 0) return fault::unaligned;
      if (mine.end > bytes_at<Plan>(mine.base)) return fault::outside;
      if (mine.base == plans::arena_base) highest = std::max(highest, plans::aligned(mine.end));
    }
    const std::int64_t needed = step.kernel == graphs::none ? 0 : s.op(step.kernel).workspace_bytes(Plan::threads);
    if (needed > 0) {
      const range working{plans::arena_base, l.workspace[i], l.workspace[i] + needed};
      for (int k = 0; k < count; ++k) {
        if (working.meets(range_of(living[k]))) return fault::scratch_overlaps;
      }
      if (working.begin % 64 != 0) return fault::unaligned;
      if (working.end > l.peak_bytes) return fault::outside;
      highest = std::max(highest, plans::aligned(working.end));
    }
    most_bytes = std::max(most_bytes, living_bytes + plans::aligned(needed));
    int left = 0;
    living_bytes = 0;
    for (int k = 0; k < count; ++k) {
      if (dies[living[k]] <= i) continue;
      living_bytes += arena_bytes(living[k]);
      living[left++] = living[k];
    }
    count = left;
  }
  return highest != l.peak_bytes || most_bytes != Plan::slots.live_bytes ? fault::arena_too_large : fault::none;
}

/// Returns the bytes of the arena that a value or workspace occupies at any plan step, in lines of 64 bytes. The
/// difference to the size of the arena is the holes that the packing left.
template <class Plan>
constexpr std::int64_t covered() {
  constexpr const auto& f = Plan::steps;
  constexpr const auto& l = Plan::layout;
  bool lines[l.peak_bytes / 64 + 1] = {};
  const auto cover = [&](std::int64_t begin, std::int64_t bytes) {
    for (std::int64_t i = begin / 64; i < (begin + bytes + 63) / 64; ++i) lines[i] = true;
  };
  for (int i = 0; i < f.step_count; ++i) {
    const plans::plan_step& step = f.steps[i];
    for (int m = step.begin; m < step.end; ++m) {
      const int w = f.members[m];
      if (f.external[w] && l.of[w].base == plans::arena_base) cover(l.of[w].offset, Plan::schedule.result(w).bytes);
    }
    cover(l.workspace[i], plans::workspace_of(Plan::schedule, step, Plan::threads));
  }
  return 64 * std::count(std::begin(lines), std::end(lines), true);
}

/// Reports a fault by its name, which compilers print as a template argument.
template <fault WithSegments, fault Plain>
constexpr bool is_faultless() {
  static_assert(WithSegments == fault::none && Plain == fault::none);
  return true;
}
/// Returns true if the law holds for the program of a loss, with segments and with the option `plain`.
template <auto Loss, class... Options>
constexpr bool lawful() {
  return is_faultless<judged<step_of<Loss, Options...>>(), judged<step_of<Loss, plain, Options...>>()>();
}

}  // namespace cairn::test
