// A diffusion model (Ho, Jain and Abbeel, 2020) learns to draw the clothes of Fashion-MNIST by the codes of an
// autoencoder (Rombach et al., 2022), which is that of vae.cpp. A code is mixed with noise: cos(a) code + sin(a) noise,
// where the angle a grows with the time t. A net learns to find the noise in the mixture. Sampling begins with noise and
// removes a part of it at each time. The decoder draws what is left. An argument is the number of training steps.
#include <cairn/cairn.hpp>
#include <cairn/data/augment.hpp>
#include <cairn/data/idx.hpp>
#include <cstdio>
#include <numbers>
#include <ranges>

#include "pictures.hpp"

using namespace cairn;

namespace {

constexpr int batch = 128, drawn = 40, side = 28, pixels = side * side, features = 16, times = 100;
constexpr double turn = std::numbers::pi / 2 / times;

constexpr auto encoder = block<"encoder">(nn::linear<"fc1", 400> | nn::relu | nn::linear<"fc2", 2 * features>);
constexpr auto decoder = block<"decoder">(nn::linear<"fc1", 400> | nn::relu | nn::linear<"fc2", pixels>);
constexpr auto branch = nn::layer_norm<"norm"> | nn::linear<"up", 512> | nn::silu | nn::linear<"down", 256>;
constexpr auto find_noise = [](auto mixed, auto time) {
  const auto hidden = (mixed | nn::linear<"in", 256>)+(time | nn::embedding<"time", 256>);
  return hidden | repeat<3, "layer">([](auto) { return nn::residual(branch); }) | nn::linear<"out", features>;
};
/// The angle of each time, from almost 0 to almost a quarter of a turn.
constexpr auto angle_at = [](auto time) { return unsqueeze<1>((as_real(time) + 0.5_c) * constant<turn>); };

constexpr auto loss = [] {
  const auto images = input<"images", batch, pixels>;
  const auto [mean, log_variance] = split<-1, 2>(images | encoder);
  const auto code = mean + exp(0.5_c * log_variance) * random_normal<"eps", batch, features>;
  const auto image_nats = constant<pixels> * binary_cross_entropy_with_logits(code | decoder, images);
  const auto code_nats = 0.5_c / constant<batch> * sum(square(mean) + exp(log_variance) - log_variance - 1_c);
  const auto time = indices<"time", times, batch>;
  const auto noise = random_normal<"noise", batch, features>;
  const auto mixed = cos(angle_at(time)) * detach(code) + sin(angle_at(time)) * noise;
  return image_nats + code_nats + mse(block<"net">(find_noise, mixed, time), noise);
}();
constexpr auto less_noisy = [] {  // the mixture of the time before
  const auto mixed = input<"mixed", drawn, features>;
  const auto time = indices<"time", times, drawn>;
  const auto noise = block<"net">(find_noise, mixed, time);
  const auto angle = angle_at(time);
  const auto code = clamp((mixed - sin(angle) * noise) / cos(angle), -4_c, 4_c);
  return cos(angle - constant<turn>) * code + sin(angle - constant<turn>) * noise;
}();

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::stoi(argv[1]) : 3000;
  const auto set = data::fashion_mnist("/usr/share/datasets/fashion-mnist", data::pixels::from_0_to_1);
  program<loss, update<adamw_options{.lr = 1e-3}>> step;
  step.init(seed{1});
  random_sequence random(seed{2}, 0);
  std::vector<std::int32_t> time(batch);
  sample_mean mean_loss;
  for (int epoch = 0, done = 0; done < steps; ++epoch)
    for (auto [x, y] : data::batches<batch>(set.train, seed{1}, epoch) | std::views::take(steps - done)) {
      for (auto& t : time) t = static_cast<std::int32_t>(random.below(times));
      mean_loss.add(step.train(bind<"images">(x), bind<"time">(time)), batch);
      if (++done % 500 == 0) std::printf("step %4d  loss %.1f\n", done, std::exchange(mean_loss, {}).value());
    }

  predictor<less_noisy> remove_noise{step};
  std::vector<float> code(drawn * features);
  data::add_noise({code.data(), {drawn, features}}, 1, random);
  for (std::int32_t t = times; t-- > 0;)
    std::ranges::copy(remove_noise(bind<"mixed">(code), bind<"time">(std::vector(drawn, t))), code.begin());
  predictor<sigmoid(input<"code", drawn, features> | decoder)> draw{step};
  const auto clothes = draw(bind<"code">(code));
  std::vector<std::vector<float>> rows;
  for (auto at = clothes.begin(); at != clothes.end(); at += 10 * pixels) rows.emplace_back(at, at + 10 * pixels);
  examples::write("diffusion.pgm", rows, side);
  std::puts("diffusion.pgm: forty drawn clothes");
}
