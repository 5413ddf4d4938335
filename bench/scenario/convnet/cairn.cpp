#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr nn::window around{.padding = 1};
constexpr auto stage1 = nn::conv2d_without_bias<"conv1", 32, 3, around> | nn::batch_norm<"norm1"> | nn::relu;
constexpr auto stage2 = nn::conv2d_without_bias<"conv2", 64, 3, around> | nn::batch_norm<"norm2"> | nn::relu;
constexpr auto stage3 = nn::conv2d_without_bias<"conv3", 128, 3, around> | nn::batch_norm<"norm3"> | nn::relu;
constexpr auto features = input<"images", 128, 28, 28, 1> | ckpt<"stage1">(stage1 | nn::max_pool2d<2>) |
                          ckpt<"stage2">(stage2 | nn::max_pool2d<2>) | ckpt<"stage3">(stage3);
constexpr auto loss = cross_entropy(global_average(features) | nn::linear<"head", 10>, labels<"classes", 10, 128>);

}  // namespace

int main(int count, char** arguments) {
  contestant::train<loss, adamw_options{.lr = 1e-3}>(count, arguments, [](const contestant::arguments& given, auto steps_of) {
    const auto images = given.tensor<float>("images", 128 * 28 * 28);
    const auto classes = given.tensor<std::int32_t>("classes", 128);
    steps_of(bind<"images">(images), bind<"classes">(classes));
  });
}
