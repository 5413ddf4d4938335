// rejects: cairn \[unknown-name\]: this input has no gradient in this program; ask for it with the option wrt<"name">
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
#ifdef CAIRN_REJECT
  program<loss> step;
#else
  program<loss, wrt<"x">> step;
#endif
  return step.grad<"x">()(1) > 0;
}
