// rejects: cairn \[view-of-temporary\]
#include "cairn/embedded.hpp"

using namespace cairn;

constexpr auto logits = input<"x", 8, 16> | nn::linear<"fc", 4>;
using train_step = program<outputs(mean(square(logits)), logits)>;

train_step loaded();
inline float first(const float (&images)[8][16]) {
#ifdef CAIRN_REJECT
  const auto [loss, seen] = loaded().value_and_grad(bind<"x">(images));
#else
  train_step step = loaded();
  const auto [loss, seen] = step.value_and_grad(bind<"x">(images));
#endif
  return loss + seen(0, 0);
}
