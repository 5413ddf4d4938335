// rejects: cairn \[kind-mismatch\]: the array has other elements than the input
// rejects: fact::input<cairn::fixed_string<2>\{"y"\}>
// rejects: expected<int>
// rejects: got<long( int)?>
#include "cairn/misuse/table.hpp"
#include "cairn/run/program.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

constexpr auto loss = cross_entropy(param<"w", 2, 3>, labels<"y", 3, 2>);

int main() {
  program<loss> step;
#ifdef CAIRN_REJECT
  std::vector<std::int64_t> y{1, 2};
#else
  std::vector<std::int32_t> y{1, 2};
#endif
  return step.value_and_grad(bind<"y">(y)) > 0;
}
