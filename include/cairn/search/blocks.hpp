// Finds the blocks of a chain among the regions of a model, for the searches that decide which blocks become segments.
#pragma once

#include "cairn/plan/compile.hpp"

namespace cairn::plans::search {

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
  int of[Nodes] = {};                ///< by forward value: its block, or none
  int of_region[Regions] = {};       ///< by region: its block, or none
  bool is_block[Regions] = {};       ///< by region: true if it is a block, or one of several regions that are
  bool between_regions[Nodes] = {};  ///< by block: true if it is a run of values between regions
  int count = 0;
};

namespace detail {
template <class Graph, class Gradient, class Segments, class Needs>
struct block_finder {
  static constexpr int nodes = Gradient::capacity, regions = Graph::size.regions + 1;
  const Graph& g;
  const Gradient& d;
  const Segments& segments;
  const Needs& need;
  blocks<nodes, regions> out{};
  /// true for forward values that depend on inputs; if no value does, for all computed values
  bool depends_on_input[nodes] = {};
  bool is_opened[regions] = {};       ///< true if the regions inside it are candidates for blocks
  bool has_own_values[regions] = {};  ///< true if it has values that lie in no region inside it
  int inner_count[regions] = {};      ///< number of regions directly inside it

  constexpr void find_dependent() {
    bool any = false;
    for (const bool all : {false, true}) {
      for (int v = 0; v < d.turn; ++v) {
        const graphs::node& n = d.nodes[v];
        depends_on_input[v] = n.op->what == graphs::role::input || (all && n.op->argument_count > 0);
        for (int i = 0; i < n.op->argument_count; ++i)
          depends_on_input[v] |= depends_on_input[d.arguments[n.first + i]];
        depends_on_input[v] &= need.live[v];
        any |= depends_on_input[v] && n.op->argument_count > 0;
      }
      if (any) break;
    }
    for (int v = 0; v < d.turn; ++v) {
      depends_on_input[v] &= d.nodes[v].op->argument_count > 0;
      has_own_values[d.nodes[v].region] |= depends_on_input[v] && d.nodes[v].op->what != graphs::role::view;
    }
    for (int r = 1; r < g.region_count; ++r) ++inner_count[g.regions[r].parent];
  }
  constexpr bool may_be_opened(int r) const {
    const int around = g.regions[r].parent;
    return is_opened[around] && !is_opened[r] && !has_own_values[r] && inner_count[r] > 0 &&
           segments.of_region[r] == segments.of_region[around];
  }
  /// Opens regions that are chains themselves, level by level, as long as the number of blocks stays small enough.
  constexpr void open_regions() {
    is_opened[0] = true;
    for (int count = inner_count[0];;) {
      int more = count;
      bool any = false;
      for (int r = 1; r < g.region_count; ++r) {
        if (!may_be_opened(r)) continue;
        more += inner_count[r] - 1;
        any = true;
      }
      if (!any || more > (count < short_chain ? long_chain : fine_chain)) return;
      bool will_open[regions] = {};
      for (int r = 1; r < g.region_count; ++r) will_open[r] = may_be_opened(r);
      for (int r = 1; r < g.region_count; ++r) is_opened[r] |= will_open[r];
      count = more;
    }
  }
  constexpr void number_blocks() {
    for (int& b : out.of) b = none;
    for (int& b : out.of_region) b = none;
    bool runs_kernels[regions] = {};  // by region that is a block: true if it runs kernels
    // by region: the region around it, or itself, that may be a block; 0 if it is opened
    int block_region[regions] = {};
    for (int r = 1; r < g.region_count; ++r)
      block_region[r] = is_opened[r] ? 0 : is_opened[g.regions[r].parent] ? r : block_region[g.regions[r].parent];
    for (int v = 0; v < d.turn; ++v)
      runs_kernels[block_region[d.nodes[v].region]] |=
          depends_on_input[v] && d.nodes[v].op->what == graphs::role::kernel;
    int last = 0;  // region of the block before, 0 for a run of values between regions
    for (int v = 0; v < d.turn; ++v) {
      if (!depends_on_input[v]) continue;
      const int r = block_region[d.nodes[v].region];
      if (r == 0) {
        if (out.count == 0 || !out.between_regions[out.count - 1]) out.between_regions[out.count++] = true;
        out.of[v] = out.count - 1;
      } else {
        if (out.of_region[r] == none) {
          const bool joins_previous =
              last != 0 && runs_kernels[last] && !runs_kernels[r] && g.regions[last].parent == g.regions[r].parent;
          out.of_region[r] = joins_previous ? out.count - 1 : out.count++;
          if (!joins_previous) last = r;
        }
        out.of[v] = out.of_region[r];
      }
      if (r == 0) last = 0;
    }
    for (int r = 1; r < g.region_count; ++r) {
      if (block_region[r] != 0) out.of_region[r] = out.of_region[block_region[r]];
      out.is_block[r] = block_region[r] == r && out.of_region[r] != none;
    }
  }
};
}  // namespace detail

template <class Graph, class Gradient, class Segments, class Needs>
constexpr auto find_blocks(const Graph& g, const Gradient& d, const Segments& segments, const Needs& need) {
  detail::block_finder<Graph, Gradient, Segments, Needs> f{g, d, segments, need};
  f.find_dependent();
  f.open_regions();
  f.number_blocks();
  return f.out;
}

/// The values of a plan, and the blocks to which they belong.
template <class Compiled, const auto& Blocks>
struct values_of_blocks {
  static constexpr const auto& d = Compiled::gradient;
  static constexpr const auto& s = Compiled::schedule;
  static constexpr const auto& f = Compiled::steps;
  static constexpr const auto& live = Compiled::ranges;
  static constexpr const auto& p = Compiled::addresses;
  static constexpr int count = Blocks.count, values = std::remove_cvref_t<decltype(s)>::capacity;

  static constexpr int block_of(int v) {
    const int origin = s.origin[v];
    return origin < d.turn ? Blocks.of[origin] : Blocks.of_region[d.nodes[origin].region];
  }
  static constexpr bool in_arena(int v) { return f.step_of[v] != none && f.external[v] && !p.outside_arena[v]; }
  /// Returns true if forward value `v` is stored for the backward pass in the arena and is no result of the program.
  static constexpr bool is_stored(int v) { return in_arena(v) && live.last[v] >= f.turn && !p.output[v]; }
  static constexpr std::int64_t bytes(int v) { return aligned(s.result(v).bytes); }
};

}  // namespace cairn::plans::search
