// Trains the imported model.
#include "model.hpp"

#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>

#include <cstdio>

using namespace cairn;

int main() {
  small_gpt::train_step step;
  static_cast<void>(step.load("weights.safetensors"));
  adamw optimizer{step, {.lr = 1e-3}};
  // One batch, with which the model was imported. Put yours in its place.
  const auto text = data::read_safetensors<std::int32_t>("numbers.safetensors", "inputs/text").values;
  const auto following = data::read_safetensors<std::int32_t>("numbers.safetensors", "inputs/following").values;
  for (int i = 1; i <= 100; ++i) {
    const float loss = step.value_and_grad(bind<"text">(text), bind<"following">(following));
    optimizer.update();
    if (i % 10 == 0) std::printf("step %d  loss %.4f\n", i, static_cast<double>(loss));
  }
  step.save("trained.safetensors");
}
