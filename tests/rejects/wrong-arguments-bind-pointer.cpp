// rejects: cairn \[wrong-arguments\]: bind takes elements that lie side by side
// rejects: fact::input<cairn::fixed_string<2>\{"x"\}>
// rejects: fact::given<const float ?\*>
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;
constexpr auto loss = cross_entropy(x | model, y);

int main() {
  program<loss> step;
  step.init(seed{1});
  sgd optimizer{step, {.lr = 0.1}};
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
#ifdef CAIRN_REJECT
  const float l = step.value_and_grad(bind<"x">(xs.data()), bind<"y">(ys));
#else
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
#endif
  optimizer.update();
  return l > 0 ? 0 : 1;
}
