// rejects: cairn \[kind-mismatch\]: a predictor reads parameters as its program stores them
// rejects: given<float>.*expected<cairn::bf16>
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 3>;
using halved = mixed<bf16, stochastic_rounding>;

#ifdef CAIRN_REJECT
using predictor_of_logits = predictor<logits, mixed<bf16>>;
#else
using predictor_of_logits = predictor<logits, halved>;
#endif

void predict() {
  program<sum(logits), halved, update<sgd_options{}>> step;
  predictor_of_logits each{step};
  static_cast<void>(each(bind<"x">(std::array<float, 32>{})));
}
