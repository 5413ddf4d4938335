#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_segments)

BOOST_AUTO_TEST_CASE(one) { laws<models::one>(); }
BOOST_AUTO_TEST_CASE(trailing_activation) { laws<models::trailing_activation>(); }
BOOST_AUTO_TEST_CASE(trailing_product) { laws<models::trailing_product>(); }
BOOST_AUTO_TEST_CASE(elementwise_only) { laws<models::elementwise_only>(); }
BOOST_AUTO_TEST_CASE(normalized) { laws<models::normalized>(); }
BOOST_AUTO_TEST_CASE(of_the_whole) { laws<models::of_the_whole>(); }
BOOST_AUTO_TEST_CASE(chain_of_two) { laws<models::chain_of_two>(); }
BOOST_AUTO_TEST_CASE(repeated_residual) { laws<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(widths) { laws<models::widths>(); }
BOOST_AUTO_TEST_CASE(plain_between) { laws<models::plain_between>(); }
BOOST_AUTO_TEST_CASE(skip) { laws<models::skip>(); }
BOOST_AUTO_TEST_CASE(two_readers) { laws<models::two_readers>(); }
BOOST_AUTO_TEST_CASE(dense) { laws<models::dense>(); }
BOOST_AUTO_TEST_CASE(residual_of_residual) { laws<models::residual_of_residual>(); }
BOOST_AUTO_TEST_CASE(tied) { laws<models::tied>(); }
BOOST_AUTO_TEST_CASE(inside_and_outside) { laws<models::inside_and_outside>(); }

BOOST_AUTO_TEST_SUITE_END()
