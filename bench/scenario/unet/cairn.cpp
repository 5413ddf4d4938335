#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr nn::window around{.padding = 1};
template <fixed_string Name, int Channels>
constexpr auto pair =
    ckpt<Name>(block<Name>(nn::conv2d_without_bias<"conv1", Channels, 3, around> | nn::batch_norm<"bn1"> | nn::relu |
                           nn::conv2d_without_bias<"conv2", Channels, 3, around> | nn::batch_norm<"bn2"> | nn::relu));
template <fixed_string Name, int Channels>
constexpr auto up = nn::conv_transpose2d<Name, Channels, 2, nn::window{.stride = 2}>;

constexpr auto whole = input<"images", 16, 64, 64, 1> | pair<"down1", 32>;
constexpr auto half = whole | nn::max_pool2d<2> | pair<"down2", 64>;
constexpr auto bottom = half | nn::max_pool2d<2> | pair<"bottom", 128>;
constexpr auto half_again = concatenate<-1>(bottom | up<"up2", 64>, half) | pair<"join2", 64>;
constexpr auto whole_again = concatenate<-1>(half_again | up<"up1", 32>, whole) | pair<"join1", 32>;
constexpr auto loss = mse(whole_again | nn::conv2d<"out", 1, 1>, input<"wanted", 16, 64, 64, 1>);

}  // namespace

int main(int count, char** arguments) {
  contestant::train<loss, adamw_options{.lr = 1e-3}>(count, arguments, [](const contestant::arguments& given, auto steps_of) {
    const auto images = given.tensor<float>("images", 16 * 64 * 64);
    const auto wanted = given.tensor<float>("wanted", 16 * 64 * 64);
    steps_of(bind<"images">(images), bind<"wanted">(wanted));
  });
}
