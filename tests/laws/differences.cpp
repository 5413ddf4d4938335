// The gradients of whole models agree with finite differences. Some models of each kind are checked. Models with detach
// are not checked, because their gradients differ from finite differences by intention.
#include "../models/segments.hpp"
#include "../models/sharing.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(differences)

BOOST_AUTO_TEST_CASE(one) { follows_differences<models::one>(); }
BOOST_AUTO_TEST_CASE(chain_of_two) { follows_differences<models::chain_of_two>(); }
BOOST_AUTO_TEST_CASE(repeated_residual) { follows_differences<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(half_boundaries) { follows_differences<models::half_boundaries>(); }
BOOST_AUTO_TEST_CASE(one_value_twice) { follows_differences<models::one_value_twice>(); }
BOOST_AUTO_TEST_CASE(dense) { follows_differences<models::dense>(); }
BOOST_AUTO_TEST_CASE(crossing_skips) { follows_differences<models::crossing_skips>(); }
BOOST_AUTO_TEST_CASE(residual_of_residual) { follows_differences<models::residual_of_residual>(); }
BOOST_AUTO_TEST_CASE(inside_outside_between) { follows_differences<models::inside_outside_between>(); }
BOOST_AUTO_TEST_CASE(shared_by_blocks) { follows_differences<models::shared_by_blocks>(); }
BOOST_AUTO_TEST_CASE(transposed_weight) { follows_differences<models::transposed_weight>(); }
BOOST_AUTO_TEST_CASE(plain_models) {
  follows_differences<models::skip, plain>();
  follows_differences<models::dense, plain>();
}

BOOST_AUTO_TEST_SUITE_END()
