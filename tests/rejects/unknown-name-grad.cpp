// rejects: cairn \[unknown-name\]: the model has nothing of this name
// rejects: fact::parameter<cairn::fixed_string<2>\{"v"\}>
// rejects: fact::nearest<cairn::fixed_string<2>\{"w"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 4> * param<"w", 4>);

int main() {
  program<loss> step;
#ifdef CAIRN_REJECT
  auto view = step.grad<"v">();
  return view(0, 1) > 0;  // of whatever rank: nothing more is said of it
#else
  auto view = step.grad<"w">();
  return view(1) > 0;
#endif
}
