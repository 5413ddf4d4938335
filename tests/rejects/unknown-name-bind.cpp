// rejects: cairn \[unknown-name\]: the model has nothing of this name
// rejects: fact::input<cairn::fixed_string<2>\{"y"\}>
// rejects: fact::nearest<cairn::fixed_string<2>\{"x"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  program<loss> step;
  float x[4] = {1, 2, 3, 4};
#ifdef CAIRN_REJECT
  float value = step.value_and_grad(bind<"y">(x));
#else
  float value = step.value_and_grad(bind<"x">(x));
#endif
  return value > 0;
}
