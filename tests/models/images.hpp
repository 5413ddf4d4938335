// Convolutional nets on images {8, 4, 3, C}.
#pragma once

#include "parts.hpp"

namespace models {

inline constexpr nn::window around{.padding = 1}, halving{.stride = 2, .padding = 1};
inline constexpr auto images = reshape<8, 4, 3, 1>(x);

// A residual net (He et al., Deep Residual Learning for Image Recognition, 2016). It has blocks with and without a
// projection.
template <int Channels, nn::window By>
inline constexpr auto two_convolutions =
    nn::conv2d_without_bias<"conv1", Channels, 3, By> | nn::batch_norm<"bn1"> | nn::relu |
    nn::conv2d_without_bias<"conv2", Channels, 3, around> | nn::batch_norm<"bn2">;
inline constexpr auto narrowing =
    nn::residual(two_convolutions<6, halving>, nn::conv2d_without_bias<"projection", 6, 1, nn::window{.stride = 2}>) |
    nn::relu;
constexpr auto residual_net =
    classify(reshape<8, 24>(images | nn::conv2d<"in", 5, 3, around> |
                            ckpt<"b1">(block<"b1">(nn::residual(two_convolutions<5, around>) | nn::relu)) |
                            ckpt<"b2">(block<"b2">(narrowing))));
// A dense net (Huang et al., Densely Connected Convolutional Networks, 2017). Each layer is a segment that reads the
// results of all earlier layers.
inline constexpr auto dense_layer = [](auto first, auto... more) {
  const auto bottleneck = nn::batch_norm<"norm"> | nn::relu | nn::conv2d_without_bias<"conv", 2, 3, around>;
  if constexpr (sizeof...(more) == 0) return first | bottleneck;
  else return concatenate<-1>(first, more...) | bottleneck;
};
constexpr auto dense_net = [] {
  const auto a = images | nn::conv2d<"in", 3, 3, around>;
  const auto b = ckpt<"1">([](auto x) { return block<"1">(dense_layer, x); }, a);
  const auto c = ckpt<"2">([](auto x, auto y) { return block<"2">(dense_layer, x, y); }, a, b);
  const auto d = ckpt<"3">([](auto x, auto y, auto z) { return block<"3">(dense_layer, x, y, z); }, a, b, c);
  return classify(concatenate<-1>(a, b, c, d) | nn::avg_pool2d<2> | nn::flatten);
}();
// A U-Net (Ronneberger et al., 2015). An image is made smaller, made larger again in three ways, and joined with the
// image of full size.
constexpr auto u_net = [] {
  const auto wide = images | ckpt<"down">(nn::conv2d<"down", 4, 3, around> | nn::group_norm<"norm", 2> | nn::gelu);
  const auto small = wide | ckpt<"low">(nn::conv2d<"low", 6, 3, around> | nn::layer_norm<"norm2"> | nn::tanh |
                                        nn::max_pool2d<2> | nn::conv2d<"deep", 6, 1>);
  const auto join = [](auto a, auto b) {
    const auto back = b | nn::conv_transpose2d<"up", 3, 2, nn::window{.stride = 2}>;
    const auto joined = concatenate<-1>(slice<2, 0, 2>(a), back, upsample2d<2>(b), upsample2d<2, nn::bilinear>(b));
    return joined | nn::conv2d<"join", 3, 3, around> | nn::relu;
  };
  return classify(reshape<8, 24>(ckpt<"join">(join, wide, small)));
}();
// Convolutions over rows, with a separate filter for each channel, and with normalized weights that are used twice.
inline constexpr auto per_channel = nn::weight_norm(nn::conv1d<"each", 3, 3, nn::window{.padding = 1, .groups = 3}>);
constexpr auto depthwise =
    classify(reshape<8, 12>(reshape<8, 4, 3>(x) | nn::conv1d<"in", 3, 3, nn::window{.padding = 2, .dilation = 2}> |
                            ckpt<"s">(per_channel | nn::gelu | shared(per_channel) | nn::tanh)));
// Windows of all kinds, and layers that act on whole images or channels.
inline constexpr auto pools = layer([](auto h) {
  const auto apart = h | nn::max_pool2d<2, nn::window{.stride = 1, .dilation = {2, 1}, .ceil_mode = true}>;
  const auto evenly = (h | nn::adaptive_avg_pool2d<3, 2>)*(h | nn::adaptive_max_pool2d<3, 2>);
  return concatenate<1>(apart, evenly) | nn::interpolate2d<3, 4, nn::bilinear_corners>;
});
constexpr auto windows =
    classify(images | nn::conv2d<"in", 4, {3, 2}, nn::window{.padding = nn::same}> | nn::instance_norm<"norm"> |
             nn::prelu<"act", 4> |
             ckpt<"s">(nn::residual(nn::spectral_norm(nn::conv2d<"all", 4, 1>) | nn::drop_path<"path", 0.2>) | pools |
                       nn::dropout2d<"drop", 0.2>) |
             nn::conv_transpose2d<"up", 2, {2, 1}, nn::window{.stride = 2, .output_padding = {0, 1}}> | nn::flatten);

}  // namespace models
