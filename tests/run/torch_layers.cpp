// More layers compute the same values and gradients as PyTorch's, in double.
#include "torch_values.hpp"

BOOST_AUTO_TEST_SUITE(torch_layers)

BOOST_AUTO_TEST_CASE(prelus) {
  constexpr auto a = param<"a", 3, 5>;
  constexpr auto each = param<"each", 5>;
  agrees<prelu(a, param<"one", 1>) * prelu(3_c * a, each) + prelu(a - a, each)>("prelus");
}

BOOST_AUTO_TEST_SUITE_END()
