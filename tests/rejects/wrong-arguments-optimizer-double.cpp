// rejects: cairn \[wrong-arguments\]: an optimizer updates a program<\.\.\.> of its own element type
// rejects: operation<cairn::fixed_string<10>\{"optimizer"\}, double>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto logits = x | nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(logits, y);

int main() {
  program<loss> step;
  predictor<logits> predict{step};
  step.init(seed{1});
#ifdef CAIRN_REJECT
  sgd<double> optimizer{step, {.lr = 0.1}};
#else
  sgd<float> optimizer{step, {.lr = 0.1}};
#endif
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  optimizer.update();
  return l > predict(bind<"x">(xs))(0, 0) ? 0 : 1;
}
