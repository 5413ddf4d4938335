// rejects: cairn \[wrong-arguments\]: a layer stands where an expression is needed; apply it: x \| layer, or layer\(x\)
// rejects: operation<cairn::fixed_string<14>\{"cross_entropy"\}, cairn::fact::layer, int ?\[8\]
#include "cairn/cairn.hpp"

#include <vector>

using namespace cairn;

constexpr auto x = input<"x", 8, 16>;
constexpr auto y = labels<"y", 4, 8>;
constexpr auto model = nn::linear<"in", 16> | nn::relu | nn::linear<"head", 4>;

#ifdef CAIRN_REJECT
constexpr auto loss = cross_entropy(model, y);
#else
constexpr auto loss = cross_entropy(x | model, y);
#endif

// After the report all of it goes on silently.
int main() {
  program<loss> step;
  step.init(seed{1});
  adamw optimizer{step, {.lr = 0.1}};
  const std::vector<float> xs(8 * 16);
  const std::vector<int> ys(8);
  const float l = step.value_and_grad(bind<"x">(xs), bind<"y">(ys));
  optimizer.update();
  const auto w = step.param<"in.weight">();
  return l > 0 && w.size() > 0 ? 0 : 1;
}
