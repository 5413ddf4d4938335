// Decides which blocks of a chain become segments, and how these segments nest. For each range of blocks, the search
// finds the placements that no other placement beats in both bytes and work. The method follows rotor (Beaumont,
// Eyraud-Dubois, Herrmann, Joly, Shilova, Optimal checkpointing for heterogeneous chains, 2019). Instead of a grid of
// memory sizes, it uses lists of the best placements.
//
// Inside of a segment, blocks [i, l] are recomputed in one of two ways. Either the first block is stored, or blocks [i,
// j) become a segment of their own. The same choice is then made for the rest. Outside of segments, in the program, the
// same choice is made from the first block on. In chains of up to `fine_chain` blocks, segments nest in all ways. In
// longer chains, segments nest where blocks are equal; other segments store all of their interior.
#pragma once

#include "cairn/search/chain.hpp"

namespace cairn::plans::search {

/// Placements, sorted by their bytes. The bytes do not include what lies before the range of blocks. Each placement
/// takes less work than the placements before it.
template <int Room>
struct placements {
  int count = 0;
  std::int64_t bytes[Room] = {}, flops[Room] = {};  ///< `flops` is the work that is recomputed
  int choice_number[Room] = {};
};

/// The first choice of a placement. `length` says which choice it is:
/// - 0: the first block is stored.
/// - `saving`: the first block is a segment that stores its contractions.
/// - Another number: that many blocks are a segment.
/// - `then_stored` is added if the block behind the segment is stored.
/// `rest` is the index of the placement of the remaining blocks. `inside` is the index of the placement inside the
/// segment, or `all_stored`.
struct choice {
  static constexpr int saving = 1024, then_stored = 2048, most_placements = 255, all_stored = 255;
  static_assert(long_chain < saving);
  int length, rest, inside;
  bool stores_next;
  constexpr int segment() const { return length == saving ? 1 : length; }
  constexpr int blocks() const { return length == 0 ? 1 : segment() + stores_next; }
  static constexpr int encode(int length, int rest, int inside) { return length << 16 | rest << 8 | inside; }
  static constexpr choice decode(int number) {
    const int length = number >> 16;
    return {length % then_stored, number >> 8 & 255, number & 255, length >= then_stored};
  }
};

namespace detail {
inline constexpr std::int64_t never = std::int64_t{1} << 60;

/// A first choice, which placements of the rest and of the segment's interior complete.
struct partial_choice {
  int length = 0;                     ///< length of the segment, or 0
  std::int64_t least_bytes = 0;       ///< bytes that the choice needs by itself
  std::int64_t flops = 0;             ///< work that is recomputed for it, in addition to the work inside the segment
  std::int64_t held_with_rest = 0;    ///< bytes that are held in addition to the bytes of the rest
  std::int64_t held_with_inside = 0;  ///< bytes that are held in addition to the bytes inside the segment
  bool stores_inside = false;         ///< the segment stores all of its interior
  constexpr std::int64_t need(std::int64_t rest, std::int64_t inside) const {
    const std::int64_t later =
        rest + held_with_rest > inside + held_with_inside ? rest + held_with_rest : inside + held_with_inside;
    return least_bytes > later ? least_bytes : later;
  }
};

/// Finds the best of some placements: for each budget of a list, the placement with the least work.
template <int Room>
struct list_writer {
  std::int64_t budgets[Room + 1] = {};
  placements<Room> found{};
  int count = 0;  ///< number of budgets; more than `Room` if there was no room for all of them

  /// Sets budgets from the least bytes that any placement needs to the most. Neighbouring budgets differ by the same
  /// factor.
  constexpr void spread(std::int64_t least, std::int64_t most) {
    static_assert(((Room - 1) & (Room - 2)) == 0 && Room <= choice::most_placements);
    const double first = static_cast<double>(std::max<std::int64_t>(least, 1));
    double factor = std::max(static_cast<double>(most), first) / first, budget = first;
    for (int n = 1; n < Room - 1; n *= 2) factor = lang::square_root(factor);
    for (count = 0; count < Room; ++count, budget *= factor) budgets[count] = static_cast<std::int64_t>(budget);
    budgets[Room - 1] = most;
  }
  /// Inserts the bytes that a placement needs into the sorted list of budgets.
  constexpr void insert(std::int64_t bytes) {
    int at = count;
    while (at > 0 && budgets[at - 1] >= bytes) --at;
    if (count > Room || (at < count && budgets[at] == bytes)) return;
    for (int i = count++; i > at; --i) budgets[i] = budgets[i - 1];
    budgets[at] = bytes;
  }
  constexpr void begin() {
    for (std::int64_t& work : found.flops) work = never;
  }

  template <class Rest, class Inside>
  constexpr void add(const partial_choice& first, const Rest& rest, const Inside& inside) {
    int r = 0, i = 0;
    for (int k = 0; k < count; ++k) {
      while (r < rest.count && rest.bytes[r] + first.held_with_rest <= budgets[k]) ++r;
      while (i < inside.count && inside.bytes[i] + first.held_with_inside <= budgets[k]) ++i;
      if (r == 0 || i == 0 || first.least_bytes > budgets[k]) continue;
      const std::int64_t work = first.flops + rest.flops[r - 1] + inside.flops[i - 1];
      if (work >= found.flops[k]) continue;
      found.flops[k] = work;
      found.bytes[k] = first.need(rest.bytes[r - 1], inside.bytes[i - 1]);
      found.choice_number[k] = choice::encode(first.length, r - 1, first.stores_inside ? choice::all_stored : i - 1);
    }
  }
  /// Returns the placements that take less work than all placements with fewer bytes.
  constexpr placements<Room> done() const {
    placements<Room> out;
    for (int k = 0; k < count; ++k) {
      if (found.flops[k] == never || (out.count > 0 && found.flops[k] >= out.flops[out.count - 1])) continue;
      out.bytes[out.count] = found.bytes[k];
      out.flops[out.count] = found.flops[k];
      out.choice_number[out.count++] = found.choice_number[k];
    }
    return out;
  }
};

inline constexpr placements<1> nothing{1, {}, {}, {}};

/// Returns the best of all placements for which `for_each(visit)` calls visit(first, rest, inside). If `Exact` is true,
/// no placement is left out, as long as there is room for all.
template <int Room, bool Exact>
constexpr placements<Room> placements_of(auto for_each) {
  list_writer<Room> w;
  std::int64_t least = never, most = -1;
  for_each([&](const partial_choice& first, const auto& rest, const auto& inside) {
    if (rest.count == 0 || inside.count == 0) return;
    if constexpr (Exact) {
      for (int r = 0; r < rest.count; ++r) w.insert(first.need(rest.bytes[r], inside.bytes[0]));
      for (int i = 0; i < inside.count; ++i) w.insert(first.need(rest.bytes[0], inside.bytes[i]));
    }
    least = std::min(least, first.need(rest.bytes[0], inside.bytes[0]));
    most = std::max(most, first.need(rest.bytes[rest.count - 1], inside.bytes[inside.count - 1]));
  });
  if (most < 0) return {};
  if (!Exact || w.count > Room) w.spread(least, most);
  w.begin();
  for_each([&](const auto&... option) { w.add(option...); });
  return w.done();
}
}  // namespace detail

/// The placements of ranges of blocks in a segment, by the first block and the number of further blocks. For a chain of
/// equal blocks, only the ranges from the first block on are there.
template <int Starts, int Count, int Room>
struct placement_table {
  const placements<Room>* at[Starts + 1][Count + 1] = {};
  constexpr const placements<Room>& of(int first, int more) const { return *at[Starts == 1 ? 0 : first][more]; }
};

namespace detail {
template <int Starts, int From, int To, int Room>
struct new_placements {
  placements<Room> of[Starts][To - From] = {};
};

/// Computes the placements of ranges with From to To - 1 further blocks.
template <int Starts, int From, int To, int Room, int Count>
constexpr auto write_placements(const block_chain<Count>& c, const placement_table<Starts, Count, Room>& before) {
  new_placements<Starts, From, To, Room> out;
  for (int more = From; more < To; ++more) {
    for (int i = 0; i < Starts && i + more < Count; ++i) {
      const int l = i + more;
      const auto at = [&](int first, int n) -> const placements<Room>& {
        return n < From ? before.of(first, n) : out.of[Starts == 1 ? 0 : first][n - From];
      };
      const block_costs& b = c.of[i];
      const std::int64_t gradient = c.gradient_bytes[l + 1];
      const std::int64_t stored_peak = std::max(gradient + b.peak_in_segment.forward, b.peak_in_segment.backward);
      const auto for_each_choice = [&](auto visit) {
        if (more == 0) return visit(partial_choice{0, b.peak_as_last, b.reading_flops}, nothing, nothing);
        visit(partial_choice{0, stored_peak, b.both_flops, b.stored_bytes_in_segment}, at(i + 1, more - 1), nothing);
        // Blocks [i, j) as a segment. In addition: the same with the block behind the segment stored, if the forward
        // pass of that block is the last to read some of the values that cross.
        const auto visit_segment = [&](int length, int j, std::int64_t least, std::int64_t work, std::int64_t crossing,
                                       const auto& inside) {
          visit(partial_choice{length, least, work, crossing}, at(j, l - j), inside);
          const std::int64_t after_forward = crossing - c.freed_after_forward[i][j];
          if (after_forward == crossing || j == l) return;
          const block_costs& next = c.of[j];
          const std::int64_t both = std::max({least, gradient + crossing + next.peak_in_segment.forward,
                                              after_forward + next.peak_in_segment.backward});
          visit(partial_choice{choice::then_stored + length, both, work + next.both_flops,
                               after_forward + next.stored_bytes_in_segment},
                at(j + 1, l - j - 1), inside);
        };
        if (b.saving.stored_bytes != none)
          visit_segment(choice::saving, i + 1, std::max(gradient + b.saving.peak.forward, b.saving.peak.backward),
                        b.result_flops + b.saving.flops, b.saving.stored_bytes, nothing);
        std::int64_t work = 0, unstored_peak = 0;
        for (int j = i + 1; j <= l; ++j) {
          work += c.of[j - 1].result_flops;
          unstored_peak = std::max(unstored_peak, c.crossing_bytes[i][j - 1] + c.of[j - 1].unstored_peak);
          visit_segment(j - i, j, std::max(gradient + unstored_peak, c.of[j - 1].peak_before_recomputation), work,
                        c.crossing_bytes[i][j], at(i, j - 1 - i));
        }
      };
      if (!b.between_regions && !c.of[l].between_regions)
        out.of[Starts == 1 ? 0 : i][more - From] = placements_of<Room, Count <= short_chain>(for_each_choice);
    }
  }
  return out;
}

/// Number of lengths that one constant computes. More would take more steps than compilers allow.
inline constexpr int lengths_per_constant = 4;
template <const auto& Chain, int Starts, int Room, int Group>
struct placement_group {
  static constexpr int count = Chain.count, from = Group * lengths_per_constant,
                       to = std::min(from + lengths_per_constant, count);
  static constexpr placement_table<Starts, count, Room> before = [] {
    if constexpr (Group == 0) return placement_table<Starts, count, Room>{};
    else return placement_group<Chain, Starts, Room, Group - 1>::after;
  }();
  static constexpr auto made = write_placements<Starts, from, to, Room>(Chain, before);
  static constexpr placement_table<Starts, count, Room> after = [] {
    placement_table<Starts, count, Room> all = before;
    for (int i = 0; i < Starts; ++i) {
      for (int n = from; n < to; ++n) all.at[i][n] = &made.of[i][n - from];
    }
    return all;
  }();
};
}  // namespace detail

/// The placements of all ranges of a chain. For a chain of equal blocks, `Starts` is 1.
template <const auto& Chain, int Starts, int Room>
inline constexpr const placement_table<Starts, Chain.count, Room>& placements_inside =
    detail::placement_group<Chain, Starts, Room, (Chain.count - 1) / detail::lengths_per_constant>::after;

}  // namespace cairn::plans::search
