#include "../models/arguments.hpp"

#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_arguments)

BOOST_AUTO_TEST_CASE(two_arguments) { laws<models::two_arguments>(); }
BOOST_AUTO_TEST_CASE(two_results) { laws<models::two_results>(); }
BOOST_AUTO_TEST_CASE(result_unused) { laws<models::result_unused>(); }
BOOST_AUTO_TEST_CASE(passed_through) { laws<models::passed_through>(); }
BOOST_AUTO_TEST_CASE(results_of_the_inner) { laws<models::results_of_the_inner>(); }
BOOST_AUTO_TEST_CASE(recurrent) { laws<models::recurrent>(); }
BOOST_AUTO_TEST_CASE(of_lengths) { laws<models::of_lengths>(); }
BOOST_AUTO_TEST_CASE(part_of_an_input) { laws<models::part_of_an_input>(); }
BOOST_AUTO_TEST_CASE(loss_inside) { laws<models::loss_inside>(); }
BOOST_AUTO_TEST_CASE(loss_twice) { laws<models::loss_twice>(); }

BOOST_AUTO_TEST_SUITE_END()
