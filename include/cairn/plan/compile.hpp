// The list of the passes, in order. The result of each pass is a constant of its own. Each evaluation thus stays within
// the compilers' default limits, and a reader can print every result.
#pragma once

#include "cairn/plan/arena.hpp"
#include "cairn/plan/model.hpp"
#include "cairn/plan/rematerialize.hpp"
#include "cairn/plan/segment_costs.hpp"
#include "cairn/plan/update.hpp"

namespace cairn::plans {

/// The number of block levels of `plain`. It is so large that every marked segment becomes a block.
inline constexpr int all_levels = std::numeric_limits<int>::max();

/// The segments of a plan that a search adds to the marked segments. Here there are none; search/fit.hpp has other
/// types of this kind.
struct as_marked {
  template <class Model, int BlockLevels, int Threads>
  static constexpr const auto& placement() {
    return no_placement;
  }
};

/// The plan of a model. Marked segments of the outermost `BlockLevels` levels of nesting are treated as blocks, so
/// their interior is stored. The arena has room for the workspace of kernels on `Threads` threads. `Threads` is 0 for
/// the body of a scan, because the workspace of its kernels lies outside the arena. `Placed` gives the segments that a
/// search adds.
template <class Model, int BlockLevels, int Threads, class Placed = as_marked>
struct compiled {
  using model = Model;
  using real = typename Model::real;
  static constexpr int threads = Threads;
  static constexpr const auto& graph = Model::graph;
  static constexpr const auto& gradient = Model::gradient;

  static constexpr auto segments =
      find_segments(graph, gradient, BlockLevels, Placed::template placement<Model, BlockLevels, Threads>());
  static constexpr auto needs = [] {
    if constexpr (std::is_same_v<Placed, as_marked>) return find_needs(graph, gradient, segments);
    else return find_needs(graph, gradient, segments, compiled<Model, BlockLevels, Threads>::needs.cheap);
  }();
  static constexpr auto in_backward = order_backward(graph, gradient, segments, needs);
  static constexpr auto schedule_without_updates = rematerialize<schedule_size(gradient, segments, Model::order)>(
      graph, gradient, segments, needs, in_backward, Model::order);
  static constexpr auto costs = count_segment_bytes(graph, gradient, segments, needs, schedule_without_updates);
  static constexpr const auto& schedule = with_updates<Model, schedule_without_updates>();
  static constexpr auto readers = find_readers(schedule);
  static constexpr auto groups = fuse(schedule, readers);
  static constexpr auto steps = mark_external(schedule, readers, groups);
  static constexpr auto loops = write_loops(schedule, steps);
  static constexpr auto ranges = liveness(schedule, steps, loops);
  static constexpr auto addresses =
      find_fixed_addresses<Model::bases_of_results>(graph, schedule, steps, loops, ranges);
  static constexpr auto slots =
      share_slots<steps.member_count + steps.step_count + 1>(schedule, steps, loops, ranges, addresses, Threads);
  static constexpr const auto& packing = choose_packing<slots>();
  static constexpr auto layout = assign_addresses(schedule, steps, addresses, slots, packing);
};

}  // namespace cairn::plans
