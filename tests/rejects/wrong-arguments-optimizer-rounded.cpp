// rejects: cairn \[wrong-arguments\]: an optimizer changes floats, and parameters of mixed<bf16, stochastic_rounding>
// rejects: given<cairn::bf16>
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 8, 4> | nn::linear<"fc", 3>);

#ifdef CAIRN_REJECT
using trained = program<loss, mixed<bf16, stochastic_rounding>>;
#else
using trained = program<loss, mixed<bf16>>;
#endif

void train(trained& step) {
  adamw optimizer{step, {.lr = 1e-3}};
  step.value_and_grad(bind<"x">(std::array<float, 32>{}));
  optimizer.update();
}
