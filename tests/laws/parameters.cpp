#include "../models/parameters.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_parameters)

BOOST_AUTO_TEST_CASE(of_parameters) { laws<models::of_parameters>(); }
BOOST_AUTO_TEST_CASE(parameters_in_nested) { laws<models::parameters_in_nested>(); }
BOOST_AUTO_TEST_CASE(scalar_between) { laws<models::scalar_between>(); }
BOOST_AUTO_TEST_CASE(with_frozen) { laws<models::with_frozen>(); }
BOOST_AUTO_TEST_CASE(detached_argument) { laws<models::detached_argument>(); }
BOOST_AUTO_TEST_CASE(frozen_weights) { laws<models::frozen_weights>(); }
BOOST_AUTO_TEST_CASE(detached_between) { laws<models::detached_between>(); }
BOOST_AUTO_TEST_CASE(other_weights) { laws<models::other_weights>(); }
BOOST_AUTO_TEST_CASE(batch_normalized) { laws<models::batch_normalized>(); }
BOOST_AUTO_TEST_CASE(batch_normalized_in_nested) { laws<models::batch_normalized_in_nested>(); }

BOOST_AUTO_TEST_SUITE_END()
