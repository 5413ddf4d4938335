// rejects: cairn \[shape-mismatch\]: extents, from the last on, must be equal or 1
// rejects: fact::in<cairn::fixed_string<11>\{"block\.0\.ff"\}>
// rejects: operation<cairn::fixed_string<21>\{"add\(argument 0, out\)"\}, float ?\[4\]\[8\], float ?\[4\]\[6\]>
#include <cairn/cairn.hpp>
#include <cairn/data/batches.hpp>
#include <cairn/train/loop.hpp>

using namespace cairn;

// A whole program made of the mistake: one error, and all else is silent.
#ifdef CAIRN_REJECT
constexpr int width = 6;
#else
constexpr int width = 8;
#endif

constexpr auto inner = nn::linear<"fc", 16> | nn::gelu | nn::linear<"out", width>;
constexpr auto model = repeat<3, "block">([](auto) { return ckpt<"ff">(nn::residual(inner)); }) | nn::linear<"head", 5>;
constexpr auto logits = input<"x", 4, 8> | model;
constexpr auto classes = labels<"y", 5, 4>;
constexpr auto loss = cross_entropy(logits, classes);

using train_step = program<outputs(loss, accuracy(logits, classes)), freeze<"head">>;
static_assert(train_step::memory().peak_bytes <= 1_MiB && train_step::flops().total() >= 0);

void run(train_step& step, const data::dataset& set) {
  train::loop loop{step, {.epochs = 2, .folder = "run", .average = "average"}};
  loop([&](int epoch) { return data::batches<4>(set, seed{1}, epoch); },
       [&](double, const auto& b) { return std::get<0>(step.value_and_grad(bind<"x">(b.images), bind<"y">(b.labels))); },
       [] { return 0.5; });
}

int main() {
  train_step step;
  step.init(seed{42});
  run(step, {});
  step.save("run.safetensors", file::metadata{{"data", "the second half"}});
  const file::metadata texts = step.load("run.safetensors");
  step.load("run.safetensors", partly{"block"});
  adamw optimizer{step, {.lr = 5e-4f}};
  predictor<logits> predict{step};
  std::vector<float> x(4 * 8);
  std::vector<std::int32_t> y(4);
  auto [value, hits] = step.value_and_grad(bind<"x">(x), bind<"y">(y));
  optimizer.update();
  float norm = 0;
  for (float g : step.gradients()) norm += g * g;
  auto w = step.param<"block.0.fc.weight">();
  auto g = step.grad<"block.0.fc.weight">();
  auto out = predict(bind<"x">(x));
  return static_cast<float>(texts.size()) + value + hits + norm + w(1, 2) + g(1, 2) + out(3, 4) > 0;
}
