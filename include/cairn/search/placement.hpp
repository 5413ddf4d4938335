// The placements of a whole chain that no other placement beats in both bytes and work, and the segments of each of
// them.
#pragma once

#include "cairn/search/nested.hpp"

namespace cairn::plans::search {

/// A run of equal blocks that follow each other: [begin, end).
struct run_of_blocks {
  int begin = 0, end = 0;
};

namespace detail {
constexpr bool are_equal(const block_costs& a, const block_costs& b) {
  return !a.between_regions && !b.between_regions && a.stored_bytes == b.stored_bytes &&
         a.stored_bytes_in_segment == b.stored_bytes_in_segment && a.result_flops == b.result_flops &&
         a.both_flops == b.both_flops;
}
/// Finds the runs of two or more equal blocks.
template <int Count>
constexpr auto find_runs(const block_chain<Count>& c) {
  struct {
    run_of_blocks of[Count + 1] = {};
    int count = 0;
  } out;
  for (int i = 0, j = 0; i < Count; i = j) {
    for (j = i + 1;
         j < Count && are_equal(c.of[i], c.of[j]) && c.crossing_bytes[i][i + 1] == c.crossing_bytes[j - 1][j];)
      ++j;
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
    most.unstored_peak = std::max(most.unstored_peak, b.unstored_peak);
    most.peak_as_last = std::max(most.peak_as_last, b.peak_as_last);
    most.peak_in_segment.forward = std::max(most.peak_in_segment.forward, b.peak_in_segment.forward);
    most.peak_in_segment.backward = std::max(most.peak_in_segment.backward, b.peak_in_segment.backward);
    most.reading_flops = std::max(most.reading_flops, b.reading_flops);
    gradient = std::max(gradient, c.gradient_bytes[begin + i + 1]);
  }
  for (int i = 0; i <= Length; ++i) {
    out.of[i] = most;
    out.gradient_bytes[i] = gradient;
    for (int j = i + 1; j <= Length; ++j) out.crossing_bytes[i][j] = c.crossing_bytes[begin][begin + 1];
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

/// The best placements of the blocks from each block on, outside of segments. `after_stored` is for a block after a
/// stored block. `after_segment` is for a block after a segment, which holds all values that cross.
template <int Count, int Room>
struct outer_placements {
  const placements<Room>*after_stored[Count + 1] = {}, *after_segment[Count + 1] = {};
};

namespace detail {
/// Computes the placements of blocks [From, To) from the placements of the blocks behind them.
template <const auto& Chain, int From, int To, int Room>
constexpr auto write_outer_placements(const outer_placements<Chain.count, Room>& behind) {
  using inner = inner_placements<Chain>;
  constexpr int count = Chain.count;
  const auto& c = Chain;
  struct {
    placements<Room> after_stored[To - From + 1] = {}, after_segment[To - From + 1] = {};
  } out;
  const auto stored = [&](int i) -> const placements<Room>& {
    return i < To ? out.after_stored[i - From] : *behind.after_stored[i];
  };
  const auto segment = [&](int i) -> const placements<Room>& {
    return i < To ? out.after_segment[i - From] : *behind.after_segment[i];
  };
  for (int i = To; i-- > From;) {
    const block_costs& b = c.of[i];
    for (const bool after_stored : {true, false}) {
      const std::int64_t held_only = after_stored ? c.held_only_by_segment[i] : 0,
                         saved_flops = after_stored ? c.flops_saved_by_segment[i] : 0;
      (after_stored ? out.after_stored : out.after_segment)[i - From] =
          placements_of<Room, inner::exact>([&](auto visit) {
            const block_costs::peaks most = after_stored ? b.peak_in_program : b.peak_after_segment;
            visit(partial_choice{0, std::max(most.forward, most.backward), b.always_recomputed_flops, b.stored_bytes},
                  stored(i + 1), nothing);
            // Blocks [i, j) as a segment; in addition, the same with the block behind the segment stored. In the second
            // case, the results of the segment may be freed before its backward pass. If the segment stores all of its
            // interior, it then takes the bytes in `all_unheld`.
            const auto visit_segment = [&](int length, int j, std::int64_t least, std::int64_t work,
                                           std::int64_t crossing, const auto& inside, const placements<1>& all_unheld) {
              visit(partial_choice{length, held_only + least, work - saved_flops, held_only + crossing, held_only},
                    segment(j), inside);
              const std::int64_t after_forward = crossing - c.freed_after_forward[i][j];
              if (after_forward == crossing || j == count) return;
              const block_costs& next = c.of[j];
              const std::int64_t both = std::max({least, crossing + next.peak_after_segment.forward,
                                                  after_forward + next.peak_after_segment.backward});
              partial_choice with_next{choice::then_stored + length, held_only + both,
                                       work - saved_flops + next.always_recomputed_flops,
                                       held_only + after_forward + next.stored_bytes, held_only};
              visit(with_next, stored(j + 1), inside);
              with_next.stores_inside = true;
              if (all_unheld.count > 0) visit(with_next, stored(j + 1), all_unheld);
            };
            if (b.saving.stored_bytes != none)
              visit_segment(choice::saving, i + 1,
                            std::max(c.bytes_read_between[i] + b.saving.peak.forward, b.saving.peak.backward),
                            b.saving.flops, b.saving.stored_bytes, nothing, {});
            std::int64_t unstored_peak = 0, stored_so_far = 0, forward_peak = 0, backward_peak = 0;
            placements<1> all_stored = nothing;
            for (int j = i + 1; j <= count && !c.of[j - 1].between_regions; ++j) {
              const block_costs& last = c.of[j - 1];
              unstored_peak =
                  std::max(unstored_peak, c.held_bytes[i][j - 1] + c.bytes_read_between[j - 1] + last.unstored_peak);
              const std::int64_t gradient = c.gradient_bytes[j];
              const std::int64_t at_end = stored_so_far + last.peak_as_last;
              all_stored.bytes[0] = std::max(at_end, std::max(backward_peak, gradient + forward_peak));
              all_stored.flops[0] += last.reading_flops;
              const std::int64_t least = std::max(unstored_peak, last.peak_before_recomputation),
                                 crossing = c.held_bytes[i][j];
              placements<1> all_unheld;
              if (last.peak_as_last_unheld < last.peak_as_last) {
                all_unheld = all_stored;
                all_unheld.bytes[0] =
                    std::max({stored_so_far + last.peak_as_last_unheld, backward_peak, gradient + forward_peak});
              }
              if (const auto* inside = inner::of(i, j - 1); inside != nullptr)
                visit_segment(j - i, j, least, 0, crossing, *inside, all_unheld);
              else visit_segment(j - i, j, least, 0, crossing, all_stored, all_unheld);
              all_stored.flops[0] += last.both_flops - last.reading_flops;
              forward_peak = std::max(forward_peak, stored_so_far + last.peak_in_segment.forward);
              backward_peak = std::max(backward_peak, stored_so_far + last.peak_in_segment.backward);
              stored_so_far += last.stored_bytes_in_segment;
            }
          });
    }
  }
  return out;
}

/// Number of blocks that one constant computes. More would take more steps than compilers allow.
inline constexpr int blocks_per_constant = 16;
template <int Room>
inline constexpr placements<Room> no_blocks{1, {}, {}, {}};
template <const auto& Chain, int Group>
struct outer_group {
  static constexpr int count = Chain.count, room = inner_placements<Chain>::room;
  static constexpr int from = Group * blocks_per_constant, to = std::min(from + blocks_per_constant, count);
  static constexpr outer_placements<count, room> behind = [] {
    if constexpr (to < count) {
      return outer_group<Chain, Group + 1>::found;
    } else {
      outer_placements<count, room> none_left;
      none_left.after_stored[count] = none_left.after_segment[count] = &no_blocks<room>;
      return none_left;
    }
  }();
  static constexpr auto made = write_outer_placements<Chain, from, to>(behind);
  static constexpr outer_placements<count, room> found = [] {
    outer_placements<count, room> all = behind;
    for (int i = from; i < to; ++i) {
      all.after_stored[i] = &made.after_stored[i - from];
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
    bool stores_contractions;       ///< true if it stores its contractions
  };
  range all[2 * Count + 1] = {};
  int count = 0, depth = 0;

  constexpr int add(int begin, int end, int parent, bool stores_contractions = false) {
    const int levels = parent == 0 ? 1 : all[parent - 1].depth + 1;
    all[count] = {begin, end, parent, levels, stores_contractions};
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
      if (found == nullptr || which == choice::all_stored) return;
      const choice c = choice::decode(found->choice_number[which]);
      first(i, c, parent);
      i += c.blocks();
      which = c.rest;
    }
  }
  constexpr void outside(int which) {
    const auto& best = outer_placements_of<Chain>;
    bool is_after_stored = true;
    for (int i = 0; i < Chain.count;) {
      const choice c =
          choice::decode((is_after_stored ? best.after_stored : best.after_segment)[i]->choice_number[which]);
      first(i, c, 0);
      is_after_stored = c.length == 0 || c.stores_next;
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
    for (j = i + 1; !Chain.of[i].between_regions && j < Chain.count && !Chain.of[j].between_regions && j - i < Length;)
      ++j;
    if (!Chain.of[i].between_regions) out.add(i, j, 0, Saves);
  }
  return out;
}();

/// The segments of `Ranges` as a placement by region of the graph.
template <const auto& Blocks, const auto& Ranges>
inline constexpr auto placement_by_region = [] {
  constexpr int regions = static_cast<int>(std::size(Blocks.of_region));
  plans::placement<regions, Ranges.count, Ranges.depth> out;
  int of_block[Blocks.count + 1] = {};
  for (int i = 0; i < Ranges.count; ++i) {
    out.parent[i + 1] = Ranges.all[i].parent;
    out.stores_contractions[i + 1] = Ranges.all[i].stores_contractions;
    for (int b = Ranges.all[i].begin; b < Ranges.all[i].end; ++b) of_block[b] = i + 1;
  }
  for (int r = 1; r < regions; ++r) {
    if (Blocks.is_block[r]) out.of[r] = of_block[Blocks.of_region[r]];
  }
  return out;
}();

}  // namespace cairn::plans::search
