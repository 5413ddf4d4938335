// ResNet-50 with the shapes of ImageNet. Each block is a segment. The program is compiled and never run.
#include <cairn/cairn.hpp>

using namespace cairn;

template <int Channels, int Stride>
constexpr auto bottleneck = nn::conv2d_without_bias<"conv1", Channels, 1> | nn::batch_norm<"bn1"> | nn::relu |
                            nn::conv2d_without_bias<"conv2", Channels, 3, nn::window{.stride = Stride, .padding = 1}> |
                            nn::batch_norm<"bn2"> | nn::relu | nn::conv2d_without_bias<"conv3", 4 * Channels, 1> |
                            nn::batch_norm<"bn3">;
template <int Channels, int Stride>
constexpr auto projection = block<"downsample">(
    nn::conv2d_without_bias<"0", 4 * Channels, 1, nn::window{.stride = Stride}> | nn::batch_norm<"1">);
template <int Channels, int Stride>
constexpr auto first = nn::residual(bottleneck<Channels, Stride>, projection<Channels, Stride>) | nn::relu;
template <int Channels>
constexpr auto same = nn::residual(bottleneck<Channels, 1>) | nn::relu;
template <fixed_string Name, int Blocks, int Channels, int Stride>
constexpr auto stage = repeat<Blocks, Name>([](auto i) {
  if constexpr (i == 0) return ckpt<"block">(first<Channels, Stride>);
  else return ckpt<"block">(same<Channels>);
});
constexpr auto model = nn::conv2d_without_bias<"conv1", 64, 7, nn::window{.stride = 2, .padding = 3}> |
                       nn::batch_norm<"bn1"> | nn::relu | nn::max_pool2d<3, nn::window{.stride = 2, .padding = 1}> |
                       stage<"layer1", 3, 64, 1> | stage<"layer2", 4, 128, 2> | stage<"layer3", 6, 256, 2> |
                       stage<"layer4", 3, 512, 2> | nn::global_average | nn::linear<"fc", 1000>;
constexpr auto loss = cross_entropy(input<"images", 2, 224, 224, 3> | model, labels<"classes", 1000, 2>);

int main() {
  program<loss> step;
  step.init(seed{1});
  const std::vector<float> images(2 * 224 * 224 * 3, 0.5F);
  const std::vector<std::int32_t> classes(2);
  return step.value_and_grad(bind<"images">(images), bind<"classes">(classes)) > 0 ? 0 : 1;
}
