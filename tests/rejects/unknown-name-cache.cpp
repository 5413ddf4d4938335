// rejects: cairn \[unknown-name\]: the model has nothing of this name
// rejects: fact::state<cairn::fixed_string<2>\{"h"\}>
// rejects: fact::nearest<cairn::fixed_string<7>\{"step\.h"\}>
#include "cairn/misuse/table.hpp"
#include "cairn/run/predictor.hpp"
#include "cairn/lang/block.hpp"
#include "cairn/op/loss.hpp"
#include "cairn/lang/state.hpp"

using namespace cairn;

constexpr auto counting = [](auto x) { return updated(x + cache<"h", 4>, cache<"h", 4>, cache<"h", 4> + x); };
constexpr auto loss = sum(param<"w", 4>);

int main() {
  program<loss> step;
  predictor<block<"step">(counting, input<"x", 4>)> predict{step};
#ifdef CAIRN_REJECT
  predict.reset<"h">();
#else
  predict.reset<"step.h">();
#endif
  return predict(bind<"x">(std::array<float, 4>{}))(0) > 0;
}
