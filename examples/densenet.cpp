// Shows how to checkpoint a DenseNet: in the layer or in the block? Each layer reads the results of all earlier
// layers. In this program each layer is a segment whose arguments are these results. A segment stores the few channels
// that it computes. The backward pass recomputes the concatenation and the normalization of the earlier results. The
// concatenation takes no memory, because norms read the pieces in place. Stored bytes therefore grow linearly with the
// depth, not with its square (Pleiss et al., Memory-Efficient Implementation of DenseNets, 2017). The program trains
// three dense blocks of six layers on Fashion-MNIST.
#include "images.hpp"

using namespace cairn;

namespace {

using training::batch, training::test_batch;

constexpr int growth = 12;

constexpr auto joined = [](auto first, auto... more) {
  if constexpr (sizeof...(more) == 0) return first;
  else return concatenate<-1>(first, more...);
};
constexpr auto bottleneck = nn::batch_norm<"norm1"> | nn::relu | nn::conv2d_without_bias<"conv1", 4 * growth, 1> |
                            nn::batch_norm<"norm2"> | nn::relu |
                            nn::conv2d_without_bias<"conv2", growth, 3, nn::window{.padding = 1}>;
template <int Layer>
constexpr auto name_of = fixed_string{"denselayer"} + cairn::detail::digits<Layer>;
/// Builds the layers from number `Layer` to 6. Each layer is a segment that reads the results of all earlier layers.
template <int Layer = 1>
constexpr auto dense_block(auto... made) {
  if constexpr (Layer > 6) {
    return joined(made...);
  } else {
    constexpr auto layer_of = [](auto... all) { return joined(all...) | block<name_of<Layer>>(bottleneck); };
    return dense_block<Layer + 1>(made..., ckpt<name_of<Layer>>(layer_of, made...));
  }
}
template <fixed_string Name>
constexpr auto dense = block<Name>(layer([](auto x) { return dense_block(x); }));
/// Halves the channels and both sides of the image.
template <fixed_string Name, int Channels>
constexpr auto transition =
    block<Name>(nn::batch_norm<"norm"> | nn::relu | nn::conv2d_without_bias<"conv", Channels, 1> | nn::avg_pool2d<2>);

constexpr auto model = nn::conv2d_without_bias<"conv0", 2 * growth, 3, nn::window{.padding = 1}> |
                       dense<"denseblock1"> | transition<"transition1", 4 * growth> | dense<"denseblock2"> |
                       transition<"transition2", 5 * growth> | dense<"denseblock3"> | nn::batch_norm<"norm5"> |
                       nn::relu | nn::global_average | nn::linear<"classifier", 10>;
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
      {.name = "densenet",
       .about = "Trains a DenseNet on Fashion-MNIST. Each layer is a segment.",
       .epochs = 3,
       .lr = 4e-3,
       .threads = training::cores(most_threads)});
}
