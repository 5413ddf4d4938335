// rejects: cairn \[updates-itself\]: a program with update<\.\.\.> changes its parameters itself, by train
// rejects: fact::operation<cairn::fixed_string<10>\{"optimizer"\}, float>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto loss = mean(square(input<"x", 8, 4> | nn::linear<"fc", 2>));
const std::vector<float> x(8 * 4);

int main() {
  program<loss, update<sgd_options{}>> step;
  step.init(seed{1});
#ifdef CAIRN_REJECT
  sgd optimizer{step, {.lr = 1e-3}};
  const float value = step.train(bind<"x">(x));
  optimizer.update();
#else
  const float value = step.train({.lr = 1e-3}, bind<"x">(x));
#endif
  return value > 0 ? 0 : 1;
}
