#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_arguments)

BOOST_AUTO_TEST_CASE(two_arguments) { laws<models::two_arguments>(); }
BOOST_AUTO_TEST_CASE(two_results) { laws<models::two_results>(); }
BOOST_AUTO_TEST_CASE(result_unused) { laws<models::result_unused>(); }
BOOST_AUTO_TEST_CASE(passed_through) { laws<models::passed_through>(); }
BOOST_AUTO_TEST_CASE(of_parameters) { laws<models::of_parameters>(); }
BOOST_AUTO_TEST_CASE(with_frozen) { laws<models::with_frozen>(); }
BOOST_AUTO_TEST_CASE(detached_argument) { laws<models::detached_argument>(); }
BOOST_AUTO_TEST_CASE(attention) { laws<models::attention>(); }
BOOST_AUTO_TEST_CASE(centered) { laws<models::centered>(); }
BOOST_AUTO_TEST_CASE(with_outputs) { laws<models::with_outputs>(); }

BOOST_AUTO_TEST_SUITE_END()
