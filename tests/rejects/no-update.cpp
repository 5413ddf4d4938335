// rejects: cairn \[no-update\]: this program changes no parameters; give it a rule
// rejects: fact::operation<cairn::fixed_string<6>\{"train"\}>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  program<loss> step;
  step.init(seed{1});
#ifdef CAIRN_REJECT
  const float value = step.train({.lr = 1e-3}, bind<"x">(x));
#else
  const float value = step.value_and_grad(bind<"x">(x));
#endif
  return value > 0 ? 0 : 1;
}
