// A program for a device. It needs one header, and memory of a size that the compiler counts. It uses no exceptions. If
// the memory is too small, the program reports this by the user's function, or, with an argument on the command line,
// by cairn's.
#include <cairn/embedded.hpp>

namespace {

constexpr auto body = cairn::repeat<2, "block">(
    [](auto) { return cairn::ckpt<"ff">(cairn::nn::linear<"fc", 6> | cairn::nn::gelu | cairn::nn::dropout<"d", 0.1>); });
constexpr auto logits = cairn::input<"x", 4, 3> | body;
constexpr auto loss = cairn::cross_entropy(logits, cairn::labels<"y", 6, 4>);
using train_step = cairn::program<cairn::outputs(loss, cairn::max<-1>(logits)), cairn::check_finite>;

constexpr std::size_t size = train_step::memory().total_bytes();
alignas(cairn::memory_alignment) std::byte memory[size];

}  // namespace

int main(int count, char**) {
  train_step step{memory};
  step.init(cairn::seed{1});
  const auto weight = step.param<"block.1.fc.weight">();
  weight(5, 0) = 0.25F;
  cairn::sgd optimizer{step, {.lr = 1}};
  const float x[4][3]{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
  const std::int32_t y[4]{0, 1, 2, 3};
  const auto loss_now = [&] { return std::get<0>(step.value_and_grad(cairn::bind<"x">(x), cairn::bind<"y">(y))); };
  const float first = loss_now();
  for (int i = 0; i < 50; ++i) {
    optimizer.update();
    loss_now();
  }
  const float last = loss_now();
  std::printf("loss %.4f, then %.4f\n", double{first}, double{last});
  if (last > first / 2 || weight(5, 0) == 0.25F) return 1;

  if (count == 1) {
    cairn::on_refusal = [](const char* text) {
      std::printf("refused: %s\n", text);
      std::exit(0);
    };
  }
  train_step too_large{std::span(memory).first<size - 1>()};
  return 2;
}
