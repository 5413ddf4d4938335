// The arena: an offset for every slot, so that no two that are needed at once share a byte.
//
// The slots of the fullest step come first, one upon the other, so that nothing is lost where it matters.
// Then the others, outward from there, to later steps and to earlier ones. Each goes beside the neighbour
// that stays on for the shortest time longer than itself: what leaves together lies together, and leaves one
// large hole. If in the end more is needed than lives at once, then all is packed again from the step where
// it was.
#pragma once

#include "cairn/pass/slots.hpp"

namespace cairn::pass {

template <int Nodes>
struct arena_layout {
  place of[Nodes] = {};              ///< by value, all of them
  std::int64_t scratch[Nodes] = {};  ///< by step
  std::int64_t peak_bytes = 0;
};

/// Where slots begin, by slot.
template <int Count>
struct packing {
  std::int64_t begin[Count + 1] = {};
  std::int64_t peak_bytes = 0;
  int narrowest = 0;  ///< the last step for which it had to grow
};

/// Which hole a slot goes to: beside the neighbour that stays on, or simply the lowest.
enum class fit { neighbour, lowest };

namespace detail {
/// Slots that have memory at one step are linked in the order of their offsets, between a floor and a
/// ceiling, which rises where no hole fits. A hole is called after the slot below it.
template <int Count, class Slots>
struct packer {
  static constexpr int floor = Count, ceiling = Count + 1, forever = 1 << 29;
  const Slots& slots;
  const fit rule;
  std::int64_t begin[Count + 2] = {}, end[Count + 2] = {};
  int below[Count + 2] = {}, above[Count + 2] = {};
  int holes[Count + 2] = {}, hole_at[Count + 2] = {}, hole_count = 0;
  bool backward = false;  ///< whether the way is to earlier steps
  int narrowest = 0;      ///< the last step at which the ceiling rose

  constexpr std::int64_t gap(int v) const { return begin[above[v]] - end[v]; }
  constexpr int until(int v) const {
    return v >= Count ? forever : backward ? -slots.all[v].first : slots.all[v].last;
  }

  constexpr void open(int v) {
    if (gap(v) == 0) return;
    hole_at[v] = hole_count;
    holes[hole_count++] = v;
  }
  constexpr void close(int v) {
    if (gap(v) == 0) return;
    const int moved = holes[--hole_count];
    holes[hole_at[v]] = moved;
    hole_at[moved] = hole_at[v];
  }
  constexpr void link(int low, int high) {
    above[low] = high;
    below[high] = low;
  }

  constexpr void put(int v, int low, std::int64_t at, int step) {
    const int high = above[low];
    close(low);
    begin[v] = at;
    end[v] = at + slots.all[v].bytes;
    if (end[v] > begin[ceiling]) {
      begin[ceiling] = end[v];
      narrowest = step;
    }
    link(low, v);
    link(v, high);
    open(low);
    open(v);
  }
  constexpr void remove(int v) {
    const int low = below[v];
    close(low);
    close(v);
    link(low, above[v]);
    open(low);
  }

  constexpr void place(int v, int step) {
    int low = below[ceiling], least = 3 * forever;
    std::int64_t at = end[low];  // unless a hole fits
    for (int i = 0; i < hole_count; ++i) {
      const int hole = holes[i];
      if (gap(hole) < slots.all[v].bytes) continue;
      const auto consider = [&](int neighbour, std::int64_t offset) {
        int longer = rule == fit::lowest ? 0 : until(neighbour) - until(v);
        if (longer < 0) longer = 2 * forever;
        if (longer > least || (longer == least && offset > at)) return;
        least = longer;
        low = hole;
        at = offset;
      };
      consider(hole, end[hole]);
      consider(above[hole], begin[above[hole]] - slots.all[v].bytes);
    }
    put(v, low, at, step);
  }

  /// What is needed at a step, and nothing else; the first slot that is not needed yet.
  constexpr int stack(int step) {
    hole_count = 0;
    link(floor, ceiling);
    open(floor);
    int v = 0;
    for (; v < Count && slots.all[v].first <= step; ++v) {
      if (slots.all[v].last >= step) put(v, below[ceiling], end[below[ceiling]], step);
    }
    return v;
  }

  constexpr void pack_from(int start) {
    begin[ceiling] = slots.live_bytes;
    int later = stack(start);
    for (int step = start; step < slots.step_count; ++step) {
      for (; later < Count && slots.all[later].first == step; ++later) place(later, step);
      for (int v = slots.last[step]; v != none; v = slots.all[v].next) remove(v);
    }
    backward = true;
    int earlier = stack(start) - 1;
    for (int step = start; step >= 0; --step) {
      for (int v = slots.last[step]; step < start && v != none; v = slots.all[v].next) place(v, step);
      for (; earlier >= 0 && slots.all[earlier].first == step; --earlier) remove(earlier);
    }
  }
};
}  // namespace detail

/// Packs the slots from a step outward.
template <int Count, class Slots>
constexpr packing<Count> pack(const Slots& slots, int start, fit rule) {
  detail::packer<Count, Slots> packer{slots, rule};
  packer.pack_from(start);
  packing<Count> out;
  for (int v = 0; v < Count; ++v) out.begin[v] = packer.begin[v];
  out.peak_bytes = packer.begin[packer.ceiling];
  out.narrowest = packer.narrowest;
  return out;
}

/// The better of a packing and another one, unless it cannot be better.
template <int Count, class Slots>
constexpr packing<Count> repack(const Slots& slots, const packing<Count>& known, fit rule) {
  if (known.peak_bytes == slots.live_bytes) return known;
  const packing<Count> other = pack<Count>(slots, known.narrowest, rule);
  return other.peak_bytes < known.peak_bytes ? other : known;
}

template <class Schedule, class Fused, class Places, class Slots, class Packing>
constexpr auto place_values(const Schedule& s, const Fused& f, const Places& p, const Slots& slots,
                            const Packing& packed) {
  arena_layout<static_cast<int>(std::size(Schedule{}.nodes))> out;
  out.peak_bytes = packed.peak_bytes;
  for (int v = 0; v < s.node_count; ++v) {
    const int root = f.root[v];
    const bool elsewhere = f.step_of[root] == none || p.fixed[root];
    out.of[v] = elsewhere ? p.of[root] : place{arena_base, packed.begin[slots.of[root]]};
  }
  for (int i = 0; i < f.step_count; ++i) out.scratch[i] = packed.begin[slots.scratch[i]];
  return out;
}

}  // namespace cairn::pass
