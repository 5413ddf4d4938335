#include <utility>

#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr auto feed_forward = nn::residual(nn::linear<"fc1", 1024> | nn::gelu | nn::linear<"fc2", 256>);
constexpr auto model = repeat<8, "block">([](auto) { return ckpt<"ff">(feed_forward); });
constexpr auto loss = mean(square(input<"x", 2048, 256> | model));

template <fixed_string Block>
void load_block(const contestant::arguments& given, auto& step) {
  given.load<Block + fixed_string{".fc1.weight"}, Block + fixed_string{".fc1.bias"},
             Block + fixed_string{".fc2.weight"}, Block + fixed_string{".fc2.bias"}>(step);
}

template <class Program>
void run(const contestant::arguments& given) {
  Program step;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (load_block<fixed_string{"block."} + digits<I>>(given, step), ...);
  }(std::make_integer_sequence<int, 8>{});
  const auto x = given.tensor<float>("x", 2048 * 256);
  contestant::serve<Program>([&] { return step.value_and_grad(bind<"x">(x)); });
}

}  // namespace

int main(int count, char** arguments) {
  const contestant::arguments given(count, arguments);
  given.ckpt ? run<program<loss, threads<2>>>(given) : run<program<loss, plain, threads<2>>>(given);
}
