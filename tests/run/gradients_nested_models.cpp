// As gradients_models.cpp, the other half: two files compile at a time.
#include "gradients_models.hpp"

#include "../models/arguments.hpp"
#include "../models/nesting.hpp"
#include "../models/parameters.hpp"
#include "../models/random.hpp"
#include "../models/tensors.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_nested_models)

BOOST_AUTO_TEST_CASE(three_deep) { check_model<models::three_deep>(); }
BOOST_AUTO_TEST_CASE(whole_in_nested) { check_model<models::whole_in_nested>(); }
BOOST_AUTO_TEST_CASE(repeat_in_repeat) { check_model<models::repeat_in_repeat>(); }
BOOST_AUTO_TEST_CASE(results_of_the_inner) { check_model<models::results_of_the_inner>(); }
BOOST_AUTO_TEST_CASE(recurrent) { check_model<models::recurrent>(); }
BOOST_AUTO_TEST_CASE(loss_twice) { check_model<models::loss_twice>(); }
BOOST_AUTO_TEST_CASE(descended) { check_model<models::descended>(); }
BOOST_AUTO_TEST_CASE(parameters_in_nested) { check_model<models::parameters_in_nested>(); }
BOOST_AUTO_TEST_CASE(frozen_weights) { check_model<models::frozen_weights>(); }
BOOST_AUTO_TEST_CASE(linear_attention) { check_model<models::linear_attention>(); }
BOOST_AUTO_TEST_CASE(over_axes) { check_model<models::over_axes>(); }
BOOST_AUTO_TEST_CASE(leading_axes) { check_model<models::leading_axes>(); }
BOOST_AUTO_TEST_CASE(lstm) { check_model<models::lstm>(); }
BOOST_AUTO_TEST_CASE(dropped_in_nested) { check_model<models::dropped_in_nested>(); }
BOOST_AUTO_TEST_CASE(dropped_at_boundaries) { check_model<models::dropped_at_boundaries>(); }
BOOST_AUTO_TEST_CASE(dropped_weights) { check_model<models::dropped_weights>(); }
BOOST_AUTO_TEST_CASE(batch_normalized_in_nested) { check_model<models::batch_normalized_in_nested>(); }

BOOST_AUTO_TEST_SUITE_END()
