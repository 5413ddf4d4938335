// The arena: chooses an offset for every slot, so that two slots that are needed at the same plan step never share a
// byte.
//
// The slots of the fullest step are placed first, one directly above another. The fullest step therefore loses no
// memory to holes. The other slots follow, outward from that step: first the slots of later steps, then the slots of
// earlier steps. Each slot is placed next to a neighbour that stays for longer than the slot itself. If several
// neighbours do, the slot is placed next to the neighbour that leaves first. Slots that leave together then lie
// together, and they leave one large hole.
//
// The result may need more bytes than are live at the fullest step. In this case other packings are tried, and the
// smallest is used:
// - If there are few slots, two packings place one slot after another into the smallest gap that is large enough. The
//   first packing begins with the largest slots. The second begins with the slots that have the largest product of
//   bytes and steps.
// - With any number of slots, the packing above is repeated from up to five further steps, the next fullest ones.
#pragma once

#include "cairn/plan/slots.hpp"

namespace cairn::plans {

/// Addresses of a program's values and of the workspace of its kernels.
template <int Nodes>
struct arena_layout {
  address of[Nodes] = {};              ///< by value, including the values outside the arena
  std::int64_t workspace[Nodes] = {};  ///< by plan step: offset of the kernel's workspace in the arena
  std::int64_t peak_bytes = 0;
};

/// Offset of each slot in the arena, in bytes.
template <int Count>
struct packing {
  std::int64_t begin[Count + 1] = {};
  std::int64_t peak_bytes = 0;
};

namespace detail {
/// Packs slots step by step. The slots that are needed at the current step form a list that is sorted by offset,
/// between two sentinels `floor` and `ceiling`. The ceiling rises where no hole is large enough. A hole is identified
/// by the slot below it.
template <int Count, class Slots>
struct packer {
  static constexpr int floor = Count, ceiling = Count + 1, forever = 1 << 29;
  const Slots& slots;
  /// If all neighbours leave sooner than the slot: true takes the neighbour that leaves last, false the lowest hole
  /// that is large enough.
  const bool prefer_last_to_leave;
  std::int64_t begin[Count + 2] = {}, end[Count + 2] = {};
  int below[Count + 2] = {}, above[Count + 2] = {};
  int holes[Count + 2] = {}, hole_at[Count + 2] = {}, hole_count = 0;
  bool backward = false;  ///< true while the packer goes to earlier steps

  constexpr std::int64_t gap(int v) const { return begin[above[v]] - end[v]; }
  constexpr int until(int v) const { return v >= Count ? forever : backward ? -slots.all[v].first : slots.all[v].last; }

  constexpr void add_hole(int v) {
    if (gap(v) == 0) return;
    hole_at[v] = hole_count;
    holes[hole_count++] = v;
  }
  constexpr void drop_hole(int v) {
    if (gap(v) == 0) return;
    const int moved = holes[--hole_count];
    holes[hole_at[v]] = moved;
    hole_at[moved] = hole_at[v];
  }
  constexpr void link(int low, int high) {
    above[low] = high;
    below[high] = low;
  }

  constexpr void put(int v, int low, std::int64_t at) {
    const int high = above[low];
    drop_hole(low);
    begin[v] = at;
    end[v] = at + slots.all[v].bytes;
    if (end[v] > begin[ceiling]) begin[ceiling] = end[v];
    link(low, v);
    link(v, high);
    add_hole(low);
    add_hole(v);
  }
  constexpr void remove(int v) {
    const int low = below[v];
    drop_hole(low);
    drop_hole(v);
    link(low, above[v]);
    add_hole(low);
  }

  constexpr void insert(int v) {
    int low = below[ceiling], least = 3 * forever;
    std::int64_t at = end[low];  // used if no hole is large enough
    for (int i = 0; i < hole_count; ++i) {
      const int hole = holes[i];
      if (gap(hole) < slots.all[v].bytes) continue;
      const auto consider = [&](int neighbour, std::int64_t offset) {
        int longer = until(neighbour) - until(v);
        if (longer < 0) longer = prefer_last_to_leave ? forever - longer : 2 * forever;
        if (longer > least || (longer == least && offset > at)) return;
        least = longer;
        low = hole;
        at = offset;
      };
      consider(hole, end[hole]);
      consider(above[hole], begin[above[hole]] - slots.all[v].bytes);
    }
    put(v, low, at);
  }

  /// Stacks the slots that are needed at `step`, and no others. Returns the first slot that is not needed yet at this
  /// step.
  constexpr int stack(int step) {
    hole_count = 0;
    link(floor, ceiling);
    add_hole(floor);
    int v = 0;
    for (; v < Count && slots.all[v].first <= step; ++v) {
      if (slots.all[v].last >= step) put(v, below[ceiling], end[below[ceiling]]);
    }
    return v;
  }

  constexpr void pack_from(int start) {
    begin[ceiling] = slots.live_bytes;
    int later = stack(start);
    for (int step = start; step < slots.step_count; ++step) {
      for (; later < Count && slots.all[later].first == step; ++later) insert(later);
      for (int v = slots.first_ending_at[step]; v != none; v = slots.all[v].next) remove(v);
    }
    backward = true;
    int earlier = stack(start) - 1;
    for (int step = start; step >= 0; --step) {
      for (int v = slots.first_ending_at[step]; step < start && v != none; v = slots.all[v].next) insert(v);
      for (; earlier >= 0 && slots.all[earlier].first == step; --earlier) remove(earlier);
    }
  }
};

/// Returns the fullest plan step. If `before` is a step, returns the next fullest step after `before`. Only steps that
/// need more bytes than the steps on both sides are considered; of equal neighbours the first counts. Returns none if
/// there is no further step.
template <class Slots>
constexpr int next_fullest(const Slots& slots, int before) {
  int next = before == none ? 0 : none;
  for (int i = 0; i < slots.step_count; ++i) {
    const std::int64_t here = slots.bytes_at_step[i];
    if ((i > 0 && slots.bytes_at_step[i - 1] >= here) || slots.bytes_at_step[i + 1] > here) continue;
    if (before != none && (here > slots.bytes_at_step[before] || (here == slots.bytes_at_step[before] && i <= before)))
      continue;
    if (next == none || here > slots.bytes_at_step[next]) next = i;
  }
  return next;
}

template <int Count, class Slots>
constexpr auto pack_from_step(const Slots& slots, int start, bool prefer_last_to_leave) {
  packer<Count, Slots> packer{slots, prefer_last_to_leave};
  packer.pack_from(start);
  packing<Count> out;
  for (int v = 0; v < Count; ++v) out.begin[v] = packer.begin[v];
  out.peak_bytes = packer.begin[packer.ceiling];
  return out;
}
template <const auto& Slots, int Start, bool PreferLastToLeave>
inline constexpr auto packing_from = pack_from_step<Slots.count>(Slots, Start, PreferLastToLeave);

/// Places the slots one after another, each into the smallest gap that is large enough. The order is described at the
/// top of this file. The time is quadratic in the number of slots.
template <int Count, class Slots>
struct largest_first {
  const Slots& slots;
  const bool by_time;  ///< true: sorts by bytes times the number of steps; false: sorts by bytes
  int order[Count + 1] = {};
  /// By placed slot: the slot above it. Index `Count` stands for the bottom and for the top of the arena.
  int next[Count + 1] = {};
  packing<Count> out{};

  /// Returns the number by which slots are sorted. If `by_time` is false, slots with equal bytes are sorted by their
  /// number of steps.
  constexpr std::int64_t weight(int v) const {
    const slot& one = slots.all[v];
    return by_time ? one.bytes * (one.last - one.first + 1) : one.bytes * 65536 + one.last - one.first;
  }
  constexpr void sort() {
    int from[Count + 1] = {};
    for (int v = 0; v < Count; ++v) order[v] = v;
    for (int run = 1; run < Count; run *= 2) {
      for (int v = 0; v < Count; ++v) from[v] = order[v];
      for (int begin = 0; begin < Count; begin += 2 * run) {
        const int middle = begin + run < Count ? begin + run : Count,
                  end = begin + 2 * run < Count ? begin + 2 * run : Count;
        int a = begin, b = middle;
        for (int to = begin; to < end; ++to)
          order[to] = b == end || (a < middle && weight(from[a]) >= weight(from[b])) ? from[a++] : from[b++];
      }
    }
  }
  constexpr void insert(int v) {
    const slot& one = slots.all[v];
    std::int64_t end = 0, at = none, smallest = std::int64_t{1} << 60;
    for (int w = next[Count]; w != Count; w = next[w]) {
      const slot& other = slots.all[w];
      if (other.last < one.first || one.last < other.first) continue;
      const std::int64_t gap = out.begin[w] - end;
      if (gap >= one.bytes && gap < smallest) {
        smallest = gap;
        at = end;
      }
      if (out.begin[w] + other.bytes > end) end = out.begin[w] + other.bytes;
    }
    out.begin[v] = at == none ? end : at;
    if (out.begin[v] + one.bytes > out.peak_bytes) out.peak_bytes = out.begin[v] + one.bytes;
    int low = Count;
    while (next[low] != Count && out.begin[next[low]] <= out.begin[v]) low = next[low];
    next[v] = next[low];
    next[low] = v;
  }
  constexpr void pack_all() {
    sort();
    next[Count] = Count;
    for (int i = 0; i < Count; ++i) insert(order[i]);
  }
};
template <const auto& Slots, bool ByTime>
inline constexpr auto packing_of_largest = [] {
  largest_first<Slots.count, std::remove_cvref_t<decltype(Slots)>> p{Slots, ByTime};
  p.pack_all();
  return p.out;
}();

template <const auto& One, const auto& Other>
constexpr const auto& smaller() {
  return One.peak_bytes > Other.peak_bytes ? Other : One;
}
/// Returns the best of `One` and, if `TryLargest`, of the packings that begin with large slots.
template <const auto& Slots, const auto& One, bool TryLargest>
constexpr const auto& best_packing() {
  if constexpr (TryLargest) {
    return smaller<One, smaller<packing_of_largest<Slots, false>, packing_of_largest<Slots, true>>()>();
  } else {
    return One;
  }
}
}  // namespace detail

/// Returns the best of the packings that are tried, at most `Tries` from full steps. The attempts alternate between the
/// two values of `packer::prefer_last_to_leave`. The first packing is usually the best possible one, and then no other
/// is tried. Each packing is a constant of its own, as the result of each pass is.
template <const auto& Slots, int Tries = 6, int Before = none>
constexpr const auto& choose_packing() {
  constexpr int few = 512, start = detail::next_fullest(Slots, Before);
  constexpr const auto& one = detail::packing_from<Slots, start, (Tries % 2 != 0)>;
  constexpr bool try_largest = Before == none && Slots.count <= few && one.peak_bytes > Slots.live_bytes;
  constexpr const auto& best = detail::best_packing<Slots, one, try_largest>();
  if constexpr (best.peak_bytes == Slots.live_bytes || Tries == 1 || detail::next_fullest(Slots, start) == none) {
    return best;
  } else {
    return detail::smaller<best, choose_packing<Slots, Tries - 1, start>()>();
  }
}

/// Writes the final addresses of values: fixed addresses outside the arena, and the offsets of slots in the arena.
template <class Schedule, class Steps, class Addresses, class Slots, class Packing>
constexpr auto assign_addresses(const Schedule& s, const Steps& f, const Addresses& p, const Slots& slots,
                                const Packing& packed) {
  arena_layout<Schedule::capacity> out;
  out.peak_bytes = packed.peak_bytes;
  for (int v = 0; v < s.node_count; ++v) {
    const int root = f.memory_root[v];
    const bool elsewhere = f.step_of[root] == none || p.outside_arena[root];
    out.of[v] = elsewhere ? p.of[root] : address{arena_base, packed.begin[slots.of[root]]};
  }
  for (int i = 0; i < f.step_count; ++i) out.workspace[i] = packed.begin[slots.workspace[i]];
  return out;
}

}  // namespace cairn::plans
