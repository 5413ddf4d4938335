// Shows how to checkpoint a U-Net: in the layer or in the block? In the block: each pair of convolutions is a segment.
// The way up reads results of the way down. These results are results of segments, and are stored. Their concatenation
// takes no memory, because convolutions with padding read the pieces in place. The program removes noise from the
// images of Fashion-MNIST, and shows some of them.
#include <exception>
#include <random>

#include "images.hpp"
#include "pictures.hpp"

using namespace cairn;

namespace {

constexpr int batch = 128, side = 28, pixels = side * side;

constexpr nn::window around{.padding = 1};
template <int Channels>
constexpr auto two_convolutions =
    nn::conv2d_without_bias<"conv1", Channels, 3, around> | nn::batch_norm<"bn1"> | nn::relu |
    nn::conv2d_without_bias<"conv2", Channels, 3, around> | nn::batch_norm<"bn2"> | nn::relu;
template <fixed_string Name, int Channels>
constexpr auto pair = ckpt<Name>(block<Name>(two_convolutions<Channels>));
/// Enlarges the image, and joins it with the result of the way down.
template <fixed_string Name, int Channels>
constexpr auto joined = [](auto small, auto beside) {
  const auto large = small | nn::conv_transpose2d<"up", Channels, 2, nn::window{.stride = 2}>;
  return concatenate<-1>(large, beside) | two_convolutions<Channels>;
};
template <fixed_string Name, int Channels>
constexpr auto up(auto small, auto beside) {
  return ckpt<Name>([](auto a, auto b) { return block<Name>(joined<Name, Channels>, a, b); }, small, beside);
}

template <int B>
constexpr auto cleaned = [] {
  const auto whole = reshape<B, side, side, 1>(input<"images", B, pixels>) | pair<"down1", 16>;
  const auto half = whole | nn::max_pool2d<2> | pair<"down2", 32>;
  const auto bottom = half | nn::max_pool2d<2> | pair<"bottom", 64>;
  return reshape<B, pixels>(up<"up1", 16>(up<"up2", 32>(bottom, half), whole) | nn::conv2d<"out", 1, 1>);
}();
constexpr auto loss = mse(cleaned<batch>, input<"wanted", batch, pixels>);

constexpr int most_threads = 4;
using checkpointed = program<loss, update<adamw_options{}>, training::at_most<most_threads>>;
using unchecked = program<loss, update<adamw_options{}>, plain, training::at_most<most_threads>>;

/// Returns images {batch, pixels} with noise. Equal seeds give equal noise.
std::vector<float> with_noise(const auto& images, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::normal_distribution<float> noise(0, 0.7F);  // the pixels have deviation 1
  std::vector<float> out(images.begin(), images.end());
  for (float& x : out) x += noise(draw);
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto given = training::read(argc, argv,
                                    {.name = "unet",
                                     .about = "Trains a U-Net to remove noise from the images of Fashion-MNIST. Each "
                                              "pair of convolutions is a segment. Writes ten images to unet.pgm: with "
                                              "noise, cleaned, and original.",
                                     .epochs = 2,
                                     .lr = 2e-3,
                                     .threads = training::cores(most_threads)});
  const auto set = data::fashion_mnist(given.data);
  const auto go = [](auto& step, double lr, const auto& x, const auto&) {
    const auto drawn = step.random().from.value + static_cast<std::uint64_t>(step.steps());
    return step.train({.lr = lr}, bind<"images">(with_noise(x, drawn)), bind<"wanted">(x));
  };
  const auto [x, y] = *data::batches<batch>(set.train).begin();
  const auto noisy = with_noise(x, given.seed);
  training::compare<checkpointed, unchecked>(given, bind<"images">(noisy), bind<"wanted">(x));
  checkpointed step;
  const auto judge = [&set](checkpointed& trained) {
    predictor<cleaned<batch>> clean{trained};
    double before = 0, after = 0;
    std::vector<std::vector<float>> shown;
    for (auto [images, unused] : data::batches<batch>(set.test)) {
      const auto worse = with_noise(images, 0);
      const auto better = clean(bind<"images">(worse));
      if (shown.empty()) shown = {worse, {better.begin(), better.end()}, {images.begin(), images.end()}};
      for (std::size_t i = 0; i < worse.size(); ++i) {
        const auto square = [](float error) { return double{error} * double{error}; };
        before += square(worse[i] - images.data()[i]);
        after += square(better.data()[i] - images.data()[i]);
      }
    }
    examples::write("unet.pgm", shown, side);
    std::printf("noise: %.1f %% of what it was, %.1f dB less; images in unet.pgm\n", 100 * std::sqrt(after / before),
                10 * std::log10(before / after));
    return std::sqrt(after / before);
  };
  training::train_on<batch>(set.train, step, given, false, go, judge, bind<"images">(noisy), bind<"wanted">(x));
} catch (const std::exception& e) {
  std::cerr << "unet: " << e.what() << '\n';
  return 1;
}
