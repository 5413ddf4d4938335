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
  constexpr auto rows = param<"x", 2, 3, 5>;
  agrees<(rows | nn::rms_norm<"a", nn::rms_norm_options{.affine = false}>)*(
      0.01_c * square(rows) | nn::rms_norm<"b", nn::rms_norm_options{.eps = 1e-3, .affine = false}>)>(
      "rms_norm_without_affine");
  agrees<images | nn::group_norm<"gn", 2, nn::norm_options{.affine = false}>>("group_norm_without_affine");
  agrees<images | nn::instance_norm<"in">>("instance_norm");
  agrees<param<"x", 2, 5, 6> * 0.01_c |
         nn::instance_norm<"in", nn::instance_norm_options{.eps = 1e-3, .affine = true}>>("instance_norm_affine");
}
BOOST_AUTO_TEST_CASE(images_of_another_size) {
  constexpr auto x = param<"x", 2, 5, 6, 3>;
  constexpr auto y = param<"y", 2, 1, 9, 3>;
  agrees<adaptive_avg_pool2d<3, 4>(x)>("adaptive_avg_pool2d_3");
  agrees<x | nn::adaptive_avg_pool2d<1, 6>>("adaptive_avg_pool2d_1");
  agrees<adaptive_avg_pool2d<7, 1>(x)>("adaptive_avg_pool2d_7");
  agrees<adaptive_avg_pool2d<8, 9>(x)>("adaptive_avg_pool2d_8");
  // Many pixels are equal whole numbers, and all of them would have a gradient.
  constexpr auto equal = floor(3_c * param<"ab", 2, 5, 6, 3>) + param<"ab", 2, 5, 6, 3> - param<"ba", 2, 5, 6, 3>;
  agrees<adaptive_max_pool2d<3, 4>(equal)>("adaptive_max_pool2d_3");
  agrees<equal | nn::adaptive_max_pool2d<1, 6>>("adaptive_max_pool2d_1");
  agrees<adaptive_max_pool2d<7, 1>(equal)>("adaptive_max_pool2d_7");
  agrees<adaptive_max_pool2d<8, 9>(equal)>("adaptive_max_pool2d_8");
  agrees<interpolate2d<8, 4>(x) * interpolate2d<8, 4>(y)>("interpolate_False");
  constexpr auto corners = nn::interpolate2d<8, 4, nn::bilinear_corners>;
  agrees<corners(x) * corners(y)>("interpolate_True");
  agrees<x | nn::upsample2d<3, nn::bilinear>>("upsample2d_False");
  agrees<upsample2d<3, nn::bilinear_corners>(x)>("upsample2d_True");
}
BOOST_AUTO_TEST_CASE(weight_norms) {
  agrees<param<"x", 2, 3, 5> | nn::weight_norm(nn::linear<"fc", 4>)>("weight_norm_linear");
  agrees<param<"x", 2, 5, 4, 4> | nn::weight_norm(nn::conv2d<"fc", 6, 3, nn::window{.groups = 2}>)>(
      "weight_norm_conv2d");
}
BOOST_AUTO_TEST_CASE(spectral_norms) {
  agrees<param<"x", 2, 4, 3, 3> | nn::spectral_norm(nn::conv2d<"fc", 4, 2>), 3>("spectral_norm_net");
  constexpr auto loss = sum(square(param<"x", 3, 5> | nn::spectral_norm(nn::linear<"fc", 4>)));
  agrees<grad(loss, param<"fc.parametrizations.weight.original", 4, 5>)>("spectral_norm_second");
}

BOOST_AUTO_TEST_SUITE_END()
