#pragma once

#include "contestant.hpp"

using namespace cairn;

namespace {

template <int Channels, int Stride>
constexpr auto inner =
    nn::conv2d_without_bias<"conv1", Channels, 3, nn::window{.stride = Stride, .padding = 1}> | nn::batch_norm<"bn1"> |
    nn::relu | nn::conv2d_without_bias<"conv2", Channels, 3, nn::window{.padding = 1}> | nn::batch_norm<"bn2">;
template <int Channels, int Stride>
constexpr auto projection =
    block<"downsample">(nn::conv2d_without_bias<"0", Channels, 1, nn::window{.stride = Stride}> | nn::batch_norm<"1">);
template <int Channels>
constexpr auto same = nn::residual(inner<Channels, 1>) | nn::relu;
template <int Channels>
constexpr auto halved = nn::residual(inner<Channels, 2>, projection<Channels, 2>) | nn::relu;

template <fixed_string Name>
constexpr auto segment(auto made) {
  return ckpt<Name>(block<Name>(made));
}
constexpr auto features =
    input<"images", 32, 32, 32, 3> | nn::conv2d_without_bias<"conv1", 64, 3, nn::window{.padding = 1}> |
    nn::batch_norm<"bn1"> | nn::relu | segment<"layer1.0">(same<64>) | segment<"layer1.1">(same<64>) |
    segment<"layer2.0">(halved<128>) | segment<"layer2.1">(same<128>) | segment<"layer3.0">(halved<256>) |
    segment<"layer3.1">(same<256>) | segment<"layer4.0">(halved<512>) | segment<"layer4.1">(same<512>);
constexpr auto loss = cross_entropy(global_average(features) | nn::linear<"fc", 10>, labels<"classes", 10, 32>);

constexpr adamw_options by_adamw{.lr = 1e-3};
constexpr auto feed = [](const contestant::arguments& given, auto steps_of) {
  const auto images = given.tensor<float>("images", 32 * 32 * 32 * 3);
  const auto classes = given.tensor<std::int32_t>("classes", 32);
  steps_of(bind<"images">(images), bind<"classes">(classes));
};

}  // namespace
