// Placement under a budget. The list of candidates does not depend on the budget. The plans from which costs are
// measured are always computed. Usually one or two of the candidates are planned.
#pragma once

#include "cairn/search/placement.hpp"
#include "cairn/search/single_blocks.hpp"

#include <algorithm>

namespace cairn {

/// The figures of a program with some segments: the bytes of its arena, the work that it recomputes, in FLOP, and the
/// number of groups of rows on which layers in nn::tiled<up_to<N>> run.
struct frontier_point {
  std::int64_t peak_bytes, recomputed_flops;
  int row_groups = 1;
  bool operator==(const frontier_point&) const = default;
};

}  // namespace cairn

namespace cairn::plans::search {

/// Points that no other point beats in both bytes and work, sorted by their bytes.
template <class Point, int Room>
struct pareto_front {
  Point of[Room] = {};
  int count = 0;

  constexpr void add(const Point& next) {
    int begin = 0;
    while (begin < count && next.peak_bytes > of[begin].peak_bytes) ++begin;
    const int rival = begin < count && of[begin].peak_bytes == next.peak_bytes ? begin : begin - 1;
    if (rival >= 0 && of[rival].recomputed_flops <= next.recomputed_flops) return;
    int end = begin;
    while (end < count && of[end].recomputed_flops >= next.recomputed_flops) ++end;  // `next` beats these points
    if (begin == end) std::copy_backward(of + begin, of + count, of + count + 1);
    else std::copy(of + end, of + count, of + begin + 1);
    of[begin] = next;
    count += 1 - (end - begin);
  }
};

template <class Compiled>
inline constexpr frontier_point figures_of{Compiled::layout.peak_bytes, work_of(Compiled::schedule).recomputed,
                                           Compiled::model::purpose::groups};

/// The blocks of a model, and their costs if no segment is placed.
template <class Model, int BlockLevels, int Threads>
struct model_blocks {
  using unplaced = plans::compiled<Model, BlockLevels, Threads>;
  static constexpr auto blocks = find_blocks(unplaced::graph, unplaced::gradient, unplaced::segments, unplaced::needs);
  static constexpr auto measured = measure_blocks<unplaced, blocks>();
  static constexpr int placeable = [] {
    int n = 0;
    for (int b = 0; b < blocks.count; ++b) n += !blocks.between_regions[b];
    return n;
  }();
};
/// Numbers of placements that are not candidates:
/// - `single_blocks`: each block is a segment of its own, which stores nothing.
/// - `saving_blocks`: each block is a segment of its own, which stores its contractions.
/// - `square_root_blocks`: equally long segments, one after another. There are as many segments as each segment has
///   blocks (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016).
inline constexpr int single_blocks = -2, saving_blocks = -3, square_root_blocks = -4;

/// The segments of the candidate with number `Candidate`.
template <int Candidate>
struct candidate {
  template <class Model, int BlockLevels, int Threads>
  static constexpr const auto& placement();
};

/// The candidates: placements of a model's blocks, with the costs that search/chain.hpp estimates. They are sorted:
/// each next candidate takes more bytes and less work. In the last candidate there is usually no segment. In a chain
/// that is not short, placements that recompute more than three forward passes are left out, because their plans would
/// be as long.
template <class Model, int BlockLevels, int Threads>
struct candidates : model_blocks<Model, BlockLevels, Threads> {
  using typename model_blocks<Model, BlockLevels, Threads>::unplaced;
  using model_blocks<Model, BlockLevels, Threads>::blocks;
  template <int Number>
  static constexpr auto single_block_costs =
      measure_single_blocks<unplaced, plans::compiled<Model, BlockLevels, Threads, candidate<Number>>, blocks>();
  template <const auto& Measured>
  static constexpr auto with_single_block_costs() {
    if constexpr (Measured.count > fine_chain) return Measured;
    else return corrected(Measured, single_block_costs<single_blocks>, single_block_costs<saving_blocks>);
  }
  static constexpr auto chain = with_single_block_costs<model_blocks<Model, BlockLevels, Threads>::measured>();

  /// A block may read a value that was not computed by the block directly before it. If a segment reads the value, the
  /// value is held for the backward pass. Otherwise the forward pass may be the last to read it. The search therefore
  /// may exclude blocks of this kind from segments, and there is one list of placements for each choice of excluded
  /// blocks. If these blocks are few, all choices are listed. Otherwise there are two lists: one that excludes no
  /// block, and one that excludes all of these blocks.
  static constexpr int far = static_cast<int>(std::ranges::count(chain.reads_far, true));
  static constexpr bool each_choice = far == 0 || (chain.count <= short_chain && far <= 3);
  static constexpr int lists = far == 0 || chain.count > fine_chain ? 1 : each_choice ? 1 << far : 2;
  template <int List>
  static constexpr auto blocks_of = [] {
    auto out = blocks;
    for (int b = 0, n = 0; b < chain.count; ++b) {
      if (chain.reads_far[b]) out.between_regions[b] = !each_choice || (List >> n++ & 1) != 0;
    }
    return out;
  }();
  template <int List>
  static constexpr auto measured_of = measure_blocks<unplaced, blocks_of<List>>();
  template <int List>
  static constexpr auto other_chain = with_single_block_costs<measured_of<List>>();
  template <int List>
  static constexpr const auto& chain_of() {
    if constexpr (List == 0) return chain;
    else return other_chain<List>;
  }

  struct listed_placement : frontier_point {
    int list, which;
  };
  static constexpr auto listed = []<int... List>(std::integer_sequence<int, List...>) {
    pareto_front<listed_placement, (0 + ... + outer_placements_of<chain_of<List>()>.after_stored[0]->count)> out;
    const auto add = [&](int list, const auto& all) {
      for (int i = 0; i < all.count; ++i) out.add({{all.bytes[i], all.flops[i]}, list, i});
    };
    (add(List, *outer_placements_of<chain_of<List>()>.after_stored[0]), ...);
    return out;
  }(std::make_integer_sequence<int, lists>{});
  /// True if blocks read only values of the block directly before them, and no value is computed between two blocks.
  /// The plans then take what was estimated.
  static constexpr bool plans_match_estimates = far == 0 && [] {
    for (int b = 1; b + 1 < chain.count; ++b) {
      if (chain.of[b].between_regions) return false;
    }
    return true;
  }();
  /// `complete` is true if all ways to place and nest segments were searched. `exact` is true if, in addition, no
  /// budget was rounded in the search.
  static constexpr bool complete = each_choice && inner_placements<chain>::complete,
                        exact = each_choice && inner_placements<chain>::exact;

  static constexpr auto chosen = [] {
    constexpr int most = 32;
    struct {
      int of[most] = {}, count = 0;
    } out;
    std::int64_t forward = 0;
    for (const block_costs& b : chain.of) forward += b.result_flops;
    int first = 0;
    while (chain.count > short_chain && first + 1 < listed.count && listed.of[first].recomputed_flops > 3 * forward)
      ++first;
    const int left = listed.count - first;
    out.count = left < most ? left : most;
    for (int i = 0; i < out.count; ++i) out.of[i] = first + (out.count > 1 ? i * (left - 1) / (out.count - 1) : 0);
    return out;
  }();
  static constexpr int count = chosen.count;
  /// Work that pullbacks of scans recompute with any placement. It is not a cost of a block.
  static constexpr std::int64_t recomputed_in_scans = work_of(unplaced::schedule).recomputed_in_scans;
  static constexpr std::int64_t bytes(int candidate) { return listed.of[chosen.of[candidate]].peak_bytes; }
  static constexpr std::int64_t flops(int candidate) {
    return listed.of[chosen.of[candidate]].recomputed_flops + recomputed_in_scans;
  }
  template <int Candidate>
  static constexpr const auto& ranges() {
    constexpr listed_placement one = listed.of[chosen.of[Candidate]];
    return ranges_of<chain_of<one.list>(), one.which>;
  }
  template <int Candidate>
  static constexpr const auto& placement() {
    return placement_by_region<blocks, ranges<Candidate>()>;
  }
  template <int Candidate>
  using planned =
      plans::compiled<Model, BlockLevels, Threads,
                      std::conditional_t<ranges<Candidate>().count == 0, plans::as_marked, candidate<Candidate>>>;
};

template <int Candidate>
template <class Model, int BlockLevels, int Threads>
constexpr const auto& candidate<Candidate>::placement() {
  using found = model_blocks<Model, BlockLevels, Threads>;
  if constexpr (Candidate == single_blocks) return placement_by_region<found::blocks, equal_ranges<found::measured, 1>>;
  else if constexpr (Candidate == saving_blocks)
    return placement_by_region<found::blocks, equal_ranges<found::measured, 1, true>>;
  else if constexpr (Candidate == square_root_blocks) {
    constexpr int length = static_cast<int>(lang::square_root(found::placeable));
    return placement_by_region<found::blocks, equal_ranges<found::measured, length>>;
  } else return candidates<Model, BlockLevels, Threads>::template placement<Candidate>();
}

/// The placement that `fit` chooses: among the candidates that fit into `Bytes` bytes, the one with the least work. If
/// none fits, the candidate with the fewest estimated bytes is used. No segment is placed in two cases:
/// - The plan without placed segments fits, and it recomputes no more than the placement.
/// - The placement does not fit, and the plan without placed segments takes fewer bytes.
///
/// If values skip blocks or are computed between blocks, plans differ from the estimates, and all candidates are
/// planned. Otherwise only candidates are planned whose estimated bytes, less a margin, fit. They are planned from the
/// least work to the most, until one fits.
///
/// The rules below guarantee that a larger budget never costs more work, even if the estimates are wrong:
/// - With a larger budget, the search begins at the same candidate or at one with less work, and it ends at the same
///   candidate or at one with less work.
/// - A plan is taken only if its work is nearer to its own estimate than to the estimates of the next candidates.
/// - A plan that recomputes more than the plan of the first candidate is not taken. In chains of more than `fine_chain`
///   blocks, the first candidate is not planned for this comparison, because its plan is the longest.
template <class Model, int BlockLevels, int Threads, std::int64_t Bytes>
struct fitted {
  using all = candidates<Model, BlockLevels, Threads>;

  template <int Candidate>
  static constexpr frontier_point planned = figures_of<typename all::template planned<Candidate>>;

  static constexpr bool is_near_estimate(int candidate, std::int64_t flops) {
    const std::int64_t twice = 2 * flops;
    return (candidate == 0 || twice < all::flops(candidate) + all::flops(candidate - 1)) &&
           (candidate + 1 == all::count || twice >= all::flops(candidate) + all::flops(candidate + 1));
  }
  /// Returns the least budget for which a candidate is planned: its estimated bytes, less a margin of 1/16.
  static constexpr std::int64_t least_budget(int candidate) {
    return candidate == 0 ? 0 : all::bytes(candidate) - all::bytes(candidate) / 8;
  }
  template <int Candidate>
  static constexpr int first_that_fits() {
    constexpr frontier_point here = planned<Candidate>;
    if constexpr (Candidate == 0 || (here.peak_bytes <= Bytes && is_near_estimate(Candidate, here.recomputed_flops)))
      return Candidate;
    else return first_that_fits<Candidate - 1>();
  }
  template <int... Candidate>
  static constexpr int best_of(std::integer_sequence<int, Candidate...>) {
    int best = 0;
    frontier_point least = planned<0>;
    const auto compare = [&](int candidate, const frontier_point& other) {
      if (other.peak_bytes > Bytes || (least.peak_bytes <= Bytes && other.recomputed_flops >= least.recomputed_flops))
        return;
      best = candidate;
      least = other;
    };
    (compare(Candidate, planned<Candidate>), ...);
    return best;
  }
  static constexpr int best = [] {
    if constexpr (!all::plans_match_estimates) {
      return best_of(std::make_integer_sequence<int, all::count>{});
    } else {
      constexpr int begin = [] {
        int last = all::count - 1;
        while (least_budget(last) > Bytes) --last;
        return last;
      }();
      constexpr int first = first_that_fits<begin>();
      if constexpr (all::chain.count > fine_chain) return first;
      else return best_of(std::integer_sequence<int, first>{});
    }
  }();
  using placed = typename all::template planned<best>;
  static constexpr bool is_better_unplaced = [] {
    constexpr frontier_point with = figures_of<placed>, without = figures_of<typename all::unplaced>;
    if (with.peak_bytes > Bytes) return without.peak_bytes < with.peak_bytes;
    return without.peak_bytes <= Bytes && without.recomputed_flops <= with.recomputed_flops;
  }();
  using type = std::conditional_t<is_better_unplaced, typename all::unplaced, placed>;

  /// Returns the fewest bytes for which there is a placement, or for which none is needed. Plans all candidates that
  /// may take fewer bytes than the candidates before them.
  template <int Candidate = 0, std::int64_t Least = figures_of<typename all::unplaced>.peak_bytes>
  static constexpr std::int64_t least_bytes() {
    constexpr bool each = !all::plans_match_estimates;
    if constexpr (Candidate == all::count || (!each && least_budget(Candidate) >= Least)) {
      return Least;
    } else {
      constexpr frontier_point here = planned<Candidate>;
      constexpr bool taken = each || Candidate == 0 || is_near_estimate(Candidate, here.recomputed_flops);
      constexpr std::int64_t bytes = each ? here.peak_bytes : std::max(here.peak_bytes, least_budget(Candidate));
      return least_bytes < Candidate + 1, taken && bytes<Least ? bytes : Least>();
    }
  }
};

/// Returns the best of the programs that `fitted` finds with layers in nn::tiled<up_to<N>> on 1, 2, 4, ... groups of
/// rows. `Best` is the best program with at most `Groups` groups.
///
/// Among the programs that fit, the best one recomputes the least work, and then has the fewest groups. The search ends
/// as soon as more groups cannot recompute less: at the first program that fits and recomputes no more than tiled
/// layers do without any placed segment. This work does not depend on how many groups there are.
template <class Model, int BlockLevels, int Threads, std::int64_t Bytes, int Groups, class Best>
constexpr auto choose_groups() {
  if constexpr (2 * Groups > Model::most_groups) {
    return std::type_identity<Best>{};
  } else {
    using more = typename Model::template with_groups<2 * Groups>;
    constexpr frontier_point best = figures_of<typename Best::type>,
                             least = figures_of<plans::compiled<more, BlockLevels, Threads>>;
    if constexpr (best.peak_bytes <= Bytes && best.recomputed_flops <= least.recomputed_flops) {
      return std::type_identity<Best>{};
    } else {
      using next = fitted<more, BlockLevels, Threads, Bytes>;
      constexpr frontier_point found = figures_of<typename next::type>;
      constexpr bool is_better = best.peak_bytes > Bytes
                                     ? found.peak_bytes < best.peak_bytes
                                     : found.peak_bytes <= Bytes && found.recomputed_flops < best.recomputed_flops;
      return choose_groups<Model, BlockLevels, Threads, Bytes, 2 * Groups, std::conditional_t<is_better, next, Best>>();
    }
  }
}

/// The placement, and the number of groups of rows, that `fit` chooses for a model with layers in nn::tiled<up_to<N>>.
/// Without such layers, this is what `fitted` finds.
template <class Model, int BlockLevels, int Threads, std::int64_t Bytes>
struct fitted_in_groups {
  template <int Groups>
  using on = fitted<typename Model::template with_groups<Groups>, BlockLevels, Threads, Bytes>;
  using type = typename decltype(choose_groups<Model, BlockLevels, Threads, Bytes, 1, on<1>>())::type::type;
  /// Number of blocks of which segments can be made.
  static constexpr int placeable = on<1>::all::placeable;

  template <int Groups = 1>
  static constexpr std::int64_t least_bytes() {
    constexpr std::int64_t least = on<Groups>::least_bytes();
    if constexpr (2 * Groups > Model::most_groups) return least;
    else return std::min(least, least_bytes<2 * Groups>());
  }
};

}  // namespace cairn::plans::search
