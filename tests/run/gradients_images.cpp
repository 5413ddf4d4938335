// Compares the gradient of each operation on images {N, H, W, C}, and the gradient of this gradient, with finite
// differences.
#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_images)

/// Numbers far apart, so that the steps of differences do not change which number is the largest.
constexpr auto x = param_from<"x", initial::uniform(9), 2, 5, 6, 3>;

/// Several losses in one program. Each loss has weights of its own.
template <fixed_string Name>
constexpr auto part = block<Name>(layer([](auto y) { return weighted(y); }));

BOOST_AUTO_TEST_CASE(max_pool) {
  constexpr auto loss = (square(max_pool2d<2>(square(x))) |
                         part<"a">)+(square(x | nn::max_pool2d<3, nn::window{.stride = 2, .padding = 1}>) | part<"b">);
  check<loss + weighted(grad(loss, x))>();
}
BOOST_AUTO_TEST_CASE(pools_of_pairs) {
  constexpr nn::window by{.stride = {1, 2}, .padding = {0, 1}};
  constexpr auto loss =
      (square(max_pool2d<{1, 3}, by>(square(x))) | part<"a">)+(square(x | nn::avg_pool2d<{2, 3}, by>) | part<"b">);
  check<loss + weighted(grad(loss, x))>();
}
BOOST_AUTO_TEST_CASE(pools_in_ceil_mode) {
  constexpr nn::window by{.stride = 2, .padding = {0, 1}, .dilation = {2, 1}, .ceil_mode = true};
  constexpr nn::window without_padding{.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false};
  constexpr auto loss = (square(max_pool2d<{2, 3}, by>(square(x))) |
                         part<"a">)+(square(x | nn::avg_pool2d<{2, 3}, without_padding>) | part<"b">);
  check<loss + weighted(grad(loss, x))>();
}
BOOST_AUTO_TEST_CASE(avg_pool) {
  constexpr auto loss = (square(avg_pool2d<2>(square(x))) | part<"a">)+(square(x | nn::global_average) | part<"b">)+(
      square(x | nn::avg_pool2d<3, nn::window{.stride = 1, .padding = 1}>) | part<"c">);
  check<loss + weighted(grad(loss, x))>();
}
BOOST_AUTO_TEST_CASE(upsample) {
  constexpr auto small = param<"x", 1, 2, 3, 2>;
  constexpr auto loss = weighted(square(upsample2d<2>(square(small))));
  check<loss + sum(square(grad(loss, small)))>();
}
BOOST_AUTO_TEST_CASE(normalizations) {
  constexpr auto few = param_from<"x", initial::uniform(2), 2, 2, 1, 4>;
  constexpr auto by_row = nn::layer_norm<"ln">(few) * nn::rms_norm<"rms">(few);
  constexpr auto loss = weighted(nn::batch_norm<"bn">(few) + by_row + nn::group_norm<"gn", 2>(few));
  constexpr auto slopes = grad(loss, few, param<"ln.weight", 4>);
  check<loss + weighted(std::get<0>(slopes)) + sum(square(std::get<1>(slopes)))>();
}
// Rows of equal numbers, and rows of zeros. The deviation is zero, so that only eps remains in the denominator.
BOOST_AUTO_TEST_CASE(normalizations_of_equal_numbers) {
  constexpr auto equal = param_from<"equal", initial::constant(2), 2, 3, 5>;
  constexpr auto zero = param_from<"zero", initial{}, 2, 3, 5>;
  check<weighted(equal | nn::layer_norm<"ln", 0.01>) + weighted(zero | nn::rms_norm<"rms", 0.01>)>();
}

BOOST_AUTO_TEST_SUITE_END()
