#pragma once

#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr auto joined = [](auto first, auto... more) {
  if constexpr (sizeof...(more) == 0) return first;
  else return concatenate<-1>(first, more...);
};
constexpr auto bottleneck = nn::batch_norm<"norm1"> | nn::relu | nn::conv2d_without_bias<"conv1", 96, 1> |
                            nn::batch_norm<"norm2"> | nn::relu |
                            nn::conv2d_without_bias<"conv2", 24, 3, nn::window{.padding = 1}>;
template <int Layer>
constexpr auto name_of = fixed_string{"layer"} + cairn::detail::digits<Layer>;
/// The layers from number Layer on. Each is a segment that reads the results of all layers before it.
template <int Layer = 0>
constexpr auto grown(auto... made) {
  if constexpr (Layer == 12) {
    return joined(made...);
  } else {
    constexpr auto layer_of = [](auto... all) { return joined(all...) | block<name_of<Layer>>(bottleneck); };
    return grown<Layer + 1>(made..., ckpt<name_of<Layer>>(layer_of, made...));
  }
}
constexpr auto features = grown(input<"images", 32, 28, 28, 48>) | nn::batch_norm<"norm"> | nn::relu;
constexpr auto loss = cross_entropy(global_average(features) | nn::linear<"head", 10>, labels<"classes", 10, 32>);

constexpr adamw_options by_adamw{.lr = 1e-3};
constexpr auto feed = [](const contestant::arguments& given, auto steps_of) {
  const auto images = given.tensor<float>("images", 32 * 28 * 28 * 48);
  const auto classes = given.tensor<std::int32_t>("classes", 32);
  steps_of(bind<"images">(images), bind<"classes">(classes));
};

}  // namespace
