#include "../models/segments.hpp"
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
BOOST_AUTO_TEST_CASE(sequential) { laws<models::sequential>(); }
BOOST_AUTO_TEST_CASE(side_by_side) { laws<models::side_by_side>(); }
BOOST_AUTO_TEST_CASE(one_value_twice) { laws<models::one_value_twice>(); }
BOOST_AUTO_TEST_CASE(nothing_recomputed) { laws<models::nothing_recomputed>(); }
BOOST_AUTO_TEST_CASE(half_boundaries) { laws<models::half_boundaries>(); }
BOOST_AUTO_TEST_CASE(other_boundaries) { laws<models::other_boundaries>(); }
BOOST_AUTO_TEST_CASE(half_and_policies) { laws<models::half_and_policies>(); }
BOOST_AUTO_TEST_CASE(saved_in_blocks) { laws<models::saved_in_blocks>(); }
BOOST_AUTO_TEST_CASE(saved_inside) { laws<models::saved_inside>(); }

BOOST_AUTO_TEST_SUITE_END()
