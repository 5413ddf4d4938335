#include "../models/tiles.hpp"

#include "laws.hpp"

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
BOOST_AUTO_TEST_CASE(gradients_of_tiles_follow_differences) {
  follows_differences<models::tiled_blocks>();
  follows_differences<models::tiled_in_roles>();
}

BOOST_AUTO_TEST_SUITE_END()
