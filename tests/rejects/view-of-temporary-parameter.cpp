// rejects: cairn \[view-of-temporary\]
#include "cairn/embedded.hpp"

using namespace cairn;

using train_step = program<mean(square(input<"x", 8, 16> | nn::linear<"fc", 4>))>;

train_step loaded();
inline float first() {
#ifdef CAIRN_REJECT
  return loaded().param<"fc.weight">()(0, 0);
#else
  train_step step = loaded();
  return step.param<"fc.weight">()(0, 0);
#endif
}
