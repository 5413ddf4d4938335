// Blocks that are a segment each: what they need then, measured in a plan that has these segments.
#pragma once

#include "cairn/pass/chain.hpp"

namespace cairn::pass {

/// By block, of a plan in which each is a segment of its own.
template <int Count>
struct single_costs {
  std::int64_t stored[Count + 1] = {};     ///< of what it makes, up to backward
  std::int64_t passed[Count + 1] = {};     ///< at most, in forward, beside what is stored of the blocks before
  std::int64_t alone[Count + 1] = {};      ///< in backward
  std::int64_t gradients[Count + 1] = {};  ///< as its backward begins, of what later blocks read
  std::int64_t flops[Count + 1] = {};      ///< computed again
};
template <class Compiled, const auto& Blocks>
constexpr auto measure_single_blocks() {
  using of_plan = values_of_blocks<Compiled, Blocks>;
  constexpr int count = of_plan::count;
  constexpr const auto& s = of_plan::s;
  constexpr const auto& f = of_plan::f;
  const auto block_of = [](int v) { return of_plan::block_of(v); };
  const auto is_gradient = [&](int v) { return v >= s.turn && s.again[v] == 0 && of_plan::in_arena(v); };
  single_costs<count> out;
  for (int v = 0; v < s.node_count; ++v) {
    const int b = block_of(v);
    if (b == none) continue;
    if (v < s.turn && of_plan::is_kept(v)) out.stored[b] += of_plan::bytes(v);
    if (s.again[v] > 0 && s.nodes[v].number == 0) out.flops[b] += s.op(v).flops;
  }
  std::int64_t before[count + 1] = {};
  for (int b = 0; b < count; ++b) before[b + 1] = before[b] + out.stored[b];
  bool gone[of_plan::values] = {};
  std::int64_t gradients = 0;
  int now = 0;
  for (int i = 0; i < f.step_count; ++i) {
    const bool forward = i < f.turn;
    int b = i == f.turn ? count - 1 : now;
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (block_of(f.members[m]) != none) b = block_of(f.members[m]);
    }
    for (int c = b + 1; !forward && c <= now; ++c) out.gradients[c] = gradients;
    now = b;
    std::int64_t& most = forward ? out.passed[b] : out.alone[b];
    most = std::max(most, Compiled::slots.live[i] - before[b]);
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (is_gradient(f.members[m])) gradients += of_plan::bytes(f.members[m]);
    }
    for_each_read(s, f, Compiled::loops, i, [&](int v) {
      if (gone[v] || !is_gradient(v) || of_plan::live.last[v] != i) return;
      gone[v] = true;
      gradients -= of_plan::bytes(v);
    });
  }
  return out;
}

/// A chain with what was measured of single blocks as segments; and as segments that keep their contractions.
template <int Count>
constexpr chain<Count> corrected(chain<Count> c, const single_costs<Count>& single, const single_costs<Count>& saving) {
  for (int b = 0; b < Count; ++b) {
    c.of[b].passed = single.passed[b];
    c.of[b].alone = single.alone[b];
    c.gradients[b] = single.gradients[b];
    if (saving.flops[b] < single.flops[b])
      c.of[b].saving = {saving.stored[b], std::max(saving.passed[b], saving.alone[b]), saving.flops[b]};
  }
  return c;
}

}  // namespace cairn::pass
