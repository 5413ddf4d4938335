// rejects: cairn \[wrong-arguments\]: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// rejects: fact::given<cairn::fact::layer>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, y);

int main() {
#ifdef CAIRN_REJECT
  program<model> step;
#else
  program<loss> step;
#endif
  step.init(seed{1});
  sgd optimizer{step, {.lr = 0.1}};
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  optimizer.update();
  return l > 0 ? 0 : 1;
}
