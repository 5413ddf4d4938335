// The list of the passes, in order. Each is evaluated into a constant of its own, which keeps every
// evaluation within the compilers' default limits and lets a reader print any of them.
#pragma once

#include "cairn/plan/arena.hpp"
#include "cairn/plan/model.hpp"
#include "cairn/plan/segment_costs.hpp"
#include "cairn/plan/update.hpp"

namespace cairn::pass {

/// So many blocks that no segment is left: what `plain` asks for.
inline constexpr int all_blocks = std::numeric_limits<int>::max();

/// The segments that a plan has beside those that the user marked: none here, others in search/fit.hpp.
struct as_marked {
  template <class Model, int Blocks, int Threads>
  static constexpr const auto& placement() {
    return no_placement;
  }
};

/// A model's plan. So many of the segments around each other are blocks instead, from outside. Threads: 0 where scratch
/// lies apart from the arena.
template <class Model, int Blocks, int Threads, class Placed = as_marked>
struct compiled {
  using model = Model;
  using real = typename Model::real;
  static constexpr int threads = Threads;
  static constexpr const auto& graph = Model::graph;
  static constexpr const auto& gradient = Model::gradient;

  static constexpr auto segments =
      find_segments(graph, gradient, Blocks, Placed::template placement<Model, Blocks, Threads>());
  static constexpr auto needs = [] {
    if constexpr (std::is_same_v<Placed, as_marked>) return find_needs(graph, gradient, segments);
    else return find_needs(graph, gradient, segments, compiled<Model, Blocks, Threads>::needs.cheap);
  }();
  static constexpr auto computed =
      rematerialize<schedule_size(gradient, segments, Model::order)>(graph, gradient, segments, needs, Model::order);
  static constexpr auto costs = count_segment_bytes(graph, gradient, segments, needs, computed);
  static constexpr const auto& schedule = with_updates<Model, computed>();
  static constexpr auto readers = find_readers(schedule);
  static constexpr auto steps = fuse(schedule, readers);
  static constexpr auto loops = write_loops(schedule, steps);
  static constexpr auto ranges = liveness(schedule, steps, loops);
  static constexpr auto places = place_fixed<Model::placed>(graph, schedule, steps, loops, ranges);
  static constexpr auto slots =
      share_slots<steps.member_count + steps.step_count + 1>(schedule, steps, loops, ranges, places, Threads);
  static constexpr const auto& packing = pack<slots>();
  static constexpr auto layout = place_values(schedule, steps, places, slots, packing);
};

}  // namespace cairn::pass
