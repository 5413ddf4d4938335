// Trains a network of eight checkpointed blocks, whose memory is a constant.
#include <cairn/cairn.hpp>
#include <cairn/data/idx.hpp>
#include <cstdio>
#include <ranges>

using namespace cairn;
constexpr auto images = input<"images", 128, 784>;    // a batch; needs no gradient
constexpr auto classes = labels<"classes", 10, 128>;  // 128 class indices in [0, 10)

// The interior of each "ff" is recomputed in the backward pass, and never stored.
constexpr auto feed_forward = nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>;
constexpr auto blocks = repeat<8, "block">([](auto) { return ckpt<"ff">(nn::residual(feed_forward)); });
constexpr auto model = nn::linear<"embed", 256> | blocks | nn::linear<"head", 10>;

constexpr auto loss = cross_entropy(images | model, classes);

using train_step = program<loss>;
static_assert(train_step::memory().peak_bytes <= 2400_KiB);        // exact, and known before it runs
static_assert(program<loss, plain>::memory().peak_bytes > 5_MiB);  // the same model without ckpt

int main() {
  const auto set = data::fashion_mnist();
  train_step step;  // one allocation: arena, parameters, gradients
  step.init(seed{42});
  adamw optimizer{step, {.lr = 5e-4}};
  int done = 0;
  for (auto [x, y] : data::batches<128>(set.train, seed{42}, 0) | std::views::take(100)) {
    const float l = step.value_and_grad(bind<"images">(x), bind<"classes">(y));
    optimizer.update();
    if (++done % 50 == 0) std::printf("step %3d  loss %.3f\n", done, l);
  }
  auto w = step.param<"block.0.fc1.weight">();  // views, shape {1024, 256}
  auto g = step.grad<"block.0.fc1.weight">();
  std::printf("block.0.fc1.weight(0, 0) is %.4f, its gradient %.1e\n", w(0, 0), g(0, 0));
}
