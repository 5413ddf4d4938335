// rejects: cairn \[wrong-arguments\]: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// rejects: fact::given<cairn::fact::layer>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto logits = x | model;
constexpr auto loss = cross_entropy(logits, y);

int main() {
  program<loss> step;
#ifdef CAIRN_REJECT
  predictor<model> predict{step};
#else
  predictor<logits> predict{step};
#endif
  step.init(seed{1});
  const std::vector<float> xs(8 * 16);
  const auto result = predict(bind<"x">(xs));
  return result.size() > 0 ? 0 : 1;
}
