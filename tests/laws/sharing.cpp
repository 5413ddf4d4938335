#include "../models/sharing.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_sharing)

BOOST_AUTO_TEST_CASE(skip) { laws<models::skip>(); }
BOOST_AUTO_TEST_CASE(two_readers) { laws<models::two_readers>(); }
BOOST_AUTO_TEST_CASE(dense) { laws<models::dense>(); }
BOOST_AUTO_TEST_CASE(skip_over_two) { laws<models::skip_over_two>(); }
BOOST_AUTO_TEST_CASE(crossing_skips) { laws<models::crossing_skips>(); }
BOOST_AUTO_TEST_CASE(read_by_two_segments) { laws<models::read_by_two_segments>(); }
BOOST_AUTO_TEST_CASE(residual_of_residual) { laws<models::residual_of_residual>(); }
BOOST_AUTO_TEST_CASE(tied) { laws<models::tied>(); }
BOOST_AUTO_TEST_CASE(inside_and_outside) { laws<models::inside_and_outside>(); }
BOOST_AUTO_TEST_CASE(inside_outside_between) { laws<models::inside_outside_between>(); }
BOOST_AUTO_TEST_CASE(shared_by_blocks) { laws<models::shared_by_blocks>(); }
BOOST_AUTO_TEST_CASE(transposed_weight) { laws<models::transposed_weight>(); }
BOOST_AUTO_TEST_CASE(weight_normed) { laws<models::weight_normed>(); }

BOOST_AUTO_TEST_SUITE_END()
