// rejects: cairn \[unknown-name\]: the model has nothing of this name
// rejects: fact::parameter<cairn::fixed_string<2>\{"v"\}>
// rejects: fact::nearest<cairn::fixed_string<2>\{"w"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/predictor.hpp"
#include "cairn/op/loss.hpp"

using namespace cairn;

#ifdef CAIRN_REJECT
constexpr auto weight = param<"v">;
#else
constexpr auto weight = param<"w">;
#endif
constexpr auto loss = exp(param<"w">);

int main() {
  program<loss> step;
  predictor<exp(weight)> predict{step};
  return predict() > 0;
}
