// rejects: cairn \[kind-mismatch\]: the array has other elements than the input
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>
// rejects: expected<float>
// rejects: got<double>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  program<loss> step;
#ifdef CAIRN_REJECT
  double x[4] = {1, 2, 3, 4};
#else
  float x[4] = {1, 2, 3, 4};
#endif
  float value = step.value_and_grad(bind<"x">(x));
  return value > 0;
}
