// More layers compute the same values and gradients as PyTorch's, in double.
#include "torch_values.hpp"

BOOST_AUTO_TEST_SUITE(torch_layers)

BOOST_AUTO_TEST_CASE(prelus) {
  constexpr auto a = param<"a", 3, 5>;
  constexpr auto each = param<"each", 5>;
  agrees<prelu(a, param<"one", 1>) * prelu(3_c * a, each) + prelu(a - a, each)>("prelus");
}
BOOST_AUTO_TEST_CASE(norms_without_parameters) {
  constexpr nn::batch_norm_options batch{.affine = false};
  constexpr auto images = param<"x", 2, 3, 2, 6>;
  agrees<param<"x", 2, 3, 2, 4> | nn::batch_norm<"bn", batch>>("batch_norm_without_affine");
  agrees<param<"x", 2, 4, 2, 3> | nn::batch_norm<"bn", batch> | nn::conv2d_without_bias<"conv", 2, 1>, 2>(
      "batch_norm_net");
  agrees<param<"x", 2, 3, 5> * 0.01_c | nn::layer_norm<"ln", nn::norm_options{.eps = 1e-3, .affine = false}>>(
      "layer_norm_without_affine");
  agrees<images | nn::group_norm<"gn", 2, nn::norm_options{.affine = false}>>("group_norm_without_affine");
  agrees<images | nn::instance_norm<"in">>("instance_norm");
  agrees<param<"x", 2, 5, 6> * 0.01_c |
         nn::instance_norm<"in", nn::instance_norm_options{.eps = 1e-3, .affine = true}>>("instance_norm_affine");
}

BOOST_AUTO_TEST_SUITE_END()
