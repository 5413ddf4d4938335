// Measures the costs of blocks that are segments by themselves, in a plan that has these segments.
#pragma once

#include "cairn/search/chain.hpp"

namespace cairn::plans::search {

/// Costs by block, in bytes, measured in a plan in which each block is a segment of its own.
template <int Count>
struct single_costs {
  std::int64_t stored_bytes[Count + 1] = {};  ///< bytes of its values that are stored until the backward pass
  /// peak in the forward pass, in addition to what is stored of earlier blocks
  std::int64_t unstored_peak[Count + 1] = {};
  /// peak in the backward pass, before any value of the block is read or recomputed
  std::int64_t peak_before_recomputation[Count + 1] = {};
  std::int64_t peak_as_last[Count + 1] = {};  ///< peak in the backward pass from then on
  /// As `peak_as_last`, without results of the block that are stored for segments behind the block, and that are cheap
  /// to recompute. If no segment behind the block holds them, the fused loops that read them recompute them.
  std::int64_t peak_as_last_unheld[Count + 1] = {};
  /// Entry b: bytes of the gradients of the values of blocks before b, at the moment when the backward pass of block b
  /// - 1 begins to read or recompute values of the forward pass.
  std::int64_t gradient_bytes[Count + 1] = {};
  std::int64_t flops[Count + 1] = {};  ///< work that is recomputed
};
namespace detail {
/// Returns true if a plan step reads or recomputes a value of the forward pass.
template <class Compiled>
constexpr bool reads_forward(int step) {
  const auto& s = Compiled::schedule;
  const auto& f = Compiled::steps;
  bool found = false;
  for (int m = f.steps[step].begin; m < f.steps[step].end; ++m) found |= s.recomputes[f.members[m]] != none;
  for_each_read(s, f, Compiled::loops, step,
                [&](int v) { found |= f.step_of[v] != none && (v < s.turn || s.recomputes[v] != none); });
  return found;
}
/// Returns how many bytes fewer are live if the slices of gradients that a fused loop reads last are copied before.
/// This happens in a segment of several blocks, because the segment recomputes blocks between the gradient and the
/// fused loop.
template <class Compiled>
constexpr std::int64_t saved_by_copies(int step) {
  const auto& s = Compiled::schedule;
  const auto& f = Compiled::steps;
  std::int64_t saved = 0;
  for (int m = f.steps[step].loop_begin; m < f.steps[step].loop_end; ++m) {
    const int v = f.members[m];
    if (s.op(v).what != graphs::role::map || s.recomputes[v] != none) continue;
    const int of = f.memory_root[s.argument(v, 0)];
    if (of >= s.turn && f.step_of[of] != none && Compiled::ranges.last[of] == step)
      saved += aligned(s.result(of).bytes) - aligned(s.result(v).bytes);
  }
  return saved;
}
}  // namespace detail

/// `Unplaced` is the plan without placed segments.
template <class Unplaced, class Compiled, const auto& Blocks>
constexpr auto measure_single_blocks() {
  using of_plan = values_of_blocks<Compiled, Blocks>;
  constexpr int count = of_plan::count;
  constexpr const auto& s = of_plan::s;
  constexpr const auto& f = of_plan::f;
  const auto block_of = [](int v) { return of_plan::block_of(v); };
  const auto is_gradient = [&](int v) { return v >= s.turn && s.recomputes[v] == none && of_plan::in_arena(v); };
  const auto note = [](std::int64_t& most, std::int64_t bytes) { most = std::max(most, bytes); };
  single_costs<count> out;
  for (int v = 0; v < s.node_count; ++v) {
    const int b = block_of(v);
    if (b == none) continue;
    if (v < s.turn && of_plan::is_stored(v)) out.stored_bytes[b] += of_plan::bytes(v);
    if (s.recomputes[v] != none && s.nodes[v].result_index == 0) out.flops[b] += s.op(v).flops;
  }
  std::int64_t before[count + 1] = {};
  for (int b = 0; b < count; ++b) before[b + 1] = before[b] + out.stored_bytes[b];
  bool is_freed[of_plan::values] = {};
  std::int64_t gradients = 0;
  std::int64_t cheap_results[count + 1] = {};  // by block: bytes of stored results that are cheap and not freed yet
  const auto is_cheap_result = [&](int v) {
    return v < s.turn && of_plan::is_stored(v) && block_of(v) != none && Unplaced::needs.cheap[s.origin[v]];
  };
  for (int v = 0; v < s.turn; ++v) {
    if (is_cheap_result(v)) cheap_results[block_of(v)] += of_plan::bytes(v);
  }
  int now = 0;
  bool begun = false;  // true if the backward pass of block `now` has read or recomputed a value of the forward pass
  for (int i = 0; i < f.step_count; ++i) {
    int b = i == f.turn ? count - 1 : now;
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (block_of(f.members[m]) != none) b = block_of(f.members[m]);
    }
    // The update of a parameter may follow the backward pass of earlier blocks.
    if (i > f.turn) b = std::min(b, now);
    begun &= b == now;
    now = b;
    const std::int64_t live = Compiled::slots.bytes_at_step[i] - before[b];
    if (i < f.turn) {
      note(out.unstored_peak[b], live);
    } else if (begun) {
      note(out.peak_as_last[b], live);
      note(out.peak_as_last_unheld[b], live - cheap_results[b]);
    } else {
      begun = detail::reads_forward<Compiled>(i);
      const std::int64_t saved = begun ? detail::saved_by_copies<Compiled>(i) : 0;
      out.gradient_bytes[b + 1] = gradients - saved;
      if (begun) note(out.peak_as_last[b], live - saved);
      if (begun) note(out.peak_as_last_unheld[b], live - saved - cheap_results[b]);
      if (!begun || saved > 0) note(out.peak_before_recomputation[b], live);
    }
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (is_gradient(f.members[m])) gradients += of_plan::bytes(f.members[m]);
    }
    for_each_read(s, f, Compiled::loops, i, [&](int v) {
      if (is_freed[v] || of_plan::live.last[v] != i) return;
      is_freed[v] = true;
      if (is_gradient(v)) gradients -= of_plan::bytes(v);
      if (is_cheap_result(v)) cheap_results[block_of(v)] -= of_plan::bytes(v);
    });
  }
  return out;
}

/// Returns chain `c` with the costs that were measured with each block as a segment (`single`), and with each block as
/// a segment that stores its contractions (`saving`).
template <int Count>
constexpr block_chain<Count> corrected(block_chain<Count> c, const single_costs<Count>& single,
                                       const single_costs<Count>& saving) {
  for (int b = 0; b < Count; ++b) {
    c.of[b].unstored_peak = single.unstored_peak[b];
    c.of[b].peak_before_recomputation = single.peak_before_recomputation[b];
    c.of[b].peak_as_last = single.peak_as_last[b];
    c.of[b].peak_as_last_unheld = single.peak_as_last_unheld[b];
    c.gradient_bytes[b + 1] = single.gradient_bytes[b + 1];
    if (saving.flops[b] < single.flops[b] && !c.of[b].between_regions)
      c.of[b].saving = {
          saving.stored_bytes[b],
          saving.flops[b],
          {saving.unstored_peak[b], std::max(saving.peak_before_recomputation[b], saving.peak_as_last[b])}};
  }
  return c;
}

}  // namespace cairn::plans::search
