// rejects: cairn \[shape-mismatch\]: the array has other extents than the input
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>
// rejects: expected<float ?\[2\]\[3\]>
// rejects: got<float ?\[3\]\[2\]>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = sum(input<"x", 2, 3> * param<"w", 3>);

int main() {
  program<loss> step;
#ifdef CAIRN_REJECT
  std::array<std::array<float, 2>, 3> x{};
#else
  std::array<std::array<float, 3>, 2> x{};
#endif
  return step.value_and_grad(bind<"x">(x)) > 0;
}
