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
  auto view = step.param<"v">();
  const tensor_view<float, 2> matrix = view;  // of whatever rank: nothing more is said of it
  return matrix(0, 1) + view(1) > 0;
#else
  auto view = step.param<"w">();
  return view(1) > 0;
#endif
}
