// Layers of every kind as tiled layers, with the bits that they have without groups. Some draw random numbers.
#include "tiled.hpp"

using namespace test;

namespace {

constexpr auto feed_forward = nn::linear<"fc1", 33> | nn::gelu | nn::linear<"fc2", 7>;
constexpr auto normed = nn::residual(nn::layer_norm<"norm"> | nn::swiglu<"ff", 20> | nn::rms_norm<"rms">);

constexpr auto pooled = layer([](auto h) { return nn::max_pool2d<2>(h); });
constexpr auto choosing = [](auto h) {
  return where(h > 0_c, concatenate<-1>(h, flip<1>(h)) | nn::linear<"a", 6>, h - max<-1>(h, keepdim));
};
constexpr auto of_matrices = [](auto h) {
  constexpr int rows = decltype(h)::shape[0];
  const auto m = reshape<rows, 2, 3>(h);
  return transpose(matmul(m, transpose(m))) * mean<-1>(reshape<rows, 1, 6>(h), keepdim);
};
constexpr auto looking_up = [](auto h) { return h * (argmax<-1>(h) | nn::embedding<"table", 6>); };
constexpr auto dropping_weights = [](auto h) {
  constexpr int rows = decltype(h)::shape[0];
  const auto ones = make<lang::expand_op<shape{rows, 5}>>(1_c);
  const auto some = dropout<"w", 0.5>(param<"/w", 5, 5>);
  return matmul(h, some) * dropout<"v", 0.5>(ones) * dropout<"u", 0.2>(param<"/u", 5>);
};
/// One step of a descent: a layer that takes a gradient itself.
constexpr auto downwards = [](auto h) {
  const auto energy = h | nn::linear<"e1", 9> | nn::tanh | nn::linear<"e2", 3>;
  return h - 0.3_c * grad(sum(square(energy)), h);
};
constexpr auto two_products = [](auto h) { return matmul(h, param<"w", 6, 5>) * matmul(h, param<"v", 6, 5>); };
constexpr auto scaled_product = [](auto h) { return matmul(tanh(h), param<"w", 6, 6>) * h * param<"s", 6>; };
constexpr auto normed_and_not = [](auto h) {
  return softmax<-1>(h) * (h | nn::layer_norm<"norm">)+matmul(h, param<"w", 6, 6>);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tiled_layers)

BOOST_AUTO_TEST_CASE(layers_of_rows) {
  has_groups<x<12, 8>, normed, 3, 12>();
  has_groups<x<6, 5, 8>, normed, 2, 3, 6>();
  has_groups<x<6, 5, 8>, nn::self_attention<"attn", 2, nn::causal>, 3, 6>();
  has_groups<x<4, 6, 8>, nn::transformer_block<2, nn::transformer_options{.dropout = 0.2}>, 2, 4>();
  has_groups<x<4, 8, 8, 3>, nn::conv2d<"conv", 6, 3, {.padding = 1}> | nn::relu | pooled, 2, 4>();
  has_groups<x<6, 4, 8>, nn::group_norm<"norm", 2> | layer([](auto h) { return softmax<-2>(h); }), 3>();
  has_groups<x<8, 6>, layer(choosing), 2, 8>();
  has_groups<x<8, 6>, layer(of_matrices), 4>();
  has_groups<x<9, 6>, layer(looking_up), 3, 9>();
  has_groups<x<6, 5, 2, 4>, layer([](auto h) { return nn::rotary(h); }), 2>();
  has_groups<x<8, 6>, layer(downwards), 4>();
}
BOOST_AUTO_TEST_CASE(gradients_over_arguments) {
  // The gradient of a computed argument may lie over the argument, unless the argument is read again afterwards.
  has_groups<tanh(x<8, 6>), feed_forward, 4>();
  has_groups<tanh(x<8, 6>), layer(two_products), 4>();
  has_groups<tanh(x<8, 6>), layer(scaled_product), 4>();
  has_groups<tanh(x<8, 6>), layer(normed_and_not), 2>();
}
BOOST_AUTO_TEST_CASE(random_numbers_are_those_without_groups) {
  constexpr auto dropping = nn::dropout<"a", 0.3> | nn::linear<"fc", 9> | nn::dropout<"b", 0.5>;
  has_groups<x<24, 8>, dropping, 2, 3, 24>();
  has_groups<x<15, 7>, dropping, 3, 5, 15>();  // groups do not begin at a multiple of four numbers
  has_groups<x<6, 5, 8>, nn::self_attention<"attn", 2, nn::attention_options{.dropout = 0.4}>, 2, 6>();
  has_groups<x<8, 5>, layer(dropping_weights), 2, 8>();
  has_groups<x<8, 5>, nn::tiled<2>(layer(dropping_weights)), 2>();
}

BOOST_AUTO_TEST_SUITE_END()
