// Compares gradients of attention with difference quotients. The test runs thousands of training steps, which
// sanitizers make ten times slower.
#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_attention)

BOOST_AUTO_TEST_CASE(gradients_of_attention_with_masks_and_dropout) {
  constexpr auto q = param<"q", 2, 7, 4, 5>;
  constexpr auto k = param<"k", 2, 9, 2, 5>;
  constexpr auto v = param<"v", 2, 9, 2, 3>;
  check<weighted(nn::attention(3_c * q, 3_c * k, v, param<"mask", 4, 1, 9>, nn::causal))>();
  std::vector<std::int32_t> looks(2 * 9);  // the second image looks at nothing
  for (std::size_t i = 0; i < 9; ++i) looks[i] = i % 3 > 0;
  check<weighted(nn::attention<"d", 0.3>(3_c * q, k, v, indices<"looks", 2, 2, 1, 1, 9>))>(bind<"looks">(looks));
}

BOOST_AUTO_TEST_SUITE_END()
