// Measures a model as a chain of blocks: the bytes that each block stores and needs, and the work of recomputing it.
// All figures are taken from the plan in which no segment is placed. They therefore include the effects of fusion, of
// writing in place and of the user's own segments.
#pragma once

#include "cairn/search/blocks.hpp"

namespace cairn::plans::search {

/// The costs of a block. Bytes do not include bytes that the blocks before it hold. Work is counted in FLOP.
struct block_costs {
  /// Peak bytes in the forward pass and in the backward pass.
  struct peaks {
    std::int64_t forward = 0, backward = 0;
  };
  /// bytes stored for the backward pass, if the program stores the block, and if a segment around it does
  std::int64_t stored_bytes = 0, stored_bytes_in_segment = 0;
  std::int64_t result_bytes = 0;   ///< the part of `stored_bytes_in_segment` that later blocks read
  std::int64_t unstored_peak = 0;  ///< peak bytes if the block is computed and nothing is stored
  peaks peak_in_program;           ///< if the program stores the block and the block before it
  peaks peak_after_segment;        ///< if the program stores the block, and a segment ends before it
  peaks peak_in_segment;           ///< if a segment around it stores the block
  /// peak bytes in the backward pass, before any value of its segment is recomputed
  std::int64_t peak_before_recomputation = 0;
  std::int64_t peak_as_last = 0;  ///< peak bytes from then on, if the block is the last of the segment
  /// as `peak_as_last`, if nothing holds the block's results for the backward pass
  std::int64_t peak_as_last_unheld = 0;
  /// Costs of the block as a segment by itself that stores its contractions, as `save_matmuls` does.
  struct saving_costs {
    std::int64_t stored_bytes = none, flops = 0;  ///< `stored_bytes` is none if storing contractions saves no work
    peaks peak;
  };
  saving_costs saving;
  std::int64_t result_flops = 0;   ///< work to compute the values that later blocks read
  std::int64_t reading_flops = 0;  ///< work to compute the values that its own backward pass reads
  /// work to compute both of these, and the values that the backward pass of other blocks reads
  std::int64_t both_flops = 0;
  std::int64_t always_recomputed_flops = 0;  ///< work that is recomputed even if the block is stored
  bool between_regions = false;  ///< true if it is a run of values between regions, which no segment contains
};

/// The blocks of a chain in the order of their computation. Figures are in bytes, except `flops_saved_by_segment`.
template <int Count>
struct block_chain {
  static constexpr int count = Count;
  block_costs of[Count + 1] = {};
  /// [i][j]: bytes computed in blocks [i, j) and read in block j or later
  std::int64_t crossing_bytes[Count + 1][Count + 1] = {};
  /// [i][j]: as `crossing_bytes`, without values that only runs between regions read in block j or later
  std::int64_t held_bytes[Count + 1][Count + 1] = {};
  /// [i][j]: bytes counted in `held_bytes[i][j]` that are unused once the forward pass of block j has finished
  std::int64_t freed_after_forward[Count + 1][Count + 1] = {};
  /// by block: true if it reads values of blocks other than the block directly before it
  bool reads_far[Count + 1] = {};
  /// by block: bytes of values of earlier blocks that from here on only runs between regions read, in the forward pass
  std::int64_t bytes_read_between[Count + 1] = {};
  /// by block: bytes of earlier blocks that a segment beginning with this block holds, and that the program does not
  /// store
  std::int64_t held_only_by_segment[Count + 1] = {};
  /// by block: work that the block before it recomputes, and that is saved if a segment begins with this block
  std::int64_t flops_saved_by_segment[Count + 1] = {};
  /// By block: bytes of the gradients of values of earlier blocks, when the block's own backward pass is over.
  std::int64_t gradient_bytes[Count + 1] = {};
};

namespace detail {
template <class Compiled, const auto& Blocks>
struct block_measurer : values_of_blocks<Compiled, Blocks> {
  using of_plan = values_of_blocks<Compiled, Blocks>;
  using of_plan::block_of, of_plan::in_arena, of_plan::is_stored, of_plan::bytes;
  using of_plan::d, of_plan::s, of_plan::f, of_plan::live, of_plan::p, of_plan::count, of_plan::values;
  static constexpr int nodes = Compiled::gradient.capacity;
  static constexpr const auto& need = Compiled::needs;
  static constexpr const auto& segments = Compiled::segments;
  static constexpr const auto& l = Compiled::loops;
  static constexpr const auto& slots = Compiled::slots;
  block_chain<count> out{};
  // By value of the graph.
  bool in_pieces[nodes] = {};             ///< a concatenation that is read in place; its readers read its pieces
  bool read_by_backward[nodes] = {};      ///< the backward pass reads the value
  bool read_by_own_backward[nodes] = {};  ///< the backward pass of its own block reads the value
  int last_reader[nodes] = {};            ///< the last block that reads the value
  /// the last block that reads the value in the backward pass, or that reads the value and may be in a segment
  int held_until[nodes] = {};
  int last_forward_reader[nodes] = {};       ///< the last block that reads the value in the forward pass
  int last_backward_reader[nodes] = {};      ///< the last block that reads the value in the backward pass
  int last_backward_step[nodes] = {};        ///< the last plan step of the backward pass that reads the value
  bool has_marked_segments[count + 1] = {};  ///< by block: true if the user's segments are in it
  // By value of the schedule.
  int last_forward_step[values] = {};  ///< the last plan step of the forward pass that reads the value
  int block_of_step[values] = {};
  int first_step[count + 1] = {};

  constexpr bool is_counted(int v) const {
    return Blocks.of[v] != none && need.view_root[v] == v && !in_pieces[v] && !need.output[v];
  }
  /// Calls `visit` with the values from whose memory `v` is read.
  constexpr void for_each_source(int v, auto visit) const {
    const int root = need.view_root[v];
    if (!in_pieces[root]) return visit(root);
    const graphs::node& n = d.nodes[root];
    for (int i = 0; i < n.op->argument_count; ++i) for_each_source(d.arguments[n.first + i], visit);
  }
  constexpr bool is_read_later(int v) const {
    const int origin = s.origin[v];
    return last_reader[origin] > Blocks.of[origin];
  }

  constexpr void find_readers() {
    for (int v = 0; v < s.node_count; ++v) {
      if (s.recomputes[v] == none && s.origin[v] < d.turn) in_pieces[s.origin[v]] = f.in_pieces[v];
    }
    for (int v = 0; v < d.node_count; ++v) {
      const graphs::node& n = d.nodes[v];
      if (!need.live[v] || n.result_index > 0 || (v < d.turn && in_pieces[v])) continue;
      const bool back = v >= d.turn;
      const int found = back ? Blocks.of_region[n.region] : Blocks.of[v];
      const int by = found != none ? found : back ? count - 1 : 0;
      for (int i = 0; i < n.op->argument_count; ++i) {
        if (d.arguments[n.first + i] >= d.turn) continue;
        for_each_source(d.arguments[n.first + i], [&](int a) {
          if (Blocks.of[a] == none) return;
          last_reader[a] = std::max(last_reader[a], by);
          if (!back && !Blocks.between_regions[by]) out.reads_far[by] |= by > Blocks.of[a] + 1;
          if (back || !Blocks.between_regions[by]) held_until[a] = std::max(held_until[a], by);
          int& last = back ? last_backward_reader[a] : last_forward_reader[a];
          last = std::max(last, by);
          read_by_backward[a] |= back && segments.of[a] == 0;
          read_by_own_backward[a] |= back && segments.of[a] == 0 && by == Blocks.of[a];
        });
      }
    }
    for (int v = 0; v < d.turn; ++v) {
      if (Blocks.of[v] != none) has_marked_segments[Blocks.of[v]] |= segments.of[v] != 0;
    }
  }
  /// Returns the block of plan step `i`, or none. The block of a step is the block of its last value. Recomputed values
  /// do not count: they belong to the block that reads them next.
  constexpr int find_block(int i) const {
    int found = none;
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      const int b = s.recomputes[f.members[m]] == none ? block_of(f.members[m]) : none;
      if (b != none) found = b;
    }
    return found;
  }
  constexpr void find_steps() {
    int now = 0;
    for (int i = 0; i < f.turn; ++i) {
      if (const int b = find_block(i); b > now) first_step[now = b] = i;
      block_of_step[i] = now;
      for_each_read(s, f, l, i, [&](int v) { last_forward_step[v] = i; });
    }
    now = 0;
    for (int i = f.step_count; i-- > f.turn;) {
      if (const int b = find_block(i); b > now) now = b;
      block_of_step[i] = now;
    }
    for (int v = s.turn; v < s.node_count; ++v) {
      const graphs::node& n = s.nodes[v];
      if (n.result_index > 0) continue;
      for (int i = 0; i < n.op->argument_count; ++i) {
        const int origin = s.origin[s.arguments[n.first + i]];
        if (origin >= d.turn || f.step_of[v] == none) continue;
        for_each_source(origin, [&](int a) {
          if (s.recomputes[v] == none) last_backward_step[a] = std::max(last_backward_step[a], f.step_of[v]);
          else last_backward_reader[a] = std::max(last_backward_reader[a], block_of(v));
        });
      }
    }
  }

  constexpr void count_crossing_bytes() {
    for (int v = 0; v < d.turn; ++v) {
      if (!is_counted(v)) continue;
      const int b = Blocks.of[v], last = std::min(last_forward_reader[v], held_until[v]);
      const std::int64_t size = aligned(d.nodes[v].result->bytes);
      for (int j = b + 1; j <= last_reader[v]; ++j) out.crossing_bytes[b][j] += size;
      for (int j = b + 1; j <= held_until[v]; ++j) out.held_bytes[b][j] += size;
      for (int j = held_until[v] + 1; held_until[v] > b && j <= last_forward_reader[v]; ++j)
        out.bytes_read_between[j] += size;
      if (std::max(last_backward_reader[v], b) < last) out.freed_after_forward[b][last] += size;
    }
    for (int j = 0; j <= count; ++j) {
      for (int i = j; i-- > 0;) {
        out.crossing_bytes[i][j] += out.crossing_bytes[i + 1][j];
        out.held_bytes[i][j] += out.held_bytes[i + 1][j];
        out.freed_after_forward[i][j] += out.freed_after_forward[i + 1][j];
      }
    }
    for (int j = 0; j < count; ++j) out.held_only_by_segment[j] = out.held_bytes[0][j];
    for (int v = 0; v < d.turn; ++v) {
      if (!is_counted(v)) continue;
      for (int j = Blocks.of[v] + 1; j <= last_forward_reader[v]; ++j)
        out.gradient_bytes[j] += aligned(d.nodes[v].result->bytes);
    }
    for (int v = 0; v < s.turn; ++v) {
      if (!is_stored(v) || !is_counted(s.origin[v])) continue;
      for (int j = Blocks.of[s.origin[v]] + 1; j <= held_until[s.origin[v]]; ++j)
        out.held_only_by_segment[j] -= bytes(v);
    }
  }
  constexpr void count_stored_bytes() {
    for (int v = 0; v < s.turn; ++v) {
      if (block_of(v) == none) continue;
      block_costs& b = out.of[block_of(v)];
      if (is_stored(v)) b.stored_bytes += bytes(v);
    }
    for (int v = 0; v < d.turn; ++v) {
      if (!is_counted(v) || !(read_by_backward[v] || last_reader[v] > Blocks.of[v])) continue;
      out.of[Blocks.of[v]].stored_bytes_in_segment += aligned(d.nodes[v].result->bytes);
      if (last_reader[v] > Blocks.of[v]) out.of[Blocks.of[v]].result_bytes += aligned(d.nodes[v].result->bytes);
    }
  }

  /// Runs the forward pass over single blocks and notes its peak bytes. If `stores` is true, the values that the
  /// backward pass reads are stored; otherwise nothing is stored.
  constexpr void note_forward_peaks(bool stores) {
    bool is_freed[values] = {};
    std::int64_t alive = 0;
    int now = none;
    for (int i = 0; i < f.turn; ++i) {
      if (block_of_step[i] != now) alive = 0;
      now = block_of_step[i];
      std::int64_t computed_bytes = 0, freed_bytes = 0;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        const int v = f.members[m];
        if (block_of(v) != now) continue;
        const bool is_stored_here = stores && is_counted(s.origin[v]) && read_by_backward[s.origin[v]];
        if (is_stored_here || (in_arena(v) && (is_read_later(v) || last_forward_step[v] > i)))
          computed_bytes += bytes(v);
      }
      for_each_read(s, f, l, i, [&](int v) {
        if (is_freed[v] || !in_arena(v) || block_of(v) != now || last_forward_step[v] != i || is_read_later(v)) return;
        is_freed[v] = true;
        if (!stores || !read_by_backward[s.origin[v]]) freed_bytes += bytes(v);
      });
      const bool replaces = f.steps[i].kernel == none;
      const std::int64_t most =
          (replaces ? std::max(alive, alive + computed_bytes - freed_bytes) : alive + computed_bytes) +
          aligned(workspace_of(s, f.steps[i], Compiled::threads));
      std::int64_t& noted = stores ? out.of[now].peak_in_segment.forward : out.of[now].unstored_peak;
      noted = std::max(noted, most);
      alive += computed_bytes - freed_bytes;
    }
  }
  /// Returns true if plan step `i` writes over value `v`. The step could not do so if a segment held the value.
  constexpr bool is_overwritten(int v, int i) const {
    for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
      if (in_arena(f.members[m]) && slots.of[f.members[m]] == slots.of[v]) return true;
    }
    return false;
  }
  /// Notes the bytes that the plan needs in each block, in the forward pass and in the backward pass.
  constexpr void note_peaks() {
    std::int64_t before[count + 2] = {};
    for (int b = 0; b < count; ++b) before[b + 1] = before[b] + out.of[b].stored_bytes;
    bool is_freed[values] = {};
    // by block: bytes that no segment from this block on holds, although they are read later
    std::int64_t not_held_from[count + 1] = {};
    const auto is_not_held = [&](int v) { return is_counted(v) && held_until[v] < last_forward_reader[v]; };
    for (int v = 0; v < s.turn; ++v) {
      if (in_arena(v) && !is_stored(v) && is_not_held(s.origin[v]))
        not_held_from[held_until[s.origin[v]] + 1] += bytes(v);
    }
    // bytes of earlier blocks that are in memory and are neither stored nor counted in `not_held_from`
    std::int64_t unstored = 0;
    std::int64_t own_unstored = 0;
    int now = 0;
    for (int i = 0; i < f.turn; ++i) {
      const int b = block_of_step[i];
      if (b != now) {
        unstored += own_unstored;
        own_unstored = 0;
        while (now < b) unstored -= not_held_from[++now];
      }
      const std::int64_t all = slots.bytes_at_step[i] - before[b];
      std::int64_t held_by_segment = unstored;
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        const int v = f.members[m];
        if (in_arena(v) && !is_stored(v) && !p.output[v]) own_unstored += bytes(v);
      }
      for_each_read(s, f, l, i, [&](int v) {
        if (is_freed[v] || !in_arena(v) || live.last[v] != i) return;
        is_freed[v] = true;
        if (!is_stored(v) && is_not_held(s.origin[v])) return;
        const bool own = f.step_of[v] >= first_step[b];
        (own ? own_unstored : unstored) -= bytes(v);
        if (!own && is_overwritten(v, i)) held_by_segment -= bytes(v);
      });
      note(out.of[b].peak_in_program.forward, all);
      note(out.of[b].peak_after_segment.forward, all - held_by_segment);
    }
    std::int64_t own_stored = 0, own_in_segment = 0, gradients = 0;
    // bytes of recomputed values, and the part of these that belongs to earlier blocks
    std::int64_t clones = 0, clones_of_earlier = 0;
    std::int64_t last_read_bytes[values + 1] =
        {};  // by plan step: bytes that a segment would store and that the step reads last
    for (int v = 0; v < d.turn; ++v) {
      if (is_counted(v) && read_by_backward[v] && last_backward_step[v] > 0)
        last_read_bytes[last_backward_step[v]] += aligned(d.nodes[v].result->bytes);
    }
    now = count;
    for (int i = f.turn; i < f.step_count; ++i) {
      const int b = block_of_step[i];
      if (b != now) {
        for (int c = b + 1; c <= now; ++c) out.gradient_bytes[c] = std::max(out.gradient_bytes[c], gradients);
        now = b;
        own_stored = out.of[b].stored_bytes;
        own_in_segment = out.of[b].stored_bytes_in_segment;
      }
      const auto count_value = [&](int v, std::int64_t by) {
        if (s.recomputes[v] == none) gradients += by;
        else clones += by;
        if (s.recomputes[v] != none && block_of(v) < b) clones_of_earlier += by;
      };
      for (int m = f.steps[i].begin; m < f.steps[i].end; ++m) {
        if (in_arena(f.members[m])) count_value(f.members[m], bytes(f.members[m]));
      }
      const std::int64_t all = slots.bytes_at_step[i] - before[b];
      note(out.of[b].peak_in_program.backward, all);
      note(out.of[b].peak_after_segment.backward, all - clones_of_earlier);
      note(out.of[b].peak_in_segment.backward,
           has_marked_segments[b] ? all : all - own_stored - clones + own_in_segment);
      own_in_segment -= std::min(own_in_segment, last_read_bytes[i]);
      for_each_read(s, f, l, i, [&](int v) {
        if (is_freed[v] || !in_arena(v) || live.last[v] != i) return;
        is_freed[v] = true;
        if (v >= s.turn) count_value(v, -bytes(v));
        else if (block_of(v) == b) own_stored -= bytes(v);
      });
    }
    for (int c = 1; c <= now; ++c) out.gradient_bytes[c] = std::max(out.gradient_bytes[c], gradients);
  }
  static constexpr void note(std::int64_t& most, std::int64_t bytes) { most = most > bytes ? most : bytes; }

  /// Costs in work: of the block's results, of the values that its backward pass reads, and of both.
  enum figure { of_results, of_reading, of_both };
  static constexpr std::int64_t block_costs::* figures[3] = {&block_costs::result_flops, &block_costs::reading_flops,
                                                             &block_costs::both_flops};
  constexpr void count_work() {
    for (const figure counted : {of_results, of_reading, of_both}) {
      bool wanted[nodes] = {};
      for (int v = d.turn; v-- > 0;) {
        const int b = Blocks.of[v];
        if (b == none || !need.live[v]) continue;
        const graphs::node& n = d.nodes[v];
        const int root = need.view_root[v];
        wanted[v] |=
            (counted != of_reading && last_reader[root] > b) ||
            (counted != of_results &&
             (counted == of_reading ? read_by_own_backward[root] && held_until[root] <= b : read_by_backward[root])) ||
            (counted == of_results && need.output[root]);
        if (n.result_index > 0) {
          wanted[v - n.result_index] |= wanted[v];
          continue;
        }
        if (!wanted[v] || (counted == of_reading && held_until[root] > b)) continue;
        out.of[b].*figures[counted] += n.op->flops;
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
      const int b = s.recomputes[v] != none ? block_of(v) : none;
      const int held = b != none && s.segment[v] == 0 ? std::max(needless_until[v], held_until[s.origin[v]]) : none;
      const auto read = [&](int a) { needless_until[a] = std::min(needless_until[a], block_of(a) == b ? held : none); };
      const graphs::node& n = s.nodes[v];
      if (n.result_index > 0) {
        read(v - n.result_index);
        continue;
      }
      for (int i = 0; i < n.op->argument_count; ++i) read(s.arguments[n.first + i]);
      if (b == none) continue;
      out.of[b].always_recomputed_flops += s.op(v).flops;
      if (held > b) out.flops_saved_by_segment[b + 1] += s.op(v).flops;
    }
    for (int b = 0; b < count; ++b) {
      if (!has_marked_segments[b]) continue;
      out.of[b].reading_flops = out.of[b].always_recomputed_flops;
      out.of[b].both_flops = out.of[b].result_flops + out.of[b].always_recomputed_flops;
    }
  }
};

/// The bytes of a chain. Bytes and work are two constants, because both together would take more steps than a compiler
/// allows for one constant.
template <class Compiled, const auto& Blocks>
inline constexpr auto measured_bytes = [] {
  block_measurer<Compiled, Blocks> m;
  for (int b = 0; b < Blocks.count; ++b) m.out.of[b].between_regions = Blocks.between_regions[b];
  m.find_readers();
  m.find_steps();
  m.count_crossing_bytes();
  m.count_stored_bytes();
  m.note_forward_peaks(false);
  m.note_forward_peaks(true);
  m.note_peaks();
  for (int b = 0; b < Blocks.count; ++b) {
    block_costs& of = m.out.of[b];
    of.peak_as_last = std::max(m.out.gradient_bytes[b + 1] + of.peak_in_segment.forward, of.peak_in_segment.backward) -
                      of.result_bytes;
    of.peak_as_last_unheld = of.peak_as_last;
  }
  return m;
}();
}  // namespace detail

/// Measures a compiled model as a chain of the blocks that find_blocks found in it.
template <class Compiled, const auto& Blocks>
constexpr auto measure_blocks() {
  auto m = detail::measured_bytes<Compiled, Blocks>;
  m.count_work();
  return m.out;
}

}  // namespace cairn::plans::search
