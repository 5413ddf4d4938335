// Trains the imported model.
#include "model.hpp"

#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>

#include <cstdio>

using namespace cairn;

int main() {
  digits::train_step step;
  static_cast<void>(step.load("weights.safetensors"));
  adamw optimizer{step, {.lr = 1e-3}};
  // One batch, with which the model was imported. Put yours in its place.
  const auto images = data::read_safetensors<float>("numbers.safetensors", "inputs/images").values;
  const auto labels_ = data::read_safetensors<std::int32_t>("numbers.safetensors", "inputs/labels").values;
  for (int i = 1; i <= 100; ++i) {
    const float loss = step.value_and_grad(bind<"images">(images), bind<"labels">(labels_));
    optimizer.update();
    if (i % 10 == 0) std::printf("step %d  loss %.4f\n", i, static_cast<double>(loss));
  }
  step.save("trained.safetensors");
}
