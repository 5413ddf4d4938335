// Gradients of whole models against finite differences, with and without segments.
#include "../models.hpp"
#include "gradients.hpp"

#include <vector>

BOOST_AUTO_TEST_SUITE(gradients_of_models)

template <auto Model>
void check_model() {
  std::vector<double> x(8 * 12);
  std::vector<std::int32_t> y(8);
  random_sequence draw(seed{7}, 0);
  for (double& value : x) value = 4 * static_cast<double>(uniform(draw())) - 2;
  for (std::int32_t& label : y) label = static_cast<std::int32_t>(draw.below(5));
  check<Model>(bind<"x">(x), bind<"y">(y));
  check<Model, plain>(bind<"x">(x), bind<"y">(y));
}

BOOST_AUTO_TEST_CASE(a_segment) { check_model<models::one>(); }
BOOST_AUTO_TEST_CASE(repeated_residual_segments) { check_model<models::repeated_residual>(); }
BOOST_AUTO_TEST_CASE(a_skip_over_a_segment) { check_model<models::skip>(); }
BOOST_AUTO_TEST_CASE(weights_inside_and_outside) { check_model<models::inside_and_outside>(); }
BOOST_AUTO_TEST_CASE(three_nested_segments) { check_model<models::three_deep>(); }
BOOST_AUTO_TEST_CASE(several_results) { check_model<models::two_results>(); }
BOOST_AUTO_TEST_CASE(a_segment_of_parameters) { check_model<models::of_parameters>(); }
BOOST_AUTO_TEST_CASE(attention_in_a_segment) { check_model<models::attention>(); }

BOOST_AUTO_TEST_SUITE_END()
