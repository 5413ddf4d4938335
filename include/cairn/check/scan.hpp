// Checks the body of a scan, which has a graph and a plan of its own.
#pragma once

#include "cairn/check/model.hpp"
#include "cairn/plan/scan.hpp"

namespace cairn::graphs {

template <class Scan, class Target>
constexpr auto scan_hooks<Scan, Target>::problem() {
  using namespace cairn::detail;
  using body_plan = typename plans::body_plan<Scan, Target>::compiled;
  using problem = decltype(first_fault<body_plan, nothing_averages_over_parts, no_iteration_averages_over_shards,
                                       names_are_one_leaf, layers_have_own_names, keys_are_drawn_from_once,
                                       gradients_depend, policies_fit, states_become_one_value>::of());
  if constexpr (!std::same_as<problem, sound> || Target::order == 0) return problem{};
  else return first_fault<body_plan, batches_have_rows, segments_are_differentiated, segments_are_of_use>::of();
}

}  // namespace cairn::graphs
