// Compares gradients of convolutions, and gradients of these gradients, with difference quotients.
#include "gradients.hpp"

BOOST_AUTO_TEST_SUITE(gradients_of_convolutions)

constexpr auto image = param<"image", 1, 5, 4, 2>;

/// Returns a loss plus the squared norms of its gradients with respect to images and filters.
template <auto Loss, auto... Leaf>
constexpr auto with_penalty() {
  return [](auto... g) { return Loss + (sum(square(g)) + ...); }(grad(Loss, Leaf)...);
}

BOOST_AUTO_TEST_CASE(with_padding) {
  constexpr auto filters = param<"filters", 3, 2, 3, 2>;
  check<with_penalty<weighted(square(conv2d<nn::window{.padding = 1}>(image, filters))), image, filters>()>();
}
BOOST_AUTO_TEST_CASE(with_strides_dilations_and_groups) {
  constexpr auto filters = param<"filters", 4, 1, 2, 3>;
  constexpr auto y = conv2d<nn::window{.stride = 2, .padding = 2, .dilation = 2, .groups = 2}>(image, filters);
  check<with_penalty<weighted(square(y)), image, filters>()>();
}
BOOST_AUTO_TEST_CASE(with_pairs) {
  constexpr auto filters = param<"filters", 2, 2, 1, 3>;
  constexpr nn::window by{.stride = {2, 1}, .padding = {0, 2}, .dilation = {1, 2}};
  check<with_penalty<weighted(square(conv2d<by>(image, filters))), image, filters>()>();
  check<with_penalty<weighted(square(conv_transpose2d<by>(image, filters))), image, filters>()>();
}
BOOST_AUTO_TEST_CASE(with_same_padding) {
  constexpr auto filters = param<"filters", 2, 2, 2, 4>;
  constexpr nn::window by{.padding = nn::same, .dilation = {3, 1}};
  check<with_penalty<weighted(square(conv2d<by>(image, filters))), image, filters>()>();
}
BOOST_AUTO_TEST_CASE(with_output_padding) {
  constexpr auto filters = param<"filters", 2, 2, 2, 2>;
  constexpr nn::window by{.stride = {3, 1}, .padding = 1, .dilation = {1, 3}, .output_padding = 2};
  check<with_penalty<weighted(square(conv_transpose2d<by>(image, filters))), image, filters>()>();
}
BOOST_AUTO_TEST_CASE(transposed) {
  constexpr auto filters = param<"filters", 2, 3, 2, 2>;
  constexpr auto y = conv_transpose2d<nn::window{.stride = 2, .padding = 1}>(image, filters);
  check<with_penalty<weighted(square(y)), image, filters>()>();
}
BOOST_AUTO_TEST_CASE(depthwise_convolutions) {
  constexpr auto filters = param<"filters", 2, 1, 3, 2>;
  constexpr auto y = conv2d<nn::window{.padding = 1, .groups = 2}>(image, filters);
  check<with_penalty<weighted(square(y)), image, filters>()>();
}
BOOST_AUTO_TEST_CASE(one_dimensional_and_one_by_one) {
  constexpr auto row = param<"row", 2, 6, 3>;
  constexpr auto taps = param<"filters", 4, 3, 3>;
  constexpr auto y = conv1d<nn::window{.stride = 2, .padding = 1}>(row, taps);
  check<with_penalty<weighted(square(y)), row, taps>()>();
  constexpr auto back = param<"filters", 3, 2, 3>;
  constexpr auto longer = conv_transpose1d<nn::window{.stride = 2, .padding = 1, .output_padding = 1}>(row, back);
  check<with_penalty<weighted(square(longer)), row, back>()>();
  check<weighted(square(conv2d(image, param<"filters", 3, 2, 1, 1>)))>();
}
BOOST_AUTO_TEST_CASE(layers) {
  constexpr auto net = nn::conv2d<"a", 4, 3, nn::window{.stride = 2, .padding = 1}> | nn::tanh |
                       nn::conv_transpose2d<"b", 3, 2, nn::window{.stride = 2}> | nn::tanh |
                       nn::conv2d_without_bias<"c", 2, 1>;
  check<weighted(image | net), freeze<"image">>();
  constexpr auto flat = nn::conv2d<"a", 3, {1, 3}, nn::window{.padding = {0, 1}}> | nn::tanh |
                        nn::conv_transpose2d<"b", 2, {3, 1}, nn::window{.stride = {1, 2}}>;
  check<weighted(image | flat), freeze<"image">>();
  check<weighted(param<"row", 1, 5, 2> | nn::conv1d<"d", 4, 3, nn::window{.groups = 2}>)>();
}

BOOST_AUTO_TEST_SUITE_END()
