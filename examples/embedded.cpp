// Training without a heap: all memory is a static array, and the compiler knows its size. The program learns to tell
// the two halves of a spiral apart. It does not compile if the model ever becomes too large for its device.
#include <cairn/embedded.hpp>
#include <cmath>
#include <cstdio>

using namespace cairn;

namespace {

constexpr int batch = 64;
constexpr auto layer_of_32 = ckpt<"hidden">(nn::residual(nn::linear<"fc", 32> | nn::gelu));
constexpr auto network =
    nn::linear<"in", 32> | nn::tanh | block<"a">(layer_of_32) | block<"b">(layer_of_32) | nn::linear<"out", 2>;
constexpr auto logits = input<"point", batch, 2> | network;
constexpr auto loss = cross_entropy(logits, labels<"half", 2, batch>);
constexpr auto rate = accuracy(logits, labels<"half", 2, batch>);

using train_step = program<outputs(loss, rate)>;
static_assert(train_step::memory().parameter_bytes <= 64_KiB);
static_assert(train_step::memory().total_bytes() <= 96_KiB);

alignas(memory_alignment) std::byte memory[train_step::memory().total_bytes()];

}  // namespace

int main() {
  train_step step{memory};
  step.init(seed{1});
  float points[batch][2];
  std::int32_t halves[batch];
  float smooth = 0;
  for (int i = 0; i < 3000; ++i) {
    random_sequence draw(seed{2}, static_cast<std::uint64_t>(i));
    for (int k = 0; k < batch; ++k) {
      halves[k] = k % 2;
      const float turn = 1.5F * uniform(draw());
      const float angle = 6.2832F * (turn + 0.5F * static_cast<float>(halves[k]));
      points[k][0] = turn * std::cos(angle);
      points[k][1] = turn * std::sin(angle);
    }
    const auto [l, right] = step.value_and_grad(bind<"point">(points), bind<"half">(halves));
    const std::span<const float> gradients = step.gradients();
    const std::span<float> parameters = step.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p] -= 0.3F * gradients[p];  // plain gradient descent
    smooth += (right - smooth) * 0.02F;
    if ((i + 1) % 500 == 0)
      std::printf("step %4d  loss %.3f  right %.0f %%\n", i + 1, static_cast<double>(l),
                  100 * static_cast<double>(smooth));
  }
  std::printf("%zu bytes in all, none of them from the heap\n", sizeof memory);
}
