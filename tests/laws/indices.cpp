#include "../models/indices.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_indices)

BOOST_AUTO_TEST_CASE(embedded) { laws<models::embedded>(); }
BOOST_AUTO_TEST_CASE(routed) { laws<models::routed>(); }
BOOST_AUTO_TEST_CASE(columns) { laws<models::columns>(); }
BOOST_AUTO_TEST_CASE(peaks) { laws<models::peaks>(); }
BOOST_AUTO_TEST_CASE(ordered) { laws<models::ordered>(); }
BOOST_AUTO_TEST_CASE(sharpened) { laws<models::sharpened>(); }
BOOST_AUTO_TEST_CASE(tied_head) { laws<models::tied_head>(); }
BOOST_AUTO_TEST_CASE(heads_without_logits) { laws<models::heads_without_logits>(); }
BOOST_AUTO_TEST_CASE(with_indices) { laws<models::with_indices>(); }

BOOST_AUTO_TEST_SUITE_END()
