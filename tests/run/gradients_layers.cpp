// Compares the gradients of more layers, and the gradients of these gradients, with finite differences.
#include <cmath>

#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_layers)

BOOST_AUTO_TEST_CASE(norms_without_parameters) {
  constexpr auto x = param_from<"x", initial::uniform(2), 2, 3, 1, 4>;
  constexpr nn::norm_options none{.affine = false};
  constexpr auto by_root = cos(x) | nn::rms_norm<"rms", nn::rms_norm_options{.affine = false}>;
  constexpr auto by_row = (x | nn::layer_norm<"ln", none>)*by_root;
  constexpr auto by_column = x | nn::batch_norm<"bn", nn::batch_norm_options{.affine = false}>;
  constexpr auto in_groups = square(x) | nn::group_norm<"gn", 2, none>;
  constexpr auto loss = weighted(by_row * by_column * in_groups * (sin(x) | nn::instance_norm<"in">));
  check<loss + sum(square(grad(loss, x)))>();
}
BOOST_AUTO_TEST_CASE(norms_without_parameters_in_a_segment) {
  constexpr auto x = param_from<"x", initial::uniform(2), 2, 3, 4>;
  constexpr auto part = nn::linear<"a", 4> | nn::layer_norm<"ln", nn::norm_options{.affine = false}> | nn::gelu |
                        nn::linear<"b", 4> | nn::instance_norm<"in", nn::instance_norm_options{.affine = true}>;
  check<weighted(square(x | ckpt<"s">(part)))>();
}
BOOST_AUTO_TEST_CASE(images_of_another_size) {
  constexpr auto x = param<"x", 1, 4, 5, 2>;
  constexpr auto larger = upsample2d<2, nn::bilinear>(square(x)) * interpolate2d<8, 10, nn::bilinear_corners>(sin(x));
  constexpr auto y = square(adaptive_avg_pool2d<3, 7>(larger)) * interpolate2d<3, 7>(x);
  constexpr auto loss = weighted(y);
  check<loss + sum(square(grad(loss, x)))>();
  constexpr auto part = nn::conv2d<"a", 3, 1> | nn::upsample2d<2, nn::bilinear> | nn::tanh |
                        nn::adaptive_avg_pool2d<3, 3> | nn::conv2d<"b", 2, 1>;
  check<weighted(square(x | ckpt<"s">(part)))>();
}
// Pixels that are further apart than the steps of differences, so that the largest pixels stay the same.
BOOST_AUTO_TEST_CASE(largest_pixels) {
  constexpr auto near_zero = param<"x", 1, 4, 5, 2>;
  constexpr auto x = near_zero * 0.01_c + input<"apart", 1, 4, 5, 2>;
  constexpr auto pool = nn::gelu | nn::adaptive_max_pool2d<3, 2> | nn::conv2d<"c", 2, 1> | nn::tanh;
  constexpr auto y = (x | ckpt<"s">(pool)) * adaptive_max_pool2d<3, 2>(x) + square(adaptive_max_pool2d<1, 1>(x));
  std::array<double, 40> numbers;
  for (std::size_t i = 0; i < 40; ++i) numbers[i] = 0.05 * static_cast<double>(i * 7 % 40);
  check<weighted(y)>(bind<"apart">(numbers));
  check<sum(square(grad(weighted(y), near_zero)))>(bind<"apart">(numbers));
}
BOOST_AUTO_TEST_CASE(weight_norms) {
  constexpr auto x = param<"x", 3, 4>;
  constexpr auto fc = nn::weight_norm(nn::linear<"fc", 5>);
  constexpr auto norms = param<"fc.parametrizations.weight.original0", 5, 1>;
  constexpr auto directions = param<"fc.parametrizations.weight.original1", 5, 4>;
  constexpr auto loss = weighted(square(x | fc));
  constexpr auto slopes = grad(loss, x, norms, directions);
  check<loss + sum(square(std::get<0>(slopes))) + sum(square(std::get<1>(slopes))) +
        sum(square(std::get<2>(slopes)))>();
  constexpr auto part = fc | nn::tanh | nn::weight_norm(nn::linear_without_bias<"out", 2>);
  check<weighted(square(x | ckpt<"s">(part)))>();
  constexpr auto images = param<"images", 1, 3, 3, 2>;
  check<weighted(images | nn::weight_norm(nn::conv_transpose2d<"up", 3, 2, nn::window{.stride = 2}>))>();
}
/// One power iteration finds the singular vectors of a matrix of one row. They then do not depend on its small changes,
/// to which the gradient holds them constant.
BOOST_AUTO_TEST_CASE(spectral_norms_in_a_segment) {
  constexpr auto part = nn::linear<"in", 6> | nn::tanh | nn::spectral_norm(nn::linear<"out", 1>) | nn::sigmoid;
  check<weighted(square(param<"x", 3, 4> | ckpt<"s">(part)))>();
}
/// The norms start at the expected norm of a row of the linear layer.
BOOST_AUTO_TEST_CASE(start_of_weight_norms) {
  program<sum(input<"x", 1, 300> | nn::weight_norm(nn::linear<"fc", 50>))> step;
  step.init(seed{1});
  double mean = 0;
  for (int i = 0; i < 50; ++i) {
    double squares = 0;
    for (int j = 0; j < 300; ++j)
      squares += std::pow(double{step.param<"fc.parametrizations.weight.original1">()(i, j)}, 2);
    mean += std::sqrt(squares) / 50;
  }
  BOOST_TEST(step.param<"fc.parametrizations.weight.original0">()(7, 0) == static_cast<float>(mean),
             boost::test_tools::tolerance(0.01F));
}

BOOST_AUTO_TEST_SUITE_END()
