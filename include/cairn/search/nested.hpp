// Which blocks of a chain become segments, and how these nest: for each range of blocks, the placements that no other
// one beats in bytes and in work. After rotor (Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, Optimal checkpointing
// for heterogeneous chains, 2019), with lists of what is best in place of a grid of memory sizes.
//
// Inside of a segment, blocks [i, l] are computed again with the first one kept, or with [i, j) as a segment of its
// own, and the rest likewise. Outside, in the program, the same is chosen from the first block on. Chains of up to
// `fine_chain` blocks are nested in all ways. In longer ones, segments nest where blocks are equal, and keep all inside
// elsewhere.
#pragma once

#include "cairn/search/chain.hpp"

namespace cairn::pass {

/// Placements in the order of their bytes, which are those beside what lies before them; each takes less work than
/// those before it.
template <int Room>
struct placements {
  int count = 0;
  std::int64_t bytes[Room] = {}, flops[Room] = {};  ///< flops: those that are done again
  int how[Room] = {};
};

/// A placement's first choice, by its length: so many blocks are a segment; 0, the first one is kept; `saving`, it is a
/// segment that keeps its contractions; `then_kept` more, and the block behind the segment is kept. Then which of the
/// placements of the rest goes with it, and which of those in the segment.
struct choice {
  static constexpr int saving = 1024, then_kept = 2048, most_placements = 256;
  static_assert(long_chain < saving);
  int length, rest, inside;
  bool keeps_next;
  constexpr int segment() const { return length == saving ? 1 : length; }
  constexpr int blocks() const { return length == 0 ? 1 : segment() + keeps_next; }
  static constexpr int number(int length, int rest, int inside) { return length << 16 | rest << 8 | inside; }
  static constexpr choice of(int number) {
    const int length = number >> 16;
    return {length % then_kept, number >> 8 & 255, number & 255, length >= then_kept};
  }
};

namespace detail {
inline constexpr std::int64_t never = std::int64_t{1} << 60;

/// A first choice that placements of the rest, and of what is in the segment, may go on from.
struct first_choice {
  int length = 0;           ///< of the segment, or 0
  std::int64_t least = 0;   ///< bytes that it needs itself
  std::int64_t flops = 0;   ///< that are done again for it, beside those inside
  std::int64_t held = 0;    ///< bytes beside those of the rest
  std::int64_t beside = 0;  ///< and of what is inside
  constexpr std::int64_t need(std::int64_t rest, std::int64_t inside) const {
    const std::int64_t later = rest + held > inside + beside ? rest + held : inside + beside;
    return least > later ? least : later;
  }
};

/// Finds the best of some placements: the one of least work within each of a list of budgets.
template <int Room>
struct list_writer {
  std::int64_t budgets[Room + 1] = {};
  placements<Room> found{};
  int count = 0;  ///< more than Room where these are not all

  /// Budgets from the least bytes that any needs to the most, each by the same factor larger than the one before.
  constexpr void spread(std::int64_t least, std::int64_t most) {
    static_assert(((Room - 1) & (Room - 2)) == 0 && Room <= choice::most_placements);
    const double first = static_cast<double>(std::max<std::int64_t>(least, 1));
    double factor = std::max(static_cast<double>(most), first) / first, budget = first;
    for (int n = 1; n < Room - 1; n *= 2) factor = cairn::detail::square_root(factor);
    for (count = 0; count < Room; ++count, budget *= factor) budgets[count] = static_cast<std::int64_t>(budget);
    budgets[Room - 1] = most;
  }
  /// One of all that placements need, in their order.
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
  constexpr void add(const first_choice& first, const Rest& rest, const Inside& inside) {
    int r = 0, i = 0;
    for (int k = 0; k < count; ++k) {
      while (r < rest.count && rest.bytes[r] + first.held <= budgets[k]) ++r;
      while (i < inside.count && inside.bytes[i] + first.beside <= budgets[k]) ++i;
      if (r == 0 || i == 0 || first.least > budgets[k]) continue;
      const std::int64_t work = first.flops + rest.flops[r - 1] + inside.flops[i - 1];
      if (work >= found.flops[k]) continue;
      found.flops[k] = work;
      found.bytes[k] = first.need(rest.bytes[r - 1], inside.bytes[i - 1]);
      found.how[k] = choice::number(first.length, r - 1, i - 1);
    }
  }
  /// Those that are better than all that need less.
  constexpr placements<Room> done() const {
    placements<Room> out;
    for (int k = 0; k < count; ++k) {
      if (found.flops[k] == never || (out.count > 0 && found.flops[k] >= out.flops[out.count - 1])) continue;
      out.bytes[out.count] = found.bytes[k];
      out.flops[out.count] = found.flops[k];
      out.how[out.count++] = found.how[k];
    }
    return out;
  }
};

inline constexpr placements<1> nothing{1, {}, {}, {}};

/// The best of all that `for_each(visit)` calls visit(first, rest, inside) for. Exact: no point is left out, if there
/// is room to look at all.
template <int Room, bool Exact>
constexpr placements<Room> placements_of(auto for_each) {
  list_writer<Room> w;
  std::int64_t least = never, most = -1;
  for_each([&](const first_choice& first, const auto& rest, const auto& inside) {
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

/// The placements of ranges in a segment, by their first block and how many more they have. Of equal blocks only those
/// from the first one on.
template <int Starts, int Count, int Room>
struct placement_table {
  const placements<Room>* at[Starts + 1][Count + 1] = {};
  constexpr const placements<Room>& of(int first, int more) const { return *at[Starts == 1 ? 0 : first][more]; }
};

namespace detail {
template <int Starts, int From, int To, int Room>
struct placements_made {
  placements<Room> of[Starts][To - From] = {};
};

/// The placements of ranges of From to To - 1 blocks more than one.
template <int Starts, int From, int To, int Room, int Count>
constexpr auto write_placements(const block_chain<Count>& c, const placement_table<Starts, Count, Room>& before) {
  placements_made<Starts, From, To, Room> out;
  for (int more = From; more < To; ++more) {
    for (int i = 0; i < Starts && i + more < Count; ++i) {
      const int l = i + more;
      const auto at = [&](int first, int n) -> const placements<Room>& {
        return n < From ? before.of(first, n) : out.of[Starts == 1 ? 0 : first][n - From];
      };
      const block_costs& b = c.of[i];
      const std::int64_t gradient = c.gradients[l + 1];
      const std::int64_t kept = std::max(gradient + b.inside.forward, b.inside.backward);
      const auto for_each_choice = [&](auto visit) {
        if (more == 0) return visit(first_choice{0, b.alone, b.reading_flops}, nothing, nothing);
        visit(first_choice{0, kept, b.both_flops, b.kept_inside}, at(i + 1, more - 1), nothing);
        // Blocks [i, j) as a segment; and with the block behind it kept, where forward of that is the last to read some
        // of what crosses.
        const auto visit_segment = [&](int length, int j, std::int64_t least, std::int64_t work, std::int64_t crossing,
                                       const auto& inside) {
          visit(first_choice{length, least, work, crossing}, at(j, l - j), inside);
          const std::int64_t after_forward = crossing - c.released[i][j];
          if (after_forward == crossing || j == l) return;
          const block_costs& next = c.of[j];
          const std::int64_t both =
              std::max({least, gradient + crossing + next.inside.forward, after_forward + next.inside.backward});
          visit(first_choice{choice::then_kept + length, both, work + next.both_flops,
                             after_forward + next.kept_inside},
                at(j + 1, l - j - 1), inside);
        };
        if (b.saving.kept != none)
          visit_segment(choice::saving, i + 1, std::max(gradient + b.saving.most.forward, b.saving.most.backward),
                        b.result_flops + b.saving.flops, b.saving.kept, nothing);
        std::int64_t work = 0, passed = 0;
        for (int j = i + 1; j <= l; ++j) {
          work += c.of[j - 1].result_flops;
          passed = std::max(passed, c.made[i][j - 1] + c.of[j - 1].passed);
          visit_segment(j - i, j, std::max(gradient + passed, c.of[j - 1].ahead), work, c.made[i][j],
                        at(i, j - 1 - i));
        }
      };
      if (!b.between && !c.of[l].between)
        out.of[Starts == 1 ? 0 : i][more - From] = placements_of<Room, Count <= short_chain>(for_each_choice);
    }
  }
  return out;
}

/// A constant for so many lengths: more would take too many steps.
inline constexpr int lengths_together = 4;
template <const auto& Chain, int Starts, int Room, int Group>
struct placement_group {
  static constexpr int count = Chain.count, from = Group * lengths_together,
                       to = std::min(from + lengths_together, count);
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

/// The placements of all ranges of a chain; of one of equal blocks, with Starts = 1.
template <const auto& Chain, int Starts, int Room>
inline constexpr const placement_table<Starts, Chain.count, Room>& placements_inside =
    detail::placement_group<Chain, Starts, Room, (Chain.count - 1) / detail::lengths_together>::after;

}  // namespace cairn::pass
