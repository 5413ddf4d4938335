// A DenseNet, a ResNet and a U-Net compute the same values and gradients as PyTorch's models, in double. Their
// parameters have the names of PyTorch's state dicts. tests/kept/torch_values.py defines PyTorch's models.
#include "torch_values.hpp"

namespace {

constexpr nn::window around{.padding = 1};
constexpr auto dense_layer = layer([](auto x) {
  const auto more = x | nn::batch_norm<"norm1"> | nn::relu | nn::conv2d_without_bias<"conv1", 6, 1> |
                    nn::batch_norm<"norm2"> | nn::relu | nn::conv2d_without_bias<"conv2", 3, 3, around>;
  return concatenate<-1>(x, more);
});
constexpr auto dense_block = block<"denselayer1">(dense_layer) | block<"denselayer2">(dense_layer);
constexpr auto densenet =
    nn::conv2d_without_bias<"conv0", 4, 3, around> | block<"denseblock1">(dense_block) |
    block<"transition1">(nn::batch_norm<"norm"> | nn::relu | nn::conv2d_without_bias<"conv", 5, 1>) |
    nn::avg_pool2d<2> | block<"denseblock2">(dense_block) | nn::batch_norm<"norm5"> | nn::relu | nn::global_average |
    nn::linear<"classifier", 3>;

template <int Channels, int Stride>
constexpr auto two_convolutions =
    nn::conv2d_without_bias<"conv1", Channels, 3, nn::window{.stride = Stride, .padding = 1}> | nn::batch_norm<"bn1"> |
    nn::relu | nn::conv2d_without_bias<"conv2", Channels, 3, around> | nn::batch_norm<"bn2">;
constexpr auto downsample =
    block<"downsample">(nn::conv2d_without_bias<"0", 6, 1, nn::window{.stride = 2}> | nn::batch_norm<"1">);
constexpr auto resnet = nn::conv2d_without_bias<"conv1", 4, 3, around> | nn::batch_norm<"bn1"> | nn::relu |
                        nn::max_pool2d<3, nn::window{.stride = 2, .padding = 1}> |
                        block<"layer1.0">(nn::residual(two_convolutions<4, 1>) | nn::relu) |
                        block<"layer2.0">(nn::residual(two_convolutions<6, 2>, downsample) | nn::relu) |
                        block<"layer2.1">(nn::residual(two_convolutions<6, 1>) | nn::relu) | nn::global_average |
                        nn::linear<"fc", 3>;

template <fixed_string Name, int Channels>
constexpr auto pair = block<Name>(two_convolutions<Channels, 1> | nn::relu);
constexpr auto unet = layer([](auto x) {
  const auto whole = x | pair<"down", 3>;
  const auto large =
      whole | nn::max_pool2d<2> | pair<"bottom", 5> | nn::conv_transpose2d<"up", 3, 2, nn::window{.stride = 2}>;
  return concatenate<-1>(large, whole) | pair<"join", 3> | nn::conv2d<"out", 2, 1>;
});

}  // namespace

BOOST_AUTO_TEST_SUITE(torch_nets)

BOOST_AUTO_TEST_CASE(densenet_equals_pytorchs) { agrees<param<"x", 2, 6, 4, 2> | densenet>("densenet"); }
BOOST_AUTO_TEST_CASE(resnet_equals_pytorchs) { agrees<param<"x", 2, 8, 6, 2> | resnet, 3>("resnet"); }
BOOST_AUTO_TEST_CASE(unet_equals_pytorchs) { agrees<param<"x", 2, 4, 6, 2> | unet>("unet"); }

BOOST_AUTO_TEST_SUITE_END()
