// Gradients of whole models against finite differences: some of each kind, but none with kinks (relu, maximum), across
// which a difference may be taken, and none with detach, which is no derivative.
#include "gradients_models.hpp"

#include "../models/segments.hpp"
#include "../models/sharing.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_models)

BOOST_AUTO_TEST_CASE(one) { check_model<models::one>(); }
BOOST_AUTO_TEST_CASE(chain_of_two) { check_model<models::chain_of_two>(); }
BOOST_AUTO_TEST_CASE(repeated_residual) { check_model<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(one_value_twice) { check_model<models::one_value_twice>(); }
BOOST_AUTO_TEST_CASE(dense) { check_model<models::dense>(); }
BOOST_AUTO_TEST_CASE(crossing_skips) { check_model<models::crossing_skips>(); }
BOOST_AUTO_TEST_CASE(residual_of_residual) { check_model<models::residual_of_residual>(); }
BOOST_AUTO_TEST_CASE(inside_outside_between) { check_model<models::inside_outside_between>(); }
BOOST_AUTO_TEST_CASE(shared_by_blocks) { check_model<models::shared_by_blocks>(); }
BOOST_AUTO_TEST_CASE(transposed_weight) { check_model<models::transposed_weight>(); }
BOOST_AUTO_TEST_CASE(plain_models) {
  check_model<models::skip, plain>();
  check_model<models::dense, plain>();
}

BOOST_AUTO_TEST_SUITE_END()
