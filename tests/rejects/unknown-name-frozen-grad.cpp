// rejects: cairn \[unknown-name\]: this parameter is frozen in this program
// rejects: fact::parameter<cairn::fixed_string<2>\{"v"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = sum(param<"v", 4> * param<"w", 4>);

int main() {
#ifdef CAIRN_REJECT
  program<loss, freeze<"v">> step;
#else
  program<loss> step;
#endif
  return step.grad<"v">()(1) > 0;
}
