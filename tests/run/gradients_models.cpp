// Gradients of whole models against finite differences: all but those with kinks (relu, maximum), across which
// a difference may be taken, and those with detach, which are no derivatives.
#include "gradients_models.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_models)

BOOST_AUTO_TEST_CASE(one) { check_model<models::one>(); }
BOOST_AUTO_TEST_CASE(trailing_activation) { check_model<models::trailing_activation>(); }
BOOST_AUTO_TEST_CASE(elementwise_only) { check_model<models::elementwise_only>(); }
BOOST_AUTO_TEST_CASE(normalized) { check_model<models::normalized>(); }
BOOST_AUTO_TEST_CASE(chain_of_two) { check_model<models::chain_of_two>(); }
BOOST_AUTO_TEST_CASE(repeated_residual) { check_model<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(widths) { check_model<models::widths>(); }
BOOST_AUTO_TEST_CASE(plain_between) { check_model<models::plain_between>(); }
BOOST_AUTO_TEST_CASE(side_by_side) { check_model<models::side_by_side>(); }
BOOST_AUTO_TEST_CASE(one_value_twice) { check_model<models::one_value_twice>(); }
BOOST_AUTO_TEST_CASE(nothing_recomputed) { check_model<models::nothing_recomputed>(); }
BOOST_AUTO_TEST_CASE(skip) { check_model<models::skip>(); }
BOOST_AUTO_TEST_CASE(two_readers) { check_model<models::two_readers>(); }
BOOST_AUTO_TEST_CASE(dense) { check_model<models::dense>(); }
BOOST_AUTO_TEST_CASE(skip_over_two) { check_model<models::skip_over_two>(); }
BOOST_AUTO_TEST_CASE(crossing_skips) { check_model<models::crossing_skips>(); }
BOOST_AUTO_TEST_CASE(read_by_two_segments) { check_model<models::read_by_two_segments>(); }
BOOST_AUTO_TEST_CASE(residual_of_residual) { check_model<models::residual_of_residual>(); }
BOOST_AUTO_TEST_CASE(tied) { check_model<models::tied>(); }
BOOST_AUTO_TEST_CASE(inside_and_outside) { check_model<models::inside_and_outside>(); }
BOOST_AUTO_TEST_CASE(inside_outside_between) { check_model<models::inside_outside_between>(); }
BOOST_AUTO_TEST_CASE(shared_by_blocks) { check_model<models::shared_by_blocks>(); }
BOOST_AUTO_TEST_CASE(transposed_weight) { check_model<models::transposed_weight>(); }
BOOST_AUTO_TEST_CASE(plain_models) {
  check_model<models::skip, plain>();
  check_model<models::three_deep, plain>();
}

BOOST_AUTO_TEST_SUITE_END()
