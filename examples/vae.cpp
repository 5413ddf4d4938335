// A variational autoencoder (Kingma and Welling, 2014) learns to draw the clothes of Fashion-MNIST. The encoder turns an
// image into the mean and the variance of a code of 16 numbers. The decoder draws the image from a random code. The loss
// is minus the evidence lower bound (ELBO): the nats that the image takes if its code is known, and the nats of the code.
// An argument is the number of training steps.
#include <cairn/cairn.hpp>
#include <cairn/data/augment.hpp>
#include <cairn/data/idx.hpp>
#include <cstdio>
#include <cstdlib>
#include <ranges>

#include "pictures.hpp"

using namespace cairn;

namespace {

constexpr int batch = 128, side = 28, pixels = side * side, features = 16;

constexpr auto encoder = block<"encoder">(nn::linear<"fc1", 400> | nn::relu | nn::linear<"fc2", 2 * features>);
constexpr auto decoder = block<"decoder">(nn::linear<"fc1", 400> | nn::relu | nn::linear<"fc2", pixels>);

/// The mean and the logarithm of the variance of the codes of images.
template <int B>
constexpr auto code_of = split<-1, 2>(input<"images", B, pixels> | encoder);
/// Training draws a code for each image. A predictor draws nothing and takes the mean.
template <int B>
constexpr auto logits = [] {
  const auto [mean, log_variance] = code_of<B>;
  return in_training(mean + exp(0.5_c * log_variance) * random_normal<"eps", B, features>, mean) | decoder;
}();
constexpr auto image_nats =
    constant<pixels> * binary_cross_entropy_with_logits(logits<batch>, input<"images", batch, pixels>);
/// The Kullback-Leibler divergence of the distribution of codes from the standard normal distribution.
constexpr auto code_nats = [] {
  const auto [mean, log_variance] = code_of<batch>;
  return 0.5_c / constant<batch> * sum(square(mean) + exp(log_variance) - log_variance - 1_c);
}();
using train_step = program<outputs(image_nats + code_nats, code_nats), update<adamw_options{.lr = 2e-3}>>;

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 2000;
  const auto set = data::fashion_mnist("/usr/share/datasets/fashion-mnist", data::pixels::from_0_to_1);
  train_step step;
  step.init(seed{1});
  sample_mean nats, of_codes;
  for (int epoch = 0, done = 0; done < steps; ++epoch)
    for (auto [x, y] : data::batches<batch>(set.train, seed{1}, epoch) | std::views::take(steps - done)) {
      const auto [loss, of_code] = step.train(bind<"images">(x));
      nats.add(loss, batch);
      of_codes.add(of_code, batch);
      if (++done % 400 != 0 && done != steps) continue;
      std::printf("step %4d  ELBO %.1f nats, of which a code takes %.1f\n", done, -nats.value(), of_codes.value());
      nats = of_codes = {};
    }

  constexpr int shown = 10, drawn = 2 * shown;
  predictor<sigmoid(input<"code", drawn, features> | decoder)> draw{step};
  predictor<sigmoid(logits<shown>)> draw_again{step};
  std::vector<float> codes(drawn * features);
  random_sequence random(seed{2}, 0);
  data::add_noise({codes.data(), {drawn, features}}, 1, random);
  const auto clothes = draw(bind<"code">(codes));
  const auto [images, unused] = *data::batches<shown>(set.test).begin();
  const auto again = draw_again(bind<"images">(images));
  const std::vector<std::vector<float>> rows{{clothes.begin(), clothes.begin() + shown * pixels},
                                             {clothes.begin() + shown * pixels, clothes.end()},
                                             {again.begin(), again.end()},
                                             {images.begin(), images.end()}};
  examples::write("vae.pgm", rows, side);
  std::puts("vae.pgm: two rows of drawn clothes, clothes that are drawn from their codes, and these clothes");
}
