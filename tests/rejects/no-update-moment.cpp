// rejects: cairn \[no-update\]: the rule by which this parameter is updated, if any, keeps no moment of this name
// rejects: fact::parameter<cairn::fixed_string<2>\{"w"\}>
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto loss = mean(square(param<"w", 8>));

int main() {
  program<loss, update<adamw_options{}>> step;
  step.init(seed{1});
#ifdef CAIRN_REJECT
  const auto m = step.moment<"w", "momentum_buffer">();
#else
  const auto m = step.moment<"w", "exp_avg">();
#endif
  return m(0) == 0 ? 0 : 1;
}
