// Shows how to checkpoint a ResNet: in the layer or in the block? In the block: each block of two convolutions is a
// segment. The segment stores its input. It recomputes the norms, relus and convolutions inside. If a block halves the
// image, its shortcut is a projection, which also lies inside the segment. The program trains on Fashion-MNIST.
#include "images.hpp"

using namespace cairn;

namespace {

using training::batch, training::test_batch;

template <int Channels, int Stride>
constexpr auto two_convolutions =
    nn::conv2d_without_bias<"conv1", Channels, 3, nn::window{.stride = Stride, .padding = 1}> | nn::batch_norm<"bn1"> |
    nn::relu | nn::conv2d_without_bias<"conv2", Channels, 3, nn::window{.padding = 1}> | nn::batch_norm<"bn2">;
template <int Channels>
constexpr auto projection =
    block<"downsample">(nn::conv2d_without_bias<"0", Channels, 1, nn::window{.stride = 2}> | nn::batch_norm<"1">);

template <fixed_string Name, int Channels>
constexpr auto same = ckpt<Name>(block<Name>(nn::residual(two_convolutions<Channels, 1>) | nn::relu));
template <fixed_string Name, int Channels>
constexpr auto halved =
    ckpt<Name>(block<Name>(nn::residual(two_convolutions<Channels, 2>, projection<Channels>) | nn::relu));

constexpr auto model = nn::conv2d_without_bias<"conv1", 16, 3, nn::window{.padding = 1}> | nn::batch_norm<"bn1"> |
                       nn::relu | same<"layer1.0", 16> | same<"layer1.1", 16> | halved<"layer2.0", 32> |
                       same<"layer2.1", 32> | halved<"layer3.0", 64> | same<"layer3.1", 64> | nn::global_average |
                       nn::linear<"fc", 10>;
template <int B>
constexpr auto logits = reshape<B, 28, 28, 1>(input<"images", B, 784>) | model;
template <int B>
constexpr auto classes = labels<"classes", 10, B>;
constexpr auto loss = cross_entropy(logits<batch>, classes<batch>);

constexpr int most_threads = 4;
using checkpointed = program<loss, update<adamw_options{}>, training::at_most<most_threads>>;
using unchecked = program<loss, update<adamw_options{}>, plain, training::at_most<most_threads>>;

}  // namespace

int main(int argc, char** argv) {
  constexpr auto rate = accuracy(logits<test_batch>, classes<test_batch>);
  return training::classify<rate, checkpointed, unchecked>(
      argc, argv,
      {.name = "resnet",
       .about = "Trains a ResNet on Fashion-MNIST. Each block is a segment.",
       .epochs = 4,
       .lr = 4e-3,
       .threads = training::cores(most_threads)});
}
