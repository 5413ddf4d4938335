// rejects: cairn \[missing-input\]: the model reads this input, but no bind<\.\.\.> gives it
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  program<loss> step;
#ifdef CAIRN_REJECT
  float value = step.value_and_grad();
#else
  float value = step.value_and_grad(bind<"x">(std::array<float, 4>{}));
#endif
  return value > 0;
}
