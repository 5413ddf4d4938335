// rejects: cairn \[useless-segment\]: this segment frees no more bytes than the boundaries and results
// options: -O0
#include "cairn/misuse/table.hpp"
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto act = layer([](auto x) { return sigmoid(tanh(x)); });
#ifdef CAIRN_REJECT
constexpr auto model = nn::linear<"fc", 4> | ckpt<"act">(act) | nn::linear<"out", 4>;
#else
constexpr auto model = nn::linear<"fc", 4> | ckpt<"act", allow_useless>(act) | nn::linear<"out", 4>;
#endif
constexpr auto loss = mean(square(input<"x", 8, 4> | model));

float stepped(const std::vector<float>& x) {
  program<loss> step;
  return step.value_and_grad(bind<"x">(x));
}
