// The arena: an offset for every value and for kernel scratch, so that no two live at once share a byte. One sweep
// over the steps; memory goes to the lowest hole that fits and comes back as soon as its value dies. A result takes
// over the memory of an argument that dies at its step, where the operation works in place.
#pragma once

#include "cairn/pass/places.hpp"

namespace cairn::pass {

template <int Nodes>
struct arena_layout {
  place of[Nodes] = {};              ///< by value, all of them
  std::int64_t scratch[Nodes] = {};  ///< by step
  std::int64_t peak_bytes = 0, stored_bytes = 0;
};

namespace detail {
/// Free memory as holes in the order of their offsets; the last one is endless.
template <int Capacity>
struct free_list {
  struct hole {
    std::int64_t begin, end;
  };
  hole holes[Capacity] = {{0, std::int64_t{1} << 62}};
  int count = 1;
  std::int64_t peak = 0;

  constexpr std::int64_t take(std::int64_t bytes) {
    int i = 0;
    while (holes[i].end - holes[i].begin < bytes) ++i;
    const std::int64_t at = holes[i].begin;
    holes[i].begin += bytes;
    if (holes[i].begin == holes[i].end) {
      --count;
      for (; i < count; ++i) holes[i] = holes[i + 1];
    }
    if (at + bytes > peak) peak = at + bytes;
    return at;
  }

  constexpr void give(std::int64_t begin, std::int64_t bytes) {
    const std::int64_t end = begin + bytes;
    int i = 0;
    while (holes[i].begin < begin) ++i;
    const bool before = i > 0 && holes[i - 1].end == begin, after = holes[i].begin == end;
    if (before && after) {
      holes[i - 1].end = holes[i].end;
      --count;
      for (; i < count; ++i) holes[i] = holes[i + 1];
    } else if (before) {
      holes[i - 1].end = end;
    } else if (after) {
      holes[i].begin = begin;
    } else {
      for (int k = count; k > i; --k) holes[k] = holes[k - 1];
      holes[i] = {begin, end};
      ++count;
    }
  }
};

template <class Schedule, class Fused, class Loops, class Ranges, class Places>
struct placer {
  static constexpr int nodes = static_cast<int>(std::size(Schedule{}.nodes));
  const Schedule& s;
  const Fused& f;
  const Loops& l;
  const Ranges& live;
  const Places& p;
  arena_layout<nodes> out{};
  free_list<nodes> free{};
  bool owned[nodes] = {};  ///< has memory in the arena now

  constexpr std::int64_t bytes(int v) const { return aligned(s.nodes[v].op->bytes); }

  constexpr void place_result(int index, int w) {
    bool replaced = false;
    for_each_replaceable(s, f, l, live, p, index, w, [&](int v) {
      if (replaced || !owned[v]) return;
      owned[v] = false;
      replaced = true;
      out.of[w] = out.of[v];
    });
    if (!replaced) out.of[w].offset = free.take(bytes(w));
    owned[w] = true;
  }

  constexpr void lend_scratch(int index) {
    const std::int64_t scratch = aligned(s.nodes[f.members[f.steps[index].begin]].op->scratch_bytes);
    if (scratch == 0) return;
    out.scratch[index] = free.take(scratch);
    free.give(out.scratch[index], scratch);
  }

  constexpr void sweep() {
    for (int index = 0; index < f.step_count; ++index) {
      if (index == f.turn) count_stored();
      const step& st = f.steps[index];
      for (int m = st.begin; m < st.end; ++m) {
        const int w = f.members[m];
        if (f.external[w] && !p.fixed[w]) place_result(index, w);
      }
      if (!st.loop) lend_scratch(index);
      for_each_read(s, f, l, index, [&](int v) {
        if (live.last[v] != index || !owned[v]) return;
        owned[v] = false;
        free.give(out.of[v].offset, bytes(v));
      });
    }
    if (f.turn == f.step_count) count_stored();
    out.peak_bytes = free.peak;
  }

  /// Forward values that live at the turn, results of the program apart: in the arena, or where the gradient that
  /// takes their memory over belongs.
  constexpr void count_stored() {
    for (int v = 0; v < s.turn; ++v) {
      const bool alive = p.fixed[v] ? live.last[v] >= f.turn : owned[v];
      if (alive && !p.output[v]) out.stored_bytes += s.nodes[v].op->bytes;
    }
  }

  constexpr void place_rest() {
    for (int v = 0; v < s.node_count; ++v) {
      if (f.step_of[v] == none || p.fixed[v]) out.of[v] = p.of[v];
      if (f.root[v] != v) out.of[v] = out.of[f.root[v]];
    }
  }
};
}  // namespace detail

template <class Schedule, class Fused, class Loops, class Ranges, class Places>
constexpr auto place_values(const Schedule& s, const Fused& f, const Loops& l, const Ranges& live, const Places& p) {
  detail::placer<Schedule, Fused, Loops, Ranges, Places> a{s, f, l, live, p};
  a.sweep();
  a.place_rest();
  return a.out;
}

}  // namespace cairn::pass
