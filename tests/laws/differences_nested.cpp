// The second half of differences.cpp. There are two files so that two cores can compile them at the same time.
#include "../models/arguments.hpp"
#include "../models/nesting.hpp"
#include "../models/parameters.hpp"
#include "../models/random.hpp"
#include "../models/tensors.hpp"
#include "laws.hpp"

BOOST_AUTO_TEST_SUITE(differences_nested)

BOOST_AUTO_TEST_CASE(three_deep) { follows_differences<models::three_deep>(); }
BOOST_AUTO_TEST_CASE(results_of_the_inner) { follows_differences<models::results_of_the_inner>(); }
BOOST_AUTO_TEST_CASE(recurrent) { follows_differences<models::recurrent>(); }
BOOST_AUTO_TEST_CASE(of_lengths) { follows_differences<models::of_lengths>(); }
BOOST_AUTO_TEST_CASE(loss_twice) { follows_differences<models::loss_twice>(); }
BOOST_AUTO_TEST_CASE(descended) { follows_differences<models::descended>(); }
BOOST_AUTO_TEST_CASE(parameters_in_nested) { follows_differences<models::parameters_in_nested>(); }
BOOST_AUTO_TEST_CASE(frozen_weights) { follows_differences<models::frozen_weights>(); }
BOOST_AUTO_TEST_CASE(linear_attention) { follows_differences<models::linear_attention>(); }
BOOST_AUTO_TEST_CASE(over_axes) { follows_differences<models::over_axes>(); }
BOOST_AUTO_TEST_CASE(leading_axes) { follows_differences<models::leading_axes>(); }
BOOST_AUTO_TEST_CASE(lstm) { follows_differences<models::lstm>(); }
BOOST_AUTO_TEST_CASE(stacked_cells) { follows_differences<models::stacked_cells>(); }
BOOST_AUTO_TEST_CASE(stencils) { follows_differences<models::stencils>(); }
BOOST_AUTO_TEST_CASE(dropped_in_nested) { follows_differences<models::dropped_in_nested>(); }
BOOST_AUTO_TEST_CASE(dropped_at_boundaries) { follows_differences<models::dropped_at_boundaries>(); }
BOOST_AUTO_TEST_CASE(dropped_weights) { follows_differences<models::dropped_weights>(); }
BOOST_AUTO_TEST_CASE(batch_normalized_in_nested) { follows_differences<models::batch_normalized_in_nested>(); }

BOOST_AUTO_TEST_SUITE_END()
