// rejects: cairn \[kind-mismatch\]: a predictor reads parameters as its program stores them
// rejects: given<float>.*expected<cairn::bf16>
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto y = sum(square(param<"w", 4>));
using halved = mixed<bf16, stochastic_rounding>;

#ifdef CAIRN_REJECT
using predictor_of_y = predictor<y>;
#else
using predictor_of_y = predictor<y, halved>;
#endif

void predict() {
  program<y, halved> step;
  predictor_of_y each{step};
  static_cast<void>(each());
}
