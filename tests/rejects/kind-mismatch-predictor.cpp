// rejects: cairn \[kind-mismatch\]: a predictor computes in its program's type
// rejects: given<float>.*expected<double>
#include "cairn/cairn.hpp"

using namespace cairn;

constexpr auto logits = input<"x", 8, 4> | nn::linear<"fc", 3>;

#ifdef CAIRN_REJECT
using predictor_of_logits = predictor<logits>;
#else
using predictor_of_logits = predictor<logits, real<double>>;
#endif

void predict() {
  program<sum(logits), real<double>> step;
  predictor_of_logits each{step};
  static_cast<void>(each(bind<"x">(std::array<predictor_of_logits::real_type, 32>{})));
}
