// The placements of a whole chain that no other placement beats in both bytes and work, and the segments of each of
// them.
#pragma once

#include "cairn/search/nested.hpp"

namespace cairn::search {

/// A run of equal blocks that follow each other: [begin, end).
struct run_of_blocks {
  int begin = 0, end = 0;
};

namespace detail {
constexpr bool alike(const block_costs& a, const block_costs& b) {
  return !a.between && !b.between && a.kept == b.kept && a.kept_inside == b.kept_inside &&
         a.result_flops == b.result_flops && a.both_flops == b.both_flops;
}
/// Finds the runs of two or more equal blocks.
template <int Count>
constexpr auto find_runs(const block_chain<Count>& c) {
  struct {
    run_of_blocks of[Count + 1] = {};
    int count = 0;
  } out;
  for (int i = 0, j = 0; i < Count; i = j) {
    for (j = i + 1; j < Count && alike(c.of[i], c.of[j]) && c.made[i][i + 1] == c.made[j - 1][j];) ++j;
    if (j - i > 1) out.of[out.count++] = {i, j};
  }
  return out;
}
/// Returns a run as a chain by itself. Each cost is the largest cost in the run.
template <int Length, int Count>
constexpr block_chain<Length> chain_of_run(const block_chain<Count>& c, int begin) {
  block_chain<Length> out;
  block_costs most = c.of[begin];
  std::int64_t gradient = 0;
  for (int i = 0; i < Length; ++i) {
    const block_costs& b = c.of[begin + i];
    most.passed = std::max(most.passed, b.passed);
    most.alone = std::max(most.alone, b.alone);
    most.inside.forward = std::max(most.inside.forward, b.inside.forward);
    most.inside.backward = std::max(most.inside.backward, b.inside.backward);
    most.reading_flops = std::max(most.reading_flops, b.reading_flops);
    gradient = std::max(gradient, c.gradients[begin + i + 1]);
  }
  for (int i = 0; i <= Length; ++i) {
    out.of[i] = most;
    out.gradients[i] = gradient;
    for (int j = i + 1; j <= Length; ++j) out.made[i][j] = c.made[begin][begin + 1];
  }
  return out;
}
template <const auto& Chain, int Begin, int Length>
inline constexpr auto run_chain = chain_of_run<Length>(Chain, Begin);
}  // namespace detail

/// The best placements of each range of a chain inside a segment.
template <const auto& Chain>
struct inner_placements {
  static constexpr int count = Chain.count;
  static constexpr bool exact = count <= short_chain, complete = count <= fine_chain;
  static constexpr int room = exact ? 65 : complete ? 33 : 17;
  static constexpr auto runs = detail::find_runs(Chain);

  /// Returns the placements of blocks [i, l]. Returns null if only one placement is known: the placement that stores
  /// all blocks.
  static constexpr const placements<room>* of(int i, int l) {
    if constexpr (complete) {
      return &placements_inside<Chain, count, room>.of(i, l - i);
    } else {
      for (int r = 0; r < runs.count; ++r) {
        if (runs.of[r].begin <= i && l < runs.of[r].end) return tables.of[r][l - i];
      }
      return nullptr;
    }
  }

 private:
  static constexpr auto tables = [] {
    struct {
      const placements<room>* of[runs.count + 1][count + 1] = {};
    } out;
    if constexpr (!complete) {
      [&]<int... R>(std::integer_sequence<int, R...>) {
        (
            [&] {
              constexpr int begin = runs.of[R].begin, length = runs.of[R].end - begin;
              constexpr const auto& found = placements_inside<detail::run_chain<Chain, begin, length>, 1, room>;
              for (int n = 0; n < length; ++n) out.of[R][n] = &found.of(0, n);
            }(),
            ...);
      }(std::make_integer_sequence<int, runs.count>{});
    }
    return out;
  }();
};

/// The best placements of the blocks from each block on, outside of segments. `after_kept` is for a block after a
/// stored block. `after_segment` is for a block after a segment, which holds all values that cross.
template <int Count, int Room>
struct outer_placements {
  const placements<Room>*after_kept[Count + 1] = {}, *after_segment[Count + 1] = {};
};

namespace detail {
/// Computes the placements of blocks [From, To) from the placements of the blocks behind them.
template <const auto& Chain, int From, int To, int Room>
constexpr auto write_outer_placements(const outer_placements<Chain.count, Room>& behind) {
  using inner = inner_placements<Chain>;
  constexpr int count = Chain.count;
  const auto& c = Chain;
  struct {
    placements<Room> after_kept[To - From + 1] = {}, after_segment[To - From + 1] = {};
  } out;
  const auto kept = [&](int i) -> const placements<Room>& {
    return i < To ? out.after_kept[i - From] : *behind.after_kept[i];
  };
  const auto segment = [&](int i) -> const placements<Room>& {
    return i < To ? out.after_segment[i - From] : *behind.after_segment[i];
  };
  for (int i = To; i-- > From;) {
    const block_costs& b = c.of[i];
    for (const bool after_kept : {true, false}) {
      const std::int64_t unkept = after_kept ? c.unkept[i] : 0, saved = after_kept ? -c.again[i] : 0;
      (after_kept ? out.after_kept : out.after_segment)[i - From] = placements_of<Room, inner::exact>([&](auto visit) {
        const block_costs::peaks most = after_kept ? b.outside : b.after_segment;
        visit(first_choice{0, std::max(most.forward, most.backward), b.again_flops, b.kept}, kept(i + 1), nothing);
        // Blocks [i, j) as a segment; in addition, the same with the block behind the segment stored.
        const auto visit_segment = [&](int length, int j, std::int64_t least, std::int64_t work, std::int64_t crossing,
                                       const auto& inside) {
          visit(first_choice{length, unkept + least, saved + work, unkept + crossing, unkept}, segment(j), inside);
          const std::int64_t after_forward = crossing - c.released[i][j];
          if (after_forward == crossing || j == count) return;
          const block_costs& next = c.of[j];
          const std::int64_t both =
              std::max({least, crossing + next.after_segment.forward, after_forward + next.after_segment.backward});
          visit(first_choice{choice::then_kept + length, unkept + both, saved + work + next.again_flops,
                             unkept + after_forward + next.kept, unkept},
                kept(j + 1), inside);
        };
        if (b.saving.kept != none)
          visit_segment(choice::saving, i + 1, std::max(c.passing[i] + b.saving.most.forward, b.saving.most.backward),
                        b.saving.flops, b.saving.kept, nothing);
        std::int64_t passed = 0, kept_so_far = 0, ahead = 0, back = 0;
        placements<1> all_kept = nothing;
        for (int j = i + 1; j <= count && !c.of[j - 1].between; ++j) {
          const block_costs& last = c.of[j - 1];
          passed = std::max(passed, c.held[i][j - 1] + c.passing[j - 1] + last.passed);
          const std::int64_t gradient = c.gradients[j];
          const std::int64_t at_end = kept_so_far + last.alone;
          all_kept.bytes[0] = std::max(at_end, std::max(back, gradient + ahead));
          all_kept.flops[0] += last.reading_flops;
          const std::int64_t least = std::max(passed, last.ahead), crossing = c.held[i][j];
          if (const auto* inside = inner::of(i, j - 1); inside != nullptr)
            visit_segment(j - i, j, least, 0, crossing, *inside);
          else visit_segment(j - i, j, least, 0, crossing, all_kept);
          all_kept.flops[0] += last.both_flops - last.reading_flops;
          ahead = std::max(ahead, kept_so_far + last.inside.forward);
          back = std::max(back, kept_so_far + last.inside.backward);
          kept_so_far += last.kept_inside;
        }
      });
    }
  }
  return out;
}

/// Number of blocks that one constant computes. More would take more steps than compilers allow.
inline constexpr int blocks_together = 16;
template <int Room>
inline constexpr placements<Room> no_blocks{1, {}, {}, {}};
template <const auto& Chain, int Group>
struct outer_group {
  static constexpr int count = Chain.count, room = inner_placements<Chain>::room;
  static constexpr int from = Group * blocks_together, to = std::min(from + blocks_together, count);
  static constexpr outer_placements<count, room> behind = [] {
    if constexpr (to < count) {
      return outer_group<Chain, Group + 1>::found;
    } else {
      outer_placements<count, room> none_left;
      none_left.after_kept[count] = none_left.after_segment[count] = &no_blocks<room>;
      return none_left;
    }
  }();
  static constexpr auto made = write_outer_placements<Chain, from, to>(behind);
  static constexpr outer_placements<count, room> found = [] {
    outer_placements<count, room> all = behind;
    for (int i = from; i < to; ++i) {
      all.after_kept[i] = &made.after_kept[i - from];
      all.after_segment[i] = &made.after_segment[i - from];
    }
    return all;
  }();
};
}  // namespace detail

/// The placements of a chain that no other placement beats.
template <const auto& Chain>
inline constexpr const auto& outer_placements_of = detail::outer_group<Chain, 0>::found;

/// Segments over ranges of blocks. Each segment comes after the segment around it.
template <int Count>
struct nested_ranges {
  struct range {
    int begin, end, parent, depth;  ///< `parent`: 1 + the number of the segment around it, or 0
    bool saves;                     ///< true if it stores its contractions
  };
  range all[2 * Count + 1] = {};
  int count = 0, depth = 0;

  constexpr int add(int begin, int end, int parent, bool saves = false) {
    const int levels = parent == 0 ? 1 : all[parent - 1].depth + 1;
    all[count] = {begin, end, parent, levels, saves};
    depth = std::max(depth, levels);
    return ++count;
  }
};

namespace detail {
template <const auto& Chain>
struct range_finder {
  using inner = inner_placements<Chain>;
  nested_ranges<Chain.count> out{};

  /// Adds the segment of the first choice for the blocks from `i` on, and the segments inside it.
  constexpr void first(int i, const choice& c, int parent) {
    if (c.length == 0) return;
    const int made = out.add(i, i + c.segment(), parent, c.length == choice::saving);
    if (c.length != choice::saving) inside(i, i + c.length - 1, c.inside, made);
  }
  /// Adds the segments of placement `which` of blocks [i, l], inside a segment.
  constexpr void inside(int i, int l, int which, int parent) {
    while (i <= l) {
      const auto* found = inner::of(i, l);
      if (found == nullptr) return;
      const choice c = choice::of(found->how[which]);
      first(i, c, parent);
      i += c.blocks();
      which = c.rest;
    }
  }
  constexpr void outside(int which) {
    const auto& best = outer_placements_of<Chain>;
    bool kept = true;
    for (int i = 0; i < Chain.count;) {
      const choice c = choice::of((kept ? best.after_kept : best.after_segment)[i]->how[which]);
      first(i, c, 0);
      kept = c.length == 0 || c.keeps_next;
      i += c.blocks();
      which = c.rest;
    }
  }
};
}  // namespace detail

/// The segments of placement number `Which`.
template <const auto& Chain, int Which>
inline constexpr auto ranges_of = [] {
  detail::range_finder<Chain> f;
  f.outside(Which);
  return f.out;
}();

/// Segments of `Length` blocks each, one after another. Runs of values between regions end a segment.
template <const auto& Chain, int Length, bool Saves = false>
inline constexpr auto equal_ranges = [] {
  nested_ranges<Chain.count> out;
  for (int i = 0, j = 0; i < Chain.count; i = j) {
    for (j = i + 1; !Chain.of[i].between && j < Chain.count && !Chain.of[j].between && j - i < Length;) ++j;
    if (!Chain.of[i].between) out.add(i, j, 0, Saves);
  }
  return out;
}();

/// The segments of `Ranges` as a placement by region of the graph.
template <const auto& Blocks, const auto& Ranges>
inline constexpr auto placement_by_region = [] {
  constexpr int regions = static_cast<int>(std::size(Blocks.of_region));
  plan::placement<regions, Ranges.count, Ranges.depth> out;
  int of_block[Blocks.count + 1] = {};
  for (int i = 0; i < Ranges.count; ++i) {
    out.parent[i + 1] = Ranges.all[i].parent;
    out.saves[i + 1] = Ranges.all[i].saves;
    for (int b = Ranges.all[i].begin; b < Ranges.all[i].end; ++b) of_block[b] = i + 1;
  }
  for (int r = 1; r < regions; ++r) {
    if (Blocks.begins[r]) out.of[r] = of_block[Blocks.of_region[r]];
  }
  return out;
}();

}  // namespace cairn::search
