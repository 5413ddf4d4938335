// DenseNet-121 with the shapes of ImageNet. Each layer is a segment that reads the results of all layers before it. The
// program is compiled and never run.
#include <cairn/cairn.hpp>

using namespace cairn;

constexpr auto joined = [](auto first, auto... more) {
  if constexpr (sizeof...(more) == 0) return first;
  else return concatenate<-1>(first, more...);
};
constexpr auto bottleneck = nn::batch_norm<"norm1"> | nn::relu | nn::conv2d_without_bias<"conv1", 128, 1> |
                            nn::batch_norm<"norm2"> | nn::relu |
                            nn::conv2d_without_bias<"conv2", 32, 3, nn::window{.padding = 1}>;
template <int Layer>
constexpr auto name_of = fixed_string{"denselayer"} + cairn::detail::digits<Layer>;
template <int Layers, int Layer = 1>
constexpr auto dense_block(auto... made) {
  if constexpr (Layer > Layers) {
    return joined(made...);
  } else {
    constexpr auto layer_of = [](auto... all) { return joined(all...) | block<name_of<Layer>>(bottleneck); };
    return dense_block<Layers, Layer + 1>(made..., ckpt<name_of<Layer>>(layer_of, made...));
  }
}
template <fixed_string Name, int Layers>
constexpr auto dense = block<Name>(layer([](auto x) { return dense_block<Layers>(x); }));
template <fixed_string Name, int Channels>
constexpr auto transition = block<Name>(nn::batch_norm<"norm"> | nn::relu |
                                        nn::conv2d_without_bias<"conv", Channels, 1> | nn::avg_pool2d<2>);
constexpr auto model = nn::conv2d_without_bias<"conv0", 64, 7, nn::window{.stride = 2, .padding = 3}> |
                       nn::batch_norm<"norm0"> | nn::relu | nn::max_pool2d<3, nn::window{.stride = 2, .padding = 1}> |
                       dense<"denseblock1", 6> | transition<"transition1", 128> | dense<"denseblock2", 12> |
                       transition<"transition2", 256> | dense<"denseblock3", 24> | transition<"transition3", 512> |
                       dense<"denseblock4", 16> | nn::batch_norm<"norm5"> | nn::relu | nn::global_average |
                       nn::linear<"classifier", 1000>;
constexpr auto loss = cross_entropy(input<"images", 2, 224, 224, 3> | model, labels<"classes", 1000, 2>);

int main() {
  program<loss> step;
  step.init(seed{1});
  const std::vector<float> images(2 * 224 * 224 * 3, 0.5F);
  const std::vector<std::int32_t> classes(2);
  return step.value_and_grad(bind<"images">(images), bind<"classes">(classes)) > 0 ? 0 : 1;
}
