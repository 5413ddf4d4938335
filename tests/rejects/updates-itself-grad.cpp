// rejects: cairn \[updates-itself\]: a program with update<\.\.\.> changes its parameters itself, by train
// rejects: fact::parameter<cairn::fixed_string<8>\{"fc.bias"\}>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
#ifdef CAIRN_REJECT
  step.train({.lr = 1e-3}, bind<"x">(x));
  const float value = step.grad<"fc.bias">()(0);
#else
  step.train({.lr = 1e-3}, bind<"x">(x));
  const float value = step.param<"fc.bias">()(0);
#endif
  return value > 0 ? 0 : 1;
}
