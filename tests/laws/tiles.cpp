#include "../models/tiles.hpp"

#include "laws.hpp"

namespace {

/// Checks the laws under the smallest budget, for which `fit` runs the layers on at least `Least` groups.
template <int Least, class... Options>
void laws_in_chosen_groups() {
  constexpr auto model = models::tiled_by<up_to<4>, up_to<3>>;
  using least = fit<test::peak<test::step_of<model, fit<1>, Options...>>>;
  constexpr int groups = program<model, least, Options...>::row_groups();
  static_assert(groups >= Least);
  // On one group, the layers are applied as they are.
  if constexpr (groups == 1) laws_of_loops<model, least, Options...>();
  else laws_next_to<model, models::tiled_by<groups, std::min(groups, 2)>, least, Options...>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laws_of_tiles)

BOOST_AUTO_TEST_CASE(tiled_blocks) { laws<models::tiled_blocks>(); }
BOOST_AUTO_TEST_CASE(tiled_everywhere) { laws_of_loops<models::tiled_everywhere>(); }
BOOST_AUTO_TEST_CASE(tiled_in_roles) { laws_of_loops<models::tiled_in_roles>(); }
BOOST_AUTO_TEST_CASE(with_the_optimizer_in_the_step) {
  laws_of_loops<models::tiled_blocks, update<adamw_options{}>>();
  same_in_step_and_beside<models::tiled_in_roles>();
}
#ifdef _OPENMP
BOOST_AUTO_TEST_CASE(on_two_threads) { laws_of_loops<models::tiled_everywhere, threads<2>>(); }
#endif
BOOST_AUTO_TEST_CASE(stored_as_bf16) { laws_of_loops<models::tiled_everywhere, mixed<bf16>>(); }
BOOST_AUTO_TEST_CASE(next_to_placed_segments) { laws_of_loops<models::tiled_blocks, fit<4_KiB>>(); }
BOOST_AUTO_TEST_CASE(groups_that_are_not_chosen) {
  laws<models::tiled_by<up_to<4>, up_to<8>>>();
  laws<models::tiled_by<up_to<4>, up_to<8>>, fit<1_MiB>>();
}
BOOST_AUTO_TEST_CASE(groups_that_are_chosen) {
  laws_in_chosen_groups<2>();
  laws_in_chosen_groups<2, update<adamw_options{}>>();
  // Whether groups save bytes of a model that is as small as this one depends on the width of registers.
  laws_in_chosen_groups<1, mixed<bf16>>();
}
BOOST_AUTO_TEST_CASE(gradients_of_tiles_follow_differences) {
  follows_differences<models::tiled_blocks>();
  follows_differences<models::tiled_in_roles>();
}

BOOST_AUTO_TEST_SUITE_END()
