// Measures a model as a chain of blocks: the bytes that each block stores and needs, and the work of recomputing it.
// All figures are taken from the plan in which no segment is placed. They therefore include the effects of fusion, of
// writing in place and of the user's own segments.
#pragma once

#include "cairn/search/blocks.hpp"

namespace cairn::search {

/// The costs of a block. Bytes do not include bytes that the blocks before it hold. Work is counted in FLOP.
struct block_costs {
  /// Peak bytes in the forward pass and in the backward pass.
  struct peaks {
    std::int64_t forward = 0, backward = 0;
  };
  /// bytes stored for the backward pass, if the program stores the block, and if a segment around it does
  std::int64_t kept = 0, kept_inside = 0;
  std::int64_t results = 0;  ///< the part of `kept_inside` that later blocks read
  std::int64_t passed = 0;   ///< peak bytes if the block is computed and nothing is stored
  peaks outside;             ///< if the program stores the block and the block before it
  peaks after_segment;       ///< if the program stores the block, and a segment ends before it
  peaks inside;              ///< if a segment around it stores the block
  std::int64_t ahead = 0;    ///< peak bytes in the backward pass, before any value of its segment is recomputed
  std::int64_t alone = 0;    ///< peak bytes from then on, if the block is the last of the segment
  /// Costs of the block as a segment by itself that stores its contractions, as `save_matmuls` does.
  struct saving_costs {
    std::int64_t kept = none, flops = 0;  ///< `kept` is none if storing contractions saves no work
    peaks most;
  };
  saving_costs saving;
  std::int64_t result_flops = 0;   ///< work to compute the values that later blocks read
  std::int64_t reading_flops = 0;  ///< work to compute the values that its own backward pass reads
  /// work to compute both of these, and the values that the backward pass of other blocks reads
  std::int64_t both_flops = 0;
  std::int64_t again_flops = 0;  ///< work that is recomputed even if the block is stored
  bool between = false;          ///< true if it is a run of values between regions, which no segment contains
};

/// The blocks of a chain in the order of their computation. Figures are in bytes, except `again`.
template <int Count>
struct block_chain {
  static constexpr int count = Count;
  block_costs of[Count + 1] = {};
  /// [i][j]: bytes computed in blocks [i, j) and read in block j or later
  std::int64_t made[Count + 1][Count + 1] = {};
  /// [i][j]: as `made`, without values that only runs between regions read in block j or later
  std::int64_t held[Count + 1][Count + 1] = {};
  /// [i][j]: bytes counted in `held[i][j]` that are unused once the forward pass of block j has finished
  std::int64_t released[Count + 1][Count + 1] = {};
  /// by block: true if it reads values of blocks other than the block directly before it
  bool reads_far[Count + 1] = {};
  /// by block: bytes of values of earlier blocks that from here on only runs between regions read, in the forward pass
  std::int64_t passing[Count + 1] = {};
  /// by block: bytes of earlier blocks that a segment beginning with this block holds, and that the program does not
  /// store
  std::int64_t unkept[Count + 1] = {};
  /// by block: work that the block before it recomputes, and that is saved if a segment begins with this block
  std::int64_t again[Count + 1] = {};
  /// By block: bytes of the gradients of values of earlier blocks, when the block's own backward pass is over.
  std::int64_t gradients[Count + 1] = {};
};

namespace detail {
template <class Compiled, const auto& Blocks>
struct block_measurer : values_of_blocks<Compiled, Blocks> {
  using of_plan = values_of_blocks<Compiled, Blocks>;
  using of_plan::block_of, of_plan::in_arena, of_plan::is_kept, of_plan::bytes;
  using of_plan::d, of_plan::s, of_plan::f, of_plan::live, of_plan::p, of_plan::count, of_plan::values;
  static constexpr int nodes = Compiled::gradient.capacity;
  static constexpr const auto& need = Compiled::needs;
  static constexpr const auto& in = Compiled::segments;
  static constexpr const auto& l = Compiled::loops;
  static constexpr const auto& slots = Compiled::slots;
  block_chain<count> out{};
  // By value of the graph.
  bool joined[nodes] = {};     ///< a concatenation that is read in place; its readers read its pieces
  bool read_back[nodes] = {};  ///< the backward pass reads the value
  bool read_own[nodes] = {};   ///< the backward pass of its own block reads the value
  int until[nodes] = {};       ///< the last block that reads the value
  /// the last block that reads the value in the backward pass, or that reads the value and may be in a segment
  int held_until[nodes] = {};
  int forward_until[nodes] = {};  ///< the last block that reads the value in the forward pass
  int back_until[nodes] = {};     ///< the last block that reads the value in the backward pass
  int last_back[nodes] = {};      ///< the last plan step of the backward pass that reads the value
  bool marked[count + 1] = {};    ///< by block: true if the user's segments are in it
  // By value of the schedule.
  int last_forward[values] = {};  ///< the last plan step of the forward pass that reads the value
  int block_of_step[values] = {};
  int first_step[count + 1] = {};

  constexpr bool computed(int v) const {
    return Blocks.of[v] != none && need.root[v] == v && !joined[v] && !need.output[v];
  }
  /// Calls `visit` with the values from whose memory `v` is read.
  constexpr void for_each_source(int v, auto visit) const {
    const int root = need.root[v];
    if (!joined[root]) return visit(root);
    const graph::node& n = d.nodes[root];
    for (int i = 0; i < n.op->argument_count; ++i) for_each_source(d.arguments[n.first + i], visit);
  }
  constexpr bool crosses(int v) const {
    const int origin = s.origin[v];
    return until[origin] > Blocks.of[origin];
  }

  constexpr void find_readers() {
    for (int v = 0; v < s.node_count; ++v) {
      if (s.again[v] == 0 && s.origin[v] < d.turn) joined[s.origin[v]] = f.joined[v];
    }
    for (int v = 0; v < d.node_count; ++v) {
      const graph::node& n = d.nodes[v];
      if (!need.live[v] || n.result_index > 0 || (v < d.turn && joined[v])) continue;
      const bool back = v >= d.turn;
      const int found = back ? Blocks.of_region[n.region] : Blocks.of[v];
      const int by = found != none ? found : back ? count - 1 : 0;
      for (int i = 0; i < n.op->argument_count; ++i) {
        if (d.arguments[n.first + i] >= d.turn) continue;
        for_each_source(d.arguments[n.first + i], [&](int a) {
          if (Blocks.of[a] == none) return;
          until[a] = std::max(until[a], by);
          if (!back && !Blocks.between[by]) out.reads_far[by] |= by > Blocks.of[a] + 1;
          if (back || !Blocks.between[by]) held_until[a] = std::max(held_until[a], by);
          int& last = back ? back_until[a] : forward_until[a];
          last = std::max(last, by);
          read_back[a] |= back && in.of[a] == 0;
          read_own[a] |= back && in.of[a] == 0 && by == Blocks.of[a];
        });
      }
    }
    for (int v = 0; v < d.turn; ++v) {
      if (Blocks.of[v] != none) marked[Blocks.of[v]] |= in.of[v] != 0;
    }
  }
  /// Returns the block of plan step `i`, or none. The block of a step is the block of its last value. Recomputed values
  /// do not count: they belong to the block that reads them next.
  constexpr int find_block(int i) const {
    int found = none;
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      const int b = s.again[f.members[m]] == 0 ? block_of(f.members[m]) : none;
      if (b != none) found = b;
    }
    return found;
  }
  constexpr void find_steps() {
    int now = 0;
    for (int i = 0; i < f.turn; ++i) {
      if (const int b = find_block(i); b > now) first_step[now = b] = i;
      block_of_step[i] = now;
      for_each_read(s, f, l, i, [&](int v) { last_forward[v] = i; });
    }
    now = 0;
    for (int i = f.step_count; i-- > f.turn;) {
      if (const int b = find_block(i); b > now) now = b;
      block_of_step[i] = now;
    }
    for (int v = s.turn; v < s.node_count; ++v) {
      const graph::node& n = s.nodes[v];
      if (n.result_index > 0) continue;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int origin = s.origin[s.arguments[n.first + i]];
        if (origin >= d.turn || f.step_of[v] == none) continue;
        for_each_source(origin, [&](int a) {
          if (s.again[v] == 0) last_back[a] = std::max(last_back[a], f.step_of[v]);
          else back_until[a] = std::max(back_until[a], block_of(v));
        });
      }
    }
  }

  constexpr void count_crossing() {
    for (int v = 0; v < d.turn; ++v) {
      if (!computed(v)) continue;
      const int b = Blocks.of[v], last = std::min(forward_until[v], held_until[v]);
      const std::int64_t size = aligned(d.nodes[v].result->bytes);
      for (int j = b + 1; j <= until[v]; ++j) out.made[b][j] += size;
      for (int j = b + 1; j <= held_until[v]; ++j) out.held[b][j] += size;
      for (int j = held_until[v] + 1; held_until[v] > b && j <= forward_until[v]; ++j) out.passing[j] += size;
      if (std::max(back_until[v], b) < last) out.released[b][last] += size;
    }
    for (int j = 0; j <= count; ++j) {
      for (int i = j; i-- > 0;) {
        out.made[i][j] += out.made[i + 1][j];
        out.held[i][j] += out.held[i + 1][j];
        out.released[i][j] += out.released[i + 1][j];
      }
    }
    for (int j = 0; j < count; ++j) out.unkept[j] = out.held[0][j];
    for (int v = 0; v < d.turn; ++v) {
      if (!computed(v)) continue;
      for (int j = Blocks.of[v] + 1; j <= forward_until[v]; ++j) out.gradients[j] += aligned(d.nodes[v].result->bytes);
    }
    for (int v = 0; v < s.turn; ++v) {
      if (!is_kept(v) || !computed(s.origin[v])) continue;
      for (int j = Blocks.of[s.origin[v]] + 1; j <= held_until[s.origin[v]]; ++j) out.unkept[j] -= bytes(v);
    }
  }
  constexpr void count_kept() {
    for (int v = 0; v < s.turn; ++v) {
      if (block_of(v) == none) continue;
      block_costs& b = out.of[block_of(v)];
      if (is_kept(v)) b.kept += bytes(v);
    }
    for (int v = 0; v < d.turn; ++v) {
      if (!computed(v) || !(read_back[v] || until[v] > Blocks.of[v])) continue;
      out.of[Blocks.of[v]].kept_inside += aligned(d.nodes[v].result->bytes);
      if (until[v] > Blocks.of[v]) out.of[Blocks.of[v]].results += aligned(d.nodes[v].result->bytes);
    }
  }

  /// Runs the forward pass over single blocks and notes its peak bytes. If `keeps` is true, the values that the
  /// backward pass reads are stored; otherwise nothing is stored.
  constexpr void run_forward(bool keeps) {
    bool gone[values] = {};
    std::int64_t alive = 0;
    int now = none;
    for (int i = 0; i < f.turn; ++i) {
      if (block_of_step[i] != now) alive = 0;
      now = block_of_step[i];
      std::int64_t made = 0, freed = 0;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        const int v = f.members[m];
        if (block_of(v) != now) continue;
        const bool kept = keeps && computed(s.origin[v]) && read_back[s.origin[v]];
        if (kept || (in_arena(v) && (crosses(v) || last_forward[v] > i))) made += bytes(v);
      }
      for_each_read(s, f, l, i, [&](int v) {
        if (gone[v] || !in_arena(v) || block_of(v) != now || last_forward[v] != i || crosses(v)) return;
        gone[v] = true;
        if (!keeps || !read_back[s.origin[v]]) freed += bytes(v);
      });
      const bool replaces = f.steps[i].kernel == none;
      const std::int64_t most = (replaces ? std::max(alive, alive + made - freed) : alive + made) +
                                aligned(scratch_of(s, f.steps[i], Compiled::threads));
      std::int64_t& noted = keeps ? out.of[now].inside.forward : out.of[now].passed;
      noted = std::max(noted, most);
      alive += made - freed;
    }
  }
  /// Returns true if plan step `i` writes over value `v`. The step could not do so if a segment held the value.
  constexpr bool is_written_over(int v, int i) const {
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (in_arena(f.members[m]) && slots.of[f.members[m]] == slots.of[v]) return true;
    }
    return false;
  }
  /// Notes the bytes that the plan needs in each block, in the forward pass and in the backward pass.
  constexpr void run_step() {
    std::int64_t before[count + 2] = {};
    for (int b = 0; b < count; ++b) before[b + 1] = before[b] + out.of[b].kept;
    bool gone[values] = {};
    // by block: bytes that no segment from this block on holds, although they are read later
    std::int64_t passed_on[count + 1] = {};
    const auto passes_on = [&](int v) { return computed(v) && held_until[v] < forward_until[v]; };
    for (int v = 0; v < s.turn; ++v) {
      if (in_arena(v) && !is_kept(v) && passes_on(s.origin[v])) passed_on[held_until[s.origin[v]] + 1] += bytes(v);
    }
    // bytes of earlier blocks that are in memory and are neither stored nor counted in `passed_on`
    std::int64_t unkept = 0;
    std::int64_t own_unkept = 0;
    int now = 0;
    for (int i = 0; i < f.turn; ++i) {
      const int b = block_of_step[i];
      if (b != now) {
        unkept += own_unkept;
        own_unkept = 0;
        while (now < b) unkept -= passed_on[++now];
      }
      const std::int64_t all = slots.live[i] - before[b];
      std::int64_t held_by_segment = unkept;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        const int v = f.members[m];
        if (in_arena(v) && !is_kept(v) && !p.output[v]) own_unkept += bytes(v);
      }
      for_each_read(s, f, l, i, [&](int v) {
        if (gone[v] || !in_arena(v) || live.last[v] != i) return;
        gone[v] = true;
        if (!is_kept(v) && passes_on(s.origin[v])) return;
        const bool own = f.step_of[v] >= first_step[b];
        (own ? own_unkept : unkept) -= bytes(v);
        if (!own && is_written_over(v, i)) held_by_segment -= bytes(v);
      });
      note(out.of[b].outside.forward, all);
      note(out.of[b].after_segment.forward, all - held_by_segment);
    }
    std::int64_t own = 0, inside = 0, gradients = 0;
    // bytes of recomputed values, and the part of these that belongs to earlier blocks
    std::int64_t clones = 0, others = 0;
    std::int64_t ends[values + 1] = {};  // by plan step: bytes that a segment would store and that the step reads last
    for (int v = 0; v < d.turn; ++v) {
      if (computed(v) && read_back[v] && last_back[v] > 0) ends[last_back[v]] += aligned(d.nodes[v].result->bytes);
    }
    now = count;
    for (int i = f.turn; i < f.step_count; ++i) {
      const int b = block_of_step[i];
      if (b != now) {
        for (int c = b + 1; c <= now; ++c) out.gradients[c] = std::max(out.gradients[c], gradients);
        now = b;
        own = out.of[b].kept;
        inside = out.of[b].kept_inside;
      }
      const auto count_value = [&](int v, std::int64_t by) {
        if (s.again[v] == 0) gradients += by;
        else clones += by;
        if (s.again[v] > 0 && block_of(v) < b) others += by;
      };
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        if (in_arena(f.members[m])) count_value(f.members[m], bytes(f.members[m]));
      }
      const std::int64_t all = slots.live[i] - before[b];
      note(out.of[b].outside.backward, all);
      note(out.of[b].after_segment.backward, all - others);
      note(out.of[b].inside.backward, marked[b] ? all : all - own - clones + inside);
      inside -= std::min(inside, ends[i]);
      for_each_read(s, f, l, i, [&](int v) {
        if (gone[v] || !in_arena(v) || live.last[v] != i) return;
        gone[v] = true;
        if (v >= s.turn) count_value(v, -bytes(v));
        else if (block_of(v) == b) own -= bytes(v);
      });
    }
    for (int c = 1; c <= now; ++c) out.gradients[c] = std::max(out.gradients[c], gradients);
  }
  static constexpr void note(std::int64_t& most, std::int64_t bytes) { most = most > bytes ? most : bytes; }

  /// Costs in work, in the order of `asked` below: the block's results, the values that its backward pass reads, or
  /// both.
  static constexpr std::int64_t block_costs::* figures[3] = {&block_costs::result_flops, &block_costs::reading_flops,
                                                             &block_costs::both_flops};
  constexpr void count_work() {
    for (const int asked : {0, 1, 2}) {
      bool wanted[nodes] = {};
      for (int v = d.turn; v-- > 0;) {
        const int b = Blocks.of[v];
        if (b == none || !need.live[v]) continue;
        const graph::node& n = d.nodes[v];
        const int root = need.root[v];
        wanted[v] |= (asked != 1 && until[root] > b) ||
                     (asked != 0 && (asked == 1 ? read_own[root] && held_until[root] <= b : read_back[root])) ||
                     (asked == 0 && need.output[root]);
        if (n.result_index > 0) {
          wanted[v - n.result_index] |= wanted[v];
          continue;
        }
        if (!wanted[v] || (asked == 1 && held_until[root] > b)) continue;
        out.of[b].*figures[asked] += n.op->flops;
        for (int i = 0; i < n.op->argument_count; ++i) {
          const int a = d.arguments[n.first + i];
          if (Blocks.of[a] == b) wanted[a] = true;
        }
      }
    }
    // By recomputed value: the last block at which a beginning segment makes the recomputation unnecessary. The segment
    // either holds the value itself, or holds all that the value's block computes from it.
    int needless_until[values];
    for (int& last : needless_until) last = count;
    for (int v = s.node_count; v-- > s.turn;) {
      const int b = s.again[v] > 0 ? block_of(v) : none;
      const int held = b != none && s.segment[v] == 0 ? std::max(needless_until[v], held_until[s.origin[v]]) : none;
      const auto read = [&](int a) { needless_until[a] = std::min(needless_until[a], block_of(a) == b ? held : none); };
      const graph::node& n = s.nodes[v];
      if (n.result_index > 0) {
        read(v - n.result_index);
        continue;
      }
      for (int i = 0; i < n.op->argument_count; ++i) read(s.arguments[n.first + i]);
      if (b == none) continue;
      out.of[b].again_flops += s.op(v).flops;
      if (held > b) out.again[b + 1] += s.op(v).flops;
    }
    for (int b = 0; b < count; ++b) {
      if (!marked[b]) continue;
      out.of[b].reading_flops = out.of[b].again_flops;
      out.of[b].both_flops = out.of[b].result_flops + out.of[b].again_flops;
    }
  }
};

/// The bytes of a chain. Bytes and work are two constants, because both together would take more steps than a compiler
/// allows for one constant.
template <class Compiled, const auto& Blocks>
inline constexpr auto bytes_measured = [] {
  block_measurer<Compiled, Blocks> m;
  for (int b = 0; b < Blocks.count; ++b) m.out.of[b].between = Blocks.between[b];
  m.find_readers();
  m.find_steps();
  m.count_crossing();
  m.count_kept();
  m.run_forward(false);
  m.run_forward(true);
  m.run_step();
  for (int b = 0; b < Blocks.count; ++b) {
    block_costs& of = m.out.of[b];
    of.alone = std::max(m.out.gradients[b + 1] + of.inside.forward, of.inside.backward) - of.results;
  }
  return m;
}();
}  // namespace detail

/// Measures a compiled model as a chain of the blocks that find_blocks found in it.
template <class Compiled, const auto& Blocks>
constexpr auto measure_blocks() {
  auto m = detail::bytes_measured<Compiled, Blocks>;
  m.count_work();
  return m.out;
}

}  // namespace cairn::search
