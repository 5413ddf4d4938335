// The gradient of each operation on images {N, H, W, C} against finite differences, and the gradient's.
#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_images)

/// Numbers far apart, so that no step of a difference changes which is the largest.
constexpr auto x = param_from<"x", initial::uniform(9), 2, 5, 6, 3>;

/// Several in one program: each has weights of its own.
template <fixed_string Name>
constexpr auto part = block<Name>(layer([](auto y) { return weighted(y); }));

BOOST_AUTO_TEST_CASE(of_the_largest) {
  constexpr auto loss = (square(max_pool2d<2>(square(x))) |
                         part<"a">)+(square(x | nn::max_pool2d<3, nn::window{.stride = 2, .padding = 1}>) | part<"b">);
  check<loss + weighted(grad(loss, x))>();
}
BOOST_AUTO_TEST_CASE(of_means) {
  constexpr auto loss = (square(avg_pool2d<2>(square(x))) | part<"a">)+(square(x | nn::global_average) | part<"b">)+(
      square(x | nn::avg_pool2d<3, nn::window{.stride = 1, .padding = 1}>) | part<"c">);
  check<loss + weighted(grad(loss, x))>();
}
BOOST_AUTO_TEST_CASE(of_larger_ones) {
  constexpr auto small = param<"x", 1, 2, 3, 2>;
  constexpr auto loss = weighted(square(upsample2d<2>(square(small))));
  check<loss + sum(square(grad(loss, small)))>();
}
BOOST_AUTO_TEST_CASE(of_normalizations) {
  constexpr auto few = param_from<"x", initial::uniform(2), 2, 2, 1, 4>;
  constexpr auto by_row = nn::layer_norm<"ln">(few) * nn::rms_norm<"rms">(few);
  constexpr auto loss = weighted(nn::batch_norm<"bn">(few) + by_row + nn::group_norm<"gn", 2>(few));
  constexpr auto slopes = grad(loss, few, param<"ln.weight", 4>);
  check<loss + weighted(std::get<0>(slopes)) + sum(square(std::get<1>(slopes)))>();
}
// Rows of one number all over, and of zeros: there is nothing to divide by but the eps.
BOOST_AUTO_TEST_CASE(of_norms_without_deviation) {
  constexpr auto equal = param_from<"equal", initial::constant(2), 2, 3, 5>;
  constexpr auto zero = param_from<"zero", initial{}, 2, 3, 5>;
  check<weighted(equal | nn::layer_norm<"ln", 0.01>) + weighted(zero | nn::rms_norm<"rms", 0.01>)>();
}

BOOST_AUTO_TEST_SUITE_END()
