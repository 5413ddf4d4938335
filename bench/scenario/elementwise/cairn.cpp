#include "contestant.hpp"

using namespace cairn;

namespace {

constexpr auto chain = layer([](auto x) {
  const auto root = sqrt(square(tanh(x * 0.5_c + 0.1_c)) + 1_c);
  return square(exp(relu(sigmoid(root * x) - 0.6_c)));
});
constexpr auto loss = mean(ckpt<"chain", allow_useless>(chain, param<"x", 4096, 4096>));

template <class Program>
void run(const contestant::arguments& given) {
  Program step;
  given.load(step);
  // The forward pass and the backward pass read x. The gradient of x is written. Stored values are written and read.
  constexpr memory_plan plan = Program::memory();
  constexpr std::int64_t bytes = 2 * plan.parameter_bytes + plan.gradient_bytes + 2 * plan.stored_bytes;
  contestant::serve<Program>([&] { return step.value_and_grad(); }, bytes);
}

}  // namespace

int main(int count, char** arguments) {
  const contestant::arguments given(count, arguments);
  given.ckpt ? run<program<loss, threads<2>>>(given) : run<program<loss, plain, threads<2>>>(given);
}
