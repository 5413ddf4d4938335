#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::residual(nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>);
constexpr auto model = repeat<8, "block">([](auto) { return ckpt<"ff">(feed_forward); });
constexpr auto loss = mean(square(input<"x", 2048, 256> | model));

template <class Program>
void run(const contestant::arguments& given) {
  Program step;
  given.load(step);
  const auto x = given.tensor<float>("x", 2048 * 256);
  contestant::serve<Program>([&] { return step.value_and_grad(bind<"x">(x)); });
}

}  // namespace

int main(int count, char** arguments) {
  const contestant::arguments given(count, arguments);
  given.ckpt ? run<program<loss, threads<2>>>(given) : run<program<loss, plain, threads<2>>>(given);
}
