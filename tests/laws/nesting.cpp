#include "../models/nesting.hpp"

#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_nesting)

BOOST_AUTO_TEST_CASE(nested) { laws<models::nested>(); }
BOOST_AUTO_TEST_CASE(nested_pair) { laws<models::nested_pair>(); }
BOOST_AUTO_TEST_CASE(three_deep) { laws<models::three_deep>(); }
BOOST_AUTO_TEST_CASE(whole_in_nested) { laws<models::whole_in_nested>(); }
BOOST_AUTO_TEST_CASE(four_deep) { laws<models::four_deep>(); }
BOOST_AUTO_TEST_CASE(repeat_in_repeat) { laws<models::repeat_in_repeat>(); }
BOOST_AUTO_TEST_CASE(halves) { laws<models::halves>(); }
BOOST_AUTO_TEST_CASE(bottleneck) { laws<models::bottleneck>(); }
BOOST_AUTO_TEST_CASE(penalized) { laws<models::penalized>(); }
BOOST_AUTO_TEST_CASE(descended) { laws<models::descended>(); }
BOOST_AUTO_TEST_CASE(nested_with_the_optimizer_in_the_step) { laws<models::nested, update<adamw_options{}>>(); }
BOOST_AUTO_TEST_CASE(three_deep_with_the_optimizer_in_the_step) {
  laws<models::three_deep, update<sgd_options{.momentum = 0.9}>, clip<1>>();
}

BOOST_AUTO_TEST_SUITE_END()
