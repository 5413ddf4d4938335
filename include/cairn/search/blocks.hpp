// Finds the blocks of a chain among the regions of a model, for the searches that decide which blocks become segments.
#pragma once

#include "cairn/plan/compile.hpp"

namespace cairn::search {

using detail::none;
using plan::aligned;

inline constexpr int fine_chain = 32;  ///< most blocks that the search looks for, and nests in all ways
/// most blocks that are taken if there would otherwise be fewer than `short_chain`
inline constexpr int long_chain = 128;
inline constexpr int short_chain = 8;

/// The blocks of a model. There are two kinds:
/// - A region, together with regions behind it that run no kernels. The fused loops of these join the loops of the
///   region.
/// - A run of values between regions. No segment contains such a run.
template <int Nodes, int Regions>
struct blocks {
  int of[Nodes] = {};           ///< by forward value: its block, or none
  int of_region[Regions] = {};  ///< by region: its block, or none
  bool begins[Regions] = {};    ///< by region: true if it is a block, or one of several regions that are
  bool between[Nodes] = {};     ///< by block: true if it is a run of values between regions
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
  bool flows[nodes] = {};  ///< true for forward values that depend on inputs; if no value does, for all computed values
  bool opened[regions] = {};  ///< true if the regions inside it are candidates for blocks
  bool loose[regions] = {};   ///< true if it has values that lie in no region inside it
  int inside[regions] = {};   ///< number of regions directly inside it

  constexpr void find_flow() {
    bool any = false;
    for (const bool all : {false, true}) {
      for (int v = 0; v < d.turn; ++v) {
        const graph::node& n = d.nodes[v];
        flows[v] = n.op->what == graph::role::input || (all && n.op->argument_count > 0);
        for (int i = 0; i < n.op->argument_count; ++i) flows[v] |= flows[d.arguments[n.first + i]];
        flows[v] &= need.live[v];
        any |= flows[v] && n.op->argument_count > 0;
      }
      if (any) break;
    }
    for (int v = 0; v < d.turn; ++v) {
      flows[v] &= d.nodes[v].op->argument_count > 0;
      loose[d.nodes[v].region] |= flows[v] && d.nodes[v].op->what != graph::role::view;
    }
    for (int r = 1; r < g.region_count; ++r) ++inside[g.regions[r].parent];
  }
  constexpr bool may_open(int r) const {
    const int around = g.regions[r].parent;
    return opened[around] && !opened[r] && !loose[r] && inside[r] > 0 && in.of_region[r] == in.of_region[around];
  }
  /// Opens regions that are chains themselves, level by level, as long as the number of blocks stays small enough.
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
    bool kernels[regions] = {};   // by region that is a block: true if it runs kernels
    int outermost[regions] = {};  // by region: the region around it, or itself, that may be a block; 0 if it is opened
    for (int r = 1; r < g.region_count; ++r)
      outermost[r] = opened[r] ? 0 : opened[g.regions[r].parent] ? r : outermost[g.regions[r].parent];
    for (int v = 0; v < d.turn; ++v)
      kernels[outermost[d.nodes[v].region]] |= flows[v] && d.nodes[v].op->what == graph::role::kernel;
    int last = 0;  // region of the block before, 0 for a run of values between regions
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

/// The values of a plan, and the blocks to which they belong.
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
  /// Returns true if forward value `v` is stored for the backward pass in the arena and is no result of the program.
  static constexpr bool is_kept(int v) { return in_arena(v) && live.last[v] >= f.turn && !p.output[v]; }
  static constexpr std::int64_t bytes(int v) { return aligned(s.result(v).bytes); }
};

}  // namespace cairn::search
