// Which bodies of a model are the blocks of a chain, for who decides which of them become segments.
#pragma once

#include "cairn/plan/compile.hpp"

namespace cairn::pass {

inline constexpr int fine_chain = 32;   ///< so many blocks are looked for, and nested in all ways
inline constexpr int long_chain = 128;  ///< so many are taken where there would be fewer than `short_chain`
inline constexpr int short_chain = 8;

/// The blocks of a model: bodies, with those behind that run no kernels, whose loops are joined to theirs; and runs of
/// values between bodies, which no segment takes.
template <int Nodes, int Regions>
struct blocks {
  int of[Nodes] = {};           ///< by forward value: its block, or none
  int of_region[Regions] = {};  ///< by region: likewise
  bool begins[Regions] = {};    ///< by region: it is a block, or one of several that are
  bool between[Nodes] = {};     ///< by block: such a run
  int count = 0;
};

namespace detail {
template <class Graph, class Gradient, class Segments, class Needs>
struct block_finder {
  static constexpr int nodes = Gradient::capacity, regions = Graph::size.regions + 1;
  const Graph& g;
  const Gradient& d;
  const Segments& in;
  const Needs& need;
  blocks<nodes, regions> out{};
  bool flows[nodes] = {};     ///< forward values that depend on inputs; all, where none does
  bool opened[regions] = {};  ///< the regions in it are looked at one by one
  bool loose[regions] = {};   ///< has values that are in no region inside of it
  int inside[regions] = {};   ///< how many regions it has

  constexpr void find_flow() {
    bool any = false;
    for (const bool all : {false, true}) {
      for (int v = 0; v < d.turn; ++v) {
        const ir::node& n = d.nodes[v];
        flows[v] = n.op->what == ir::role::input || (all && n.op->arguments > 0);
        for (int i = 0; i < n.op->arguments; ++i) flows[v] |= flows[d.arguments[n.first + i]];
        flows[v] &= need.live[v];
        any |= flows[v] && n.op->arguments > 0;
      }
      if (any) break;
    }
    for (int v = 0; v < d.turn; ++v) {
      flows[v] &= d.nodes[v].op->arguments > 0;
      loose[d.nodes[v].region] |= flows[v] && d.nodes[v].op->what != ir::role::view;
    }
    for (int r = 1; r < g.region_count; ++r) ++inside[g.regions[r].parent];
  }
  constexpr bool may_open(int r) const {
    const int around = g.regions[r].parent;
    return opened[around] && !opened[r] && !loose[r] && inside[r] > 0 && in.of_region[r] == in.of_region[around];
  }
  /// Looks into bodies that are chains themselves, as deep as leaves few enough blocks.
  constexpr void open() {
    opened[0] = true;
    for (int count = inside[0];;) {
      int more = count;
      bool any = false;
      for (int r = 1; r < g.region_count; ++r) {
        if (!may_open(r)) continue;
        more += inside[r] - 1;
        any = true;
      }
      if (!any || more > (count < short_chain ? long_chain : fine_chain)) return;
      bool opens[regions] = {};
      for (int r = 1; r < g.region_count; ++r) opens[r] = may_open(r);
      for (int r = 1; r < g.region_count; ++r) opened[r] |= opens[r];
      count = more;
    }
  }
  constexpr void number() {
    for (int& b : out.of) b = none;
    for (int& b : out.of_region) b = none;
    bool kernels[regions] = {};   // by region that is a block: it runs kernels
    int outermost[regions] = {};  // the region that may be a block, around this one or itself
    for (int r = 1; r < g.region_count; ++r)
      outermost[r] = opened[r] ? 0 : opened[g.regions[r].parent] ? r : outermost[g.regions[r].parent];
    for (int v = 0; v < d.turn; ++v)
      kernels[outermost[d.nodes[v].region]] |= flows[v] && d.nodes[v].op->what == ir::role::kernel;
    int last = 0;  // the region of the block before, 0 for values between
    for (int v = 0; v < d.turn; ++v) {
      if (!flows[v]) continue;
      const int r = outermost[d.nodes[v].region];
      if (r == 0) {
        if (out.count == 0 || !out.between[out.count - 1]) out.between[out.count++] = true;
        out.of[v] = out.count - 1;
      } else {
        if (out.of_region[r] == none) {
          const bool joins = last != 0 && kernels[last] && !kernels[r] && g.regions[last].parent == g.regions[r].parent;
          out.of_region[r] = joins ? out.count - 1 : out.count++;
          if (!joins) last = r;
        }
        out.of[v] = out.of_region[r];
      }
      if (r == 0) last = 0;
    }
    for (int r = 1; r < g.region_count; ++r) {
      if (outermost[r] != 0) out.of_region[r] = out.of_region[outermost[r]];
      out.begins[r] = outermost[r] == r && out.of_region[r] != none;
    }
  }
};
}  // namespace detail

template <class Graph, class Gradient, class Segments, class Needs>
constexpr auto find_blocks(const Graph& g, const Gradient& d, const Segments& in, const Needs& need) {
  detail::block_finder<Graph, Gradient, Segments, Needs> f{g, d, in, need};
  f.find_flow();
  f.open();
  f.number();
  return f.out;
}

/// Values of a plan, and the blocks that they are of.
template <class Compiled, const auto& Blocks>
struct values_of_blocks {
  static constexpr const auto& d = Compiled::gradient;
  static constexpr const auto& s = Compiled::schedule;
  static constexpr const auto& f = Compiled::steps;
  static constexpr const auto& live = Compiled::ranges;
  static constexpr const auto& p = Compiled::places;
  static constexpr int count = Blocks.count, values = std::remove_cvref_t<decltype(s)>::capacity;

  static constexpr int block_of(int v) {
    const int origin = s.origin[v];
    return origin < d.turn ? Blocks.of[origin] : Blocks.of_region[d.nodes[origin].region];
  }
  static constexpr bool in_arena(int v) { return f.step_of[v] != none && f.external[v] && !p.fixed[v]; }
  /// Of forward values: lives on for backward, and is no result of the program.
  static constexpr bool is_kept(int v) { return in_arena(v) && live.last[v] >= f.turn && !p.output[v]; }
  static constexpr std::int64_t bytes(int v) { return aligned(s.made(v).bytes); }
};

}  // namespace cairn::pass
