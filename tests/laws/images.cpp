#include "../models/images.hpp"

#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_images)

BOOST_AUTO_TEST_CASE(residual_net) {
  laws<models::residual_net>();
  follows_differences<models::residual_net>();
}
BOOST_AUTO_TEST_CASE(dense_net) {
  laws<models::dense_net>();
  BOOST_TEST(test::copies<test::step_of<models::dense_net>> == 1);  // for the pool
  follows_differences<models::dense_net>();
}
BOOST_AUTO_TEST_CASE(u_net) {
  laws<models::u_net>();
  BOOST_TEST(test::copies<test::step_of<models::u_net>> == 0);
  follows_differences<models::u_net>();
}
BOOST_AUTO_TEST_CASE(depthwise) { laws<models::depthwise>(); }
BOOST_AUTO_TEST_CASE(windows) { laws<models::windows>(); }

BOOST_AUTO_TEST_SUITE_END()
