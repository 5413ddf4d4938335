#include "../models/random.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_random_operations)

BOOST_AUTO_TEST_CASE(dropped) { laws<models::dropped>(); }
BOOST_AUTO_TEST_CASE(dropped_in_blocks) { laws<models::dropped_in_blocks>(); }
BOOST_AUTO_TEST_CASE(dropped_in_nested) { laws<models::dropped_in_nested>(); }
BOOST_AUTO_TEST_CASE(dropped_at_boundaries) { laws<models::dropped_at_boundaries>(); }
BOOST_AUTO_TEST_CASE(dropped_weights) { laws<models::dropped_weights>(); }
BOOST_AUTO_TEST_CASE(noisy_in_blocks) { laws<models::noisy_in_blocks>(); }

BOOST_AUTO_TEST_SUITE_END()
