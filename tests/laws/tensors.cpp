#include "../models/tensors.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(laws_of_tensors)

BOOST_AUTO_TEST_CASE(attention) { laws<models::attention>(); }
BOOST_AUTO_TEST_CASE(deep_products) { laws<models::deep_products>(); }
BOOST_AUTO_TEST_CASE(centered) { laws<models::centered>(); }
BOOST_AUTO_TEST_CASE(linear_attention) { laws<models::linear_attention>(); }
BOOST_AUTO_TEST_CASE(over_axes) { laws<models::over_axes>(); }
BOOST_AUTO_TEST_CASE(ties) { laws<models::ties>(); }
BOOST_AUTO_TEST_CASE(leading_axes) { laws<models::leading_axes>(); }
BOOST_AUTO_TEST_CASE(row_between) { laws<models::row_between>(); }
BOOST_AUTO_TEST_CASE(densely_connected) { laws<models::densely_connected>(); }
BOOST_AUTO_TEST_CASE(lstm) { laws<models::lstm>(); }
BOOST_AUTO_TEST_CASE(stacked_cells) { laws<models::stacked_cells>(); }
BOOST_AUTO_TEST_CASE(masked) { laws<models::masked>(); }
BOOST_AUTO_TEST_CASE(with_outputs) { laws<models::with_outputs>(); }

BOOST_AUTO_TEST_SUITE_END()
